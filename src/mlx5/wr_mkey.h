/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MLX5_WR_MKEY_H
#define MLX5_WR_MKEY_H

#include "mlx5/public.h"

/* The operations of a QP that configures keys. */
void mlx5_wr_mkey_fill(struct mlx5dv_qp_ex *dv);

#endif
