/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The scatter list of a receive, the same in every ring that has receives: those of queue pairs,
 * work queues and shared receive queues. The caller has checked num_sge and holds the ring's lock.
 */
#ifndef MLX5_RECV_H
#define MLX5_RECV_H

#include "mlx5/wqe.h"

static inline void mlx5_put_scatter(struct mlx5_wqe_data_seg *seg, const struct ibv_recv_wr *wr,
				    int max_sge)
{
	int used = 0;

	for (int i = 0; i < wr->num_sge; i++) {
		const struct ibv_sge *sge = &wr->sg_list[i];

		/* Length 0 in a ring means 2 GiB. */
		if (likely(sge->length))
			mlx5dv_set_data_seg(&seg[used++], sge->length & ~MLX5_DATA_SEG_MAX,
					    sge->lkey, sge->addr);
	}
	if (used < max_sge)
		mlx5dv_set_data_seg(&seg[used], 0, MLX5_INVALID_LKEY, 0);
}

#endif
