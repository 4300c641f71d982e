/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Execution of device commands.
 */
#ifndef MLX5_DEVX_EXEC_H
#define MLX5_DEVX_EXEC_H

#include "mlx5/devx_types.h"

/* Runs a command whose lengths are the caller's. 0 or -errno. */
int devx_exec(struct devx *devx, enum devx_verb verb, struct mlx5dv_devx_obj *obj, const void *in,
	      size_t inlen, void *out, size_t outlen);
/* devx_exec() with devx.lock held. */
int devx_exec_locked(struct devx *devx, enum devx_verb verb, struct mlx5dv_devx_obj *obj,
		     const void *in, size_t inlen, void *out, size_t outlen);

#endif
