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
 * peers may use the grant. RTS: the requester works. SQD: what was begun is ended,
 * nothing is begun. SQE: sends are flushed, receives work. ERR: everything is flushed.
 * Only qp_set_state() changes the state. DC initiators have no SQD; targets end at RTR (dct.c).
 */
#include "hca/transport/qp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hca/device/async.h"
#include "hca/hca.h"
#include "fabric/epoch.h"
#include "hca/queue/doorbell_watch.h"
#include "hca/transport/answer.h"
#include "hca/transport/comp_cntr.h"
#include "hca/transport/dci.h"
#include "hca/transport/dct.h"
#include "hca/transport/mmo.h"
#include "hca/transport/network.h"
#include "hca/transport/observer.h"
#include "hca/transport/path.h"
#include "hca/transport/qp_grant.h"
#include "hca/transport/qp_state.h"
#include "hca/transport/qp_table.h"
#include "hca/transport/qp_traffic.h"
#include "hca/transport/qp_types.h"
#include "hca/device/qpn.h"
#include "hca/transport/raw_qp_ops.h"
#include "hca/transport/recv.h"
#include "hca/transport/reorder.h"
#include "hca/transport/responder.h"
#include "hca/transport/shaper.h"
#include "hca/transport/tag_sq.h"
#include "hca/transport/timer.h"
#include "hca/transport/tx_wait.h"
#include "hca/transport/window.h"
#include "hca/transport/xrc_openers.h"
#include "util/explain.h"

/* ---- creation and destruction ---- */

int hca_qp_create(const struct hca_qp_init *init, struct hca_qp **out)
{
	const struct observer *observer;
	struct qp *qp;
	int err = hca_ctx_take(init->ctx, HCA_KIND_QP);

	if (err)
		return err;
	hca_peer_connect_self();
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
		.lag = init->lag,
		.block_self_mcast = init->block_self_mcast,
		.out_of_order = init->out_of_order,
		.user_index = init->user_index,
		.user = init->user,
	};
	qp->xrcd = init->xrcd;
	qp->mtu = QP_LINK_MTU;
	responder_reset(qp);
	mmo_init(qp);
	err = dci_init(qp, init);
	if (!err)
		err = dct_init(qp, init);
	if (!err)
		err = tag_sq_init(qp);
	if (!err)
		err = timer_reserve();
	if (err)
		goto free_qp;

	err = qp_enlist(qp);
	if (err)
		goto unreserve_timer;
	observer = observer_get();
	if (unlikely(observer) && observer->forget)
		observer->forget(qp); /* its number may have been another QP's */
	if (qp->pub.type == HCA_QP_RAW) {
		err = hca.raw_qp->create(qp, init);
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
unreserve_timer:
	timer_unreserve();
free_qp:
	dci_fini(qp);
	dct_fini(qp);
	tag_sq_fini(qp);
	free(qp);
drop:
	hca_ctx_drop(init->ctx, HCA_KIND_QP);
	return err;
}

void hca_qp_set_user(struct hca_qp *pub, void *user)
{
	void *old = pub->user;

	fabric_lock(&pub->lock);
	pub->user = user;
	fabric_unlock(&pub->lock);
	hca_async_forget(pub->ctx->async, old);
}

int hca_qp_destroy(struct hca_qp *pub)
{
	struct qp *qp = to_priv(pub);
	struct qp_grant_users users;

	if (unlikely(qp->stand_in))
		return qp->stand_in->destroy(qp);
	if (pub->type == HCA_QP_XRC_RECV && xrc_openers_outlive(qp)) {
		/* Its context stays for it, and no handle here is told of its events. */
		if (pub->ctx->get)
			pub->ctx->get(pub->ctx);
		hca_qp_set_user(pub, NULL);
		return 0;
	}
	if (qp->mcast)
		return explain(EBUSY, "QP 0x%x is still attached to %u multicast groups", pub->qpn,
			       qp->mcast);
	if (pub->type == HCA_QP_RAW) {
		int err = hca.raw_qp->check_idle(qp);

		if (err)
			return err;
	}
	epoch_enter();
	fabric_lock(&pub->lock);
	answer_settle(qp);
	epoch_exit();
	qp->dying = true;
	pub->state = HCA_QPS_RESET;
	recv_forget_tag(qp);
	qp_grant_update(qp);
	qp_grant_take_users(qp, &users);
	fabric_unlock(&pub->lock);

	qp_unlist(qp);
	timer_forget(qp);
	timer_unreserve();
	/* Before the watch ends: a watched QP may be on lists of delayed acknowledgements. */
	tx_wait_forget_qp(qp);
	doorbell_watch_remove(&to_priv(pub)->doorbell);
	epoch_wait(); /* from here on no session is opened */
	qp_grant_await_users(&users);
	dct_retire(qp);
	hca.network->forget(qp);
	qp_traffic_end(qp);
	hca_counters_put(pub->counters);
	hca_shaper_put(to_priv(pub)->shaper);
	if (pub->type == HCA_QP_RAW)
		hca.raw_qp->fini(qp);

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
	free(qp->req.grace);
	window_fini(&qp->window);
	free(qp->capture);
	free(qp->resp.recv);
	free(qp->resp.resource);
	reorder_clear(&qp->resp);
	mmo_fini(qp);
	dci_fini(qp);
	dct_fini(qp);
	tag_sq_fini(qp);
	free(qp);
	return 0;
}

void hca_qp_listen(struct hca_qp *pub, struct hca_listener *l)
{
	struct qp *qp = to_priv(pub);

	fabric_lock(&pub->lock);
	LIST_INSERT_HEAD(&qp->listeners, l, entry);
	pub->user = NULL;
	fabric_unlock(&pub->lock);
}

void hca_qp_unlisten(struct hca_qp *pub, struct hca_listener *l)
{
	fabric_lock(&pub->lock);
	LIST_REMOVE(l, entry);
	fabric_unlock(&pub->lock);
	hca_async_forget(l->async, l->user);
}

/* ---- attributes outside of the state machine ---- */

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
	else if (qp->remote)
		err = hca.network->check_sport(qp, &qp->attr.av, port);
	if (!err) {
		qp->attr.av.udp_sport = port;
		if (qp->remote)
			err = path_connect_remote(qp, &qp->attr.av);
	}
	fabric_unlock(&pub->lock);
	epoch_exit();
	return err;
}

void hca_qp_set_out_of_order(struct hca_qp *pub, bool allowed)
{
	fabric_lock(&pub->lock);
	pub->out_of_order = allowed;
	fabric_unlock(&pub->lock);
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

void hca_qp_pause(struct hca_qp *pub, uint64_t ns)
{
	struct qp *qp = to_priv(pub);

	epoch_enter();
	fabric_lock(&pub->lock);
	if (pub->state == HCA_QPS_RTS && !qp->comp.rnr_until)
		timer_pause(qp, ns);
	fabric_unlock(&pub->lock);
	epoch_exit();
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

	if (unlikely(qp->stand_in)) {
		qp->stand_in->query(qp, out);
		return;
	}
	fabric_lock(&pub->lock);
	*out = qp->attr;
	out->state = out->cur_state = pub->state;
	if (pub->state >= HCA_QPS_RTS)
		out->sq_psn = qp->req.psn;
	/* The first PSN of the attributes is replaced by the expected one. */
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
		.acked_psn = psn_add(qp->comp.una, PSN_MASK),
		.msn = qp->resp.msn & PSN_MASK,
	};
	fabric_unlock(&pub->lock);
}
