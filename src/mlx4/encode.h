/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Send WQEs as the driver writes them.
 */
#ifndef MLX4_ENCODE_H
#define MLX4_ENCODE_H

#include "mlx4/objects.h"

/*
 * Writes the request into the slot of index sq.head, but for the owner bit. 0 and the control
 * segment's first word without the owner bit, or -errno, the slot then being free as before. The
 * caller holds the QP's lock.
 */
int mlx4_sq_encode(struct mlx4_qp *qp, const struct ibv_send_wr *wr, uint32_t *first);
/* Makes every slot free, as on creation. */
void mlx4_sq_stamp(struct mlx4_sq *sq);

#endif
