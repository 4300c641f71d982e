/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One-sided memory barriers over membarrier(2), which kernels before 4.16 and some sandboxes do not
 * have; then the frequent side fences for itself.
 */
#include "fabric/barrier.h"

#include <linux/membarrier.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fabric/epoch.h"

static _Atomic bool has_global;

static bool membarrier(int command)
{
	return syscall(SYS_membarrier, command, 0, 0) == 0;
}

void barrier_init(void)
{
	atomic_store(&fabric_epoch_fences, !membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED));
	atomic_store(&has_global, membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED));
}

void barrier_forget(void)
{
	atomic_store(&fabric_epoch_fences, true);
	atomic_store(&has_global, false);
}

bool barrier_has_global(void)
{
	return atomic_load_explicit(&has_global, memory_order_relaxed);
}

void barrier_private(void)
{
	atomic_thread_fence(memory_order_seq_cst);
	if (!atomic_load_explicit(&fabric_epoch_fences, memory_order_relaxed))
		membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}

void barrier_global(void)
{
	atomic_thread_fence(memory_order_seq_cst);
	if (barrier_has_global())
		membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED);
}
