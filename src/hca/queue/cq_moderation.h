/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Moderation of completion events: an event is held back until so many entries have come since the
 * last one, or until some time after the first of them. This module has the timers; cq.c decides.
 */
#ifndef HCA_CQ_MODERATION_H
#define HCA_CQ_MODERATION_H

#include <stdbool.h>
#include <stdint.h>

#include "util/heap.h"

/* The timer of a CQ's event that is held back. */
struct cq_moderation {
	struct heap_node node; /* guarded by hca.queue.cq_moderation.lock */
	bool used;             /* the timer was set once; guarded by the CQ's lock */
	/* Sends the event if it is due. Service thread; takes the CQ's lock. */
	void (*expired)(struct cq_moderation *timer, uint64_t now_ns);
};

/* Sets the timer, or sets it anew. The CQ's lock is held. -ENOMEM. */
int cq_moderation_hold(struct cq_moderation *timer, uint64_t due_ns);
/* The CQ goes: when this returns, expired() neither runs nor will. */
void cq_moderation_forget(struct cq_moderation *timer);
/* Service thread: sends events that are due, and returns when the next one is. */
uint64_t cq_moderation_run(uint64_t now_ns);
/* In a forked child: no timer is set. */
void cq_moderation_forked(void);

#endif
