/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pacing rates and scheduling elements.
 */
#ifndef MLX5_DV_SCHED_H
#define MLX5_DV_SCHED_H

#include "mlx5/objects.h"

/* The QP is destroyed: its leaves have one child less. */
void mlx5_sched_leave(struct mlx5_qp *qp);
/* Rate and burst of an entry of the pacing table; false when there is no such entry. */
bool mlx5_rate_find(const struct hca_adapter *adapter, uint32_t index, uint32_t *kbps,
		    uint32_t *burst);

#endif
