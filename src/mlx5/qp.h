/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queue pairs: creation, destruction, reset.
 */
#ifndef MLX5_QP_H
#define MLX5_QP_H

#include "mlx5/objects.h"

static inline bool mlx5_is_dct(const struct mlx5dv_qp_init_attr *attr)
{
	return attr->comp_mask & MLX5DV_QP_INIT_ATTR_MASK_DC &&
	       attr->dc_init_attr.dc_type == MLX5DV_DCTYPE_DCT;
}

/* The most receives of a QP whose packets may arrive in any order; 0: not for this type. */
uint32_t mlx5_out_of_order_most(const struct hca_adapter *adapter, enum ibv_qp_type type);

/* driver_attr: struct mlx5dv_qp_init_attr of mlx5dv_create_qp(), or NULL. */
int mlx5_check_driver_qp(const void *driver_attr);
int mlx5_create_qp(struct vb_context *ctx, struct ibv_qp_init_attr_ex *attr, void *driver_attr,
		   struct vb_qp **out);
int mlx5_destroy_qp(struct vb_qp *qp);
int mlx5_open_qp(struct vb_context *ctx, struct hca_qp *hca, struct vb_qp **out);
void mlx5_reset_qp(struct vb_qp *qp);

#endif
