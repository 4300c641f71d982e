/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Taking completions out of a ring: what poll.c and cqex.c share. Callers hold the CQ's lock, or
 * are the only thread that uses it.
 */
#ifndef MLX4_CQE_H
#define MLX4_CQE_H

#include "mlx4/format.h"
#include "mlx4/mlx4.h"

static inline struct mlx4_cqe *mlx4_cqe_at(const struct mlx4_cq *cq, uint32_t index)
{
	return (void *)(cq->entries + (size_t)(index & cq->mask) * cq->entry_size);
}

/* The owner bit is that of the consumer's lap. */
static inline bool mlx4_cqe_ready(const struct mlx4_cq *cq, uint32_t index)
{
	const uint64_t *word = (const uint64_t *)mlx4_cqe_at(cq, index) + 3;
	/* [X2] pairs with mlx4_cqe_write(): the owner before the entry */
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

/* What completing a request yields beside the entry itself. */
struct mlx4_taken {
	uint64_t wr_id;
	enum ibv_wc_status status;
	const struct mlx4_qp *qp; /* NULL: an XRC target */
};

/* An XRC QP may be another process's, so these entries are known by their receive queue only. */
static inline struct mlx4_srq *mlx4_xrc_srq(const struct mlx4_cq *cq, const struct mlx4_cqe *cqe)
{
	return hca_table_find(&cq->ctx->srqs, be32toh(cqe->g_mlpath_rqpn) & MLX4_QPN_MASK);
}

static inline void mlx4_take_send(struct mlx4_qp *qp, uint16_t index, struct mlx4_taken *out)
{
	uint32_t tail = atomic_load_explicit(&qp->sq.tail, memory_order_relaxed);

	/* It and every request before it are done. */
	tail += (uint16_t)(index - (uint16_t)tail);
	out->wr_id = qp->sq.wr_ids[tail & qp->sq.mask];
	/* [X3] pairs with the look for room before a request is posted: wr_ids are read */
	atomic_store_explicit(&qp->sq.tail, tail + 1, memory_order_release);
}

static inline void mlx4_take_recv(struct mlx4_qp *qp, struct mlx4_taken *out)
{
	uint32_t tail = atomic_load_explicit(&qp->rq.tail, memory_order_relaxed);

	out->wr_id = qp->rq.wr_ids[tail & qp->rq.mask];
	/* [X3] */
	atomic_store_explicit(&qp->rq.tail, tail + 1, memory_order_release);
}

static inline void mlx4_take_shared(struct mlx4_srq *srq, uint16_t index, struct mlx4_taken *out)
{
	out->wr_id = srq->wr_ids[index & (srq->size - 1)];
	mlx4_srq_free_entry(srq, index);
}

/* Completes what the entry is about. False: it is about nothing that we know. */
static inline bool mlx4_take(struct mlx4_cq *cq, const struct mlx4_cqe *cqe, struct mlx4_taken *out)
{
	uint32_t qpn = be32toh(cqe->vlan_my_qpn) & MLX4_QPN_MASK;
	uint16_t index = be16toh(cqe->wqe_index);
	struct mlx4_qp *qp = cq->last;
	struct mlx4_srq *srq;

	if (!qp || qp->qpn != qpn) {
		qp = hca_table_find(&cq->ctx->qps, qpn);
		if (likely(qp))
			cq->last = qp;
	}
	out->status = IBV_WC_SUCCESS;
	out->qp = qp;
	if (unlikely(mlx4_cqe_opcode(cqe) == MLX4_CQE_OPCODE_ERROR))
		out->status = mlx4_syndrome_status(((const struct mlx4_err_cqe *)cqe)->syndrome);
	if (mlx4_cqe_is_send(cqe)) {
		if (unlikely(!qp))
			return false;
		mlx4_take_send(qp, index, out);
		return true;
	}
	srq = likely(qp) ? qp->srq : mlx4_xrc_srq(cq, cqe);
	if (srq)
		mlx4_take_shared(srq, index, out);
	else if (likely(qp))
		mlx4_take_recv(qp, out);
	else
		return false;
	return true;
}

/* Of a request, by the opcode that its entry repeats. */
static inline enum ibv_wc_opcode mlx4_send_wc_opcode(const struct mlx4_cqe *cqe)
{
	switch (mlx4_cqe_opcode(cqe)) {
	case MLX4_OPCODE_RDMA_WRITE:
	case MLX4_OPCODE_RDMA_WRITE_IMM:
		return IBV_WC_RDMA_WRITE;
	case MLX4_OPCODE_RDMA_READ:
		return IBV_WC_RDMA_READ;
	case MLX4_OPCODE_ATOMIC_CS:
		return IBV_WC_COMP_SWAP;
	case MLX4_OPCODE_ATOMIC_FA:
		return IBV_WC_FETCH_ADD;
	case MLX4_OPCODE_LOCAL_INVAL:
		return IBV_WC_LOCAL_INV;
	case MLX4_OPCODE_BIND_MW:
		return IBV_WC_BIND_MW;
	default:
		return IBV_WC_SEND;
	}
}

/* The frame's check sums, IPv4 and TCP or UDP, are right. */
static inline bool mlx4_cqe_sums_are_right(const struct mlx4_cqe *cqe, const struct mlx4_qp *qp)
{
	return qp && qp->type == HCA_QP_RAW &&
	       (be32toh(cqe->status) & MLX4_CQE_STATUS_IPV4_CSUM_OK) ==
		       MLX4_CQE_STATUS_IPV4_CSUM_OK;
}

/* Ethernet has no service level; its priority is where a VLAN tag has it. */
static inline uint8_t mlx4_cqe_sl(const struct mlx4_cq *cq, const struct mlx4_cqe *cqe,
				  const struct mlx4_qp *qp)
{
	return be16toh(cqe->sl_vid) >> (unlikely(mlx4_is_ethernet(cq->ctx, qp)) ? 13 : 12);
}

#endif
