/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queue pairs: life and state.
 *
 *	RESET -> INIT -> RTR -> RTS <-> SQD	hca_qp_modify()
 *	any but RESET -> ERR			hca_qp_modify(), qp_fail()
 *	RTS -> SQE (UC, UD)			qp_fail_send()
 *	SQE -> RTS, any -> RESET		hca_qp_modify()
 *
 * RESET: rings are empty, indexes zero. INIT: receives may be posted. RTR: the responder works,
 * peers may come in through the grant. RTS: the requester works. SQD: what was begun is ended,
 * nothing is begun. SQE: sends are flushed, receives work. ERR: everything is flushed.
 * Only qp_set_state() changes the state. DC initiators have no SQD; targets end at RTR (dc.c).
 */
#include "hca/transport/qp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/barrier.h"
#include "fabric/lock.h"
#include "hca/hca.h"
#include "hca/device/async.h"
#include "hca/queue/doorbell_watch.h"
#include "hca/transport/dc.h"
#include "hca/transport/qp_priv.h"
#include "hca/transport/qp_state.h"
#include "hca/raw/raw.h"
#include "hca/transport/shaper.h"
#include "hca/inspect/inspect.h"
#include "hca/transport/tx_wait.h"
#include "hca/wire/wire.h"
#include "hca/transport/xrc_open.h"
#include "util/explain.h"

/* ---- state ---- */

void qp_tell_listeners(struct qp *qp, enum hca_event_type type)
{
	for (struct hca_listener *l = qp->listeners; l; l = l->next)
		hca_async_post(l->async, type, l->user);
}

void qp_event(struct qp *qp, enum hca_event_type type)
{
	/* What happens in a session is between it and its initiator. */
	if (qp->pub.type == HCA_QP_DCR || qp->guest)
		return;
	if (qp->pub.type == HCA_QP_XRC_RECV) {
		qp_tell_listeners(qp, type);
		xrc_open_event(qp, type);
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

	if (unlikely(comp_cntr_sees_peer(qp)))
		open = false;

	if (qp->pub.type == HCA_QP_DCR || qp->guest)
		return; /* the grant is its target's, or another process's */
	atomic_store_explicit(&grant->word, (word & ~1ull) + 2, memory_order_release);
	/* [Q1] pairs with hca_rq_doorbell() */
	barrier_private();
	if (!open)
		return;
	grant->pdn = qp->pub.pd->pdn;
	grant->access = qp_access(qp) & ~HCA_GRANT_DCT;
	if (qp->dct) {
		grant->access |= HCA_GRANT_DCT;
		grant->dc_key = dct_key(qp);
	} else {
		grant->peer_qpn = qp->attr.dest_qpn;
		grant->first_psn = qp->attr.rq_psn;
	}
	/* [D1] pairs with check_grant() */
	atomic_store_explicit(&grant->word, ((word & ~1ull) + 4) | 1, memory_order_release);
}

void qp_set_state(struct qp *qp, enum hca_qp_state state)
{
	__atomic_store_n(&qp->pub.state, state, __ATOMIC_RELAXED);
	qp->attr.state = state;
	qp_grant_update(qp);
	if (qp->pub.type == HCA_QP_RAW)
		raw_enter(qp, state);
	if (unlikely(qp->raw && state == HCA_QPS_ERR))
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
	requester_flush(qp);
	responder_flush(qp);
	tell_last_wqe(qp);
}

void qp_fail_send(struct qp *qp)
{
	if (qp->dci && dci_fail_stream(qp))
		return;
	if (qp->pub.type == HCA_QP_UC || qp->pub.type == HCA_QP_UD) {
		if (qp->pub.state == HCA_QPS_RTS) {
			qp_set_state(qp, HCA_QPS_SQE);
			requester_flush(qp);
		}
		return;
	}
	qp_fail(qp);
}

/* ---- life ---- */

int hca_qp_create(const struct hca_qp_init *init, struct hca_qp **out)
{
	struct qp *qp;
	int err = hca_ctx_take(init->ctx, HCA_KIND_QP);

	if (err)
		return err;
	hca_peer_meet_self();
	qp = calloc(1, sizeof(*qp));
	if (!qp) {
		err = -ENOMEM;
		goto drop;
	}
	qp->pub = (struct hca_qp){
		.type = init->type,
		.format = init->format,
		.sq = init->sq,
		.rq = init->rq,
		.ctx = init->ctx,
		.pd = init->pd,
		.send_cq = init->send_cq,
		.recv_cq = init->recv_cq,
		.srq = init->srq,
		.sig_all = init->sig_all,
		.block_self_mcast = init->block_self_mcast,
		.user_index = init->user_index,
		.user = init->user,
	};
	qp->xrcd = init->xrcd;
	qp->mtu = QP_FABRIC_MTU;
	responder_reset(qp);
	err = dc_init(qp, init);
	if (err)
		goto free_qp;

	err = qp_enlist(qp);
	if (err)
		goto fini_dc;
	inspect_forget(qp); /* the number may have been somebody's */
	if (qp->pub.type == HCA_QP_RAW) {
		err = raw_create(qp, init);
		if (err)
			goto unlist;
	}

	qp_grant_update(qp);
	if (qp->pub.pd)
		hca_pd_get(qp->pub.pd);
	if (qp->pub.send_cq)
		atomic_fetch_add(&qp->pub.send_cq->users, 1);
	if (qp->pub.recv_cq)
		atomic_fetch_add(&qp->pub.recv_cq->users, 1);
	if (qp->pub.srq)
		atomic_fetch_add(&qp->pub.srq->users, 1);
	*out = &qp->pub;
	return 0;
unlist:
	qp_unlist(qp);
	epoch_wait();
	hca_qpn_release(qp->pub.qpn);
fini_dc:
	dc_fini(qp);
free_qp:
	free(qp);
drop:
	hca_ctx_drop(init->ctx, HCA_KIND_QP);
	return err;
}

int hca_qp_destroy(struct hca_qp *pub)
{
	struct qp *qp = to_priv(pub);

	if (unlikely(qp->owner))
		return xrc_open_close(qp);
	if (pub->type == HCA_QP_XRC_RECV && xrc_open_outlives(qp))
		return 0;
	if (qp->mcast)
		return explain(EBUSY, "QP 0x%x is still attached to %u multicast groups", pub->qpn,
			       qp->mcast);
	if (pub->type == HCA_QP_RAW) {
		int err = raw_check_idle(qp);

		if (err)
			return err;
	}
	epoch_enter();
	fabric_lock(&pub->lock);
	wire_settle(qp);
	epoch_exit();
	qp->dying = true;
	pub->state = HCA_QPS_RESET;
	qp_grant_update(qp);
	fabric_unlock(&pub->lock);

	qp_unlist(qp);
	timer_forget(qp);
	doorbell_watch_forget_qp(pub);
	tx_wait_forget_qp(qp);
	epoch_wait(); /* from here on nobody opens a session */
	dct_retire(qp);
	wire_forget(qp);
	hca_counters_put(pub->counters);
	hca_shaper_put(to_priv(pub)->shaper);
	if (pub->type == HCA_QP_RAW)
		raw_fini(qp);

	if (pub->user)
		hca_async_forget(pub->ctx->async, pub->user);
	if (pub->srq)
		atomic_fetch_sub(&pub->srq->users, 1);
	if (pub->recv_cq)
		atomic_fetch_sub(&pub->recv_cq->users, 1);
	if (pub->send_cq)
		atomic_fetch_sub(&pub->send_cq->users, 1);
	if (pub->pd)
		hca_pd_put(pub->pd);
	hca_ctx_drop(pub->ctx, HCA_KIND_QP);
	hca_qpn_release(pub->qpn);
	comp_cntr_detach(qp);
	free(qp->req.fence);
	free(qp->req.window);
	free(qp->shadow);
	free(qp->resp.recv);
	free(qp->resp.resource);
	dc_fini(qp);
	free(qp);
	return 0;
}

void hca_qp_listen(struct hca_qp *pub, struct hca_listener *l)
{
	struct qp *qp = to_priv(pub);

	fabric_lock(&pub->lock);
	l->next = qp->listeners;
	qp->listeners = l;
	pub->user = NULL;
	fabric_unlock(&pub->lock);
}

void hca_qp_unlisten(struct hca_qp *pub, struct hca_listener *l)
{
	struct hca_listener **at;

	fabric_lock(&pub->lock);
	for (at = &to_priv(pub)->listeners; *at && *at != l; at = &(*at)->next)
		;
	if (*at)
		*at = l->next;
	fabric_unlock(&pub->lock);
	hca_async_forget(l->async, l->user);
}

void hca_qp_set_user(struct hca_qp *pub, void *user)
{
	void *old = pub->user;

	fabric_lock(&pub->lock);
	pub->user = user;
	fabric_unlock(&pub->lock);
	hca_async_forget(pub->ctx->async, old);
}

/* ---- attributes that no state asks for ---- */

int hca_qp_set_udp_sport(struct hca_qp *pub, uint16_t port)
{
	const struct hca_adapter *a = pub->ctx->adapter;
	struct qp *qp = to_priv(pub);
	int err = 0;

	epoch_enter();
	fabric_lock(&pub->lock);
	if ((pub->type != HCA_QP_RC && pub->type != HCA_QP_UC) || pub->state != HCA_QPS_RTS ||
	    a->ports[qp->attr.port - 1].link != HCA_LINK_ETHERNET)
		err = explain(EOPNOTSUPP,
			      "QP 0x%x is in %s; RC and UC queue pairs of Ethernet ports choose a "
			      "source port, in RTS",
			      pub->qpn, qp_state_name(pub->state));
	else if (!port)
		err = explain(EINVAL, "QP 0x%x: packets have a source port; 0 is none", pub->qpn);
	else if (qp->wired)
		err = wire_check_sport(qp, &qp->attr.av, port);
	if (!err) {
		qp->attr.av.udp_sport = port;
		if (qp->wired)
			err = wire_connect(qp, &qp->attr.av);
	}
	fabric_unlock(&pub->lock);
	epoch_exit();
	return err;
}

void hca_qp_set_counters(struct hca_qp *pub, struct hca_counters *counters)
{
	struct hca_counters *old;

	epoch_enter();
	fabric_lock(&pub->lock);
	old = pub->counters;
	pub->counters = hca_counters_get(counters);
	fabric_unlock(&pub->lock);
	epoch_exit();
	hca_counters_put(old);
}

void hca_qp_set_shaper(struct hca_qp *pub, struct hca_shaper *shaper)
{
	struct hca_shaper *old;

	epoch_enter();
	fabric_lock(&pub->lock);
	old = to_priv(pub)->shaper;
	to_priv(pub)->shaper = hca_shaper_get(shaper);
	fabric_unlock(&pub->lock);
	epoch_exit();
	hca_shaper_put(old);
}

void hca_qp_query(struct hca_qp *pub, struct hca_qp_attr *out)
{
	struct qp *qp = to_priv(pub);

	if (unlikely(qp->owner)) {
		xrc_open_query(qp, out);
		return;
	}
	fabric_lock(&pub->lock);
	*out = qp->attr;
	out->state = out->cur_state = pub->state;
	if (pub->state >= HCA_QPS_RTS)
		out->sq_psn = qp->req.psn;
	/* What was expected first is of interest to nobody once packets have come. */
	if (pub->state >= HCA_QPS_RTR && pub->type != HCA_QP_UD && pub->type != HCA_QP_DCT)
		out->rq_psn = qp->resp.epsn;
	fabric_unlock(&pub->lock);
}

void hca_qp_progress(struct hca_qp *pub, struct hca_qp_progress *out)
{
	struct qp *qp = to_priv(pub);

	fabric_lock(&pub->lock);
	*out = (struct hca_qp_progress){
		.send_index = qp->req.next,
		.recv_index = qp->resp.rq_taken,
		.acked_psn = psn_add(qp->req.una, PSN_MASK),
		.msn = qp->resp.msn & PSN_MASK,
	};
	fabric_unlock(&pub->lock);
}
