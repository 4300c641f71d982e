/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The doorbell watch: programs that drivers hand raw rings to (direct verbs, DEVX) write entries
 * and doorbell records without calling the library, so the adapter has to look at the rings. A
 * driver registers such a queue here; the queue's owner looks into it when the watch calls.
 */
#ifndef HCA_DOORBELL_WATCH_H
#define HCA_DOORBELL_WATCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "hca/hca.h"
#include "hca/queue/doorbell_source.h"
#include "util/api.h"

struct hca_uar;

/* Looks at the queue from now on. Once more is harmless. -ENOMEM. */
int doorbell_watch_add(struct doorbell_source *source, const struct doorbell_source_ops *ops,
		       uint32_t number, bool without_page);
/* When this returns, no thread looks at the queue. The caller holds none of its locks. */
void doorbell_watch_remove(struct doorbell_source *source);

/* From now on the program may ring at the page, until the page is destroyed. */
void doorbell_watch_uar(struct hca_uar *uar);
/* Opens the descriptor that reports faults, for a CQ alias. */
void doorbell_watch_open_uffd(void);

/* A watched queue pair fails; its lock may be held. */
void doorbell_watch_qp_failed(void);

void doorbell_watch_look(void);

/* ---- for traps ---- */

/* Carries out what was posted to this send queue; false: it is not watched. Inside an epoch section. */
bool doorbell_watch_ring_sq(uint32_t number, struct doorbell_look *l);
/* A look at all that is watched, by a thread that waits for it. */
void doorbell_watch_look_all(void);
/* The page opens, for a program that will poll a closed CQ alias next. watch_lock held. */
void doorbell_watch_let_ring(struct hca_uar *uar);
/* Such pages close again, and what was posted meanwhile is carried out. False: none was open. watch_lock held. */
bool doorbell_watch_stop_ringing(void);
/* The store at this address cannot be emulated: its page opens, and closes again when the store has been seen. */
void doorbell_watch_open_store(uintptr_t address);

/* For every poll of a program's thread. */
static inline void doorbell_watch_poll(void)
{
	if (unlikely(atomic_load_explicit(&hca.queue.doorbell_watch.looking, memory_order_relaxed)))
		doorbell_watch_look();
}

/* Records have been received from a link: a thread that spins goes on. */
static inline void doorbell_watch_note_rx(void)
{
	if (unlikely(atomic_load_explicit(&hca.queue.doorbell_watch.looking, memory_order_relaxed)))
		atomic_store_explicit(&hca.queue.doorbell_watch.rx_seen, true,
				      memory_order_relaxed);
}

/* Service thread: looks when it is time to, and returns the time of the next look. */
uint64_t doorbell_watch_run(uint64_t now_ns);
/* Service thread, before it sleeps, whatever woke it. 0: it should not sleep. */
uint64_t doorbell_watch_before_sleep(uint64_t now_ns);

/* In a forked child: nothing is watched. */
void doorbell_watch_forked(void);

#endif
