/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queue pairs: creation, destruction, reset.
 */
#ifndef MLX4_QP_H
#define MLX4_QP_H

#include "mlx4/objects.h"

/* driver_attr: struct mlx4dv_qp_init_attr of mlx4dv_create_qp(), or NULL. */
int mlx4_create_qp(struct vb_context *ctx, struct ibv_qp_init_attr_ex *attr, void *driver_attr,
		   struct vb_qp **out);
int mlx4_destroy_qp(struct vb_qp *qp);
int mlx4_open_qp(struct vb_context *ctx, struct hca_qp *hca, struct vb_qp **out);
void mlx4_reset_qp(struct vb_qp *qp);

/* By the QP's port; a work queue is always on Ethernet. */
bool mlx4_qp_is_ethernet(const struct mlx4_qp *qp);

/* Whether the QP's link is Ethernet. NULL: an XRC target, possibly another process's. */
static inline bool mlx4_is_ethernet(const struct mlx4_context *ctx, const struct mlx4_qp *qp)
{
	return likely(!ctx->mixed || !qp) ? ctx->ethernet : mlx4_qp_is_ethernet(qp);
}

#endif
