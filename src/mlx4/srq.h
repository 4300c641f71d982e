/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared receive queues.
 */
#ifndef MLX4_SRQ_H
#define MLX4_SRQ_H

#include "mlx4/objects.h"

int mlx4_create_srq(struct vb_context *ctx, struct ibv_srq_init_attr_ex *attr, struct vb_srq **out);
int mlx4_destroy_srq(struct vb_srq *srq);

#endif
