/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ibv_wr_*(): chains of requests, built call by call.
 */
#ifndef MLX5_WR_H
#define MLX5_WR_H

#include "mlx5/objects.h"

/*
 * Fills the ibv_wr_*() functions. send_ops: bits of ibv_qp_create_send_ops_flags; extra_ops: bits of
 * mlx5dv_qp_create_send_ops_flags.
 */
int mlx5_qp_fill_ex(struct mlx5_qp *qp, uint64_t send_ops, uint64_t extra_ops);

#endif
