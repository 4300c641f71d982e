/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completion queues: creation, timestamps, and the mapping that a program polls itself.
 */
#ifndef MLX5_CQ_H
#define MLX5_CQ_H

#include "mlx5/objects.h"

/* driver_attr: struct mlx5dv_cq_init_attr of mlx5dv_create_cq(), or NULL. */
int mlx5_create_cq(struct vb_context *ctx, struct ibv_cq_init_attr_ex *attr,
		   const void *driver_attr, struct vb_cq **out);
int mlx5_resize_cq(struct vb_cq *cq, int entries);
int mlx5_destroy_cq(struct vb_cq *cq);
/* From now on CQEs carry the adapter's clock. */
void mlx5_cq_stamp(struct mlx5_cq *cq);
/* Makes cq->alias where the kernel allows it; else the program polls the ring. */
void mlx5_cq_map_alias(struct mlx5_cq *cq);

#endif
