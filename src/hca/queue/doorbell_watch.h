/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Doorbells that nobody calls: programs that were handed raw rings write entries and doorbell
 * records, and the adapter has to look. Drivers say here which objects those are.
 */
#ifndef HCA_BELL_H
#define HCA_BELL_H

#include <stdatomic.h>

#include "hca/transport/qp.h"

/* From now on the adapter looks at the ring by itself, until the object is destroyed. -ENOMEM. */
VB_API int hca_doorbell_watch_qp(struct hca_qp *qp);
/* The same for the record by which events are asked for. */
VB_API int hca_doorbell_watch_cq(struct hca_cq *cq);

/* ---- the adapter's own ---- */

extern _Atomic bool doorbell_watch_any; /* something is watched, and by looking */
extern _Atomic bool
	doorbell_watch_busy; /* something came over a link since this was last cleared */

void doorbell_watch_look(void);

/* For every poll of a caller. */
static inline void doorbell_watch_poll(void)
{
	if (unlikely(atomic_load_explicit(&doorbell_watch_any, memory_order_relaxed)))
		doorbell_watch_look();
}

/* Guards all that is watched, here and in uar.c. */
void doorbell_watch_lock(void);
void doorbell_watch_unlock(void);
/* Something was rung, or will be: look again soon. Not with the lock held. */
void doorbell_watch_wake(void);
/* Arms the watched CQ of this number. Lock held. */
void doorbell_watch_ring_cq(uint32_t cqn, uint32_t word);

/* A raw queue pair fails; its lock may be held. */
void doorbell_watch_qp_failed(void);

/* Service thread: a store to a closed page waits for it to be opened. */
void doorbell_watch_rung(void);
/* ... and a reader of a queue whose view was shut, to be let in (cq_alias.h). */
void doorbell_watch_read(void);
/* Service thread: looks, and says when to look again. */
uint64_t doorbell_watch_run(uint64_t now_ns);
/* Service thread, before it sleeps, whatever woke it. 0: it should not sleep. */
uint64_t doorbell_watch_turn(uint64_t now_ns);

/* When these return nobody looks at the object any more. The caller holds none of its locks. */
void doorbell_watch_forget_qp(struct hca_qp *qp);
void doorbell_watch_forget_cq(struct hca_cq *cq);
void doorbell_watch_forked(void);

#endif
