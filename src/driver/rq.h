/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Receive queues of queue pairs and work queues. A program posts under `lock`; the adapter takes
 * entries up to the doorbell record's index without it; polling moves `tail` under the CQ's lock.
 */
#ifndef DRIVER_RQ_H
#define DRIVER_RQ_H

#include <stdatomic.h>

#include "driver/record.h"
#include "driver/recv_wqe.h"
#include "hca/queue/cq.h"

struct drv_rq {
	struct fabric_lock lock; /* all but tail */
	uint32_t number;         /* of the QP or WQ */
	uint8_t *buf;
	uint32_t mask;         /* entries, less one */
	uint32_t head;         /* next entry to post; free running */
	_Atomic uint32_t tail; /* entries completed; written under the CQ's lock */
	uint32_t max_post;
	struct drv_recv_limits limits;
	uint8_t shift; /* log2 of an entry's bytes */
	bool has_link; /* entries start with a link segment, which is not used */
	bool is_wq;    /* for messages: of a work queue */
	uint64_t *wr_ids;
	volatile uint32_t *db;
};

/* Makes the ring empty. */
void drv_rq_reset(struct drv_rq *rq);

/* The oldest entry is complete. The CQ's lock is held. */
static inline void drv_rq_release(struct drv_rq *rq)
{
	uint32_t tail = atomic_load_explicit(&rq->tail, memory_order_relaxed);

	/* [DRV2] pairs with post_one() of driver/qp.c */
	atomic_store_explicit(&rq->tail, tail + 1, memory_order_release);
}

#endif
