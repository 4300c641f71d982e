/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ibv_poll_cq(). What peers have sent is taken in by it, so that a program that only polls makes
 * its own progress.
 */
#include "mlx4/cqe.h"
#include "mlx4/mlx4.h"

#include "verbs/poll.h"

static inline void fill_send(const struct mlx4_cqe *cqe, struct ibv_wc *wc)
{
	wc->opcode = mlx4_send_wc_opcode(cqe);
	switch (mlx4_cqe_opcode(cqe)) {
	case MLX4_OPCODE_RDMA_READ:
		wc->byte_len = be32toh(cqe->byte_cnt);
		break;
	case MLX4_OPCODE_ATOMIC_CS:
	case MLX4_OPCODE_ATOMIC_FA:
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
	if (unlikely(mlx4_cqe_sums_are_right(cqe, qp)))
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

static inline bool poll_one(struct mlx4_cq *cq, struct ibv_wc *wc)
{
	const struct mlx4_cqe *cqe = mlx4_cqe_at(cq, cq->ci);
	struct mlx4_taken taken;

	__atomic_store_n(&cq->ci, cq->ci + 1, __ATOMIC_RELAXED);
	if (unlikely(!mlx4_take(cq, cqe, &taken)))
		return false;
	wc->wr_id = taken.wr_id;
	wc->status = taken.status;
	wc->qp_num = be32toh(cqe->vlan_my_qpn) & MLX4_QPN_MASK;
	wc->wc_flags = 0;
	wc->byte_len = 0;
	wc->vendor_err = 0;
	if (unlikely(taken.status != IBV_WC_SUCCESS)) {
		/* An error entry does not repeat what was asked for. */
		wc->opcode = mlx4_cqe_is_send(cqe) ? IBV_WC_SEND : IBV_WC_RECV;
		wc->vendor_err = ((const struct mlx4_err_cqe *)cqe)->vendor_err;
	} else if (mlx4_cqe_is_send(cqe)) {
		fill_send(cqe, wc);
	} else {
		fill_recv(cq, cqe, taken.qp, wc);
	}
	return true;
}

static inline int take(void *object, int count, struct ibv_wc *wc)
{
	struct mlx4_cq *cq = object;
	bool known = true;
	int done = 0;

	if (!cq->unlocked)
		fabric_lock(&cq->lock);
	while (done < count && mlx4_cqe_ready(cq, cq->ci)) {
		known = poll_one(cq, &wc[done]);
		if (unlikely(!known))
			break;
		done++;
	}
	if (done || unlikely(!known))
		mlx4_record_store(cq->db, cq->ci & 0xffffff);
	if (!cq->unlocked)
		fabric_unlock(&cq->lock);
	return likely(known) ? done : -2;
}

int mlx4_poll_cq(struct ibv_cq *ibcq, int count, struct ibv_wc *wc)
{
	struct mlx4_cq *cq = to_mcq(ibcq);

	return vb_poll(cq, &cq->more, take, count, wc);
}
