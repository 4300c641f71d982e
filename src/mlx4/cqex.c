/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The polling cursor: ibv_start_poll() and its kin. The cursor keeps a pointer into the ring; the
 * entry stays there until ibv_end_poll() hands it back. The CQ's lock is held from start to end.
 */
#include <errno.h>

#include "mlx4/cqe.h"
#include "mlx4/mlx4.h"
#include "verbs/poll.h"

static struct mlx4_cq *to_mcq_ex(struct ibv_cq_ex *cq)
{
	return container_of(cq, struct mlx4_cq, vb.ex);
}

/* The next entry becomes the current one. */
static inline int advance(struct mlx4_cq *cq)
{
	const struct mlx4_cqe *cqe;
	struct mlx4_taken taken;
	bool ready = mlx4_cqe_ready(cq, cq->ci);

	atomic_store_explicit(&cq->more, ready, memory_order_relaxed);
	if (!ready)
		return ENOENT;
	cqe = mlx4_cqe_at(cq, cq->ci);
	__atomic_store_n(&cq->ci, cq->ci + 1, __ATOMIC_RELAXED);
	if (unlikely(!mlx4_take(cq, cqe, &taken)))
		return EINVAL;
	cq->cqe = cqe;
	cq->cqe_qp = taken.qp;
	cq->vb.ex.wr_id = taken.wr_id;
	cq->vb.ex.status = taken.status;
	return 0;
}

/* Keeps the lock when there is an entry. */
static inline int begin(void *object)
{
	struct mlx4_cq *cq = object;
	int err;

	if (!cq->unlocked)
		fabric_lock(&cq->lock);
	err = advance(cq);
	if (err && !cq->unlocked)
		fabric_unlock(&cq->lock);
	return err;
}

static int start_poll(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attr)
{
	struct mlx4_cq *cq = to_mcq_ex(ex);

	if (unlikely(attr->comp_mask))
		return EINVAL;
	return vb_start_poll(cq, &cq->more, begin);
}

static int next_poll(struct ibv_cq_ex *ex)
{
	return advance(to_mcq_ex(ex));
}

static void end_poll(struct ibv_cq_ex *ex)
{
	struct mlx4_cq *cq = to_mcq_ex(ex);

	mlx4_record_store(cq->db, cq->ci & 0xffffff);
	if (!cq->unlocked)
		fabric_unlock(&cq->lock);
	vb_poll_settle();
}

static enum ibv_wc_opcode read_opcode(struct ibv_cq_ex *ex)
{
	const struct mlx4_cqe *cqe = to_mcq_ex(ex)->cqe;

	if (mlx4_cqe_is_send(cqe))
		return mlx4_send_wc_opcode(cqe);
	return mlx4_cqe_opcode(cqe) == MLX4_RECV_OPCODE_RDMA_WRITE_IMM ? IBV_WC_RECV_RDMA_WITH_IMM
								       : IBV_WC_RECV;
}

static uint32_t read_vendor_err(struct ibv_cq_ex *ex)
{
	const struct mlx4_cqe *cqe = to_mcq_ex(ex)->cqe;

	if (mlx4_cqe_opcode(cqe) != MLX4_CQE_OPCODE_ERROR)
		return 0;
	return ((const struct mlx4_err_cqe *)cqe)->vendor_err;
}

static unsigned int read_wc_flags(struct ibv_cq_ex *ex)
{
	const struct mlx4_cqe *cqe = to_mcq_ex(ex)->cqe;
	unsigned int flags = 0;

	if (mlx4_cqe_is_send(cqe)) {
		if (mlx4_cqe_opcode(cqe) == MLX4_OPCODE_SEND_IMM ||
		    mlx4_cqe_opcode(cqe) == MLX4_OPCODE_RDMA_WRITE_IMM)
			flags |= IBV_WC_WITH_IMM;
		return flags;
	}
	if (be32toh(cqe->g_mlpath_rqpn) >> 31)
		flags |= IBV_WC_GRH;
	if (mlx4_cqe_sums_are_right(cqe, to_mcq_ex(ex)->cqe_qp))
		flags |= IBV_WC_IP_CSUM_OK;
	switch (mlx4_cqe_opcode(cqe)) {
	case MLX4_RECV_OPCODE_RDMA_WRITE_IMM:
	case MLX4_RECV_OPCODE_SEND_IMM:
		return flags | IBV_WC_WITH_IMM;
	case MLX4_RECV_OPCODE_SEND_INVAL:
		return flags | IBV_WC_WITH_INV;
	default:
		return flags;
	}
}

static uint32_t read_byte_len(struct ibv_cq_ex *ex)
{
	return be32toh(to_mcq_ex(ex)->cqe->byte_cnt);
}

static __be32 read_imm_data(struct ibv_cq_ex *ex)
{
	const struct mlx4_cqe *cqe = to_mcq_ex(ex)->cqe;

	/* ibv_wc_read_invalidated_rkey() comes here too, and wants the host's order. */
	if (mlx4_cqe_opcode(cqe) == MLX4_RECV_OPCODE_SEND_INVAL)
		return be32toh(cqe->immed_rss_invalid);
	return cqe->immed_rss_invalid;
}

static uint32_t read_qp_num(struct ibv_cq_ex *ex)
{
	return be32toh(to_mcq_ex(ex)->cqe->vlan_my_qpn) & MLX4_QPN_MASK;
}

static uint32_t read_src_qp(struct ibv_cq_ex *ex)
{
	return be32toh(to_mcq_ex(ex)->cqe->g_mlpath_rqpn) & MLX4_QPN_MASK;
}

static uint32_t read_slid(struct ibv_cq_ex *ex)
{
	return be16toh(to_mcq_ex(ex)->cqe->rlid);
}

static uint8_t read_sl(struct ibv_cq_ex *ex)
{
	const struct mlx4_cq *cq = to_mcq_ex(ex);

	return mlx4_cqe_sl(cq, cq->cqe, cq->cqe_qp);
}

static uint8_t read_dlid_path_bits(struct ibv_cq_ex *ex)
{
	return (be32toh(to_mcq_ex(ex)->cqe->g_mlpath_rqpn) >> 24) & 0x7f;
}

static uint64_t read_completion_ts(struct ibv_cq_ex *ex)
{
	const struct mlx4_cqe *cqe = to_mcq_ex(ex)->cqe;

	return (uint64_t)be32toh(cqe->ts_47_16) << 16 | (uint64_t)cqe->ts_15_8 << 8 | cqe->ts_7_0;
}

void mlx4_cq_fill_ex(struct mlx4_cq *cq, uint64_t wc_flags)
{
	struct ibv_cq_ex *ex = &cq->vb.ex;

	ex->start_poll = start_poll;
	ex->next_poll = next_poll;
	ex->end_poll = end_poll;
	ex->read_opcode = read_opcode;
	ex->read_vendor_err = read_vendor_err;
	ex->read_wc_flags = read_wc_flags;
	if (wc_flags & IBV_WC_EX_WITH_BYTE_LEN)
		ex->read_byte_len = read_byte_len;
	if (wc_flags & IBV_WC_EX_WITH_IMM)
		ex->read_imm_data = read_imm_data;
	if (wc_flags & IBV_WC_EX_WITH_QP_NUM)
		ex->read_qp_num = read_qp_num;
	if (wc_flags & IBV_WC_EX_WITH_SRC_QP)
		ex->read_src_qp = read_src_qp;
	if (wc_flags & IBV_WC_EX_WITH_SLID)
		ex->read_slid = read_slid;
	if (wc_flags & IBV_WC_EX_WITH_SL)
		ex->read_sl = read_sl;
	if (wc_flags & IBV_WC_EX_WITH_DLID_PATH_BITS)
		ex->read_dlid_path_bits = read_dlid_path_bits;
	if (wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP)
		ex->read_completion_ts = read_completion_ts;
}
