/* SPDX-License-Identifier: BSD-2-Clause */
#include "mlx4/geometry.h"

#include <errno.h>

#include "driver/ring.h"
#include "util/api.h"
#include "util/explain.h"

#define CTRL  ((uint32_t)sizeof(struct mlx4_wqe_ctrl_seg))
#define DGRAM ((uint32_t)sizeof(struct mlx4_wqe_datagram_seg))
#define RADDR ((uint32_t)sizeof(struct mlx4_wqe_raddr_seg))
#define DATA  ((uint32_t)sizeof(struct mlx4_wqe_data_seg))
#define BIND  ((uint32_t)sizeof(struct mlx4_wqe_bind_seg))
/* An atomic has its operands and one data segment for the result. */
#define ATOMIC (RADDR + (uint32_t)sizeof(struct mlx4_wqe_atomic_seg) + DATA)

#define CHUNK_HEAD ((uint32_t)sizeof(struct mlx4_wqe_inline_seg))
#define CHUNK_DATA (MLX4_INLINE_ALIGN - CHUNK_HEAD)

/* Bytes that a ConnectX-3 prefetches, plus one slot. */
#define PREFETCH 2048u

/* libmlx4 refuses more. */
#define INLINE_ASKED_MAX 1024u

#define RQ_SHIFT_MIN 4

static uint8_t shift_for(uint32_t bytes, uint8_t least)
{
	uint8_t shift = least;

	while (1u << shift < bytes)
		shift++;
	return shift;
}

/* Bytes before the data of a send or RDMA operation. */
static uint32_t head_size(enum ibv_qp_type type)
{
	if (type == IBV_QPT_RAW_PACKET)
		return 0;
	return type == IBV_QPT_UD ? DGRAM : RADDR;
}

/*
 * Bytes of inline data with its chunk headers. The first chunk may start behind a control and an
 * address segment, so their bytes in its 64 count as data.
 */
static uint32_t inline_size(uint32_t data, enum ibv_qp_type type)
{
	uint32_t lead = (CTRL + (type == IBV_QPT_UD ? DGRAM : RADDR)) % MLX4_INLINE_ALIGN;
	uint32_t chunks = (data + lead + CHUNK_DATA - 1) / CHUNK_DATA;

	return drv_align_up(data + chunks * CHUNK_HEAD, DATA);
}

static uint32_t entry_size(const struct ibv_qp_cap *cap, enum ibv_qp_type type, uint32_t tso_header)
{
	uint32_t size = cap->max_send_sge * DATA;
	uint32_t with_inline = inline_size(cap->max_inline_data, type);

	if (size < with_inline)
		size = with_inline;
	size += head_size(type);
	if (type != IBV_QPT_UD && type != IBV_QPT_UC && type != IBV_QPT_RAW_PACKET && size < ATOMIC)
		size = ATOMIC;
	if (size < BIND)
		size = BIND;
	if (tso_header)
		size += drv_align_up(sizeof(struct mlx4_wqe_lso_seg) + tso_header, DATA);
	return size + CTRL;
}

/* Capacities that fit into a slot, mostly more than asked for. */
static void grant_sq(enum ibv_qp_type type, uint32_t most_inline, struct mlx4_geometry *out)
{
	uint32_t room = 1u << out->sq_shift, chunks;

	if (room > MLX4_SQ_ENTRY_MAX)
		room = MLX4_SQ_ENTRY_MAX;
	room -= CTRL + head_size(type);
	chunks = drv_align_up(room, MLX4_INLINE_ALIGN) / MLX4_INLINE_ALIGN;
	out->max_send_sge = room / DATA;
	out->max_inline = room - chunks * CHUNK_HEAD;
	if (out->max_inline > most_inline)
		out->max_inline = most_inline;
}

static int compute_sq(const struct ibv_qp_cap *cap, enum ibv_qp_type type, uint32_t tso_header,
		      const struct hca_limits *limits, struct mlx4_geometry *out)
{
	uint64_t most = limits->max_inline;

	if (most > INLINE_ASKED_MAX)
		most = INLINE_ASKED_MAX;
	if (cap->max_inline_data > most)
		return explain(EINVAL, "max_inline_data %u is more than the %llu of this adapter",
			       cap->max_inline_data, (unsigned long long)most);
	out->sq_shift = shift_for(entry_size(cap, type, tso_header), MLX4_SQ_SHIFT_MIN);
	if (out->sq_shift > MLX4_SQ_SHIFT_MAX)
		return explain(EINVAL,
			       "max_inline_data %u and max_send_sge %u need an entry of %u bytes; "
			       "the longest has %u",
			       cap->max_inline_data, cap->max_send_sge,
			       entry_size(cap, type, tso_header), MLX4_SQ_ENTRY_MAX);
	grant_sq(type, most, out);
	if (cap->max_inline_data > out->max_inline || cap->max_send_sge > out->max_send_sge)
		return explain(EINVAL,
			       "max_inline_data %u and max_send_sge %u; the longest entry takes %u "
			       "bytes or %u elements for this type",
			       cap->max_inline_data, cap->max_send_sge, out->max_inline,
			       out->max_send_sge);
	out->spare = (PREFETCH >> out->sq_shift) + 1;
	out->sq_size = drv_pow2_up(cap->max_send_wr + out->spare);
	out->max_post = out->sq_size - out->spare;
	return 0;
}

static int compute_rq(const struct ibv_qp_cap *cap, uint32_t inline_recv, struct mlx4_geometry *out)
{
	uint32_t bytes;

	if (inline_recv > MLX4_RQ_INLINE_MAX)
		return explain(EINVAL,
			       "inl_recv_sz %u is more than the %u bytes of a receive entry",
			       inline_recv, MLX4_RQ_INLINE_MAX);
	out->rq_size = drv_pow2_up(cap->max_recv_wr);
	out->max_recv_sge = drv_pow2_up(cap->max_recv_sge);
	bytes = out->max_recv_sge * DATA;
	out->rq_shift = shift_for(bytes > inline_recv ? bytes : inline_recv, RQ_SHIFT_MIN);
	return 0;
}

static int check_counts(const struct ibv_qp_cap *cap, const struct hca_limits *limits)
{
	if (cap->max_send_wr > limits->max_qp_wr || cap->max_recv_wr > limits->max_qp_wr)
		return explain(
			EINVAL, "max_send_wr %u, max_recv_wr %u; this adapter has up to %llu",
			cap->max_send_wr, cap->max_recv_wr, (unsigned long long)limits->max_qp_wr);
	if (cap->max_send_sge > limits->max_sge || cap->max_recv_sge > limits->max_sge ||
	    cap->max_recv_sge > MLX4_RQ_MAX_SGE)
		return explain(
			EINVAL, "max_send_sge %u, max_recv_sge %u; this adapter has up to %llu",
			cap->max_send_sge, cap->max_recv_sge, (unsigned long long)limits->max_sge);
	return 0;
}

int mlx4_geometry_compute(const struct ibv_qp_init_attr_ex *attr, uint32_t inline_recv,
			  const struct hca_limits *limits, struct mlx4_geometry *out)
{
	size_t sq_bytes, rq_bytes;
	int err;

	*out = (struct mlx4_geometry){ .rq_shift = RQ_SHIFT_MIN };
	err = check_counts(&attr->cap, limits);
	if (!err && attr->qp_type != IBV_QPT_XRC_RECV)
		err = compute_sq(&attr->cap, attr->qp_type,
				 attr->comp_mask & IBV_QP_INIT_ATTR_MAX_TSO_HEADER
					 ? attr->max_tso_header
					 : 0,
				 limits, out);
	if (!err && !attr->srq && attr->qp_type != IBV_QPT_XRC_SEND &&
	    attr->qp_type != IBV_QPT_XRC_RECV)
		err = compute_rq(&attr->cap, inline_recv, out);
	if (err)
		return err;
	sq_bytes = (size_t)out->sq_size << out->sq_shift;
	rq_bytes = (size_t)out->rq_size << out->rq_shift;
	if (out->rq_shift > out->sq_shift)
		out->sq_offset = rq_bytes;
	else
		out->rq_offset = sq_bytes;
	out->bytes = sq_bytes + rq_bytes;
	return 0;
}

uint8_t mlx4_srq_shift(uint32_t max_sge)
{
	return shift_for(sizeof(struct mlx4_wqe_srq_next_seg) + max_sge * DATA, 5);
}
