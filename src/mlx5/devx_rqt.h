/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RQ tables: indirection tables over receive queues.
 */
#ifndef MLX5_DEVX_RQT_H
#define MLX5_DEVX_RQT_H

#include "mlx5/devx_types.h"

/* The table is destroyed: its queues are no longer used by it. */
void devx_rqt_release(struct mlx5dv_devx_obj *obj);

/* Commands. */
int devx_create_rqt(struct devx_cmd *c);
int devx_modify_rqt(struct devx_cmd *c);
int devx_query_rqt(struct devx_cmd *c);

#endif
