/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A lock between the threads of one process, for sections of well under a microsecond. Releasing
 * it is a plain store. It never lies in memory that another process can reach.
 */
#ifndef FABRIC_LOCK_H
#define FABRIC_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "util/api.h"

struct fabric_lock {
	_Atomic uint32_t held;
};

/* The slow path: spins a little, then yields, then naps, so that a preempted holder gets on. */
VB_API void fabric_lock_wait(struct fabric_lock *lock);

static inline bool fabric_trylock(struct fabric_lock *lock)
{
	/* [L1] pairs with fabric_unlock(): what the last holder wrote */
	return !atomic_load_explicit(&lock->held, memory_order_relaxed) &&
	       !atomic_exchange_explicit(&lock->held, 1, memory_order_acquire);
}

static inline void fabric_lock(struct fabric_lock *lock)
{
	/* [L1] */
	if (unlikely(atomic_exchange_explicit(&lock->held, 1, memory_order_acquire)))
		fabric_lock_wait(lock);
}

static inline void fabric_unlock(struct fabric_lock *lock)
{
	/* [L1] pairs with both ways of taking it */
	atomic_store_explicit(&lock->held, 0, memory_order_release);
}

#endif
