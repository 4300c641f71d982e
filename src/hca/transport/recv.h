/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Receive entries of a queue pair or its shared receive queue: taken by messages of the peer, completed,
 * flushed. Lock held, inside an epoch section. What every message passes is inline.
 */
#ifndef HCA_RECV_H
#define HCA_RECV_H

#include <stdlib.h>

#include "hca/device/checker.h"
#include "hca/hca.h"
#include "hca/queue/cq.h"
#include "hca/queue/srq.h"
#include "hca/transport/comp_cntr.h"
#include "hca/transport/qp_count.h"
#include "hca/transport/qp_types.h"

/* Takes the next entry into resp.recv; false: none is posted. `srq` NULL: the QP's own queue. */
static inline bool recv_take(struct qp *qp, struct hca_srq *srq)
{
	struct responder *r = &qp->resp;

	if (unlikely(!r->recv)) {
		r->recv = malloc(sizeof(*r->recv));
		if (!r->recv)
			return false;
	}
	r->recv_srq = srq;
	if (srq) {
		r->recv_srqn = srq->srqn;
		r->recv_srq_serial = srq->serial;
		return hca_srq_take(srq, r->recv);
	}
	/* The doorbell record is read only when all entries known to be posted are taken. */
	if (unlikely(!r->rq_left)) {
		if (qp->pub.rq.size)
			r->rq_left = qp->pub.format->rq_producer(&qp->pub.rq) - r->rq_taken;
		if (!r->rq_left)
			return false;
	}
	qp->pub.format->rq_decode(&qp->pub.rq, r->rq_taken, r->recv);
	r->recv->counter = r->rq_taken;
	if (unlikely(qp->pub.checked))
		hca.checker->recv_taken(&qp->pub, r->rq_taken);
	r->rq_taken++;
	r->rq_left--;
	return true;
}

/* Completes the entry in resp.recv; the caller has filled in what the message says. */
static inline void recv_complete(struct qp *qp, struct hca_cqe *cqe)
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
		qp_count(qp, HCA_COUNT_RESP_STATUS + cqe->status);
	if (unlikely(qp->cntr))
		comp_cntr_add(qp, HCA_CNTR_RECV, cqe->status == HCA_SUCCESS, cqe->byte_len);
	if (cq)
		hca_cq_add(cq, cqe);
}

/* The SRQ that a request is for: the QP's, or for XRC the one with this number; NULL: none. */
static inline struct hca_srq *recv_srq(const struct qp *qp, uint32_t srqn)
{
	struct hca_srq *srq;

	if (qp->pub.type != HCA_QP_XRC_RECV)
		return qp->pub.srq;
	srq = hca_srq_find(srqn);
	return srq && srq->type == HCA_SRQ_XRC && srq->xrcd == qp->xrcd ? srq : NULL;
}

/* The message in progress has taken a tagged buffer, instead of an entry. */
static inline bool recv_is_tagged(const struct responder *r)
{
	return r->tag.what && r->tag.what != HCA_TM_UNEXPECTED && r->tag.what != HCA_TM_NO_TAG;
}

/* Completes the entry in resp.recv with an error, if a message had taken one. */
void recv_complete_error(struct qp *qp, enum hca_status status, uint8_t vendor);
void recv_flush(struct qp *qp);
/* The message in progress ends without a completion that would tell of its tag. */
void recv_forget_tag(struct qp *qp);
/* The domain that keys of a request must belong to; `srqn` counts for XRC. */
uint32_t recv_pdn(const struct qp *qp, uint32_t srqn);
/* XRC: ends the message in progress if the queue was destroyed that the message has taken an entry of. */
void recv_check_srq(struct qp *qp);

#endif
