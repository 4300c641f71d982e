/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sizes of a QP's WQEs and rings for the capacities that a program asks for. The results are
 * exactly those of libmlx5: programs that write the rings themselves size their own tables by them.
 */
#ifndef MLX5_GEOMETRY_H
#define MLX5_GEOMETRY_H

#include "hca/device/model.h"
#include "mlx5/wqe.h"

struct mlx5_geometry {
	/* send queue */
	uint32_t overhead;   /* bytes of the longest operation, before its data */
	uint32_t entry_size; /* bytes reserved for each request */
	uint32_t blocks;     /* 64-byte blocks of the ring; a power of two, or 0 */
	uint32_t max_post;
	uint32_t max_inline;
	/* receive queue */
	uint32_t rq_size; /* entries; a power of two, or 0 */
	uint8_t rq_shift;
	uint32_t rq_max_sge;
	/* the buffer: receive queue first */
	size_t sq_offset;
	size_t bytes;
};

/*
 * `extra_ops`: bits of mlx5dv_qp_create_send_ops_flags. 0, or -EINVAL with the reason explained.
 */
int mlx5_geometry_compute(const struct ibv_qp_init_attr_ex *attr, uint64_t extra_ops,
			  const struct hca_limits *limits, struct mlx5_geometry *out);

/* Bytes before the data of a request of this opcode, without the transport's own segment. */
uint32_t mlx5_operation_size(enum ibv_wr_opcode opcode);

#endif
