/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/transport/qp_fail.h"

#include "fabric/barrier.h"
#include "fabric/port_counts.h"
#include "hca/hca.h"
#include "hca/queue/doorbell_watch.h"
#include "hca/transport/comp_cntr.h"
#include "hca/transport/dci.h"
#include "hca/transport/packet_filter.h"
#include "hca/transport/path.h"
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

void qp_grant_update(struct qp *qp)
{
	struct hca_qp_grant *grant = &hca.peers.segment->grant[qp->pub.qpn];
	bool open = (qp->pub.type == HCA_QP_RC || qp->pub.type == HCA_QP_UC ||
		     qp->pub.type == HCA_QP_DCT) &&
		    (qp->pub.state == HCA_QPS_RTR || qp->pub.state == HCA_QPS_RTS ||
		     qp->pub.state == HCA_QPS_SQD || qp->pub.state == HCA_QPS_SQE);
	uint64_t word = atomic_load_explicit(&grant->word, memory_order_relaxed);
	const struct packet_filter *filter = packet_filter_get();

	if (unlikely(comp_cntr_sees_peer(qp) || (filter && filter->rx)))
		open = false;
	/* A requester that gets no answers must not succeed without them. */
	if (open && qp->pub.type == HCA_QP_RC && !path_exists(qp))
		open = false;
	if (qp->pub.type == HCA_QP_DCR || qp->guest)
		return; /* the grant belongs to the DCT, or to another process */
	atomic_store_explicit(&grant->word, (word & ~1ull) + 2, memory_order_release);
	/* [Q1] pairs with hca_rq_doorbell(); a flush follows in the error state alone */
	if (qp->pub.state == HCA_QPS_ERR)
		barrier_private();
	if (!open)
		return;
	/* [GR1] The grant is closed before it changes. */
	atomic_thread_fence(memory_order_release);
	grant->pdn = qp->pub.pd->pdn;
	grant->access = qp_access(qp) & ((1u << HCA_GRANT_ROW_SHIFT) - 1);
	grant->access |= fabric_port_row(qp->port_counts) << HCA_GRANT_ROW_SHIFT;
	if (qp->attr.max_dest_rd_atomic || qp->dct)
		grant->access |= HCA_GRANT_ANSWERS;
	if (qp->dct) {
		grant->access |= HCA_GRANT_DCT;
		grant->dc_key = qp->dc_key;
	} else {
		grant->peer_qpn = qp->attr.dest_qpn;
		grant->first_psn = qp->attr.rq_psn;
	}
	/* [GR1] pairs with check_grant() */
	atomic_store_explicit(&grant->word, ((word & ~1ull) + 4) | 1, memory_order_release);
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
