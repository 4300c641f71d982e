/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The caller (post.c) holds the QP's lock, and hands the WQE over by its owner bit afterwards:
 * nothing here needs an order.
 */
#include "mlx4/encode.h"

#include <errno.h>
#include <string.h>

#include "util/explain.h"

enum kind {
	KIND_SEND,
	KIND_RDMA,
	KIND_ATOMIC,
	KIND_BIND,
	KIND_INVAL,
};

/* The adapter refuses operations that the QP's type does not have, and answers to be written inline. */
static const struct {
	uint8_t opcode;
	uint8_t kind;
	bool imm;
	bool may_inline;
} requests[] = {
	[IBV_WR_RDMA_WRITE] = { MLX4_OPCODE_RDMA_WRITE, KIND_RDMA, false, true },
	[IBV_WR_RDMA_WRITE_WITH_IMM] = { MLX4_OPCODE_RDMA_WRITE_IMM, KIND_RDMA, true, true },
	[IBV_WR_SEND] = { MLX4_OPCODE_SEND, KIND_SEND, false, true },
	[IBV_WR_SEND_WITH_IMM] = { MLX4_OPCODE_SEND_IMM, KIND_SEND, true, true },
	[IBV_WR_RDMA_READ] = { MLX4_OPCODE_RDMA_READ, KIND_RDMA, false, false },
	[IBV_WR_ATOMIC_CMP_AND_SWP] = { MLX4_OPCODE_ATOMIC_CS, KIND_ATOMIC, false, false },
	[IBV_WR_ATOMIC_FETCH_AND_ADD] = { MLX4_OPCODE_ATOMIC_FA, KIND_ATOMIC, false, false },
	[IBV_WR_LOCAL_INV] = { MLX4_OPCODE_LOCAL_INVAL, KIND_INVAL, false, false },
	[IBV_WR_BIND_MW] = { MLX4_OPCODE_BIND_MW, KIND_BIND, false, false },
	[IBV_WR_SEND_WITH_INV] = { MLX4_OPCODE_SEND_INVAL, KIND_SEND, false, true },
};

void mlx4_sq_stamp(struct mlx4_sq *sq)
{
	uint32_t bytes = 1u << sq->shift;

	for (uint32_t i = 0; i <= sq->mask; i++) {
		uint8_t *slot = sq->buf + ((size_t)i << sq->shift);
		struct mlx4_wqe_ctrl_seg *ctrl = (void *)slot;

		__atomic_store_n(&ctrl->owner_opcode, htobe32(MLX4_OWNER), __ATOMIC_RELAXED);
		ctrl->fence_size = bytes / MLX4_DS;
		for (uint32_t at = MLX4_INLINE_ALIGN; at < bytes; at += MLX4_INLINE_ALIGN)
			*(uint32_t *)(slot + at) = MLX4_STAMP;
	}
}

static uint8_t *put_raddr(uint8_t *at, uint64_t raddr, uint32_t rkey)
{
	struct mlx4_wqe_raddr_seg *seg = (void *)at;

	seg->raddr = htobe64(raddr);
	seg->rkey = htobe32(rkey);
	seg->reserved = 0;
	return at + sizeof(*seg);
}

static uint8_t *put_atomic(uint8_t *at, const struct ibv_send_wr *wr)
{
	struct mlx4_wqe_atomic_seg *seg;

	at = put_raddr(at, wr->wr.atomic.remote_addr, wr->wr.atomic.rkey);
	seg = (void *)at;
	if (wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP) {
		seg->swap_add = htobe64(wr->wr.atomic.swap);
		seg->compare = htobe64(wr->wr.atomic.compare_add);
	} else {
		seg->swap_add = htobe64(wr->wr.atomic.compare_add);
		seg->compare = 0;
	}
	return at + sizeof(*seg);
}

static uint8_t *put_bind(uint8_t *at, const struct ibv_send_wr *wr)
{
	const struct ibv_mw_bind_info *info = &wr->bind_mw.bind_info;
	struct mlx4_wqe_bind_seg *seg = (void *)at;
	uint32_t flags1 = 0, flags2 = 0;

	if (info->mw_access_flags & IBV_ACCESS_REMOTE_ATOMIC)
		flags1 |= MLX4_WQE_MW_ATOMIC;
	if (info->mw_access_flags & IBV_ACCESS_REMOTE_WRITE)
		flags1 |= MLX4_WQE_MW_REMOTE_WRITE;
	if (info->mw_access_flags & IBV_ACCESS_REMOTE_READ)
		flags1 |= MLX4_WQE_MW_REMOTE_READ;
	if (info->mw_access_flags & IBV_ACCESS_ZERO_BASED)
		flags2 |= MLX4_WQE_BIND_ZERO_BASED;
	if (wr->bind_mw.mw->type == IBV_MW_TYPE_2)
		flags2 |= MLX4_WQE_BIND_TYPE_2;
	seg->flags1 = htobe32(flags1);
	seg->flags2 = htobe32(flags2);
	seg->new_rkey = htobe32(wr->bind_mw.rkey);
	/* A bind of length 0 unbinds the window; it needs no region. */
	seg->lkey = htobe32(info->mr ? info->mr->lkey : 0);
	seg->addr = htobe64(info->addr);
	seg->length = htobe64(info->length);
	return at + sizeof(*seg);
}

static uint8_t *put_inval(uint8_t *at, uint32_t key)
{
	struct mlx4_wqe_local_inval_seg *seg = (void *)at;

	memset(seg, 0, sizeof(*seg));
	seg->mem_key = htobe32(key);
	return at + sizeof(*seg);
}

static uint8_t *put_datagram(uint8_t *at, const struct ibv_send_wr *wr)
{
	struct mlx4_wqe_datagram_seg *seg = (void *)at;

	memcpy(seg, to_ah(wr->wr.ud.ah)->driver, sizeof(*seg));
	seg->dqpn = htobe32(wr->wr.ud.remote_qpn);
	seg->qkey = htobe32(wr->wr.ud.remote_qkey);
	return at + sizeof(*seg);
}

/* NULL when an element is too long. */
static uint8_t *put_data(uint8_t *at, const struct ibv_send_wr *wr)
{
	struct mlx4_wqe_data_seg *seg = (void *)at;

	for (int i = 0; i < wr->num_sge; i++, seg++) {
		const struct ibv_sge *sge = &wr->sg_list[i];

		seg->addr = htobe64(sge->addr);
		seg->lkey = htobe32(sge->lkey);
		seg->byte_count = htobe32(sge->length);
		if (likely((int32_t)sge->length > 0))
			continue;
		/* A byte_count of 0 means DATA_SEG_MAX; an empty chunk means no data. */
		if (!sge->length)
			seg->byte_count = htobe32(MLX4_INLINE_SEG);
		else if (sge->length == MLX4_DATA_SEG_MAX)
			seg->byte_count = 0;
		else
			return NULL;
	}
	return (uint8_t *)seg;
}

static uint8_t *close_chunk(uint8_t *head, uint32_t len)
{
	struct mlx4_wqe_inline_seg *seg = (void *)head;

	seg->byte_count = htobe32(MLX4_INLINE_SEG | len);
	return head + sizeof(*seg) + len;
}

static uint32_t chunk_room(const uint8_t *head)
{
	return MLX4_INLINE_ALIGN - ((uintptr_t)head & (MLX4_INLINE_ALIGN - 1)) -
	       sizeof(struct mlx4_wqe_inline_seg);
}

/* Inline chunks between multiples of 64 bytes, each filled before the next one starts. */
static uint8_t *put_inline(uint8_t *head, const struct ibv_send_wr *wr)
{
	uint32_t room = chunk_room(head), len = 0;

	for (int i = 0; i < wr->num_sge; i++) {
		const uint8_t *from = (const uint8_t *)(uintptr_t)wr->sg_list[i].addr;
		uint32_t left = wr->sg_list[i].length;

		while (left) {
			uint32_t n = left < room - len ? left : room - len;

			memcpy(head + sizeof(struct mlx4_wqe_inline_seg) + len, from, n);
			from += n;
			left -= n;
			len += n;
			if (len == room) {
				head = close_chunk(head, len);
				room = chunk_room(head);
				len = 0;
			}
		}
	}
	return len ? close_chunk(head, len) : head;
}

/* Inline data where it cannot be: a chunk of one unit, of which the adapter reads the length. */
static uint8_t *put_refused_inline(uint8_t *head, const struct ibv_send_wr *wr)
{
	for (int i = 0; i < wr->num_sge; i++)
		if (wr->sg_list[i].length)
			return close_chunk(head, 1);
	return head;
}

static int check_inline(const struct mlx4_qp *qp, const struct ibv_send_wr *wr)
{
	uint64_t total = 0;

	for (int i = 0; i < wr->num_sge; i++)
		total += wr->sg_list[i].length;
	if (unlikely(total > qp->sq.max_inline))
		return explain(ENOMEM,
			       "QP 0x%06x: %llu bytes of inline data; the QP was created for %u",
			       qp->base.qpn, (unsigned long long)total, qp->sq.max_inline);
	return 0;
}

static int check(const struct mlx4_qp *qp, const struct ibv_send_wr *wr)
{
	if (unlikely(wr->opcode >= array_size(requests)))
		return explain(EINVAL, "QP 0x%06x: opcode %d; this adapter has 0 to %zu",
			       qp->base.qpn, wr->opcode, array_size(requests) - 1);
	if (unlikely((uint32_t)wr->num_sge > qp->sq.max_sge))
		return explain(ENOMEM, "QP 0x%06x: %d gather elements; the QP was created for %u",
			       qp->base.qpn, wr->num_sge, qp->sq.max_sge);
	if (unlikely(wr->send_flags & IBV_SEND_IP_CSUM && qp->base.type == HCA_QP_UD))
		return explain(EINVAL,
			       "QP 0x%06x: IBV_SEND_IP_CSUM; this adapter computes no checksums of "
			       "datagrams",
			       qp->base.qpn);
	if (unlikely(qp->base.type == HCA_QP_UD && !wr->wr.ud.ah))
		return explain(EINVAL, "QP 0x%06x: a datagram without address handle",
			       qp->base.qpn);
	if (wr->send_flags & IBV_SEND_INLINE)
		return check_inline(qp, wr);
	return 0;
}

/* An atomic has one data segment for the result, even if the slot has room for more. */
static int check_atomic(const struct mlx4_qp *qp, const struct ibv_send_wr *wr)
{
	uint32_t room = (1u << qp->sq.shift) - sizeof(struct mlx4_wqe_ctrl_seg) -
			sizeof(struct mlx4_wqe_raddr_seg) - sizeof(struct mlx4_wqe_atomic_seg);

	if (likely((uint32_t)wr->num_sge <= room / sizeof(struct mlx4_wqe_data_seg)))
		return 0;
	return explain(ENOMEM, "QP 0x%06x: %d elements for the answer of an atomic; one is enough",
		       qp->base.qpn, wr->num_sge);
}

/*
 * The frame's destination MAC is repeated in the control segment: without it, the frame does not
 * loop back to receivers on the same port. Returns the upper half of srcrb_flags.
 */
static uint32_t put_destination(const struct ibv_send_wr *wr, __be32 *imm)
{
	const uint8_t *mac;

	if (!wr->num_sge || wr->sg_list[0].length < 6)
		return 0;
	mac = (const uint8_t *)(uintptr_t)wr->sg_list[0].addr;
	memcpy(imm, mac + 2, sizeof(*imm));
	return (uint32_t)mac[0] << 24 | (uint32_t)mac[1] << 16;
}

/* Queue pairs of other types have the segments of a send, whatever the operation. */
static bool is_connected(const struct mlx4_qp *qp)
{
	return qp->base.type != HCA_QP_UD && qp->base.type != HCA_QP_RAW;
}

int mlx4_sq_encode(struct mlx4_qp *qp, const struct ibv_send_wr *wr, uint32_t *first)
{
	uint8_t *slot = qp->sq.buf + ((size_t)(qp->sq.head & qp->sq.mask) << qp->sq.shift), *at;
	uint32_t flags = qp->sq.signal_bits, size;
	struct mlx4_wqe_ctrl_seg *ctrl = (void *)slot;
	int err = check(qp, wr);

	if (unlikely(err))
		return err;
	if (wr->send_flags & IBV_SEND_SIGNALED)
		flags |= MLX4_WQE_CTRL_CQ_UPDATE;
	if (wr->send_flags & IBV_SEND_SOLICITED)
		flags |= MLX4_WQE_CTRL_SOLICIT;
	if (qp->base.type == HCA_QP_XRC_SEND)
		flags |= wr->qp_type.xrc.remote_srqn << 8;
	ctrl->imm = requests[wr->opcode].imm ? wr->imm_data : 0;
	at = slot + sizeof(*ctrl);
	if (qp->base.type == HCA_QP_UD)
		at = put_datagram(at, wr);
	else if (qp->base.type == HCA_QP_RAW)
		flags |= put_destination(wr, &ctrl->imm) |
			 (wr->send_flags & IBV_SEND_IP_CSUM
				  ? MLX4_WQE_CTRL_IP_HDR_CSUM | MLX4_WQE_CTRL_TCP_UDP_CSUM
				  : 0);

	switch (is_connected(qp) ? requests[wr->opcode].kind : KIND_SEND) {
	case KIND_SEND:
		if (unlikely(wr->opcode == IBV_WR_SEND_WITH_INV))
			ctrl->imm = htobe32(wr->invalidate_rkey);
		break;
	case KIND_RDMA:
		at = put_raddr(at, wr->wr.rdma.remote_addr, wr->wr.rdma.rkey);
		break;
	case KIND_ATOMIC:
		err = check_atomic(qp, wr);
		if (unlikely(err))
			return err;
		at = put_atomic(at, wr);
		break;
	case KIND_BIND:
		flags |= MLX4_WQE_CTRL_STRONG_ORDER;
		at = put_bind(at, wr);
		goto done;
	case KIND_INVAL:
		flags |= MLX4_WQE_CTRL_STRONG_ORDER;
		at = put_inval(at, wr->invalidate_rkey);
		goto done;
	}
	if (likely(!(wr->send_flags & IBV_SEND_INLINE)))
		at = put_data(at, wr);
	else
		at = likely(requests[wr->opcode].may_inline) ? put_inline(at, wr)
							     : put_refused_inline(at, wr);
	if (unlikely(!at))
		return explain(EINVAL, "QP 0x%06x: an element is longer than %u bytes",
			       qp->base.qpn, MLX4_DATA_SEG_MAX);
done:
	ctrl->srcrb_flags = htobe32(flags);
	size = (uint32_t)(at - slot + MLX4_DS - 1) / MLX4_DS;
	ctrl->bf_qpn = htobe32((wr->send_flags & IBV_SEND_FENCE ? MLX4_WQE_CTRL_FENCE : 0) | size);
	*first = requests[wr->opcode].opcode;
	return 0;
}
