/* SPDX-License-Identifier: BSD-2-Clause */
#include "mlx4/poll.h"

#include "driver/poll.h"
#include "mlx4/cqe_read.h"

static inline void fill_send(const struct mlx4_cqe *cqe, struct ibv_wc *wc)
{
	wc->opcode = mlx4_send_wc_opcode(cqe);
	switch (mlx4_cqe_opcode(cqe)) {
	case MLX4_OPCODE_RDMA_READ:
		wc->byte_len = be32toh(cqe->byte_cnt);
		break;
	case MLX4_OPCODE_ATOMIC_CS:
	case MLX4_OPCODE_ATOMIC_FA:
	case MLX4_OPCODE_MASKED_ATOMIC_CS:
	case MLX4_OPCODE_MASKED_ATOMIC_FA:
		wc->byte_len = sizeof(uint64_t);
		break;
	case MLX4_OPCODE_SEND_IMM:
	case MLX4_OPCODE_RDMA_WRITE_IMM:
		wc->wc_flags = IBV_WC_WITH_IMM;
		break;
	}
}

static inline void fill_recv(const struct mlx4_cq *cq, const struct mlx4_cqe *cqe,
			     const struct mlx4_qp *qp, struct ibv_wc *wc)
{
	uint32_t source = be32toh(cqe->g_mlpath_rqpn);

	wc->opcode = IBV_WC_RECV;
	wc->byte_len = be32toh(cqe->byte_cnt);
	wc->pkey_index = 0;
	if (source >> 31)
		wc->wc_flags = IBV_WC_GRH;
	switch (mlx4_cqe_opcode(cqe)) {
	case MLX4_RECV_OPCODE_RDMA_WRITE_IMM:
		wc->opcode = IBV_WC_RECV_RDMA_WITH_IMM;
		wc->wc_flags |= IBV_WC_WITH_IMM;
		wc->imm_data = cqe->immed_rss_invalid;
		break;
	case MLX4_RECV_OPCODE_SEND_IMM:
		wc->wc_flags |= IBV_WC_WITH_IMM;
		wc->imm_data = cqe->immed_rss_invalid;
		break;
	case MLX4_RECV_OPCODE_SEND_INVAL:
		wc->wc_flags |= IBV_WC_WITH_INV;
		wc->invalidated_rkey = be32toh(cqe->immed_rss_invalid);
		break;
	default:
		wc->pkey_index = be32toh(cqe->immed_rss_invalid) & 0x7f;
		break;
	}
	if (unlikely(mlx4_cqe_checksums_ok(cqe, qp)))
		wc->wc_flags |= IBV_WC_IP_CSUM_OK;
	wc->src_qp = source & MLX4_QPN_MASK;
	wc->dlid_path_bits = (source >> 24) & 0x7f;
	if (unlikely(cq->timestamps)) {
		wc->slid = 0;
		wc->sl = 0;
	} else {
		wc->slid = be16toh(cqe->rlid);
		wc->sl = mlx4_cqe_sl(cq, cqe, qp);
	}
}

static inline bool fill(struct drv_cq *base, const void *entry, struct ibv_wc *wc)
{
	struct mlx4_cq *cq = container_of(base, struct mlx4_cq, base);
	const struct mlx4_cqe *cqe = entry;
	struct mlx4_completion completion;

	if (unlikely(!mlx4_complete(cq, cqe, &completion)))
		return false;
	wc->wr_id = completion.wr_id;
	wc->status = completion.status;
	wc->qp_num = be32toh(cqe->vlan_my_qpn) & MLX4_QPN_MASK;
	wc->wc_flags = 0;
	wc->byte_len = 0;
	wc->vendor_err = 0;
	if (unlikely(completion.status != IBV_WC_SUCCESS)) {
		/* An error CQE does not repeat the WQE's opcode. */
		wc->opcode = mlx4_cqe_is_send(cqe) ? IBV_WC_SEND : IBV_WC_RECV;
		wc->vendor_err = ((const struct mlx4_err_cqe *)cqe)->vendor_err;
	} else if (mlx4_cqe_is_send(cqe)) {
		fill_send(cqe, wc);
	} else {
		fill_recv(cq, cqe, completion.qp, wc);
	}
	return true;
}

static __attribute__((noinline)) int poll_ready(struct drv_cq *cq, int count, struct ibv_wc *wc)
{
	return drv_poll_ready(cq, count, wc, mlx4_cqe_ready, fill);
}

int mlx4_poll_cq(struct ibv_cq *cq, int count, struct ibv_wc *wc)
{
	return drv_poll_cq(&to_mcq(cq)->base, count, wc, mlx4_cqe_ready, poll_ready);
}
