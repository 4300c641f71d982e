/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Deferred freeing for what pollers read without a lock: the set of links, links, their rings.
 * A reader marks its section with two plain stores to a line of its own thread; who frees pays
 * with a membarrier. Sections nest and may not block.
 *
 *	fabric_epoch_enter();
 *	p = atomic_load_explicit(&shared, memory_order_acquire);
 *	...
 *	fabric_epoch_exit();
 *
 *	atomic_store_explicit(&shared, next, memory_order_release);
 *	fabric_epoch_retire(&old->retire, free_old);
 *
 * Retired objects are freed on the service thread, once no section that began before is open.
 */
#ifndef FABRIC_EPOCH_H
#define FABRIC_EPOCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "fabric/state.h"
#include "fabric/thread.h"
#include "util/api.h"

struct fabric_epoch_cell {
	/* The epoch in which this thread's outermost section began, 0 outside of one. Its thread
	 * writes, who frees reads. */
	_Alignas(64) _Atomic uint64_t epoch;
	uint32_t depth;
	_Atomic uint32_t taken;
	struct fabric_epoch_cell *next;
};

struct fabric_epoch_cell *fabric_epoch_cell_get(void);

static inline void fabric_epoch_enter(void)
{
	struct fabric_epoch_cell *cell = fabric_thread.epoch_cell;

	if (unlikely(!cell))
		cell = fabric_epoch_cell_get();
	if (cell->depth++)
		return;
	/* [E1] pairs with the membarrier in fabric_epoch_reclaim(): the mark before the reads.
	 * [E5] pairs with fabric_epoch_retire(): a later number sees what was withdrawn. */
	atomic_store_explicit(&cell->epoch,
			      atomic_load_explicit(&fabric.epoch.now, memory_order_acquire),
			      memory_order_relaxed);
	if (unlikely(atomic_load_explicit(&fabric.barrier.no_private, memory_order_relaxed)))
		atomic_thread_fence(memory_order_seq_cst);
	else
		atomic_signal_fence(memory_order_seq_cst);
}

static inline void fabric_epoch_exit(void)
{
	struct fabric_epoch_cell *cell = fabric_thread.epoch_cell;

	if (--cell->depth)
		return;
	/* [E2] pairs with fabric_epoch_reclaim(): the section's reads before the free */
	atomic_store_explicit(&cell->epoch, 0, memory_order_release);
}

/* Any thread, inside or outside of a section. The object must be unreachable for new readers. */
void fabric_epoch_retire(struct fabric_retire *retire, void (*free)(struct fabric_retire *));

/* Service thread: frees what can be freed; true while something is left. */
bool fabric_epoch_reclaim(void);

/* In the child of a fork: sections of the other threads are over. */
void fabric_epoch_forked(void);

#endif
