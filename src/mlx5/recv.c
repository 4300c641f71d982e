/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ibv_post_recv(). The adapter takes entries up to the doorbell record's index without our lock.
 */
#include <errno.h>

#include "hca/transport/qp.h"
#include "mlx5/mlx5.h"
#include "mlx5/recv.h"
#include "util/explain.h"

static __attribute__((cold, noinline)) int refuse(const struct mlx5_qp *qp,
						  const struct ibv_recv_wr *wr)
{
	if (wr->num_sge < 0 || wr->num_sge > qp->rq.max_sge)
		return -explain(EINVAL, "QP 0x%06x: %d elements in a receive; it was made for %d",
				qp->qpn, wr->num_sge, qp->rq.max_sge);
	return -explain(ENOMEM, "QP 0x%06x: the receive queue is full with %u requests", qp->qpn,
			qp->rq.max_post);
}

static inline int post_one(struct mlx5_qp *qp, const struct ibv_recv_wr *wr)
{
	struct mlx5_rq *rq = &qp->rq;
	uint32_t slot = rq->head & rq->mask;
	struct mlx5_wqe_data_seg *seg;

	/* [M4] pairs with mlx5_take_recv() */
	if (unlikely(rq->head - atomic_load_explicit(&rq->tail, memory_order_acquire) >=
		     rq->max_post) ||
	    unlikely(wr->num_sge < 0 || wr->num_sge > rq->max_sge))
		return refuse(qp, wr);
	seg = (void *)(rq->buf + ((size_t)slot << rq->shift));
	mlx5_put_scatter(seg, wr, rq->max_sge);
	rq->wr_ids[slot] = wr->wr_id;
	rq->head++;
	return 0;
}

int mlx5_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct mlx5_qp *qp = to_mqp(ibqp);
	struct hca_qp *hca = qp->vb.hca;
	uint32_t before;
	int err = 0;

	if (unlikely(__atomic_load_n(&hca->state, __ATOMIC_RELAXED) == HCA_QPS_RESET)) {
		*bad = wr;
		return -explain(EINVAL,
				"QP 0x%06x is in RESET: receives may be posted from INIT on",
				qp->qpn);
	}
	fabric_lock(&qp->rq_lock);
	before = qp->rq.head;
	for (; wr; wr = wr->next) {
		err = post_one(qp, wr);
		if (unlikely(err)) {
			*bad = wr;
			break;
		}
	}
	if (likely(qp->rq.head != before))
		mlx5_record_store(&qp->db[MLX5_RCV_DBR], qp->rq.head & MLX5_INDEX_MASK);
	fabric_unlock(&qp->rq_lock);
	if (unlikely(hca->wq))
		hca_wq_doorbell(hca->wq);
	else
		hca_rq_doorbell(hca);
	return err;
}
