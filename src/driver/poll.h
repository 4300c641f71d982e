/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ibv_poll_cq() and the cursor of ibv_start_poll(), for both formats. A driver hands in how it reads
 * CQEs; everything is inline, so that the compiler sees constants and these are no calls.
 *
 * Polling also takes in what peers have sent, so that a program that only polls makes progress.
 */
#ifndef DRIVER_POLL_H
#define DRIVER_POLL_H

#include <errno.h>

#include "driver/cq.h"
#include "hca/hca.h"
#include "hca/engine/poll.h"
#include "hca/queue/rx_seq.h"
#include "hca/transport/qp.h"

#define DRV_INLINE static inline __attribute__((always_inline))

typedef bool drv_ready_fn(const struct drv_cq *cq, uint32_t index);

/*
 * While completions are left (cq->more) nothing new is taken in: peers could use up all receives
 * before the program, which has not seen the first completions, can post them again. With a wire,
 * nothing is taken in while there is a completion to hand out, since looking is a system call.
 */
static inline bool drv_poll_ring_first(const struct drv_cq *cq)
{
	return atomic_load_explicit(&cq->more, memory_order_relaxed) ||
	       atomic_load_explicit(&hca.wire.is_polled, memory_order_relaxed);
}

/* Sends the acknowledgements that the completions handed out have delayed. No lock is held. */
static inline void drv_poll_settle(void)
{
	if (hca_rx_in_progress())
		hca_rx_settle();
}

static inline void drv_cq_lock(struct drv_cq *cq)
{
	if (likely(!cq->unlocked))
		fabric_lock(&cq->lock);
}

static inline void drv_cq_unlock(struct drv_cq *cq)
{
	if (likely(!cq->unlocked))
		fabric_unlock(&cq->lock);
}

/* The CQE at the consumer index, which moves on. */
static inline const void *drv_cqe_consume(struct drv_cq *cq)
{
	const void *cqe = drv_cqe_at(cq, cq->ci);

	__atomic_store_n(&cq->ci, cq->ci + 1, __ATOMIC_RELAXED);
	return cqe;
}

/* ---- ibv_poll_cq() ---- */

/*
 * Hands out up to `count` completions, of which there is at least one. fill() writes one; false: the
 * CQE is of no known queue, and the poll fails with -2. The lock is held.
 */
DRV_INLINE int drv_poll_ready(struct drv_cq *cq, int count, struct ibv_wc *wc, drv_ready_fn *ready,
			      bool (*fill)(struct drv_cq *cq, const void *cqe, struct ibv_wc *wc))
{
	bool known;
	int done = 0;

	do {
		known = fill(cq, drv_cqe_consume(cq), &wc[done]);
		if (unlikely(!known))
			break;
	} while (++done < count && ready(cq, cq->ci));
	drv_record_store(cq->db, cq->ci & DRV_CI_MASK);
	return likely(known) ? done : -2;
}

/* poll_ready() is the driver's drv_poll_ready(), out of line, so that an empty poll is short. */
DRV_INLINE int drv_poll_ring(struct drv_cq *cq, int count, struct ibv_wc *wc, drv_ready_fn *ready,
			     int (*poll_ready)(struct drv_cq *cq, int count, struct ibv_wc *wc))
{
	bool locked = !cq->unlocked;
	int done = 0;

	if (likely(locked))
		fabric_lock(&cq->lock);
	if (ready(cq, cq->ci) && likely(count > 0))
		done = poll_ready(cq, count, wc);
	if (likely(locked))
		fabric_unlock(&cq->lock);
	return done;
}

DRV_INLINE int drv_poll_cq(struct drv_cq *cq, int count, struct ibv_wc *wc, drv_ready_fn *ready,
			   int (*poll_ready)(struct drv_cq *cq, int count, struct ibv_wc *wc))
{
	int done = 0;

	if (drv_poll_ring_first(cq))
		done = drv_poll_ring(cq, count, wc, ready, poll_ready);
	if (!done) {
		hca_poll();
		done = drv_poll_ring(cq, count, wc, ready, poll_ready);
	}
	atomic_store_explicit(&cq->more, done == count, memory_order_relaxed);
	if (done > 0)
		drv_poll_settle();
	return done;
}

/* ---- ibv_start_poll(), ibv_next_poll(), ibv_end_poll() ---- */

/*
 * The cursor is a pointer into the ring: the CQE stays there until ibv_end_poll() stores the
 * consumer index. The CQ's lock is held from start to end.
 */
typedef int drv_take_fn(struct drv_cq *cq);

static inline struct drv_cq *to_drv_cq_ex(struct ibv_cq_ex *ex)
{
	return container_of(ex, struct drv_cq, vb.ex);
}

/*
 * The next CQE becomes the current one. take() consumes it, sets the cursor, and completes the
 * request; EINVAL: the CQE is of no known queue.
 */
DRV_INLINE int drv_next_poll(struct drv_cq *cq, drv_ready_fn *ready, drv_take_fn *take)
{
	bool is_ready = ready(cq, cq->ci);

	atomic_store_explicit(&cq->more, is_ready, memory_order_relaxed);
	return is_ready ? take(cq) : ENOENT;
}

/* Keeps the lock when there is a CQE. */
DRV_INLINE int drv_start_ring(struct drv_cq *cq, drv_ready_fn *ready, drv_take_fn *take)
{
	int err;

	drv_cq_lock(cq);
	err = drv_next_poll(cq, ready, take);
	if (err)
		drv_cq_unlock(cq);
	return err;
}

DRV_INLINE int drv_start_poll(struct drv_cq *cq, const struct ibv_poll_cq_attr *attr,
			      drv_ready_fn *ready, drv_take_fn *take)
{
	int err = ENOENT;

	if (unlikely(attr->comp_mask))
		return EINVAL;
	if (drv_poll_ring_first(cq))
		err = drv_start_ring(cq, ready, take);
	if (err == ENOENT) {
		hca_poll();
		err = drv_start_ring(cq, ready, take);
	}
	return err;
}

DRV_INLINE void drv_end_poll(struct drv_cq *cq)
{
	drv_record_store(cq->db, cq->ci & DRV_CI_MASK);
	drv_cq_unlock(cq);
	drv_poll_settle();
}

#endif
