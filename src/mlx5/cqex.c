/* SPDX-License-Identifier: BSD-2-Clause */
#include "mlx5/cqex.h"

#include "driver/cqex.h"
#include "driver/poll.h"
#include "mlx5/clock.h"
#include "mlx5/cqe_read.h"

static struct mlx5_cq *to_mcq_ex(struct ibv_cq_ex *cq)
{
	return container_of(cq, struct mlx5_cq, base.vb.ex);
}

static const struct mlx5_cqe64 *cqe_of(struct ibv_cq_ex *cq)
{
	return to_mcq_ex(cq)->base.cqe;
}

static int take_cqe(struct drv_cq *base)
{
	struct mlx5_cq *cq = container_of(base, struct mlx5_cq, base);
	const void *cqe = drv_cqe_consume(base);
	struct mlx5_completion completion;

	if (unlikely(!mlx5_complete(cq, cqe, &completion)))
		return EINVAL;
	base->cqe = cqe;
	cq->request = completion.request;
	base->vb.ex.wr_id = completion.wr_id;
	base->vb.ex.status = completion.status;
	return 0;
}

static int start_poll(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attr)
{
	struct mlx5_cq *cq = to_mcq_ex(ex);
	int err = drv_start_poll(&cq->base, attr, mlx5_cqe_ready, take_cqe);

	if (!err && unlikely(cq->wallclock))
		mlx5_clock_read(cq->ctx->vb->adapter, &cq->clock);
	return err;
}

static int next_poll(struct ibv_cq_ex *ex)
{
	return drv_next_poll(to_drv_cq_ex(ex), mlx5_cqe_ready, take_cqe);
}

static enum ibv_wc_opcode read_opcode(struct ibv_cq_ex *ex)
{
	const struct mlx5_cqe64 *cqe = cqe_of(ex);

	if (unlikely(mlx5_cqe_is_tag(cqe)))
		return mlx5_tag_wc_opcode(cqe);
	switch (cqe->op_own >> 4) {
	case MLX5_CQE_REQ:
	case MLX5_CQE_REQ_ERR:
		return mlx5_send_wc_opcode(cqe, to_mcq_ex(ex)->request);
	case MLX5_CQE_RESP_WR_IMM:
		return IBV_WC_RECV_RDMA_WITH_IMM;
	default:
		return IBV_WC_RECV;
	}
}

static uint32_t read_vendor_err(struct ibv_cq_ex *ex)
{
	const struct mlx5_cqe64 *cqe = cqe_of(ex);
	uint8_t opcode = cqe->op_own >> 4;

	if (opcode != MLX5_CQE_REQ_ERR && opcode != MLX5_CQE_RESP_ERR)
		return 0;
	return ((const struct mlx5_err_cqe *)cqe)->vendor_err_synd;
}

static unsigned int read_wc_flags(struct ibv_cq_ex *ex)
{
	const struct mlx5_cqe64 *cqe = cqe_of(ex);
	unsigned int flags = be32toh(cqe->flags_rqpn) >> 28 & 3 ? IBV_WC_GRH : 0;

	if (unlikely(mlx5_cqe_is_tag(cqe)))
		return mlx5_tag_wc_flags(cqe) | (to_mcq_ex(ex)->tag_sync ? IBV_WC_TM_SYNC_REQ : 0);
	if (mlx5_cqe_checksums_ok(cqe))
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
	return be32toh(cqe_of(ex)->byte_cnt);
}

static __be32 read_imm_data(struct ibv_cq_ex *ex)
{
	const struct mlx5_cqe64 *cqe = cqe_of(ex);

	/* ibv_wc_read_invalidated_rkey() calls this too, and wants the host's byte order. */
	if (cqe->op_own >> 4 == MLX5_CQE_RESP_SEND_INV)
		return be32toh(cqe->imm_inval_pkey);
	return cqe->imm_inval_pkey;
}

static uint32_t read_qp_num(struct ibv_cq_ex *ex)
{
	return be32toh(cqe_of(ex)->sop_drop_qpn) & MLX5_QPN_MASK;
}

static uint32_t read_src_qp(struct ibv_cq_ex *ex)
{
	return be32toh(cqe_of(ex)->flags_rqpn) & MLX5_QPN_MASK;
}

static uint32_t read_slid(struct ibv_cq_ex *ex)
{
	return be16toh(cqe_of(ex)->slid);
}

static uint8_t read_sl(struct ibv_cq_ex *ex)
{
	return mlx5_cqe_sl(cqe_of(ex));
}

static uint8_t read_dlid_path_bits(struct ibv_cq_ex *ex)
{
	return cqe_of(ex)->ml_path & 0x7f;
}

static uint64_t read_completion_ts(struct ibv_cq_ex *ex)
{
	return be64toh(cqe_of(ex)->timestamp);
}

static uint64_t read_completion_wallclock_ns(struct ibv_cq_ex *ex)
{
	struct mlx5_cq *cq = to_mcq_ex(ex);

	return mlx5dv_ts_to_ns(&cq->clock, be64toh(cqe_of(ex)->timestamp));
}

static uint16_t read_cvlan(struct ibv_cq_ex *ex)
{
	return be16toh(cqe_of(ex)->vlan_info);
}

/* CQEs of received frames have the flow tag in place of the QP number. */
static uint32_t read_flow_tag(struct ibv_cq_ex *ex)
{
	return be32toh(cqe_of(ex)->sop_drop_qpn) & MLX5_QPN_MASK;
}

static void read_tm_info(struct ibv_cq_ex *ex, struct ibv_wc_tm_info *info)
{
	const struct mlx5_cqe64 *cqe = cqe_of(ex);

	info->tag = be64toh(cqe->tmh.tag);
	info->priv = be32toh(cqe->tmh.app_ctx);
}

static const struct ibv_cq_ex functions = {
	.start_poll = start_poll,
	.next_poll = next_poll,
	.read_opcode = read_opcode,
	.read_vendor_err = read_vendor_err,
	.read_wc_flags = read_wc_flags,
	.read_byte_len = read_byte_len,
	.read_imm_data = read_imm_data,
	.read_qp_num = read_qp_num,
	.read_src_qp = read_src_qp,
	.read_slid = read_slid,
	.read_sl = read_sl,
	.read_dlid_path_bits = read_dlid_path_bits,
	.read_completion_ts = read_completion_ts,
	.read_completion_wallclock_ns = read_completion_wallclock_ns,
	.read_cvlan = read_cvlan,
	.read_flow_tag = read_flow_tag,
	.read_tm_info = read_tm_info,
};

void mlx5_cq_fill_ex(struct mlx5_cq *cq, uint64_t wc_flags)
{
	cq->wallclock = wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
	drv_cqex_fill(&cq->base, wc_flags, &functions);
}
