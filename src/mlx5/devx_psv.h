/* SPDX-License-Identifier: BSD-2-Clause */
/* Signature contexts, one to four of a command. */
#ifndef MLX5_DEVX_PSV_H
#define MLX5_DEVX_PSV_H

struct devx_cmd;
struct mlx5dv_devx_obj;

int devx_create_psv(struct devx_cmd *c);
void devx_psv_destroy(struct mlx5dv_devx_obj *obj);

#endif
