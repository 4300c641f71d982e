/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Execution of device commands: mailboxes, objects, and the public calls.
 */
#ifndef MLX5_DEVX_H
#define MLX5_DEVX_H

#include "mlx5/devx_types.h"

/* Runs a command whose lengths are the caller's. 0 or -errno. */
int devx_exec(struct devx *devx, enum devx_verb verb, struct mlx5dv_devx_obj *obj, const void *in,
	      size_t inlen, void *out, size_t outlen);
/* Makes an object by a command. NULL and errno. */
struct mlx5dv_devx_obj *devx_create(struct devx *devx, enum devx_verb verb, const void *in,
				    size_t inlen, void *out, size_t outlen);

#endif
