/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * User memory (umem), protection domains and XRC domains.
 */
#ifndef MLX5_DEVX_MEM_H
#define MLX5_DEVX_MEM_H

#include "mlx5/devx_types.h"

/* A range of user memory that a command names. */
struct devx_ring {
	uint32_t id;
	uint64_t offset;
	uint64_t bytes;
	bool valid;
	uint32_t align;
	const char *what;
};

/* Its address; the object uses the umem from now on (slot 0 or 1 of obj->umem). */
int devx_umem_at(struct devx_cmd *c, int slot, const struct devx_ring *ring, void **out);

/*
 * Frees number and memory, not the handle. -EBUSY while objects of this context are on it. devx.lock is held, and
 * mlx5_state.export_lock outside of it.
 */
int devx_umem_drop(struct devx_umem *umem);
/* Fills in an imported umem: memory of this process, or of umem->shared.owner. */
int devx_umem_import_own(struct devx_umem *umem, void *addr, size_t size, uint32_t number);
int devx_umem_import(struct devx_umem *umem, uint64_t va, size_t size, uint32_t number);

/* Commands. */
int devx_alloc_pd(struct devx_cmd *c);
int devx_alloc_xrcd(struct devx_cmd *c);

#endif
