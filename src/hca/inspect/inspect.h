/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Capture (VERBENA_CAPTURE) and fault injection (VERBENA_FAULT, VERBENA_FAULT_SEED) of this process.
 * Both objects exist from the first use on, and are mostly off.
 */
#ifndef HCA_INSPECT_H
#define HCA_INSPECT_H

#include "hca/hca.h"
#include "roce/inspect.h"

/* For endpoints. The first call sets it up from the environment. */
const struct roce_inspect *inspect_get(void);

/* -errno when the environment's capture or faults cannot be set up: then no context is opened. */
int inspect_check(void);

/*
 * Changes the running process: "capture" with a file, "fault" with a script. "" ends an earlier
 * setting, and otherwise leaves the environment's in force. A mistake is reported (explain_note()).
 * hca.inspect.set_lock held, and inspect_check() has returned 0.
 */
void inspect_set(const char *key, const char *value);

/* Around a fork: their locks are the innermost. */
void inspect_fork_prepare(void);
void inspect_fork_done(void);

#endif
