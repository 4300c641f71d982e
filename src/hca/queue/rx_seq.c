/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The service thread's turns at taking in, and who waits for the end of one. One word, which the
 * service thread alone writes.
 */
#include "hca/queue/rx_seq.h"

#include <sched.h>
#include <time.h>

#include "fabric/service.h"

#define SETTLE_SPINS  100u
#define SETTLE_NAP_NS 50000
#define SETTLE_LOOKS  20000u /* a second, and better too early than never */

_Atomic uint32_t hca_rx_seq;

void rx_seq_begin(void)
{
	uint32_t turn = atomic_load_explicit(&hca_rx_seq, memory_order_relaxed);

	atomic_store_explicit(&hca_rx_seq, turn + 1, memory_order_relaxed);
}

void rx_seq_end(void)
{
	uint32_t turn = atomic_load_explicit(&hca_rx_seq, memory_order_relaxed);

	atomic_store_explicit(&hca_rx_seq, turn + 1, memory_order_release);
}

/* The thread may have lost its processor meanwhile, to us. */
void hca_poll_settle(void)
{
	uint32_t turn = atomic_load_explicit(&hca_rx_seq, memory_order_acquire);
	const struct timespec nap = { .tv_nsec = SETTLE_NAP_NS };

	if (!(turn & 1) || fabric_service_is_self())
		return;
	for (unsigned int i = 0; i < SETTLE_LOOKS; i++) {
		if (atomic_load_explicit(&hca_rx_seq, memory_order_acquire) != turn)
			return;
		if (i < SETTLE_SPINS)
			continue;
		if (i < 2 * SETTLE_SPINS)
			sched_yield();
		else
			nanosleep(&nap, NULL);
	}
}
