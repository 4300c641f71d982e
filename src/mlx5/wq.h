/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Work queues, striding ones too.
 */
#ifndef MLX5_WQ_H
#define MLX5_WQ_H

#include "mlx5/objects.h"

#define MLX5_STRIDE_LOG_LEAST  6
#define MLX5_STRIDE_LOG_MOST   13
#define MLX5_STRIDES_LOG_LEAST 3
#define MLX5_STRIDES_LOG_MOST  16

/* The work queue of the context with this number, or NULL. */
struct hca_wq *mlx5_wq_find(struct mlx5_context *ctx, uint32_t number);
/* driver_attr: struct mlx5dv_striding_rq_init_attr of mlx5dv_create_wq(), or NULL. */
int mlx5_create_wq(struct vb_context *ctx, struct ibv_wq_init_attr *attr, const void *driver_attr,
		   struct vb_wq **out);
int mlx5_destroy_wq(struct vb_wq *wq);
void mlx5_reset_wq(struct vb_wq *wq);

#endif
