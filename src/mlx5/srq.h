/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared receive queues.
 */
#ifndef MLX5_SRQ_H
#define MLX5_SRQ_H

#include "mlx5/objects.h"

int mlx5_create_srq(struct vb_context *ctx, struct ibv_srq_init_attr_ex *attr, struct vb_srq **out);
int mlx5_destroy_srq(struct vb_srq *srq);
int mlx5_get_srq_num(struct ibv_srq *srq, uint32_t *number);

#endif
