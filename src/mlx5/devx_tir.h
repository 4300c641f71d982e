/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Transport interfaces: TIRs, which hash received frames over an RQT, and TISs.
 */
#ifndef MLX5_DEVX_TIR_H
#define MLX5_DEVX_TIR_H

#include "mlx5/devx_types.h"

int devx_tir_destroy(struct mlx5dv_devx_obj *obj);

/* Commands. */
int devx_create_tir(struct devx_cmd *c);
int devx_modify_tir(struct devx_cmd *c);
int devx_query_tir(struct devx_cmd *c);
int devx_create_tis(struct devx_cmd *c);
int devx_modify_tis(struct devx_cmd *c);
int devx_query_tis(struct devx_cmd *c);

#endif
