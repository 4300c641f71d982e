/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/barrier.h"

#include "util/membarrier.h"

void barrier_init(void)
{
	atomic_store(&fabric.barrier.has_private,
		     membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED));
	atomic_store(&fabric.barrier.has_global,
		     membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED));
}

void barrier_forked(void)
{
	atomic_store(&fabric.barrier.has_private, false);
	atomic_store(&fabric.barrier.has_global, false);
}

void barrier_private(void)
{
	atomic_thread_fence(memory_order_seq_cst);
	if (barrier_has_private())
		membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}

void barrier_global(void)
{
	atomic_thread_fence(memory_order_seq_cst);
	if (barrier_has_global())
		membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED);
}
