/* SPDX-License-Identifier: BSD-2-Clause */
#include "mlx5/poll.h"

#include "driver/poll.h"
#include "mlx5/cqe_read.h"

static inline void fill_send(const struct mlx5_cqe64 *cqe, uint8_t request, struct ibv_wc *wc)
{
	uint8_t opcode = be32toh(cqe->sop_drop_qpn) >> 24;

	wc->opcode = mlx5_send_wc_opcode(cqe, request);
	switch (opcode) {
	case MLX5_OPCODE_RDMA_READ:
	case MLX5_OPCODE_ATOMIC_MASKED_CS:
	case MLX5_OPCODE_ATOMIC_MASKED_FA:
		wc->byte_len = be32toh(cqe->byte_cnt);
		break;
	case MLX5_OPCODE_ATOMIC_CS:
	case MLX5_OPCODE_ATOMIC_FA:
		wc->byte_len = sizeof(uint64_t);
		break;
	case MLX5_OPCODE_SEND_IMM:
	case MLX5_OPCODE_RDMA_WRITE_IMM:
		wc->wc_flags = IBV_WC_WITH_IMM;
		break;
	}
}

static inline void fill_recv(const struct mlx5_cqe64 *cqe, struct ibv_wc *wc)
{
	uint32_t source = be32toh(cqe->flags_rqpn);
	uint32_t key = be32toh(cqe->imm_inval_pkey);

	wc->opcode = IBV_WC_RECV;
	wc->byte_len = be32toh(cqe->byte_cnt);
	wc->pkey_index = 0;
	if (unlikely(mlx5_cqe_is_tag(cqe))) {
		wc->opcode = mlx5_tag_wc_opcode(cqe);
		wc->wc_flags = mlx5_tag_wc_flags(cqe);
	}
	if (source >> 28 & 3)
		wc->wc_flags = IBV_WC_GRH;
	switch (cqe->op_own >> 4) {
	case MLX5_CQE_RESP_WR_IMM:
		wc->opcode = IBV_WC_RECV_RDMA_WITH_IMM;
		wc->wc_flags |= IBV_WC_WITH_IMM;
		wc->imm_data = cqe->imm_inval_pkey;
		break;
	case MLX5_CQE_RESP_SEND_IMM:
		wc->wc_flags |= IBV_WC_WITH_IMM;
		wc->imm_data = cqe->imm_inval_pkey;
		break;
	case MLX5_CQE_RESP_SEND_INV:
		wc->wc_flags |= IBV_WC_WITH_INV;
		wc->invalidated_rkey = key;
		break;
	default:
		wc->pkey_index = key;
		break;
	}
	if (unlikely(mlx5_cqe_checksums_ok(cqe)))
		wc->wc_flags |= IBV_WC_IP_CSUM_OK;
	wc->src_qp = source & MLX5_QPN_MASK;
	wc->slid = be16toh(cqe->slid);
	wc->sl = mlx5_cqe_sl(cqe);
	wc->dlid_path_bits = cqe->ml_path & 0x7f;
}

static inline bool fill(struct drv_cq *base, const void *entry, struct ibv_wc *wc)
{
	struct mlx5_cq *cq = container_of(base, struct mlx5_cq, base);
	const struct mlx5_cqe64 *cqe = entry;
	struct mlx5_completion completion;

	if (unlikely(!mlx5_complete(cq, cqe, &completion)))
		return false;
	wc->wr_id = completion.wr_id;
	wc->status = completion.status;
	wc->qp_num = be32toh(cqe->sop_drop_qpn) & MLX5_QPN_MASK;
	wc->wc_flags = 0;
	wc->byte_len = 0;
	if (likely(completion.status == IBV_WC_SUCCESS) || mlx5_cqe_is_tag(cqe)) {
		wc->vendor_err = 0;
		if (cqe->op_own >> 4 == MLX5_CQE_REQ)
			fill_send(cqe, completion.request, wc);
		else
			fill_recv(cqe, wc);
		return true;
	}
	wc->vendor_err = ((const struct mlx5_err_cqe *)cqe)->vendor_err_synd;
	wc->opcode = cqe->op_own >> 4 == MLX5_CQE_REQ_ERR
			     ? mlx5_send_wc_opcode(cqe, completion.request)
			     : IBV_WC_RECV;
	return true;
}

static __attribute__((noinline)) int poll_ready(struct drv_cq *cq, int count, struct ibv_wc *wc)
{
	return drv_poll_ready(cq, count, wc, mlx5_cqe_ready, fill);
}

int mlx5_poll_cq(struct ibv_cq *cq, int count, struct ibv_wc *wc)
{
	return drv_poll_cq(&to_mcq(cq)->base, count, wc, mlx5_cqe_ready, poll_ready);
}
