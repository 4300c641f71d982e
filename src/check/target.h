/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Buffers of posted receives: nobody but the adapter writes there.
 */
#ifndef CHECK_TARGET_H
#define CHECK_TARGET_H

#include "check/queue.h"

/* The adapter is about to write a message into receive `counter` since the last reset. */
void check_target_taken(struct check_qp *q, const struct hca_qp *qp, uint32_t counter);
/* A receive has completed. Without locks. */
void check_target_done(const struct check_request *r, uint32_t qpn,
		       const struct check_place *polled);

#endif
