/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/transport/recv.h"

#include "hca/hca.h"
#include "hca/transport/raw_qp_ops.h"
#include "hca/transport/syndrome.h"

void recv_complete_error(struct qp *qp, enum hca_status status, uint8_t vendor)
{
	struct hca_cqe cqe = { .status = status, .vendor = vendor };
	const struct resp_tag *tag = &qp->resp.tag;
	struct hca_tm_info info = { .what = HCA_TM_CANCELED, .index = tag->index };

	if (qp->pub.type == HCA_QP_XRC_RECV)
		recv_check_srq(qp);
	if (!qp->resp.has_recv)
		return;
	/* A tagged buffer is no entry of the ring that an error could name. */
	if (unlikely(recv_is_tagged(&qp->resp))) {
		cqe.status = HCA_SUCCESS;
		cqe.tm = &info;
	}
	recv_forget_tag(qp);
	recv_complete(qp, &cqe);
}

void recv_forget_tag(struct qp *qp)
{
	if (unlikely(qp->resp.tag.what == HCA_TM_UNEXPECTED) && qp->resp.has_recv)
		hca_srq_uncount(qp->pub.srq);
	qp->resp.tag.what = 0;
}

uint32_t recv_pdn(const struct qp *qp, uint32_t srqn)
{
	struct hca_srq *srq;

	if (qp->pub.type != HCA_QP_XRC_RECV)
		return qp->pub.pd->pdn;
	srq = recv_srq(qp, srqn);
	return srq ? srq->pd->pdn : 0;
}

/* Later packets of the message are refused as out of sequence. */
void recv_check_srq(struct qp *qp)
{
	struct responder *r = &qp->resp;
	const struct hca_srq *srq;

	if (!r->has_recv)
		return;
	srq = hca_srq_find(r->recv_srqn);
	if (srq && srq->serial == r->recv_srq_serial)
		return;
	r->has_recv = false;
	r->recv_srq = NULL;
	r->last_op = NO_MESSAGE;
}

void recv_flush(struct qp *qp)
{
	struct hca_recv *own = qp->resp.recv, spare;

	if (qp->pub.type == HCA_QP_RAW) {
		hca.raw_qp->flush_recv(qp);
		return;
	}
	recv_complete_error(qp, HCA_WR_FLUSH_ERR, SYN_FLUSH);
	if (qp->pub.srq || !qp->pub.rq.size)
		return;
	/* Also without memory, entries that were accepted complete. */
	if (!own)
		qp->resp.recv = &spare;
	while (recv_take(qp, NULL)) {
		qp->resp.has_recv = true;
		recv_complete_error(qp, HCA_WR_FLUSH_ERR, SYN_FLUSH);
	}
	qp->resp.recv = own;
}
