/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rings that the program writes itself (direct verbs): entries that change while the adapter has them, indices that
 * overtake the ring, indices of entries that are not there.
 */
#ifndef CHECK_RAW_RING_H
#define CHECK_RAW_RING_H

#include "check/queue.h"

/* As sq_register() of hca/device/checker.h. */
void check_raw_register(struct check_qp *q, const void *reg, uint32_t size);
/* As sq_looked() and cq_overrun() of hca/device/checker.h. */
void check_raw_sq(struct check_qp *q, const struct hca_qp *qp, uint32_t oldest, uint32_t next);
void check_raw_cq(const struct check_cq *c, const struct hca_cq *cq, uint32_t consumer);

#endif
