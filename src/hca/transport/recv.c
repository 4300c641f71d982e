/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/transport/recv.h"

#include <stdlib.h>

#include "hca/hca.h"
#include "hca/queue/cq.h"
#include "hca/queue/srq.h"
#include "hca/transport/comp_cntr.h"
#include "hca/transport/qp_table.h"
#include "hca/transport/raw_qp_ops.h"
#include "hca/transport/syndrome.h"

bool recv_take(struct qp *qp, struct hca_srq *srq)
{
	struct responder *r = &qp->resp;

	if (unlikely(!r->recv)) {
		r->recv = malloc(sizeof(*r->recv));
		if (!r->recv)
			return false;
	}
	r->recv_srq = srq;
	if (srq)
		return hca_srq_take(srq, r->recv);
	/* The doorbell record is read only when all entries known to be posted are taken. */
	if (unlikely(!r->rq_left)) {
		if (qp->pub.rq.size)
			r->rq_left = qp->pub.format->rq_producer(&qp->pub.rq) - r->rq_taken;
		if (!r->rq_left)
			return false;
	}
	qp->pub.format->rq_decode(&qp->pub.rq, r->rq_taken, r->recv);
	r->recv->counter = r->rq_taken;
	r->rq_taken++;
	r->rq_left--;
	return true;
}

void recv_complete(struct qp *qp, struct hca_cqe *cqe)
{
	struct responder *r = &qp->resp;
	struct hca_cq *cq = qp->pub.recv_cq;

	cqe->is_recv = true;
	cqe->qpn = qp->pub.qpn;
	cqe->counter = r->recv->counter;
	cqe->user_index = qp->pub.user_index;
	if (r->recv_srq) {
		cqe->srqn = r->recv_srq->srqn;
		cqe->xrc = r->recv_srq->type == HCA_SRQ_XRC;
		if (r->recv_srq->user_index != HCA_SRQ_NO_INDEX)
			cqe->user_index = r->recv_srq->user_index;
		if (r->recv_srq->cq)
			cq = r->recv_srq->cq;
	}
	r->has_recv = false;
	if (unlikely(cqe->status != HCA_SUCCESS))
		hca_count(qp->pub.counters, HCA_COUNT_RESP_STATUS + cqe->status);
	if (unlikely(qp->cntr))
		comp_cntr_add(qp, HCA_CNTR_RECV, cqe->status == HCA_SUCCESS, cqe->byte_len);
	if (cq)
		hca_cq_add(cq, cqe);
}

void recv_complete_error(struct qp *qp, enum hca_status status, uint8_t vendor)
{
	struct hca_cqe cqe = { .status = status, .vendor = vendor };

	if (qp->resp.has_recv)
		recv_complete(qp, &cqe);
}

struct hca_srq *recv_srq(const struct qp *qp, uint32_t srqn)
{
	struct hca_srq *srq;

	if (qp->pub.type != HCA_QP_XRC_RECV)
		return qp->pub.srq;
	srq = hca_srq_find(srqn);
	return srq && srq->type == HCA_SRQ_XRC && srq->xrcd == qp->xrcd ? srq : NULL;
}

uint32_t recv_pdn(const struct qp *qp, uint32_t srqn)
{
	struct hca_srq *srq;

	if (qp->pub.type != HCA_QP_XRC_RECV)
		return qp->pub.pd->pdn;
	srq = recv_srq(qp, srqn);
	return srq ? srq->pd->pdn : 0;
}

static void forget_srq(struct qp *qp, void *srq)
{
	struct responder *r = &qp->resp;

	fabric_lock(&qp->pub.lock);
	if (r->has_recv && r->recv_srq == srq) {
		r->has_recv = false;
		r->recv_srq = NULL;
		r->last_op =
			NO_MESSAGE; /* later packets of the message are refused as out of sequence */
	}
	fabric_unlock(&qp->pub.lock);
}

void recv_srq_gone(const struct hca_srq *srq)
{
	qp_for_each(forget_srq, (void *)srq);
}

void recv_flush(struct qp *qp)
{
	if (qp->pub.type == HCA_QP_RAW) {
		hca.raw_qp->flush_recv(qp);
		return;
	}
	recv_complete_error(qp, HCA_WR_FLUSH_ERR, SYN_FLUSH);
	if (qp->pub.srq || !qp->pub.rq.size)
		return;
	while (recv_take(qp, NULL)) {
		qp->resp.has_recv = true;
		recv_complete_error(qp, HCA_WR_FLUSH_ERR, SYN_FLUSH);
	}
}
