/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sends are written under the lock of the adapter's QP. A list of requests is handed over by one
 * doorbell at its end.
 */
#include "mlx4/post.h"

#include <errno.h>

#include "hca/transport/qp.h"
#include "hca/transport/sq.h"
#include "mlx4/encode.h"
#include "util/explain.h"

static inline int post_one(struct mlx4_qp *qp, const struct ibv_send_wr *wr)
{
	struct mlx4_sq *sq = &qp->sq;
	struct mlx4_wqe_ctrl_seg *ctrl;
	uint32_t first;
	int err;

	/* [X3] pairs with mlx4_complete_send() */
	if (unlikely(sq->head - atomic_load_explicit(&sq->tail, memory_order_acquire) >=
		     sq->max_post))
		return ENOMEM;
	err = mlx4_sq_encode(qp, wr, &first);
	if (unlikely(err))
		return -err;
	sq->wr_ids[sq->head & sq->mask] = wr->wr_id;
	if (sq->head & (sq->mask + 1))
		first |= MLX4_OWNER;
	ctrl = (void *)(sq->buf + ((size_t)(sq->head & sq->mask) << sq->shift));
	/* [X1] pairs with sq_ready() of format.c: the WQE before its owner */
	__atomic_store_n(&ctrl->owner_opcode, htobe32(first), __ATOMIC_RELEASE);
	sq->head++;
	return 0;
}

int mlx4_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	struct mlx4_qp *qp = to_mqp(ibqp);
	struct hca_qp *hca = qp->base.vb.hca;
	uint32_t before;
	int err = 0;

	fabric_lock(&hca->lock);
	before = qp->sq.head;
	if (unlikely(hca->state < HCA_QPS_RTS)) {
		err = -explain(EINVAL, "QP 0x%06x is in state %d: sends may be posted from RTS on",
			       qp->base.qpn, hca->state);
		*bad_wr = wr;
		goto unlock;
	}
	for (; wr; wr = wr->next) {
		err = post_one(qp, wr);
		if (unlikely(err)) {
			*bad_wr = wr;
			break;
		}
	}
	if (likely(qp->sq.head != before))
		hca_sq_doorbell(hca, qp->sq.head);
unlock:
	fabric_unlock(&hca->lock);
	return err;
}

/* For type 1 windows: the key changes with every bind, and the new key is known at once. */
int mlx4_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	struct ibv_send_wr wr = {
		.wr_id = bind->wr_id,
		.opcode = IBV_WR_BIND_MW,
		.send_flags = bind->send_flags,
		.bind_mw = { .mw = mw,
			     .rkey = ibv_inc_rkey(mw->rkey),
			     .bind_info = bind->bind_info },
	};
	struct ibv_send_wr *bad_wr;
	int err = mlx4_post_send(qp, &wr, &bad_wr);

	if (!err)
		mw->rkey = wr.bind_mw.rkey;
	return err;
}
