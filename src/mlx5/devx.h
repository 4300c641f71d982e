/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Objects made by device commands.
 */
#ifndef MLX5_DEVX_H
#define MLX5_DEVX_H

#include "mlx5/devx_types.h"

/* Makes an object by a command. NULL and errno. */
struct mlx5dv_devx_obj *devx_create(struct devx *devx, enum devx_verb verb, const void *in,
				    size_t inlen, void *out, size_t outlen);

#endif
