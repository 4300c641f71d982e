/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ibv_post_send() and ibv_bind_mw().
 */
#ifndef MLX5_SEND_H
#define MLX5_SEND_H

#include "mlx5/public.h"

#define MLX5_OPCODES 16 /* bits of mlx5_sq.refused */

/* The WQE's opcode for each ibv_wr_opcode. */
extern const uint8_t mlx5_wr_opcodes[MLX5_OPCODES];

int mlx5_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
int mlx5_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind);

#endif
