/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Flow table entries.
 */
#ifndef MLX5_DEVX_FTE_H
#define MLX5_DEVX_FTE_H

#include "mlx5/devx_types.h"

int devx_fte_destroy(struct mlx5dv_devx_obj *obj);

/* Commands. */
int devx_create_fte(struct devx_cmd *c);
int devx_modify_fte(struct devx_cmd *c);
int devx_query_fte(struct devx_cmd *c);

#endif
