/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Exports of contexts of this process: objects and umems, by a number that is unique in the process.
 * mlx5_state.export_lock is held; devx.lock may be taken inside.
 */
#ifndef MLX5_DEVX_EXPORT_H
#define MLX5_DEVX_EXPORT_H

#include "mlx5/devx_types.h"

struct devx_export {
	uint32_t id;
	struct mlx5dv_devx_obj *obj; /* one of the two */
	struct devx_umem *umem;
	LIST_ENTRY(devx_export) link;
};

/* The entry of an object or umem, made at the first call; NULL without memory. */
struct devx_export *devx_export_obj(struct mlx5dv_devx_obj *obj);
struct devx_export *devx_export_umem(struct devx_umem *umem);
/* NULL: nothing has this number, or it belongs to another context than those of `uid`. */
struct devx_export *devx_export_find(uint32_t id, uint64_t uid);
/* NULL is none. */
void devx_export_forget(struct devx_export *e);
/* All of a context, which is closed. */
void devx_export_forget_all(const struct devx *devx);

#endif
