/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mlx5dv_wr_*(): operations and setters of direct verbs.
 */
#ifndef MLX5_WR_DV_H
#define MLX5_WR_DV_H

#include "mlx5/objects.h"

/* Fills the functions of mlx5dv_qp_ex. ops: bits of mlx5dv_qp_create_send_ops_flags. */
int mlx5_qp_fill_dv(struct mlx5_qp *qp, uint64_t ops);

#endif
