/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Destruction of objects, and DEVX's part of a context. devx.lock is held for objects, and outside of it
 * mlx5_state.export_lock for those that may have been exported.
 */
#ifndef MLX5_DEVX_DESTROY_H
#define MLX5_DEVX_DESTROY_H

#include "mlx5/devx_types.h"

/* An object whose creation failed half-way. */
void devx_obj_abort(struct mlx5dv_devx_obj *obj);
int devx_obj_destroy(struct mlx5dv_devx_obj *obj);

int devx_init(struct mlx5_context *ctx);
void devx_fini(struct mlx5_context *ctx);

#endif
