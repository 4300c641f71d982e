/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sizes of WQEs and rings for the capacities that a program asks for. The rings are exactly those
 * of libmlx4: programs that write them themselves size their own tables by them. So are the granted
 * capacities, except that nothing is granted that a WQE cannot express.
 */
#ifndef MLX4_GEOMETRY_H
#define MLX4_GEOMETRY_H

#include "hca/device/model.h"
#include "mlx4/wqe.h"

struct mlx4_geometry {
	/* send queue */
	uint32_t sq_size; /* slots; a power of two, or 0 */
	uint8_t sq_shift;
	uint32_t spare; /* slots that stay free, for a ConnectX-3's prefetching */
	uint32_t max_post;
	uint32_t max_send_sge;
	uint32_t max_inline;
	/* receive queue */
	uint32_t rq_size; /* entries; a power of two, or 0 */
	uint8_t rq_shift;
	uint32_t max_recv_sge;
	/* the buffer: the queue with longer WQEs first */
	size_t sq_offset, rq_offset;
	size_t bytes;
};

/*
 * inline_recv: bytes of inline data in a receive WQE; 0: none asked for. 0, or -EINVAL with the
 * reason explained.
 */
int mlx4_geometry_compute(const struct ibv_qp_init_attr_ex *attr, uint32_t inline_recv,
			  const struct hca_limits *limits, struct mlx4_geometry *out);

/* log2 of the bytes of a WQE in an SRQ. */
uint8_t mlx4_srq_shift(uint32_t max_sge);

#endif
