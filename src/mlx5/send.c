/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A request that cannot be posted ends the list; the requests before it are posted.
 */
#include "mlx5/send.h"

#include "mlx5/sq.h"
#include "mlx5/umr.h"

const uint8_t mlx5_wr_opcodes[MLX5_OPCODES] = {
	[IBV_WR_RDMA_WRITE] = MLX5_OPCODE_RDMA_WRITE,
	[IBV_WR_RDMA_WRITE_WITH_IMM] = MLX5_OPCODE_RDMA_WRITE_IMM,
	[IBV_WR_SEND] = MLX5_OPCODE_SEND,
	[IBV_WR_SEND_WITH_IMM] = MLX5_OPCODE_SEND_IMM,
	[IBV_WR_RDMA_READ] = MLX5_OPCODE_RDMA_READ,
	[IBV_WR_ATOMIC_CMP_AND_SWP] = MLX5_OPCODE_ATOMIC_CS,
	[IBV_WR_ATOMIC_FETCH_AND_ADD] = MLX5_OPCODE_ATOMIC_FA,
	[IBV_WR_LOCAL_INV] = MLX5_OPCODE_UMR,
	[IBV_WR_BIND_MW] = MLX5_OPCODE_UMR,
	[IBV_WR_SEND_WITH_INV] = MLX5_OPCODE_SEND_INVAL,
	[IBV_WR_TSO] = MLX5_OPCODE_TSO,
};

/* A WQE under construction. */
struct entry {
	struct mlx5_wqe_ctrl_seg *ctrl;
	uint8_t *seg;  /* next segment */
	uint32_t ds;   /* length so far, in 16-byte units */
	uint32_t imm;  /* as in the control segment */
	uint32_t skip; /* bytes of data that are in the Ethernet segment */
	uint8_t request;
	uint8_t fence_next;
};

static __attribute__((cold, noinline)) int refuse(const struct mlx5_qp *qp,
						  const struct ibv_send_wr *wr)
{
	const struct mlx5_sq *sq = &qp->sq;

	if ((unsigned int)wr->opcode >= MLX5_OPCODES || sq->refused >> wr->opcode & 1)
		return -explain(EINVAL,
				"QP 0x%06x: opcode %d is unknown, or is not among the operations "
				"that the QP was created for",
				qp->base.qpn, wr->opcode);
	if (mlx5_sq_full(sq, 0))
		return -explain(ENOMEM,
				"QP 0x%06x: the send queue is full with %u requests; poll "
				"completions of signaled ones to make room",
				qp->base.qpn, sq->max_post);
	return -explain(ENOMEM, "QP 0x%06x: %d elements in a request; the QP was created for %d",
			qp->base.qpn, wr->num_sge, sq->max_sge);
}

static __attribute__((cold, noinline)) int refuse_state(const struct mlx5_qp *qp)
{
	if (qp->base.type == HCA_QP_DCI)
		return -explain(
			EINVAL,
			"QP 0x%06x is a DC initiator: its requests have targets, which only "
			"ibv_wr_start() and mlx5dv_wr_set_dc_addr() can name",
			qp->base.qpn);
	return -explain(EINVAL, "QP 0x%06x is in state %d: sends may be posted from RTS (%d) on",
			qp->base.qpn, qp->base.vb.hca->state, HCA_QPS_RTS);
}

static void put_raddr(struct entry *e, uint64_t addr, uint32_t rkey)
{
	e->seg = mlx5_put_raddr(e->seg, addr, rkey);
	e->ds++;
}

static void put_atomic(struct entry *e, const struct ibv_send_wr *wr)
{
	put_raddr(e, wr->wr.atomic.remote_addr, wr->wr.atomic.rkey);
	e->seg = wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP
			 ? mlx5_put_atomic(e->seg, wr->wr.atomic.swap, wr->wr.atomic.compare_add)
			 : mlx5_put_atomic(e->seg, wr->wr.atomic.compare_add, 0);
	e->ds++;
}

static int put_key_change(struct mlx5_qp *qp, const struct ibv_send_wr *wr, struct entry *e)
{
	static const struct ibv_mw_bind_info none;

	e->fence_next = MLX5_WQE_CTRL_INITIATOR_SMALL_FENCE;
	if (wr->opcode == IBV_WR_LOCAL_INV) {
		e->imm = htobe32(wr->invalidate_rkey);
		e->request = IBV_WC_LOCAL_INV;
		return mlx5_put_bind(qp, e->ctrl, true, 0, &none, &e->ds);
	}
	e->imm = htobe32(wr->bind_mw.mw->rkey);
	e->request = IBV_WC_BIND_MW;
	return mlx5_put_bind(qp, e->ctrl, wr->bind_mw.mw->type == IBV_MW_TYPE_2, wr->bind_mw.rkey,
			     &wr->bind_mw.bind_info, &e->ds);
}

/* An operation that the transport lacks gets no segments: the adapter refuses it. */
static inline int put_operation(struct mlx5_qp *qp, const struct ibv_send_wr *wr, struct entry *e)
{
	switch (wr->opcode) {
	case IBV_WR_SEND_WITH_IMM:
		e->imm = wr->imm_data;
		return 0;
	case IBV_WR_SEND_WITH_INV:
		e->imm = htobe32(wr->invalidate_rkey);
		return 0;
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		e->imm = wr->imm_data;
		put_raddr(e, wr->wr.rdma.remote_addr, wr->wr.rdma.rkey);
		return 0;
	case IBV_WR_RDMA_WRITE:
		put_raddr(e, wr->wr.rdma.remote_addr, wr->wr.rdma.rkey);
		return 0;
	case IBV_WR_RDMA_READ:
		if (qp->base.type != HCA_QP_UC)
			put_raddr(e, wr->wr.rdma.remote_addr, wr->wr.rdma.rkey);
		return 0;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		if (qp->base.type != HCA_QP_UC)
			put_atomic(e, wr);
		return 0;
	case IBV_WR_BIND_MW:
	case IBV_WR_LOCAL_INV:
		return put_key_change(qp, wr, e);
	default:
		return 0;
	}
}

/* The Ethernet segment, with the bytes of the frame that the adapter wants inline. */
static int put_ethernet(struct mlx5_qp *qp, const struct ibv_send_wr *wr, struct entry *e)
{
	uint8_t checks = wr->send_flags & IBV_SEND_IP_CSUM ? MLX5_ETH_SUMS : 0;
	uint8_t *to = mlx5_put_ethernet(e->seg, checks, 0, qp->ctx->min_inline);
	uint32_t left = qp->ctx->min_inline;

	if (wr->opcode == IBV_WR_TSO) {
		int err = mlx5_check_tso(qp, wr->tso.hdr_sz);

		if (err)
			return err;
		mlx5_put_ethernet(e->seg, checks, wr->tso.mss, wr->tso.hdr_sz);
		mlx5_put_bytes(&qp->sq, to, wr->tso.hdr, wr->tso.hdr_sz);
		e->ds += mlx5_ethernet_ds(wr->tso.hdr_sz);
		e->seg = mlx5_sq_skip(&qp->sq, e->seg, mlx5_ethernet_ds(wr->tso.hdr_sz));
		return 0;
	}
	for (int i = 0; i < wr->num_sge && left; i++) {
		uint32_t n = wr->sg_list[i].length < left ? wr->sg_list[i].length : left;

		memcpy(to, (const void *)(uintptr_t)wr->sg_list[i].addr, n);
		to += n;
		left -= n;
	}
	if (left || !wr->num_sge)
		return -explain(EINVAL, "QP 0x%06x: a frame needs at least its %u bytes of header",
				qp->base.qpn, qp->ctx->min_inline ? qp->ctx->min_inline : 14);
	e->skip = qp->ctx->min_inline;
	e->ds += mlx5_ethernet_ds(e->skip);
	e->seg = mlx5_sq_skip(&qp->sq, e->seg, mlx5_ethernet_ds(e->skip));
	return 0;
}

static inline int put_heads(struct mlx5_qp *qp, const struct ibv_send_wr *wr, struct entry *e)
{
	int err;

	switch (qp->base.type) {
	case HCA_QP_UD:
		if (unlikely(!wr->wr.ud.ah))
			return -explain(EINVAL, "QP 0x%06x: a datagram without address handle",
					qp->base.qpn);
		e->seg = mlx5_put_address(e->seg, to_ah(wr->wr.ud.ah), wr->wr.ud.remote_qpn,
					  wr->wr.ud.remote_qkey);
		e->ds += sizeof(struct mlx5_wqe_datagram_seg) / MLX5_DS;
		if (wr->opcode == IBV_WR_SEND_WITH_IMM)
			e->imm = wr->imm_data;
		break;
	case HCA_QP_RAW:
		return put_ethernet(qp, wr, e);
	case HCA_QP_XRC_SEND:
		if (likely(mlx5_wr_opcodes[wr->opcode] != MLX5_OPCODE_UMR)) {
			e->seg = mlx5_put_xrc(e->seg, wr->qp_type.xrc.remote_srqn);
			e->ds++;
		}
		/* fallthrough */
	default:
		err = put_operation(qp, wr, e);
		if (unlikely(err))
			return err;
		break;
	}
	e->seg = mlx5_sq_wrap(&qp->sq, e->seg);
	return 0;
}

static __attribute__((cold, noinline)) int refuse_inline(const struct mlx5_qp *qp, uint64_t length)
{
	return -explain(ENOMEM, "QP 0x%06x: %llu bytes of inline data; the QP was granted %u",
			qp->base.qpn, (unsigned long long)length, qp->sq.max_inline);
}

/* Leaves out the first `skip` bytes. */
static void skip_head(struct entry *e, struct ibv_sge *sge)
{
	uint32_t n = sge->length < e->skip ? sge->length : e->skip;

	sge->addr += n;
	sge->length -= n;
	e->skip -= n;
}

static int put_inline(struct mlx5_qp *qp, const struct ibv_send_wr *wr, struct entry *e)
{
	struct mlx5_wqe_inl_data_seg *head = (void *)e->seg;
	uint8_t *to = (uint8_t *)(head + 1);
	uint64_t length = 0;

	for (int i = 0; i < wr->num_sge; i++) {
		struct ibv_sge sge = wr->sg_list[i];

		if (unlikely(e->skip))
			skip_head(e, &sge);
		length += sge.length;
		if (unlikely(length > qp->sq.max_inline))
			return refuse_inline(qp, length);
		if (likely(sge.length))
			to = mlx5_put_bytes(&qp->sq, to, (void *)(uintptr_t)sge.addr, sge.length);
	}
	if (likely(length))
		head->byte_count = htobe32((uint32_t)length | MLX5_INLINE_SEG);
	e->ds += mlx5_inline_ds(length);
	return 0;
}

static inline int put_data(struct mlx5_qp *qp, const struct ibv_send_wr *wr, struct entry *e)
{
	bool atomic = wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
		      wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;

	for (int i = 0; i < wr->num_sge; i++) {
		struct ibv_sge sge = wr->sg_list[i];

		if (unlikely(e->skip))
			skip_head(e, &sge);
		if (unlikely(!sge.length))
			continue;
		if (unlikely(sge.length > MLX5_DATA_SEG_MAX))
			return -explain(EINVAL, "QP 0x%06x: an element of %u bytes; 2^31 is most",
					qp->base.qpn, sge.length);
		mlx5_put_data(e->seg, sge.addr, unlikely(atomic) ? sizeof(uint64_t) : sge.length,
			      sge.lkey);
		e->seg = mlx5_sq_wrap(&qp->sq, e->seg + MLX5_DS);
		e->ds++;
	}
	return 0;
}

static inline int post_one(struct mlx5_qp *qp, const struct ibv_send_wr *wr)
{
	struct mlx5_sq *sq = &qp->sq;
	struct mlx5_slot *slot;
	struct entry e;
	int err;

	if (unlikely((unsigned int)wr->opcode >= MLX5_OPCODES) ||
	    unlikely(sq->refused >> wr->opcode & 1) || unlikely(mlx5_sq_full(sq, 0)) ||
	    unlikely(wr->num_sge < 0 || wr->num_sge > sq->max_sge))
		return refuse(qp, wr);
	e = (struct entry){ .ctrl = mlx5_sq_entry(sq), .ds = 1 };
	e.seg = (uint8_t *)(e.ctrl + 1);
	err = put_heads(qp, wr, &e);
	if (unlikely(err))
		return err;
	if (e.request)
		; /* a key change has no data */
	else if (wr->send_flags & IBV_SEND_INLINE)
		err = put_inline(qp, wr, &e);
	else
		err = put_data(qp, wr, &e);
	if (unlikely(err))
		return err;
	mlx5_put_ctrl(e.ctrl, sq->post, mlx5_wr_opcodes[wr->opcode],
		      mlx5_ctrl_flags(sq, wr->send_flags), e.imm);
	mlx5_put_ctrl_length(e.ctrl, qp->base.qpn, e.ds);
	slot = &sq->slots[sq->post & sq->mask];
	slot->wr_id = wr->wr_id;
	slot->head = sq->head;
	slot->request = e.request;
	sq->fence_next = e.fence_next;
	sq->head++;
	sq->post += mlx5_blocks(e.ds);
	return 0;
}

int mlx5_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct mlx5_qp *qp = to_mqp(ibqp);
	struct hca_qp *hca = qp->base.vb.hca;
	uint32_t before;
	int err = 0;

	fabric_lock(&hca->lock);
	before = qp->sq.post;
	if (unlikely(hca->state < HCA_QPS_RTS || qp->base.type == HCA_QP_DCI)) {
		err = refuse_state(qp);
		*bad = wr;
		goto unlock;
	}
	for (; wr; wr = wr->next) {
		err = post_one(qp, wr);
		if (unlikely(err)) {
			*bad = wr;
			break;
		}
	}
	if (likely(qp->sq.post != before))
		mlx5_sq_ring(qp);
unlock:
	fabric_unlock(&hca->lock);
	return err;
}

int mlx5_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_BIND_MW }, *bad;
	const struct ibv_mw_bind_info *info = &bind->bind_info;
	int err;

	if (info->mw_access_flags & IBV_ACCESS_ZERO_BASED)
		return errno = -explain(EINVAL, "a type 1 window cannot be zero-based");
	if (info->mr && to_mr(info->mr)->hca->access & HCA_ACCESS_ZERO_BASED)
		return errno = -explain(EINVAL, "a type 1 window cannot be bound to a zero-based "
						"memory region");
	wr.wr_id = bind->wr_id;
	wr.send_flags = bind->send_flags;
	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
	wr.bind_mw.bind_info = *info;
	err = mlx5_post_send(qp, &wr, &bad);
	if (err)
		return err;
	mw->rkey = wr.bind_mw.rkey;
	return 0;
}
