/* SPDX-License-Identifier: BSD-2-Clause */
#include "mlx4/cqex.h"

#include "driver/cqex.h"
#include "driver/poll.h"
#include "mlx4/cqe_read.h"

static struct mlx4_cq *to_mcq_ex(struct ibv_cq_ex *cq)
{
	return container_of(cq, struct mlx4_cq, base.vb.ex);
}

static const struct mlx4_cqe *cqe_of(struct ibv_cq_ex *cq)
{
	return to_mcq_ex(cq)->base.cqe;
}

static int take_cqe(struct drv_cq *base)
{
	struct mlx4_cq *cq = container_of(base, struct mlx4_cq, base);
	const void *cqe = drv_cqe_consume(base);
	struct mlx4_completion completion;

	if (unlikely(!mlx4_complete(cq, cqe, &completion)))
		return EINVAL;
	base->cqe = cqe;
	cq->cqe_qp = completion.qp;
	base->vb.ex.wr_id = completion.wr_id;
	base->vb.ex.status = completion.status;
	return 0;
}

static int start_poll(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attr)
{
	return drv_start_poll(to_drv_cq_ex(ex), attr, mlx4_cqe_ready, take_cqe);
}

static int next_poll(struct ibv_cq_ex *ex)
{
	return drv_next_poll(to_drv_cq_ex(ex), mlx4_cqe_ready, take_cqe);
}

static enum ibv_wc_opcode read_opcode(struct ibv_cq_ex *ex)
{
	const struct mlx4_cqe *cqe = cqe_of(ex);

	if (mlx4_cqe_is_send(cqe))
		return mlx4_send_wc_opcode(cqe);
	return mlx4_cqe_opcode(cqe) == MLX4_RECV_OPCODE_RDMA_WRITE_IMM ? IBV_WC_RECV_RDMA_WITH_IMM
								       : IBV_WC_RECV;
}

static uint32_t read_vendor_err(struct ibv_cq_ex *ex)
{
	const struct mlx4_cqe *cqe = cqe_of(ex);

	if (mlx4_cqe_opcode(cqe) != MLX4_CQE_OPCODE_ERROR)
		return 0;
	return ((const struct mlx4_err_cqe *)cqe)->vendor_err;
}

static unsigned int read_wc_flags(struct ibv_cq_ex *ex)
{
	const struct mlx4_cqe *cqe = cqe_of(ex);
	unsigned int flags = 0;

	if (mlx4_cqe_is_send(cqe)) {
		if (mlx4_cqe_opcode(cqe) == MLX4_OPCODE_SEND_IMM ||
		    mlx4_cqe_opcode(cqe) == MLX4_OPCODE_RDMA_WRITE_IMM)
			flags |= IBV_WC_WITH_IMM;
		return flags;
	}
	if (be32toh(cqe->g_mlpath_rqpn) >> 31)
		flags |= IBV_WC_GRH;
	if (mlx4_cqe_checksums_ok(cqe, to_mcq_ex(ex)->cqe_qp))
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
	return be32toh(cqe_of(ex)->byte_cnt);
}

static __be32 read_imm_data(struct ibv_cq_ex *ex)
{
	const struct mlx4_cqe *cqe = cqe_of(ex);

	/* ibv_wc_read_invalidated_rkey() calls this too, and wants the host's byte order. */
	if (mlx4_cqe_opcode(cqe) == MLX4_RECV_OPCODE_SEND_INVAL)
		return be32toh(cqe->immed_rss_invalid);
	return cqe->immed_rss_invalid;
}

static uint32_t read_qp_num(struct ibv_cq_ex *ex)
{
	return be32toh(cqe_of(ex)->vlan_my_qpn) & MLX4_QPN_MASK;
}

static uint32_t read_src_qp(struct ibv_cq_ex *ex)
{
	return be32toh(cqe_of(ex)->g_mlpath_rqpn) & MLX4_QPN_MASK;
}

static uint32_t read_slid(struct ibv_cq_ex *ex)
{
	return be16toh(cqe_of(ex)->rlid);
}

static uint8_t read_sl(struct ibv_cq_ex *ex)
{
	const struct mlx4_cq *cq = to_mcq_ex(ex);

	return mlx4_cqe_sl(cq, cq->base.cqe, cq->cqe_qp);
}

static uint8_t read_dlid_path_bits(struct ibv_cq_ex *ex)
{
	return (be32toh(cqe_of(ex)->g_mlpath_rqpn) >> 24) & 0x7f;
}

static uint64_t read_completion_ts(struct ibv_cq_ex *ex)
{
	const struct mlx4_cqe *cqe = cqe_of(ex);

	return (uint64_t)be32toh(cqe->ts_47_16) << 16 | (uint64_t)cqe->ts_15_8 << 8 | cqe->ts_7_0;
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
};

void mlx4_cq_fill_ex(struct mlx4_cq *cq, uint64_t wc_flags)
{
	drv_cqex_fill(&cq->base, wc_flags, &functions);
}
