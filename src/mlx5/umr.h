/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * WQEs that change memory keys (UMR): binding and unbinding of memory windows.
 */
#ifndef MLX5_UMR_H
#define MLX5_UMR_H

#include "mlx5/objects.h"

/*
 * Segments that give a window a key, behind the control segment at ctrl: `info` with a length
 * binds, without one unbinds. 0 and the WQE's whole length in *ds, or a positive errno.
 */
int mlx5_put_bind(struct mlx5_qp *qp, struct mlx5_wqe_ctrl_seg *ctrl, bool type2, uint32_t new_key,
		  const struct ibv_mw_bind_info *info, uint32_t *ds);
/* IBV_ACCESS_* as a mkey context has them. */
uint8_t mlx5_access_flags(unsigned int access);

#endif
