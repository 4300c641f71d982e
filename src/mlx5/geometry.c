/* SPDX-License-Identifier: BSD-2-Clause */
#include "mlx5/geometry.h"

#include <errno.h>

#include "driver/ring.h"
#include "util/api.h"
#include "util/explain.h"

#define SIZE_SEND   ((uint32_t)sizeof(struct mlx5_wqe_ctrl_seg))
#define SIZE_RDMA   (SIZE_SEND + (uint32_t)sizeof(struct mlx5_wqe_raddr_seg))
#define SIZE_ATOMIC (SIZE_RDMA + (uint32_t)sizeof(struct mlx5_wqe_atomic_seg))
#define SIZE_UMR    ((uint32_t)sizeof(struct mlx5_bind_wqe))

#define INLINE_HEAD ((uint32_t)sizeof(struct mlx5_wqe_inl_data_seg))

/* max_inline of the adapter models: the rest of the longest WQE, behind the longest operation. */
#define FULL_INLINE (MLX5_SQ_ENTRY_MAX - SIZE_UMR - INLINE_HEAD)

#define OPS_RDMA                                                                                   \
	(IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ)
#define OPS_ATOMIC (IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)
#define OPS_PLACE  (IBV_QP_EX_WITH_FLUSH | IBV_QP_EX_WITH_ATOMIC_WRITE)
#define OPS_UMR    (IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_LOCAL_INV)
#define EXTRA_UMR                                                                                  \
	(MLX5DV_QP_EX_WITH_MR_INTERLEAVED | MLX5DV_QP_EX_WITH_MR_LIST |                            \
	 MLX5DV_QP_EX_WITH_MKEY_CONFIGURE)

uint32_t mlx5_operation_size(enum ibv_wr_opcode opcode)
{
	switch (opcode) {
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
	case IBV_WR_RDMA_READ:
		return SIZE_RDMA;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return SIZE_ATOMIC;
	case IBV_WR_BIND_MW:
	case IBV_WR_LOCAL_INV:
		return SIZE_UMR;
	default:
		return SIZE_SEND;
	}
}

/* Without send_ops_flags, room for every operation of the transport. */
static uint32_t operation_overhead(const struct ibv_qp_init_attr_ex *attr, uint64_t extra_ops)
{
	uint64_t ops = attr->send_ops_flags;

	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS))
		ops = attr->qp_type == IBV_QPT_UD || attr->qp_type == IBV_QPT_RAW_PACKET
			      ? IBV_QP_EX_WITH_SEND
			      : OPS_RDMA | OPS_ATOMIC | OPS_UMR;
	if (ops & OPS_UMR || extra_ops & EXTRA_UMR)
		return SIZE_UMR;
	if (ops & (OPS_ATOMIC | OPS_PLACE)) /* one segment more than a write has */
		return SIZE_ATOMIC;
	return ops & OPS_RDMA ? SIZE_RDMA : SIZE_SEND;
}

static uint32_t transport_overhead(enum ibv_qp_type type)
{
	switch (type) {
	case IBV_QPT_UD:
	case IBV_QPT_DRIVER:
		return sizeof(struct mlx5_wqe_datagram_seg);
	case IBV_QPT_XRC_SEND:
	case IBV_QPT_XRC_RECV:
		return sizeof(struct mlx5_wqe_xrc_seg);
	case IBV_QPT_RAW_PACKET:
		return sizeof(struct mlx5_wqe_eth_seg);
	default:
		return 0;
	}
}

static int compute_sq(const struct ibv_qp_init_attr_ex *attr, uint64_t extra_ops,
		      const struct hca_limits *limits, struct mlx5_geometry *out)
{
	const struct ibv_qp_cap *cap = &attr->cap;
	uint32_t fixed, size, with_inline = 0, most;
	uint64_t bytes;

	out->overhead = operation_overhead(attr, extra_ops) + transport_overhead(attr->qp_type);
	if (cap->max_inline_data > MLX5_SQ_ENTRY_MAX)
		return explain(EINVAL, "max_inline_data %u does not fit into a WQE of %u bytes",
			       cap->max_inline_data, MLX5_SQ_ENTRY_MAX);
	if (cap->max_inline_data)
		with_inline =
			out->overhead + drv_align_up(INLINE_HEAD + cap->max_inline_data, MLX5_DS);
	fixed = out->overhead;
	if (attr->comp_mask & IBV_QP_INIT_ATTR_MAX_TSO_HEADER)
		fixed += drv_align_up(attr->max_tso_header, MLX5_DS);
	most = fixed < MLX5_SQ_ENTRY_MAX ? (MLX5_SQ_ENTRY_MAX - fixed) / MLX5_DS : 0;
	if (cap->max_send_sge > most)
		return explain(EINVAL, "max_send_sge %u is more than the %u that fit into an entry",
			       cap->max_send_sge, most);
	size = fixed + cap->max_send_sge * MLX5_DS;
	if (size < with_inline)
		size = with_inline;
	if (size > MLX5_SQ_ENTRY_MAX)
		return explain(EINVAL,
			       "max_inline_data %u needs an entry of %u bytes; the longest has %u, "
			       "which is %u bytes of data for this type and its operations",
			       cap->max_inline_data, size, MLX5_SQ_ENTRY_MAX,
			       MLX5_SQ_ENTRY_MAX - out->overhead - INLINE_HEAD);
	out->entry_size = drv_align_up(size, MLX5_BLOCK_SIZE);
	out->max_inline = 0;
	if (out->entry_size > out->overhead + INLINE_HEAD)
		out->max_inline = out->entry_size - out->overhead - INLINE_HEAD;
	if (limits->max_inline < FULL_INLINE && out->max_inline > limits->max_inline)
		out->max_inline = limits->max_inline;
	if (cap->max_inline_data > out->max_inline)
		return explain(EINVAL, "max_inline_data %u is more than the configured %llu",
			       cap->max_inline_data, (unsigned long long)limits->max_inline);

	bytes = (uint64_t)cap->max_send_wr * out->entry_size;
	if (cap->max_send_wr > limits->max_qp_wr)
		return explain(EINVAL, "max_send_wr %u is more than the %llu of this adapter",
			       cap->max_send_wr, (unsigned long long)limits->max_qp_wr);
	if (bytes > MLX5_SQ_BLOCKS_MAX * MLX5_BLOCK_SIZE)
		return explain(EINVAL,
			       "max_send_wr %u times %u blocks of 64 bytes is more than the %u "
			       "blocks of a send queue",
			       cap->max_send_wr, out->entry_size / MLX5_BLOCK_SIZE,
			       MLX5_SQ_BLOCKS_MAX);
	bytes = drv_pow2_up(bytes);
	out->blocks = bytes / MLX5_BLOCK_SIZE;
	out->max_post = bytes / out->entry_size;
	return 0;
}

static int compute_rq(const struct ibv_qp_cap *cap, const struct hca_limits *limits,
		      struct mlx5_geometry *out)
{
	uint32_t size, entries;

	if (cap->max_recv_wr > limits->max_qp_wr)
		return explain(EINVAL, "max_recv_wr %u is more than the %llu of this adapter",
			       cap->max_recv_wr, (unsigned long long)limits->max_qp_wr);
	if (cap->max_recv_sge > MLX5_RQ_ENTRY_MAX / MLX5_DS)
		return explain(EINVAL, "max_recv_sge %u is more than the %u of a receive entry",
			       cap->max_recv_sge, MLX5_RQ_ENTRY_MAX / MLX5_DS);
	size = drv_pow2_up((cap->max_recv_sge ? cap->max_recv_sge : 1) * MLX5_DS);
	entries = drv_pow2_up(cap->max_recv_wr);
	if (entries * size < MLX5_BLOCK_SIZE)
		entries = MLX5_BLOCK_SIZE / size;
	out->rq_size = entries;
	out->rq_shift = __builtin_ctz(size);
	out->rq_max_sge = size / MLX5_DS;
	return 0;
}

int mlx5_geometry_compute(const struct ibv_qp_init_attr_ex *attr, uint64_t extra_ops,
			  const struct hca_limits *limits, struct mlx5_geometry *out)
{
	int err;

	*out = (struct mlx5_geometry){ 0 };
	if (attr->cap.max_send_wr) {
		err = compute_sq(attr, extra_ops, limits, out);
		if (err)
			return err;
	}
	if (attr->cap.max_recv_wr && !attr->srq) {
		err = compute_rq(&attr->cap, limits, out);
		if (err)
			return err;
	}
	out->sq_offset = (size_t)out->rq_size << out->rq_shift;
	out->bytes = out->sq_offset + (size_t)out->blocks * MLX5_BLOCK_SIZE;
	return 0;
}
