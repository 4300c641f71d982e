/* SPDX-License-Identifier: BSD-2-Clause */
/* The receive queue, as drivers use it. */
#ifndef HCA_RQ_H
#define HCA_RQ_H

#include "hca/hca.h"
#include "hca/transport/hca_qp.h"

/* After receives were posted: needed only in the error state, where they are flushed at once. */
VB_API void hca_rq_flush_posted(struct hca_qp *qp);

static inline void hca_rq_doorbell(struct hca_qp *qp)
{
	/* [Q1] pairs with qp_grant_update(), which fences between the new state and the flush, for us
	 * as well where the kernel can: either we see the state, or the flush sees what was posted. */
	if (unlikely(atomic_load_explicit(&hca.peers.no_membarrier, memory_order_relaxed)))
		atomic_thread_fence(memory_order_seq_cst);
	else
		atomic_signal_fence(memory_order_seq_cst);
	if (unlikely(__atomic_load_n(&qp->state, __ATOMIC_RELAXED) == HCA_QPS_ERR))
		hca_rq_flush_posted(qp);
}

#endif
