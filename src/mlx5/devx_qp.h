/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queue pairs and multicast groups.
 */
#ifndef MLX5_DEVX_QP_H
#define MLX5_DEVX_QP_H

#include "mlx5/devx_types.h"

int devx_mcg_detach(struct mlx5dv_devx_obj *obj);

/* Commands. */
int devx_create_qp(struct devx_cmd *c);
int devx_modify_qp(struct devx_cmd *c);
int devx_query_qp(struct devx_cmd *c);
int devx_attach_mcg(struct devx_cmd *c);

#endif
