/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Chains of requests under construction, for wr.c (verbs) and wr_dv.c (direct verbs). The caller
 * holds the lock of the adapter's QP.
 */
#ifndef MLX5_CHAIN_H
#define MLX5_CHAIN_H

#include "mlx5/sq.h"

/* Only the first error is kept; after it no WQE is written. */
static inline void mlx5_chain_fail(struct mlx5_qp *qp, int err)
{
	if (!qp->chain.err)
		qp->chain.err = err;
	qp->chain.ctrl = NULL;
}

static inline void mlx5_chain_close(struct mlx5_qp *qp)
{
	struct mlx5_chain *chain = &qp->chain;

	if (!chain->ctrl)
		return;
	if (unlikely(chain->inline_missing)) {
		mlx5_chain_fail(qp, -explain(EINVAL,
					     "QP 0x%06x: a frame needs at least its %u bytes of "
					     "header",
					     qp->base.qpn, qp->ctx->min_inline));
		return;
	}
	mlx5_put_ctrl_length(chain->ctrl, qp->base.qpn, chain->ds);
	qp->sq.post += mlx5_blocks(chain->ds);
	chain->count++;
	chain->ctrl = NULL;
}

/*
 * Opens a WQE; the caller has closed the one before and found room. Returns the segment behind the
 * control segment.
 */
static inline uint8_t *mlx5_chain_begin(struct mlx5_qp *qp, uint8_t opcode, uint32_t imm,
					uint8_t request)
{
	struct mlx5_chain *chain = &qp->chain;
	struct mlx5_sq *sq = &qp->sq;
	struct mlx5_slot *slot = &sq->slots[sq->post & sq->mask];

	chain->ctrl = mlx5_sq_entry(sq);
	chain->ds = 1;
	chain->inline_missing = 0;
	chain->mkey = NULL;
	slot->wr_id = qp->base.vb.ex.wr_id;
	slot->head = sq->head + chain->count;
	slot->request = request;
	mlx5_put_ctrl(chain->ctrl, sq->post, opcode, mlx5_ctrl_flags(sq, qp->base.vb.ex.wr_flags),
		      imm);
	sq->fence_next = 0;
	return (uint8_t *)(chain->ctrl + 1);
}

/* Closes the WQE before and opens one if there is room; NULL: the chain has failed. */
static inline uint8_t *mlx5_chain_open(struct mlx5_qp *qp, uint8_t opcode, uint32_t imm,
				       uint8_t request)
{
	mlx5_chain_close(qp);
	if (qp->chain.err)
		return NULL;
	if (mlx5_sq_full(&qp->sq, qp->chain.count)) {
		mlx5_chain_fail(qp, -explain(ENOMEM,
					     "QP 0x%06x: the send queue is full with %u requests; "
					     "poll completions of signaled ones to make room",
					     qp->base.qpn, qp->sq.max_post));
		return NULL;
	}
	return mlx5_chain_begin(qp, opcode, imm, request);
}

#endif
