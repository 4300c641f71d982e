/* SPDX-License-Identifier: BSD-2-Clause */
/* The send queue, as drivers use it. */
#ifndef HCA_SQ_H
#define HCA_SQ_H

#include "hca/transport/hca_qp.h"

/*
 * The driver's doorbell: `producer` is the free-running slot after the last request written (any
 * value where slots carry owner bits). The caller holds qp->lock. Executes what can be executed
 * now; never waits.
 */
VB_API void hca_sq_doorbell(struct hca_qp *qp, uint32_t producer);

/* The slot of the first request that has not begun. Lock held. */
VB_API uint32_t hca_sq_next(const struct hca_qp *qp);

#endif
