/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/queue/rx_seq.h"

#include <sched.h>
#include <time.h>

#include "fabric/service.h"

#define SETTLE_SPINS  100u
#define SETTLE_NAP_NS 50000
#define SETTLE_LOOKS  20000u /* a second in all */

void rx_seq_begin(void)
{
	uint32_t seq = atomic_load_explicit(&hca.queue.rx_seq, memory_order_relaxed);

	atomic_store_explicit(&hca.queue.rx_seq, seq + 1, memory_order_relaxed);
}

void rx_seq_end(void)
{
	uint32_t seq = atomic_load_explicit(&hca.queue.rx_seq, memory_order_relaxed);

	atomic_store_explicit(&hca.queue.rx_seq, seq + 1, memory_order_release);
}

/* The service thread may have lost its processor to the caller: yield, then sleep. */
void hca_rx_settle(void)
{
	uint32_t seq = atomic_load_explicit(&hca.queue.rx_seq, memory_order_acquire);
	const struct timespec nap = { .tv_nsec = SETTLE_NAP_NS };

	if (!(seq & 1) || fabric_service_is_self())
		return;
	for (unsigned int i = 0; i < SETTLE_LOOKS; i++) {
		if (atomic_load_explicit(&hca.queue.rx_seq, memory_order_acquire) != seq)
			return;
		if (i < SETTLE_SPINS)
			continue;
		if (i < 2 * SETTLE_SPINS)
			sched_yield();
		else
			nanosleep(&nap, NULL);
	}
}
