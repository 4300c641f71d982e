/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Wrong signatures: listed by the transform that finds one, until the queue pair on whose behalf the data
 * was moved, in this thread, takes the error and reports it to its program.
 */
#ifndef HCA_SIGNATURE_ERROR_H
#define HCA_SIGNATURE_ERROR_H

#include <stdatomic.h>
#include <stdbool.h>

#include "hca/device/signature.h"
#include "hca/hca.h"

/* Lists the error in `e`, which is the caller's. */
void signature_error_raise(struct signature_error *e, const struct hca_sig_error *error);
/* Before `e` is freed: forgets an error that was not taken. */
void signature_error_drop(struct signature_error *e);

/* Inside the epoch section in which the data was moved: the next error of this thread. */
bool signature_error_take(struct hca_sig_error *out);

/* Whether any thread has one; nearly always not. */
static inline bool signature_has_errors(void)
{
	return unlikely(atomic_load_explicit(&hca.memory.signature.errors, memory_order_relaxed));
}

#endif
