/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Posting. Sends are written under the QP's own lock, which the adapter takes too; a chain of
 * requests is handed over by one doorbell at its end. Receives have a lock of their own.
 */
#include <errno.h>

#include "mlx4/recv.h"
#include "util/explain.h"

static __attribute__((cold, noinline)) int refuse_state(const struct mlx4_qp *qp, const char *what,
							const char *from)
{
	return -explain(EINVAL, "QP 0x%06x is in state %d: %s may be posted from %s on", qp->qpn,
			qp->vb.hca->state, what, from);
}

static inline int post_one(struct mlx4_qp *qp, const struct ibv_send_wr *wr)
{
	struct mlx4_sq *sq = &qp->sq;
	struct mlx4_wqe_ctrl_seg *ctrl;
	uint32_t first;
	int err;

	/* [X3] pairs with mlx4_take_send() */
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
	/* [X1] the entry before its owner */
	__atomic_store_n(&ctrl->owner_opcode, htobe32(first), __ATOMIC_RELEASE);
	sq->head++;
	return 0;
}

int mlx4_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	struct mlx4_qp *qp = to_mqp(ibqp);
	struct hca_qp *hca = qp->vb.hca;
	uint32_t before;
	int err = 0;

	fabric_lock(&hca->lock);
	before = qp->sq.head;
	if (unlikely(hca->state < HCA_QPS_RTS)) {
		err = refuse_state(qp, "sends", "RTS");
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

static inline int post_recv_one(struct mlx4_qp *qp, const struct ibv_recv_wr *wr)
{
	struct mlx4_rq *rq = &qp->rq;
	uint32_t slot = rq->head & rq->mask;

	/* [X3] pairs with mlx4_take_recv() */
	if (unlikely(rq->head - atomic_load_explicit(&rq->tail, memory_order_acquire) >=
		     rq->max_post))
		return ENOMEM;
	if (unlikely((uint32_t)wr->num_sge > rq->max_sge))
		return -explain(ENOMEM, "QP 0x%06x: %d elements in a receive; it was made for %u",
				qp->qpn, wr->num_sge, rq->max_sge);
	mlx4_put_scatter((void *)(rq->buf + ((size_t)slot << rq->shift)), wr, rq->max_sge);
	rq->wr_ids[slot] = wr->wr_id;
	rq->head++;
	return 0;
}

int mlx4_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct mlx4_qp *qp = to_mqp(ibqp);
	struct hca_qp *hca = qp->vb.hca;
	uint32_t before;
	int err = 0;

	if (unlikely(__atomic_load_n(&hca->state, __ATOMIC_RELAXED) == HCA_QPS_RESET)) {
		*bad_wr = wr;
		return refuse_state(qp, "receives", "INIT");
	}
	fabric_lock(&qp->rq_lock);
	before = qp->rq.head;
	for (; wr; wr = wr->next) {
		err = post_recv_one(qp, wr);
		if (unlikely(err)) {
			*bad_wr = wr;
			break;
		}
	}
	if (likely(qp->rq.head != before))
		mlx4_record_store(qp->db, qp->rq.head & MLX4_INDEX_MASK);
	fabric_unlock(&qp->rq_lock);
	if (unlikely(hca->wq))
		hca_wq_doorbell(hca->wq);
	else
		hca_rq_doorbell(hca);
	return err;
}

int mlx4_post_wq_recv(struct ibv_wq *ibwq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct mlx4_wq *wq = to_mwq(ibwq);
	struct mlx4_qp *q = wq->queue;
	uint32_t before;
	int err = 0;

	if (unlikely(__atomic_load_n(&wq->vb.hca->state, __ATOMIC_RELAXED) == HCA_WQS_RESET)) {
		*bad_wr = wr;
		return -explain(EINVAL,
				"WQ 0x%06x is in RESET: what is posted there is gone when it gets "
				"ready; move it to RDY first",
				q->qpn);
	}
	fabric_lock(&q->rq_lock);
	before = q->rq.head;
	for (; wr; wr = wr->next) {
		err = post_recv_one(q, wr);
		if (unlikely(err)) {
			*bad_wr = wr;
			break;
		}
	}
	if (likely(q->rq.head != before))
		mlx4_record_store(q->db, q->rq.head & MLX4_INDEX_MASK);
	fabric_unlock(&q->rq_lock);
	hca_wq_doorbell(wq->vb.hca);
	return err;
}

/* Type 1 windows: the key changes with every bind, and the new one is known at once. */
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
