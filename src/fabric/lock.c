/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Waiting for a fabric_lock. The holder is nearly always through in a moment, or was preempted; on
 * a machine with few cores it then needs ours.
 */
#include "fabric/lock.h"

#include <sched.h>
#include <time.h>

#include "fabric/service.h"

#define SPINS  200
#define YIELDS 50
/*
 * The service thread comes from sleep, which kernels pay for with time: up to 6.5 they let it run on
 * although it yields, until that is used up, and a holder on the same core waits for as long.
 */
#define SERVICE_YIELDS 5

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#endif
}

void fabric_lock_wait(struct fabric_lock *lock)
{
	const struct timespec nap = { .tv_nsec = 50000 };
	const unsigned int yields = fabric_service_is_self() ? SERVICE_YIELDS : YIELDS;

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
