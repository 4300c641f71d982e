/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CQEs as the driver reads them, for poll.c and cqex.c. Callers hold the CQ's lock, or are the only
 * thread that uses the CQ.
 */
#ifndef MLX4_CQE_READ_H
#define MLX4_CQE_READ_H

#include "driver/syndrome.h"
#include "mlx4/objects.h"
#include "mlx4/qp.h"

/* The owner bit is that of the consumer's lap. */
static inline bool mlx4_cqe_ready(const struct drv_cq *cq, uint32_t index)
{
	const uint64_t *word = (const uint64_t *)drv_cqe_at(cq, index) + 3;
	/* [X2] pairs with mlx4_cqe_write(); the owner before the rest of the CQE */
	uint8_t own = be64toh(__atomic_load_n(word, __ATOMIC_ACQUIRE));

	return !(own & MLX4_CQE_OWNER_MASK) == !(index & (cq->mask + 1));
}

static inline bool mlx4_cqe_is_send(const struct mlx4_cqe *cqe)
{
	return cqe->owner_sr_opcode & MLX4_CQE_IS_SEND_MASK;
}

static inline uint8_t mlx4_cqe_opcode(const struct mlx4_cqe *cqe)
{
	return cqe->owner_sr_opcode & MLX4_CQE_OPCODE_MASK;
}

/* The decoded result of a completed request, beside the CQE itself. */
struct mlx4_completion {
	uint64_t wr_id;
	enum ibv_wc_status status;
	const struct mlx4_qp *qp; /* NULL: an XRC target */
};

/* An XRC target may be another process's: its CQEs are known by their receive queue only. */
static inline struct drv_srq *mlx4_xrc_srq(const struct mlx4_cq *cq, const struct mlx4_cqe *cqe)
{
	struct mlx4_srq *srq =
		hca_table_find(&cq->ctx->srqs, be32toh(cqe->g_mlpath_rqpn) & MLX4_QPN_MASK);

	return srq ? &srq->base : NULL;
}

static inline void mlx4_complete_send(struct mlx4_qp *qp, uint16_t index,
				      struct mlx4_completion *out)
{
	uint32_t tail = atomic_load_explicit(&qp->sq.tail, memory_order_relaxed);

	/* It and every request before it are complete. */
	tail += (uint16_t)(index - (uint16_t)tail);
	out->wr_id = qp->sq.wr_ids[tail & qp->sq.mask];
	/* [X3] pairs with post_one() of post.c: wr_ids are read before their slots are free */
	atomic_store_explicit(&qp->sq.tail, tail + 1, memory_order_release);
}

static inline void mlx4_complete_recv(struct mlx4_qp *qp, struct mlx4_completion *out)
{
	struct drv_rq *rq = &qp->base.rq;
	uint32_t tail = atomic_load_explicit(&rq->tail, memory_order_relaxed);

	out->wr_id = rq->wr_ids[tail & rq->mask];
	drv_rq_release(rq);
}

/* Completes the request that the CQE names. False: its queue is not known. */
static inline bool mlx4_complete(struct mlx4_cq *cq, const struct mlx4_cqe *cqe,
				 struct mlx4_completion *out)
{
	uint32_t qpn = be32toh(cqe->vlan_my_qpn) & MLX4_QPN_MASK;
	uint16_t index = be16toh(cqe->wqe_index);
	struct mlx4_qp *qp = cq->base.last;
	struct drv_srq *srq;

	if (!qp || qp->base.qpn != qpn) {
		qp = hca_table_find(&cq->ctx->qps, qpn);
		if (likely(qp))
			cq->base.last = qp;
	}
	out->status = IBV_WC_SUCCESS;
	out->qp = qp;
	if (unlikely(mlx4_cqe_opcode(cqe) == MLX4_CQE_OPCODE_ERROR))
		out->status = drv_syndrome_status(((const struct mlx4_err_cqe *)cqe)->syndrome);
	if (mlx4_cqe_is_send(cqe)) {
		if (unlikely(!qp))
			return false;
		mlx4_complete_send(qp, index, out);
		return true;
	}
	srq = likely(qp) ? qp->base.srq : mlx4_xrc_srq(cq, cqe);
	if (srq)
		out->wr_id = drv_srq_complete(srq, index);
	else if (likely(qp))
		mlx4_complete_recv(qp, out);
	else
		return false;
	return true;
}

/* The opcode of a send completion, from the WQE's opcode, which the CQE repeats. */
static inline enum ibv_wc_opcode mlx4_send_wc_opcode(const struct mlx4_cqe *cqe)
{
	switch (mlx4_cqe_opcode(cqe)) {
	case MLX4_OPCODE_RDMA_WRITE:
	case MLX4_OPCODE_RDMA_WRITE_IMM:
		return IBV_WC_RDMA_WRITE;
	case MLX4_OPCODE_RDMA_READ:
		return IBV_WC_RDMA_READ;
	case MLX4_OPCODE_ATOMIC_CS:
	case MLX4_OPCODE_MASKED_ATOMIC_CS:
		return IBV_WC_COMP_SWAP;
	case MLX4_OPCODE_ATOMIC_FA:
	case MLX4_OPCODE_MASKED_ATOMIC_FA:
		return IBV_WC_FETCH_ADD;
	case MLX4_OPCODE_LOCAL_INVAL:
		return IBV_WC_LOCAL_INV;
	case MLX4_OPCODE_BIND_MW:
		return IBV_WC_BIND_MW;
	default:
		return IBV_WC_SEND;
	}
}

/* The checksums of the received frame, IPv4 and TCP or UDP, are right. */
static inline bool mlx4_cqe_checksums_ok(const struct mlx4_cqe *cqe, const struct mlx4_qp *qp)
{
	return qp && qp->base.type == HCA_QP_RAW &&
	       (be32toh(cqe->status) & MLX4_CQE_STATUS_IPV4_CSUM_OK) ==
		       MLX4_CQE_STATUS_IPV4_CSUM_OK;
}

/* On Ethernet the service level is the priority of the VLAN tag. */
static inline uint8_t mlx4_cqe_sl(const struct mlx4_cq *cq, const struct mlx4_cqe *cqe,
				  const struct mlx4_qp *qp)
{
	return be16toh(cqe->sl_vid) >> (unlikely(mlx4_is_ethernet(cq->ctx, qp)) ? 13 : 12);
}

#endif
