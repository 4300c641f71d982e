/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How long entries and rings get for the capacities that a program asks for. The rings are those of
 * the real driver to the last byte: programs that write them themselves size their own tables by
 * them. The capacities are its, too, except that nothing is granted which an entry cannot express.
 */
#ifndef MLX4_GEOMETRY_H
#define MLX4_GEOMETRY_H

#include "hca/device/model.h"
#include "mlx4/wqe.h"

struct mlx4_geometry {
	/* send queue */
	uint32_t sq_size; /* slots; a power of two, or 0 */
	uint8_t sq_shift;
	uint32_t spare; /* slots that stay free, for the prefetcher of the real adapter */
	uint32_t max_post;
	uint32_t max_send_sge;
	uint32_t max_inline;
	/* receive queue */
	uint32_t rq_size; /* entries; a power of two, or 0 */
	uint8_t rq_shift;
	uint32_t max_recv_sge;
	/* the buffer: the queue of longer entries first */
	size_t sq_offset, rq_offset;
	size_t bytes;
};

/*
 * `inline_recv`: room for so many bytes in a receive entry, 0 for no wish. 0, or -EINVAL with the
 * reason explained.
 */
int mlx4_geometry_compute(const struct ibv_qp_init_attr_ex *attr, uint32_t inline_recv,
			  const struct hca_limits *limits, struct mlx4_geometry *out);

/* The same for shared receive queues: log2 of an entry's bytes. */
uint8_t mlx4_srq_shift(uint32_t max_sge);

#endif
