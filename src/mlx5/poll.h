/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ibv_poll_cq().
 */
#ifndef MLX5_POLL_H
#define MLX5_POLL_H

#include "mlx5/public.h"

int mlx5_poll_cq(struct ibv_cq *cq, int count, struct ibv_wc *wc);

#endif
