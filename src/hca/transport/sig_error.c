/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/transport/sig_error.h"

#include "hca/queue/cq.h"
#include "hca/queue/srq.h"
#include "hca/transport/qp_fail.h"

/*
 * Requests that have begun end, and no other begins: a response that was posted together with its
 * data is not sent, so that the program can still cancel it. The event is due in any case.
 */
static void stop(struct qp *qp)
{
	qp->drained_told = false;
	qp->attr.sq_draining = 1;
	qp->attr.en_sqd_notify = 1;
	qp_set_state(qp, HCA_QPS_SQD);
}

static struct hca_cq *cq_of(const struct qp *qp, bool request)
{
	if (request)
		return qp->pub.send_cq;
	if (qp->resp.has_recv && qp->resp.recv_srq && qp->resp.recv_srq->cq)
		return qp->resp.recv_srq->cq;
	return qp->pub.recv_cq;
}

static void tell(struct hca_cq *cq, const struct hca_sig_error *error, bool request, uint32_t qpn,
		 uint32_t user_index)
{
	struct hca_cqe cqe = {
		.status = HCA_SIG_ERR,
		.is_recv = !request,
		.op = HCA_OP_NOP,
		.qpn = qpn,
		.user_index = user_index,
		.sig = error,
	};

	if (cq)
		hca_cq_add(cq, &cqe);
}

void sig_error_tell(struct qp *qp, bool request)
{
	struct hca_cq *cq = cq_of(qp, request);
	struct hca_sig_error error;

	while (signature_error_take(&error)) {
		tell(cq, &error, request, qp->pub.qpn, qp->pub.user_index);
		if (request && qp->pub.stop_on_sig_error && qp->pub.state == HCA_QPS_RTS)
			stop(qp);
	}
}

void sig_error_tell_queue(struct hca_cq *cq, uint32_t number, uint32_t user_index)
{
	struct hca_sig_error error;

	while (signature_error_take(&error))
		tell(cq, &error, false, number, user_index);
}
