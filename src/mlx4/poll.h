/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ibv_poll_cq().
 */
#ifndef MLX4_POLL_H
#define MLX4_POLL_H

#include "mlx4/public.h"

int mlx4_poll_cq(struct ibv_cq *cq, int count, struct ibv_wc *wc);

#endif
