/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Epoch sections: how objects and memory are known to be out of use before they are freed.
 *
 * A thread that uses an object without a lock, or moves data, does so inside a section. To free an
 * object, a thread makes it unreachable and then waits until every section that was open at that
 * moment is over (the grace period): epoch_wait() waits, epoch_retire() has the service thread free
 * the object later. Memory that peers access is out of use only when their sections are over, too,
 * which hca/peers/grace.h waits for. The cells in which threads mark their sections lie in the
 * process segment for that, one cache line per thread. A peer that dies ends its sections.
 *
 *	epoch_enter();
 *	p = atomic_load_explicit(&shared, memory_order_acquire);
 *	...
 *	epoch_exit();
 *
 *	atomic_store_explicit(&shared, next, memory_order_release);
 *	epoch_retire(&old->epoch, free_old);
 *
 * Sections nest. Inside of one, a thread must not wait for anything but short locks.
 */
#ifndef FABRIC_EPOCH_H
#define FABRIC_EPOCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "fabric/segment_head.h"
#include "fabric/state.h"
#include "fabric/thread.h"
#include "util/api.h"

/* The first section of a thread in an area, and every section where marks have to be fenced. */
void epoch_enter_slowly(void);

static inline void epoch_enter(void)
{
	struct epoch_thread *self = &fabric_thread.epoch;

	if (self->depth++)
		return;
	if (unlikely(self->generation !=
		     atomic_load_explicit(&fabric.epoch.generation, memory_order_relaxed))) {
		epoch_enter_slowly();
		return;
	}
	/* [E1] pairs with the barrier in epoch_wait(): the mark before the section's reads. The
	 * processor may delay the store; the waiting thread makes the kernel run a barrier on its
	 * core (barrier.h). Where some process cannot, epoch_enter_slowly() has a fence. */
	atomic_store_explicit(&self->cell->section, ++self->section, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
}

static inline void epoch_exit(void)
{
	struct epoch_thread *self = &fabric_thread.epoch;

	if (--self->depth)
		return;
	/* [E2] pairs with epoch_section_over(): every access of the section before its end */
	atomic_store_explicit(&self->cell->section, ++self->section, memory_order_release);
}

static inline void epoch_mark_visit(uint64_t mark)
{
	const struct epoch_thread *self = &fabric_thread.epoch;

	if (atomic_load_explicit(&self->cell->visit, memory_order_relaxed) >= mark)
		return;
	/* [E5] pairs with grace_wait_peers(): the mark before the look-up, as in epoch_enter() */
	atomic_store_explicit(&self->cell->visit, mark, memory_order_relaxed);
	if (unlikely(self->generation !=
		     atomic_load_explicit(&fabric.epoch.generation, memory_order_relaxed)))
		atomic_thread_fence(memory_order_seq_cst);
	else
		atomic_signal_fence(memory_order_seq_cst);
}

/*
 * Inside a section, before it looks for memory of another process, or for the right to use it. Owners of memory
 * wait for such sections of their peers alone: others cannot be inside an access, and may be preempted at any time.
 */
static inline void epoch_visit(void)
{
	epoch_mark_visit(fabric_thread.epoch.section);
}

/*
 * Before the section has the kernel copy to or from such memory, at its address there: an owner cannot put other pages
 * in the way of that. Afterwards the caller makes sure that it may still do so.
 */
static inline void epoch_visit_by_kernel(void)
{
	epoch_mark_visit(fabric_thread.epoch.section + 1);
}

/* Waits for the sections of this process. Not inside of one. */
void epoch_wait(void);

/* Any thread, inside or outside of a section. The object must be unreachable for new sections. */
void epoch_retire(struct epoch_node *node, void (*free)(struct epoch_node *node));

/* Service thread: frees retired objects; true while some are left. */
bool epoch_reclaim(void);

/* ---- sections of any process ---- */

/* An open section of the cell, other than the caller's own; 0: none. After a barrier. */
static inline uint64_t epoch_section_open(const struct epoch_cell *cell)
{
	/* [E1] */
	uint64_t section = atomic_load_explicit(&cell->section, memory_order_seq_cst);

	return (section & 1) && cell != fabric_thread.epoch.cell ? section : 0;
}

/* As epoch_section_open(), of a section that has called epoch_visit(). */
static inline uint64_t epoch_visit_open(const struct epoch_cell *cell)
{
	uint64_t section = epoch_section_open(cell);

	/* [E5] */
	return section && atomic_load_explicit(&cell->visit, memory_order_seq_cst) - section <= 1
		       ? section
		       : 0;
}

/* Whether this section has called epoch_visit_by_kernel(). */
static inline bool epoch_visit_is_by_kernel(const struct epoch_cell *cell, uint64_t section)
{
	/* [E5] */
	return atomic_load_explicit(&cell->visit, memory_order_seq_cst) == section + 1;
}

static inline bool epoch_section_over(const struct epoch_cell *cell, uint64_t section)
{
	/* [E2] pairs with epoch_exit() */
	return atomic_load_explicit(&cell->section, memory_order_acquire) != section;
}

/* Cells to look at. Of another process: its owner may write anything there. */
static inline uint32_t epoch_area_cells(const struct epoch_area *area)
{
	uint32_t high = atomic_load(&area->high);

	return high < EPOCH_CELLS ? high : EPOCH_CELLS;
}

/*
 * Waits for the open sections of another process that have called epoch_visit(), after a barrier. False when
 * `alive` returned false, or after timeout_ns.
 */
bool epoch_visits_wait(const struct epoch_area *area, bool (*alive)(void *arg), void *arg,
		       uint64_t timeout_ns);

/* ---- inside the fabric ---- */

/* The segment is there, and barriers are known: threads mark their sections in the segment. */
void epoch_init(void);
/* The segment goes: threads mark their sections in private memory. */
void epoch_fini(void);
/* A peer cannot make the kernel run barriers in this process: sections have to fence. */
void epoch_use_fences(void);
/* In the child of a fork, which has one thread, outside of any section. */
void epoch_forked(void);

#endif
