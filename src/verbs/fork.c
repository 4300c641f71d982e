/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fork needs no preparation: a child gets its own copy of registered memory (fabric/share.c), as with a
 * kernel that copies pinned pages on fork.
 */
#include "util/api.h"
#include "verbs/public.h"

int ibv_fork_init(void)
{
	return 0;
}

enum ibv_fork_status ibv_is_fork_initialized(void)
{
	return IBV_FORK_UNNEEDED;
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
