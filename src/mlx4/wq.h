/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Work queues.
 */
#ifndef MLX4_WQ_H
#define MLX4_WQ_H

#include "mlx4/objects.h"

#define MLX4_LOG_IND_TABLE 7

int mlx4_create_wq(struct vb_context *ctx, struct ibv_wq_init_attr *attr, const void *driver_attr,
		   struct vb_wq **out);
int mlx4_destroy_wq(struct vb_wq *wq);
void mlx4_reset_wq(struct vb_wq *wq);
/* Whether the adapter can hash these fields together: 0 or -EOPNOTSUPP. */
int mlx4_check_hash(const struct ibv_rx_hash_conf *conf);

#endif
