/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Capture (VERBENA_CAPTURE) and fault injection (VERBENA_FAULT, VERBENA_FAULT_SEED) of this process.
 * Both objects exist from the first use on, and are mostly off.
 */
#ifndef HCA_INSPECT_H
#define HCA_INSPECT_H

#include "hca/hca.h"
#include "roce/inspect.h"

/*
 * Sets both up from the environment, unless that is done. -errno when it cannot be: then no context is
 * opened, and the next call tries again. hca.engine.join_lock held.
 */
int inspect_set_up(void);

/*
 * Changes the running process: "capture" with a file, "fault" with a script. "" ends an earlier
 * setting, and otherwise leaves the environment's in force. A mistake is reported (explain_note()).
 * hca.inspect.set_lock held, and inspect_set_up() has returned 0.
 */
void inspect_set(const char *key, const char *value);

/* Around a fork: their locks are the innermost. */
void inspect_fork_prepare(void);
void inspect_fork_done(void);

#endif
