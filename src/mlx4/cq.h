/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completion queues: creation and resizing.
 */
#ifndef MLX4_CQ_H
#define MLX4_CQ_H

#include "mlx4/objects.h"

int mlx4_create_cq(struct vb_context *ctx, struct ibv_cq_init_attr_ex *attr,
		   const void *driver_attr, struct vb_cq **out);
int mlx4_resize_cq(struct vb_cq *cq, int entries);
int mlx4_destroy_cq(struct vb_cq *cq);

#endif
