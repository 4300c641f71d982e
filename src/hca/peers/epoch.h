/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Guards: how memory and objects are known to be out of use before they go.
 *
 * A thread that moves data or follows a number to an object does so between epoch_enter() and
 * epoch_exit(). Who unmakes an entry first makes it unfindable, then waits until every guard
 * that was closed at that moment has opened: in this process, and for memory also in every linked
 * peer, since peers carry out their own accesses. The cells lie in the process segment, one line
 * per thread. A peer that dies takes its guards with it.
 *
 * Sections never wait for anything, and nest.
 */
#ifndef EPOCH_H
#define EPOCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "hca/peers/segment.h"
#include "util/api.h"

struct epoch_self {
	struct epoch_cell *cell;
	uint64_t section;
	uint32_t depth;
};

extern _Thread_local struct epoch_self epoch_self __attribute__((tls_model("initial-exec")));

/* Somebody who waits for our sections may be without membarrier(2). */
extern _Atomic bool epoch_fences;

/* Finds the calling thread a cell; when all are taken it shares the last one under a lock. */
void epoch_attach(void);

static inline void epoch_enter(void)
{
	struct epoch_self *self = &epoch_self;

	if (self->depth++)
		return;
	if (unlikely(!self->cell))
		epoch_attach();
	/* [G1] pairs with wait_area(): the mark before any look at an entry. A store may be overtaken
	 * by the loads that follow; who waits has the kernel put that right (fabric/barrier.h). Where
	 * some of those cannot, it is an exchange. */
	if (unlikely(atomic_load_explicit(&epoch_fences, memory_order_relaxed))) {
		atomic_exchange_explicit(&self->cell->section, ++self->section,
					 memory_order_seq_cst);
		return;
	}
	atomic_store_explicit(&self->cell->section, ++self->section, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
}

static inline void epoch_exit(void)
{
	struct epoch_self *self = &epoch_self;

	if (--self->depth)
		return;
	/* [G2] pairs with wait_area(): every access of the section before its end */
	atomic_store_explicit(&self->cell->section, ++self->section, memory_order_release);
}

/* The fabric is up: how sections are entered from now on. */
void epoch_init(void);
/* A process that has no membarrier(2) is about to learn of ours. */
void epoch_harden(void);

/* Waits for the sections of this process; not from inside one. */
void epoch_wait(void);
/* The same, and for those of every linked peer. */
void epoch_wait_all(void);

/* fork: the child's only thread starts outside of any section, with cells of its own. */
void epoch_forked(void);

#endif
