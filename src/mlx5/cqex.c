/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The polling cursor: ibv_start_poll() and its kin. The cursor keeps a pointer into the ring; the
 * entry stays there until ibv_end_poll() hands it back. The CQ's lock is held from start to end.
 */
#include <errno.h>

#include "mlx5/cqe.h"
#include "mlx5/mlx5.h"
#include "verbs/poll.h"

static struct mlx5_cq *to_mcq_ex(struct ibv_cq_ex *cq)
{
	return container_of(cq, struct mlx5_cq, vb.ex);
}

/* The next entry becomes the current one. */
static inline int advance(struct mlx5_cq *cq)
{
	const struct mlx5_cqe64 *cqe;
	struct mlx5_taken taken;
	bool ready = mlx5_cqe_ready(cq, cq->ci);

	atomic_store_explicit(&cq->more, ready, memory_order_relaxed);
	if (!ready)
		return ENOENT;
	cqe = mlx5_cqe_at(cq, cq->ci);
	__atomic_store_n(&cq->ci, cq->ci + 1, __ATOMIC_RELAXED);
	if (unlikely(!mlx5_take(cq, cqe, &taken)))
		return EINVAL;
	cq->cqe = cqe;
	cq->request = taken.request;
	cq->vb.ex.wr_id = taken.wr_id;
	cq->vb.ex.status = taken.status;
	return 0;
}

/* Keeps the lock when there is an entry. */
static inline int begin(void *object)
{
	struct mlx5_cq *cq = object;
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
	struct mlx5_cq *cq = to_mcq_ex(ex);
	int err;

	if (unlikely(attr->comp_mask))
		return EINVAL;
	err = vb_start_poll(cq, &cq->more, begin);
	if (!err && unlikely(cq->wallclock))
		mlx5_clock_read(cq->ctx->vb->adapter, &cq->clock);
	return err;
}

static int next_poll(struct ibv_cq_ex *ex)
{
	return advance(to_mcq_ex(ex));
}

static void end_poll(struct ibv_cq_ex *ex)
{
	struct mlx5_cq *cq = to_mcq_ex(ex);

	mlx5_record_store(cq->db, cq->ci & 0xffffff);
	if (!cq->unlocked)
		fabric_unlock(&cq->lock);
	vb_poll_settle();
}

static enum ibv_wc_opcode read_opcode(struct ibv_cq_ex *ex)
{
	const struct mlx5_cq *cq = to_mcq_ex(ex);

	switch (cq->cqe->op_own >> 4) {
	case MLX5_CQE_REQ:
	case MLX5_CQE_REQ_ERR:
		return mlx5_send_wc_opcode(cq->cqe, cq->request);
	case MLX5_CQE_RESP_WR_IMM:
		return IBV_WC_RECV_RDMA_WITH_IMM;
	default:
		return IBV_WC_RECV;
	}
}

static uint32_t read_vendor_err(struct ibv_cq_ex *ex)
{
	const struct mlx5_cqe64 *cqe = to_mcq_ex(ex)->cqe;
	uint8_t opcode = cqe->op_own >> 4;

	if (opcode != MLX5_CQE_REQ_ERR && opcode != MLX5_CQE_RESP_ERR)
		return 0;
	return ((const struct mlx5_err_cqe *)cqe)->vendor_err_synd;
}

static unsigned int read_wc_flags(struct ibv_cq_ex *ex)
{
	const struct mlx5_cqe64 *cqe = to_mcq_ex(ex)->cqe;
	unsigned int flags = be32toh(cqe->flags_rqpn) >> 28 & 3 ? IBV_WC_GRH : 0;

	if (mlx5_cqe_sums_are_right(cqe))
		flags |= IBV_WC_IP_CSUM_OK;

	switch (cqe->op_own >> 4) {
	case MLX5_CQE_RESP_WR_IMM:
	case MLX5_CQE_RESP_SEND_IMM:
		return flags | IBV_WC_WITH_IMM;
	case MLX5_CQE_RESP_SEND_INV:
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
	const struct mlx5_cqe64 *cqe = to_mcq_ex(ex)->cqe;

	/* ibv_wc_read_invalidated_rkey() comes here too, and wants the host's order. */
	if (cqe->op_own >> 4 == MLX5_CQE_RESP_SEND_INV)
		return be32toh(cqe->imm_inval_pkey);
	return cqe->imm_inval_pkey;
}

static uint32_t read_qp_num(struct ibv_cq_ex *ex)
{
	return be32toh(to_mcq_ex(ex)->cqe->sop_drop_qpn) & MLX5_QPN_MASK;
}

static uint32_t read_src_qp(struct ibv_cq_ex *ex)
{
	return be32toh(to_mcq_ex(ex)->cqe->flags_rqpn) & MLX5_QPN_MASK;
}

static uint32_t read_slid(struct ibv_cq_ex *ex)
{
	return be16toh(to_mcq_ex(ex)->cqe->slid);
}

static uint8_t read_sl(struct ibv_cq_ex *ex)
{
	const struct mlx5_cq *cq = to_mcq_ex(ex);

	return mlx5_cqe_sl(cq, cq->cqe);
}

static uint8_t read_dlid_path_bits(struct ibv_cq_ex *ex)
{
	return to_mcq_ex(ex)->cqe->ml_path & 0x7f;
}

static uint64_t read_completion_ts(struct ibv_cq_ex *ex)
{
	return be64toh(to_mcq_ex(ex)->cqe->timestamp);
}

static uint64_t read_completion_wallclock_ns(struct ibv_cq_ex *ex)
{
	struct mlx5_cq *cq = to_mcq_ex(ex);

	return mlx5dv_ts_to_ns(&cq->clock, be64toh(cq->cqe->timestamp));
}

static uint16_t read_cvlan(struct ibv_cq_ex *ex)
{
	return be16toh(to_mcq_ex(ex)->cqe->vlan_info);
}

/* A flow tag takes the QP number's place in completions of frames. */
static uint32_t read_flow_tag(struct ibv_cq_ex *ex)
{
	return be32toh(to_mcq_ex(ex)->cqe->sop_drop_qpn) & MLX5_QPN_MASK;
}

static void read_tm_info(struct ibv_cq_ex *ex, struct ibv_wc_tm_info *info)
{
	info->tag = 0;
	info->priv = 0;
}

void mlx5_cq_fill_ex(struct mlx5_cq *cq, uint64_t wc_flags)
{
	struct ibv_cq_ex *ex = &cq->vb.ex;

	cq->wallclock = wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
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
	if (wc_flags & IBV_WC_EX_WITH_CVLAN)
		ex->read_cvlan = read_cvlan;
	if (wc_flags & IBV_WC_EX_WITH_FLOW_TAG)
		ex->read_flow_tag = read_flow_tag;
	if (wc_flags & IBV_WC_EX_WITH_TM_INFO)
		ex->read_tm_info = read_tm_info;
	if (cq->wallclock)
		ex->read_completion_wallclock_ns = read_completion_wallclock_ns;
}
