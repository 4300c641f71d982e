/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CQEs as the driver reads them, for poll.c and cqex.c. Callers hold the CQ's lock, or are the only
 * thread that uses the CQ.
 */
#ifndef MLX5_CQE_READ_H
#define MLX5_CQE_READ_H

#include "driver/syndrome.h"
#include "mlx5/cqe_owner.h"
#include "mlx5/objects.h"
#include "mlx5/sig.h"
#include "mlx5/tag.h"

/*
 * Whether there is a CQE for the program at the consumer index. CQEs of wrong signatures are for the
 * driver: they are consumed here.
 */
static inline bool mlx5_cqe_ready(const struct drv_cq *cq, uint32_t index)
{
	uint8_t opcode = mlx5_cqe_opcode(cq, index);

	if (unlikely(opcode == MLX5_CQE_SIG_ERR))
		return mlx5_sig_errors_consume(container_of(cq, struct mlx5_cq, base));
	return opcode != MLX5_CQE_INVALID;
}

static inline void mlx5_complete_send(struct mlx5_qp *qp, uint16_t counter,
				      struct mlx5_completion *out)
{
	const struct mlx5_slot *slot = &qp->sq.slots[counter & qp->sq.mask];

	out->wr_id = slot->wr_id;
	out->request = slot->request;
	/*
	 * It and every request before it are complete. [M4] pairs with mlx5_sq_full(): slots are
	 * read before they are free
	 */
	atomic_store_explicit(&qp->sq.tail, slot->head + 1, memory_order_release);
}

/* A WQE of a striding queue is free when its strides are used up. */
static inline void mlx5_complete_wq(struct mlx5_wq *wq, const struct mlx5_cqe64 *cqe,
				    uint16_t counter, struct mlx5_completion *out)
{
	if (wq->strides && cqe->op_own >> 4 != MLX5_CQE_RESP_ERR) {
		counter = be16toh(cqe->wqe_id);
		wq->used += be32toh(cqe->byte_cnt) >> MLX5_STRIDES_SHIFT & MLX5_STRIDES_MASK;
		out->wr_id = wq->rq.wr_ids[counter & wq->rq.mask];
		if (wq->used < wq->strides)
			return;
		wq->used = 0;
	}
	out->wr_id = wq->rq.wr_ids[counter & wq->rq.mask];
	drv_rq_release(&wq->rq);
}

static inline void mlx5_complete_recv(struct mlx5_rsc *rsc, const struct mlx5_cqe64 *cqe,
				      uint16_t counter, struct mlx5_completion *out)
{
	struct drv_srq *srq;
	struct mlx5_qp *qp;

	if (rsc->type == MLX5_RSC_QP) {
		qp = container_of(rsc, struct mlx5_qp, rsc);
		srq = qp->base.srq;
		if (likely(!srq)) {
			out->wr_id = qp->base.rq.wr_ids[counter & qp->base.rq.mask];
			drv_rq_release(&qp->base.rq);
			return;
		}
	} else if (rsc->type == MLX5_RSC_WQ) {
		mlx5_complete_wq(container_of(rsc, struct mlx5_wq, rsc), cqe, counter, out);
		return;
	} else {
		srq = &container_of(rsc, struct mlx5_srq, rsc)->base;
	}
	out->wr_id = drv_srq_complete(srq, counter);
}

/* Errors are those of entries, whatever the queue. */
static inline bool mlx5_cqe_is_tag(const struct mlx5_cqe64 *cqe)
{
	uint8_t opcode = cqe->op_own >> 4;

	return cqe->app == MLX5_CQE_APP_TM && opcode != MLX5_CQE_REQ &&
	       opcode != MLX5_CQE_REQ_ERR && opcode != MLX5_CQE_RESP_ERR;
}

/* Completes the request that the CQE names. False: its queue is not known. */
static inline bool mlx5_complete(struct mlx5_cq *cq, const struct mlx5_cqe64 *cqe,
				 struct mlx5_completion *out)
{
	uint32_t index = be32toh(cqe->srqn_uidx) & MLX5_QPN_MASK;
	uint16_t counter = be16toh(cqe->wqe_counter);
	uint8_t opcode = cqe->op_own >> 4;
	struct mlx5_rsc *rsc = cq->base.last;

	if (!rsc || rsc->index != index) {
		rsc = mlx5_table_find(&cq->ctx->table, index);
		if (unlikely(!rsc))
			return false;
		cq->base.last = rsc;
	}
	out->status = IBV_WC_SUCCESS;
	out->request = 0;
	switch (opcode) {
	case MLX5_CQE_REQ_ERR:
	case MLX5_CQE_RESP_ERR:
		out->status = drv_syndrome_status(((const struct mlx5_err_cqe *)cqe)->syndrome);
		break;
	case MLX5_CQE_REQ:
	case MLX5_CQE_RESP_SEND:
	case MLX5_CQE_RESP_SEND_IMM:
	case MLX5_CQE_RESP_SEND_INV:
	case MLX5_CQE_RESP_WR_IMM:
		break;
	case MLX5_CQE_NO_PACKET:
		return mlx5_tag_complete(cq, rsc, cqe, out);
	default:
		return false;
	}
	if (opcode == MLX5_CQE_REQ || opcode == MLX5_CQE_REQ_ERR) {
		if (unlikely(rsc->type != MLX5_RSC_QP))
			return false;
		mlx5_complete_send(container_of(rsc, struct mlx5_qp, rsc), counter, out);
	} else if (unlikely(mlx5_cqe_is_tag(cqe))) {
		return mlx5_tag_complete(cq, rsc, cqe, out);
	} else {
		mlx5_complete_recv(rsc, cqe, counter, out);
	}
	return true;
}

/* The opcode of a send completion, from the WQE's opcode, which the CQE repeats. */
static inline enum ibv_wc_opcode mlx5_send_wc_opcode(const struct mlx5_cqe64 *cqe, uint8_t request)
{
	if (unlikely(request))
		return request;
	switch (be32toh(cqe->sop_drop_qpn) >> 24) {
	case MLX5_OPCODE_RDMA_WRITE:
	case MLX5_OPCODE_RDMA_WRITE_IMM:
		return IBV_WC_RDMA_WRITE;
	case MLX5_OPCODE_RDMA_READ:
		return IBV_WC_RDMA_READ;
	case MLX5_OPCODE_ATOMIC_CS:
	case MLX5_OPCODE_ATOMIC_MASKED_CS:
		return IBV_WC_COMP_SWAP;
	case MLX5_OPCODE_ATOMIC_FA:
	case MLX5_OPCODE_ATOMIC_MASKED_FA:
		return IBV_WC_FETCH_ADD;
	case MLX5_OPCODE_TSO:
		return IBV_WC_TSO;
	case MLX5_OPCODE_UMR:
		return (enum ibv_wc_opcode)MLX5DV_WC_UMR;
	case MLX5_OPCODE_MMO:
		return (enum ibv_wc_opcode)MLX5DV_WC_MEMCPY;
	case MLX5_OPCODE_FLUSH:
		return IBV_WC_FLUSH;
	case MLX5_OPCODE_ATOMIC_WRITE:
		return IBV_WC_ATOMIC_WRITE;
	default:
		return IBV_WC_SEND;
	}
}

/* The checksums of the received frame, IPv4 and TCP or UDP, are right. */
static inline bool mlx5_cqe_checksums_ok(const struct mlx5_cqe64 *cqe)
{
	const uint8_t both = MLX5_CQE_L3_OK | MLX5_CQE_L4_OK;

	return (cqe->hds_ip_ext & both) == both &&
	       (cqe->l4_hdr_type_etc >> 2 & 3) == MLX5_CQE_L3_HDR_TYPE_IPV4;
}

/*
 * On Ethernet the bits of the service level are the kind of a datagram's network header: 0 for a GRH,
 * 1 for IPv6, 2 for IPv4. libmlx5 returns them on every port, and UCX finds the header by them.
 */
static inline uint8_t mlx5_cqe_sl(const struct mlx5_cqe64 *cqe)
{
	return (be32toh(cqe->flags_rqpn) >> 24) & 0xf;
}

#endif
