/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Waiting for a fabric_lock. Its holder releases it within a microsecond, unless it was preempted;
 * then it may need the core of the waiting thread to continue.
 */
#include "fabric/lock.h"

#include <sched.h>
#include <time.h>

#include "fabric/thread.h"

#define SPINS  200
#define YIELDS 50
/*
 * The service thread mostly sleeps, so kernels up to 6.5 grant it CPU time in advance: its
 * sched_yield() returns at once until that is used up, while a lock holder on the same core waits.
 */
#define SERVICE_YIELDS 5

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("isb" ::: "memory"); /* waits a little; `yield` does not */
#endif
}

void fabric_lock_wait(struct fabric_lock *lock)
{
	const struct timespec nap = { .tv_nsec = 50000 };
	const unsigned int yields = fabric_thread.is_service ? SERVICE_YIELDS : YIELDS;

	for (unsigned int turn = 0;; turn++) {
		if (turn < SPINS)
			relax();
		else if (turn < SPINS + yields)
			sched_yield();
		else
			nanosleep(&nap, NULL);
		if (fabric_trylock(lock))
			return;
	}
}
