/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ibv_post_send() and ibv_bind_mw().
 */
#ifndef MLX4_POST_H
#define MLX4_POST_H

#include "mlx4/public.h"

int mlx4_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);
int mlx4_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind);

#endif
