/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The cursor of ibv_start_poll(), and the readers of completions.
 */
#ifndef MLX5_CQEX_H
#define MLX5_CQEX_H

#include "mlx5/objects.h"

/* Fills the functions of the ibv_cq_ex. wc_flags: IBV_WC_EX_WITH_*. */
void mlx5_cq_fill_ex(struct mlx5_cq *cq, uint64_t wc_flags);

#endif
