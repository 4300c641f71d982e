/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The cursor of ibv_start_poll(), and the readers of completions.
 */
#ifndef MLX4_CQEX_H
#define MLX4_CQEX_H

#include "mlx4/objects.h"

/* Fills the functions of the ibv_cq_ex. wc_flags: IBV_WC_EX_WITH_*. */
void mlx4_cq_fill_ex(struct mlx4_cq *cq, uint64_t wc_flags);

#endif
