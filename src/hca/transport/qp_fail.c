/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/transport/qp_fail.h"

#include "hca/hca.h"
#include "hca/queue/doorbell_watch.h"
#include "hca/transport/dci.h"
#include "hca/transport/qp_grant.h"
#include "hca/transport/raw_qp_ops.h"
#include "hca/transport/recv.h"
#include "hca/transport/rq.h"
#include "hca/transport/request.h"

void qp_tell_listeners(struct qp *qp, enum hca_event_type type)
{
	struct hca_listener *l;

	LIST_FOREACH(l, &qp->listeners, entry)
		hca_async_post(l->async, type, l->user);
}

void qp_event(struct qp *qp, enum hca_event_type type)
{
	/* Sessions of a DCT and guests have no handle. */
	if (qp->pub.type == HCA_QP_DCR || qp->guest)
		return;
	if (qp->pub.type == HCA_QP_XRC_RECV) {
		qp_tell_listeners(qp, type);
		if (qp->event_hook)
			qp->event_hook(qp, type);
		if (!qp->pub.user)
			return;
	}
	hca_async_post(qp->pub.ctx->async, type, qp->pub.user);
}

void qp_set_state(struct qp *qp, enum hca_qp_state state)
{
	__atomic_store_n(&qp->pub.state, state, __ATOMIC_RELAXED);
	qp->attr.state = state;
	qp_grant_update(qp);
	if (qp->pub.type == HCA_QP_RAW)
		hca.raw_qp->enter(qp, state);
	if (unlikely(qp->doorbell.watched && state == HCA_QPS_ERR))
		doorbell_watch_qp_failed();
}

static void tell_last_wqe(struct qp *qp)
{
	if (!qp->pub.srq || qp->last_wqe_told)
		return;
	qp->last_wqe_told = true;
	qp_event(qp, HCA_EVENT_QP_LAST_WQE_REACHED);
}

void qp_fail(struct qp *qp)
{
	if (qp->pub.state == HCA_QPS_ERR || qp->pub.state == HCA_QPS_RESET)
		return;
	qp_set_state(qp, HCA_QPS_ERR);
	request_flush_all(qp);
	recv_flush(qp);
	tell_last_wqe(qp);
}

void qp_fail_send(struct qp *qp)
{
	if (qp->dci && dci_fail_stream(qp))
		return;
	if (qp->pub.type == HCA_QP_UC || qp->pub.type == HCA_QP_UD) {
		if (qp->pub.state == HCA_QPS_RTS) {
			qp_set_state(qp, HCA_QPS_SQE);
			request_flush_all(qp);
		}
		return;
	}
	qp_fail(qp);
}
