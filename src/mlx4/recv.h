/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What entries of receive queues and of shared ones have in common.
 */
#ifndef MLX4_RECV_H
#define MLX4_RECV_H

#include "mlx4/mlx4.h"

/* The list of a receive, in room for max_sge; the caller has checked that it fits. */
static inline void mlx4_put_scatter(struct mlx4_wqe_data_seg *seg, const struct ibv_recv_wr *wr,
				    uint32_t max_sge)
{
	uint32_t used = 0;

	for (int i = 0; i < wr->num_sge; i++) {
		const struct ibv_sge *sge = &wr->sg_list[i];

		/* Length 0 in a ring means 2 GiB. */
		if (likely(sge->length))
			mlx4dv_set_data_seg(&seg[used++], sge->length, sge->lkey, sge->addr);
	}
	if (used < max_sge)
		mlx4dv_set_data_seg(&seg[used], 0, MLX4_INVALID_LKEY, 0);
}

#endif
