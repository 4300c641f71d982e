/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fork needs no preparation: a child gets its own copy of registered memory (fabric/share.c), as with a
 * kernel that copies pinned pages on fork.
 */
#include "verbs/fork.h"

#include "util/api.h"
#include "verbs/public.h"
#include "verbs/state.h"

int ibv_fork_init(void)
{
	atomic_store(&verbs_state.fork_prepared, true);
	return 0;
}

enum ibv_fork_status ibv_is_fork_initialized(void)
{
	atomic_store(&verbs_state.fork_prepared, true);
	return IBV_FORK_UNNEEDED;
}

bool verbena_fork_is_prepared(void)
{
	return atomic_load(&verbs_state.fork_prepared);
}

/* Exported since the 1.1 ABI for other libraries of rdma-core; no header declares them. */
VB_API int ibv_dontfork_range(void *base, size_t size);
VB_API int ibv_dofork_range(void *base, size_t size);

int ibv_dontfork_range(void *base, size_t size)
{
	return 0;
}

int ibv_dofork_range(void *base, size_t size)
{
	return 0;
}
