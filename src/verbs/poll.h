/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * When a poll takes in what peers have sent. For both drivers, which say how they take entries from
 * their rings; inline, so that these are no calls.
 */
#ifndef VERBS_POLL_H
#define VERBS_POLL_H

#include <errno.h>
#include <infiniband/verbs.h>
#include <stdatomic.h>

#include "hca/transport/qp.h"

/*
 * While completions are left (`more`) nothing new is taken in: what peers send could use up all
 * receives before the program, which has not seen the completions of the first, can post them again.
 * With a wire nothing is taken in while there is anything to hand over, since looking is a system
 * call.
 */
static inline bool vb_poll_can_wait(const _Atomic bool *more)
{
	return atomic_load_explicit(more, memory_order_relaxed) ||
	       atomic_load_explicit(&hca_wire_is_open, memory_order_relaxed);
}

/* What is handed over has been acknowledged. No lock is held. */
static inline void vb_poll_settle(void)
{
	if (atomic_load_explicit(&hca_rx_seq, memory_order_relaxed) & 1)
		hca_poll_settle();
}

/* ibv_poll_cq(): take() hands out up to `count` entries, and says how many, or less than 0. */
static inline __attribute__((always_inline)) int
vb_poll(void *cq, _Atomic bool *more, int (*take)(void *cq, int count, struct ibv_wc *wc),
	int count, struct ibv_wc *wc)
{
	int done = 0;

	if (vb_poll_can_wait(more))
		done = take(cq, count, wc);
	if (!done) {
		hca_poll();
		done = take(cq, count, wc);
	}
	atomic_store_explicit(more, done == count, memory_order_relaxed);
	if (done > 0)
		vb_poll_settle();
	return done;
}

/* ibv_start_poll(): begin() makes the first entry the current one; ENOENT: there is none. */
static inline __attribute__((always_inline)) int vb_start_poll(void *cq, const _Atomic bool *more,
							       int (*begin)(void *cq))
{
	int err = ENOENT;

	if (vb_poll_can_wait(more))
		err = begin(cq);
	if (err == ENOENT) {
		hca_poll();
		err = begin(cq);
	}
	return err;
}

#endif
