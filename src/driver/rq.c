/* SPDX-License-Identifier: BSD-2-Clause */
#include "driver/rq.h"

void drv_rq_reset(struct drv_rq *rq)
{
	fabric_lock(&rq->lock);
	rq->head = 0;
	atomic_store_explicit(&rq->tail, 0, memory_order_relaxed);
	drv_record_store(rq->db, 0);
	fabric_unlock(&rq->lock);
}
