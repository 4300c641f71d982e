/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One-sided memory barriers: the frequent side orders its accesses for the compiler only, and the
 * rare side makes the kernel run a full barrier on every core where the frequent side may run
 * (membarrier(2)). Where the kernel cannot, the frequent side has to fence for itself.
 */
#ifndef FABRIC_BARRIER_H
#define FABRIC_BARRIER_H

#include <stdbool.h>

#include "fabric/state.h"

/* Registers this process, once per process; before that there is neither kind of barrier. */
void barrier_init(void);
/* In the child of a fork, which is not registered. */
void barrier_forked(void);

/* Whether barrier_private() works. */
static inline bool barrier_has_private(void)
{
	return atomic_load_explicit(&fabric.barrier.has_private, memory_order_relaxed);
}

/* Whether barrier_global() reaches this process, and works for it. */
static inline bool barrier_has_global(void)
{
	return atomic_load_explicit(&fabric.barrier.has_global, memory_order_relaxed);
}

/* Against the threads of this process. */
void barrier_private(void);
/* Against the threads of every process for which barrier_has_global() holds. */
void barrier_global(void);

#endif
