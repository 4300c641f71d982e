/* SPDX-License-Identifier: BSD-2-Clause */
#include "driver/qp.h"

#include <errno.h>
#include <stdlib.h>

#include "hca/raw/wq.h"
#include "hca/transport/qp.h"
#include "hca/transport/rq.h"
#include "util/explain.h"

static struct drv_cq *to_drv_cq(struct ibv_cq *cq)
{
	return cq ? container_of(cq, struct drv_cq, vb.cq) : NULL;
}

void drv_qp_init(struct drv_qp *qp, enum hca_qp_type type, const struct ibv_qp_init_attr_ex *attr)
{
	qp->type = type;
	qp->rss = attr->comp_mask & IBV_QP_INIT_ATTR_IND_TABLE;
	qp->send_cq = to_drv_cq(attr->send_cq);
	qp->recv_cq = to_drv_cq(attr->recv_cq);
	qp->srq = attr->srq ? container_of(attr->srq, struct drv_srq, vb.srq) : NULL;
}

void drv_qp_fill_init(const struct drv_qp *qp, struct vb_context *ctx,
		      const struct ibv_qp_init_attr_ex *attr, struct hca_qp_init *init)
{
	uint32_t flags = attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS ? attr->create_flags : 0;

	*init = (struct hca_qp_init){
		.type = qp->type,
		.ctx = &ctx->hca,
		.pd = attr->pd ? to_pd(attr->pd)->hca : NULL,
		.send_cq = qp->send_cq ? qp->send_cq->vb.hca : NULL,
		.recv_cq = qp->recv_cq ? qp->recv_cq->vb.hca : NULL,
		.srq = qp->srq ? qp->srq->vb.hca : NULL,
		.rq = { .buf = qp->rq.buf,
			.size = qp->rq.max_post,
			.slot_shift = qp->rq.shift,
			.max_sge = qp->rq.limits.max_sge,
			.db = qp->rq.db },
		.sig_all = attr->sq_sig_all,
		.block_self_mcast = flags & IBV_QP_CREATE_BLOCK_SELF_MCAST_LB,
		.xrcd = attr->xrcd ? to_xrcd(attr->xrcd)->number : 0,
		.user = (void *)&qp->vb.qp,
	};
	if (flags & IBV_QP_CREATE_SCATTER_FCS)
		init->wq_flags |= HCA_WQF_SCATTER_FCS;
	if (!qp->rss)
		return;
	init->ind_table = to_ind_table(attr->rwq_ind_tbl)->hca;
	/* The bits are the public ones. */
	init->rss_fields = (uint32_t)attr->rx_hash_conf.rx_hash_fields_mask;
	init->rss_key = attr->rx_hash_conf.rx_hash_key;
}

int drv_qp_open(struct hca_qp *hca_qp, size_t bytes, struct vb_qp **out)
{
	struct drv_qp *qp = calloc(1, bytes);

	if (!qp)
		return -ENOMEM;
	qp->type = HCA_QP_XRC_RECV;
	qp->qpn = hca_qp->qpn;
	qp->vb.hca = hca_qp;
	*out = &qp->vb;
	return 0;
}

void drv_qp_purge(struct drv_qp *qp, const void *queue)
{
	if (qp->recv_cq)
		drv_cq_purge(qp->recv_cq, queue, qp->srq);
	if (qp->send_cq && qp->send_cq != qp->recv_cq)
		drv_cq_purge(qp->send_cq, queue, NULL);
}

/* ---- posting ---- */

static __attribute__((cold, noinline)) int refuse(const struct drv_rq *rq,
						  const struct ibv_recv_wr *wr)
{
	const char *kind = rq->is_wq ? "WQ" : "QP";

	if ((uint32_t)wr->num_sge > rq->limits.max_sge)
		return -explain(rq->limits.sge_errno,
				"%s 0x%06x: %d elements in a receive; it was created for %u", kind,
				rq->number, wr->num_sge, rq->limits.max_sge);
	return -explain(ENOMEM, "%s 0x%06x: the receive queue is full with %u requests", kind,
			rq->number, rq->max_post);
}

static inline int post_one(struct drv_rq *rq, const struct ibv_recv_wr *wr)
{
	uint32_t slot = rq->head & rq->mask;
	struct drv_data_seg *seg;

	/* [DRV2] pairs with drv_rq_release(): wr_ids[slot] was read before it is written again */
	if (unlikely(rq->head - atomic_load_explicit(&rq->tail, memory_order_acquire) >=
		     rq->max_post) ||
	    unlikely((uint32_t)wr->num_sge > rq->limits.max_sge))
		return refuse(rq, wr);
	seg = (void *)(rq->buf + ((size_t)slot << rq->shift));
	drv_scatter_set(seg + rq->has_link, wr, &rq->limits);
	rq->wr_ids[slot] = wr->wr_id;
	rq->head++;
	return 0;
}

/* Posts a list and stores the doorbell record once. 0 or a positive errno, with *bad set. */
static inline __attribute__((always_inline)) int post(struct drv_rq *rq, struct ibv_recv_wr *wr,
						      struct ibv_recv_wr **bad)
{
	uint32_t before;
	int err = 0;

	fabric_lock(&rq->lock);
	before = rq->head;
	for (; wr; wr = wr->next) {
		err = post_one(rq, wr);
		if (unlikely(err)) {
			*bad = wr;
			break;
		}
	}
	if (likely(rq->head != before))
		drv_record_store(rq->db, rq->head & DRV_INDEX_MASK);
	fabric_unlock(&rq->lock);
	return err;
}

int drv_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct drv_qp *qp = container_of(ibqp, struct drv_qp, vb.qp);
	struct hca_qp *hca_qp = qp->vb.hca;
	int err;

	if (unlikely(__atomic_load_n(&hca_qp->state, __ATOMIC_RELAXED) == HCA_QPS_RESET)) {
		*bad = wr;
		return -explain(EINVAL,
				"QP 0x%06x is in RESET: receives may be posted from INIT on",
				qp->qpn);
	}
	err = post(&qp->rq, wr, bad);
	if (unlikely(hca_qp->wq))
		hca_wq_doorbell(hca_qp->wq);
	else
		hca_rq_doorbell(hca_qp);
	return err;
}

int drv_post_wq_recv(struct ibv_wq *ibwq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct drv_wq *wq = container_of(ibwq, struct drv_wq, vb.wq);
	int err;

	if (unlikely(__atomic_load_n(&wq->vb.hca->state, __ATOMIC_RELAXED) == HCA_WQS_RESET)) {
		*bad = wr;
		return -explain(EINVAL,
				"WQ 0x%06x is in RESET: what is posted there is gone when it gets "
				"ready; move it to RDY first",
				wq->vb.hca->wqn);
	}
	err = post(wq->rq, wr, bad);
	hca_wq_doorbell(wq->vb.hca);
	return err;
}
