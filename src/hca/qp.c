/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queue pairs: numbers, life, attributes and state.
 *
 *	RESET -> INIT -> RTR -> RTS <-> SQD	hca_qp_modify()
 *	any but RESET -> ERR			hca_qp_modify(), qp_fail()
 *	RTS -> SQE (UC, UD)			qp_fail_send()
 *	SQE -> RTS, any -> RESET		hca_qp_modify()
 *
 * RESET: rings are empty, indexes zero. INIT: receives may be posted. RTR: the responder works,
 * peers may come in through the door. RTS: the requester works. SQD: what was begun is ended,
 * nothing is begun. SQE: sends are flushed, receives work. ERR: everything is flushed.
 * Only set_state() changes the state. DC initiators have no SQD; targets end at RTR (dc.c).
 */
#include "hca/qp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/barrier.h"
#include "fabric/directory.h"
#include "hca/async.h"
#include "hca/bell.h"
#include "hca/dc.h"
#include "hca/port.h"
#include "hca/qp_priv.h"
#include "hca/qp_state.h"
#include "hca/raw.h"
#include "hca/shaper.h"
#include "hca/taps.h"
#include "hca/waiting.h"
#include "hca/wire.h"
#include "hca/xrc_open.h"
#include "util/explain.h"
#include "util/forksafe.h"

static pthread_mutex_t qp_lock = PTHREAD_MUTEX_INITIALIZER;
FORKSAFE(qp_lock, FORKSAFE_OBJECT);
static struct hca_table table;
static struct qp *all;
static uint32_t *free_qpns;
static size_t free_head, free_count, free_room;

/* ---- numbers ---- */

static int add_qpn(uint32_t qpn)
{
	if (free_count == free_room) {
		size_t room = free_room ? 2 * free_room : 1024;
		uint32_t *q = malloc(room * sizeof(*q));

		if (!q)
			return -ENOMEM;
		for (size_t i = 0; i < free_count; i++)
			q[i] = free_qpns[(free_head + i) % free_room];
		free(free_qpns);
		free_qpns = q;
		free_room = room;
		free_head = 0;
	}
	free_qpns[(free_head + free_count++) % free_room] = qpn;
	return 0;
}

/* A number that was in use waits behind all others, so that late packets find nobody. */
static int get_qpn(uint32_t *qpn)
{
	uint32_t first, n;

	if (free_count < 64 && !fabric_qpn_block_get(&first, &n))
		for (uint32_t i = 0; i < n; i++)
			if (add_qpn(first + i))
				break;
	if (!free_count)
		return explain(ENOMEM, "all queue pair numbers of the host are taken");
	*qpn = free_qpns[free_head];
	free_head = (free_head + 1) % free_room;
	free_count--;
	return 0;
}

int qp_number_get(uint32_t *number)
{
	int err;

	pthread_mutex_lock(&qp_lock);
	err = get_qpn(number);
	pthread_mutex_unlock(&qp_lock);
	return err;
}

void qp_number_put(uint32_t number)
{
	pthread_mutex_lock(&qp_lock);
	add_qpn(number);
	pthread_mutex_unlock(&qp_lock);
}

int hca_qpn_reserve(uint32_t *qpn)
{
	int err;

	pthread_mutex_lock(&qp_lock);
	err = get_qpn(qpn);
	pthread_mutex_unlock(&qp_lock);
	return err;
}

void hca_qpn_release(uint32_t qpn)
{
	pthread_mutex_lock(&qp_lock);
	add_qpn(qpn);
	pthread_mutex_unlock(&qp_lock);
}

/* In a forked child: the parent's numbers and queue pairs are not ours. */
void hca_qp_forked(void)
{
	free_count = 0;
	all = NULL;
	hca_table_fini(&table);
}

static void link_locked(struct qp *qp)
{
	qp->all_next = all;
	if (all)
		all->all_prev = qp;
	all = qp;
}

static void unlink_locked(struct qp *qp)
{
	if (qp->all_next)
		qp->all_next->all_prev = qp->all_prev;
	if (qp->all_prev)
		qp->all_prev->all_next = qp->all_next;
	else
		all = qp->all_next;
}

struct qp *qp_find(uint32_t qpn)
{
	return hca_table_find(&table, qpn);
}

void qp_link(struct qp *qp)
{
	pthread_mutex_lock(&qp_lock);
	link_locked(qp);
	pthread_mutex_unlock(&qp_lock);
}

void qp_unlink(struct qp *qp)
{
	pthread_mutex_lock(&qp_lock);
	unlink_locked(qp);
	pthread_mutex_unlock(&qp_lock);
}

void qp_for_each(void (*fn)(struct qp *qp))
{
	pthread_mutex_lock(&qp_lock);
	for (struct qp *qp = all; qp; qp = qp->all_next)
		fn(qp);
	pthread_mutex_unlock(&qp_lock);
}

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

void qp_door_update(struct qp *qp)
{
	struct hca_door *door = &hca_host_segment()->door[qp->pub.qpn];
	bool open = (qp->pub.type == HCA_QP_RC || qp->pub.type == HCA_QP_UC ||
		     qp->pub.type == HCA_QP_DCT) &&
		    (qp->pub.state == HCA_QPS_RTR || qp->pub.state == HCA_QPS_RTS ||
		     qp->pub.state == HCA_QPS_SQD || qp->pub.state == HCA_QPS_SQE);
	uint64_t word = atomic_load_explicit(&door->word, memory_order_relaxed);

	if (unlikely(comp_cntr_sees_peer(qp)))
		open = false;

	if (qp->pub.type == HCA_QP_DCR || qp->guest)
		return; /* the door is its target's, or another process's */
	atomic_store_explicit(&door->word, (word & ~1ull) + 2, memory_order_release);
	/* [Q1] pairs with hca_rq_doorbell() */
	barrier_private();
	if (!open)
		return;
	door->pdn = qp->pub.pd->pdn;
	door->access = qp->attr.access & ~HCA_DOOR_DCT;
	if (qp->dct) {
		door->access |= HCA_DOOR_DCT;
		door->dc_key = dct_key(qp);
	} else {
		door->peer_qpn = qp->attr.dest_qpn;
		door->first_psn = qp->attr.rq_psn;
	}
	/* [D1] pairs with open_door() */
	atomic_store_explicit(&door->word, ((word & ~1ull) + 4) | 1, memory_order_release);
}

static void set_state(struct qp *qp, enum hca_qp_state state)
{
	__atomic_store_n(&qp->pub.state, state, __ATOMIC_RELAXED);
	qp->attr.state = state;
	qp_door_update(qp);
	if (qp->pub.type == HCA_QP_RAW)
		raw_enter(qp, state);
	if (unlikely(qp->raw && state == HCA_QPS_ERR))
		bell_qp_failed();
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
	set_state(qp, HCA_QPS_ERR);
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
			set_state(qp, HCA_QPS_SQE);
			requester_flush(qp);
		}
		return;
	}
	qp_fail(qp);
}

/* ---- life ---- */

static void unlist(struct qp *qp)
{
	pthread_mutex_lock(&qp_lock);
	hca_table_set(&table, qp->pub.qpn, NULL);
	unlink_locked(qp);
	pthread_mutex_unlock(&qp_lock);
}

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

	pthread_mutex_lock(&qp_lock);
	err = get_qpn(&qp->pub.qpn);
	if (!err)
		err = hca_table_set(&table, qp->pub.qpn, qp);
	if (!err)
		link_locked(qp);
	pthread_mutex_unlock(&qp_lock);
	if (err)
		goto fini_dc;
	taps_forget(qp); /* the number may have been somebody's */
	if (qp->pub.type == HCA_QP_RAW) {
		err = raw_create(qp, init);
		if (err)
			goto unlist;
	}

	qp_door_update(qp);
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
	unlist(qp);
	hca_guard_wait();
	qp_number_put(qp->pub.qpn);
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
	hca_guard_enter();
	fabric_lock(&pub->lock);
	wire_settle(qp);
	hca_guard_exit();
	qp->dying = true;
	pub->state = HCA_QPS_RESET;
	qp_door_update(qp);
	fabric_unlock(&pub->lock);

	unlist(qp);
	timer_forget(qp);
	bell_forget_qp(pub);
	waiting_forget_qp(qp);
	hca_guard_wait(); /* from here on nobody opens a session */
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
	qp_number_put(pub->qpn);
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

/* ---- attributes ---- */

static int check_av(const struct hca_adapter *a, const struct hca_av *av, unsigned int port,
		    bool aimed, const char *what)
{
	struct hca_gid_entry e;

	if (port < 1 || port > (unsigned int)a->port_count)
		return explain(EINVAL, "%s: port %u does not exist on %s", what, port, a->name);
	if (a->ports[port - 1].link == HCA_LINK_ETHERNET && !av->has_grh && aimed)
		return explain(EINVAL,
			       "%s: an Ethernet port needs a global route (is_global and grh)",
			       what);
	if (av->has_grh) {
		if (hca_port_gid(a, port, av->sgid_index, &e))
			return -EINVAL;
		if (hca_gid_is_empty(&e.gid))
			return explain(EINVAL, "%s: source GID index %u of %s is empty", what,
				       av->sgid_index, a->name);
		if (hca_gid_is_empty(&av->dgid) && aimed)
			return explain(EINVAL, "%s: the destination GID is zero", what);
	}
	return 0;
}

static int check_range(uint32_t mask, uint32_t bit, uint64_t value, uint64_t most, const char *name)
{
	if ((mask & bit) && value > most)
		return explain(EINVAL, "%s is %llu; at most %llu", name, (unsigned long long)value,
			       (unsigned long long)most);
	return 0;
}

static int check_values(const struct qp *qp, const struct hca_qp_attr *at, uint32_t mask)
{
	const struct hca_adapter *a = qp->pub.ctx->adapter;
	const struct hca_limits *l = &a->limits;
	unsigned int port = mask & HCA_QPM_PORT ? at->port : qp->attr.port;
	int err = 0;

	if ((mask & HCA_QPM_PORT) && (at->port < 1 || at->port > a->port_count))
		return explain(EINVAL, "port %u does not exist; %s has %d", at->port, a->name,
			       a->port_count);
	if ((mask & HCA_QPM_PKEY_INDEX) && at->pkey_index >= l->pkey_table_len)
		return explain(EINVAL, "P_Key index %u does not exist; the table has %llu entries",
			       at->pkey_index, (unsigned long long)l->pkey_table_len);
	if ((mask & HCA_QPM_PATH_MTU) && (at->path_mtu < 1 || at->path_mtu > 5))
		return explain(EINVAL, "path MTU %u is none of IBV_MTU_256 to IBV_MTU_4096",
			       at->path_mtu);
	if ((mask & HCA_QPM_PATH_MIG_STATE) && at->path_mig_state > 2)
		return explain(EINVAL, "path migration state %u is unknown", at->path_mig_state);
	err = err ? err
		  : check_range(mask, HCA_QPM_RATE_LIMIT, at->rate_limit, HCA_RATE_MOST,
				"rate_limit");
	err = err ? err : check_range(mask, HCA_QPM_TIMEOUT, at->timeout, 31, "timeout");
	err = err ? err : check_range(mask, HCA_QPM_RETRY_CNT, at->retry_cnt, 7, "retry_cnt");
	err = err ? err : check_range(mask, HCA_QPM_RNR_RETRY, at->rnr_retry, 7, "rnr_retry");
	err = err ? err
		  : check_range(mask, HCA_QPM_MIN_RNR_TIMER, at->min_rnr_timer, 31,
				"min_rnr_timer");
	err = err ? err
		  : check_range(mask, HCA_QPM_MAX_RD_ATOMIC, at->max_rd_atomic,
				l->max_qp_init_rd_atom, "max_rd_atomic");
	err = err ? err
		  : check_range(mask, HCA_QPM_MAX_DEST_RD_ATOMIC, at->max_dest_rd_atomic,
				l->max_qp_rd_atom, "max_dest_rd_atomic");
	err = err ? err
		  : check_range(mask, HCA_QPM_DEST_QPN, at->dest_qpn, 0xffffff, "dest_qp_num");
	if (!err && (mask & HCA_QPM_AV))
		err = check_av(a, &at->av, at->av.port ? at->av.port : port, !qp->dci && !qp->dct,
			       "ah_attr");
	if (!err && (mask & HCA_QPM_ALT_PATH))
		err = check_av(a, &at->alt_av, at->alt_port, true, "alt_ah_attr");
	return err;
}

#define TAKE(bit, field)                                                                           \
	do {                                                                                       \
		if (mask & (bit))                                                                  \
			to->field = from->field;                                                   \
	} while (0)

static void take_values(struct hca_qp_attr *to, const struct hca_qp_attr *from, uint32_t mask)
{
	TAKE(HCA_QPM_EN_SQD_NOTIFY, en_sqd_notify);
	TAKE(HCA_QPM_ACCESS, access);
	TAKE(HCA_QPM_PKEY_INDEX, pkey_index);
	TAKE(HCA_QPM_PORT, port);
	TAKE(HCA_QPM_QKEY, qkey);
	TAKE(HCA_QPM_AV, av);
	TAKE(HCA_QPM_PATH_MTU, path_mtu);
	TAKE(HCA_QPM_TIMEOUT, timeout);
	TAKE(HCA_QPM_RETRY_CNT, retry_cnt);
	TAKE(HCA_QPM_RNR_RETRY, rnr_retry);
	TAKE(HCA_QPM_RQ_PSN, rq_psn);
	TAKE(HCA_QPM_MAX_RD_ATOMIC, max_rd_atomic);
	TAKE(HCA_QPM_ALT_PATH, alt_av);
	TAKE(HCA_QPM_ALT_PATH, alt_port);
	TAKE(HCA_QPM_ALT_PATH, alt_timeout);
	TAKE(HCA_QPM_ALT_PATH, alt_pkey_index);
	TAKE(HCA_QPM_MIN_RNR_TIMER, min_rnr_timer);
	TAKE(HCA_QPM_SQ_PSN, sq_psn);
	TAKE(HCA_QPM_MAX_DEST_RD_ATOMIC, max_dest_rd_atomic);
	TAKE(HCA_QPM_PATH_MIG_STATE, path_mig_state);
	TAKE(HCA_QPM_DEST_QPN, dest_qpn);
	TAKE(HCA_QPM_RATE_LIMIT, rate_limit);
	TAKE(HCA_QPM_RATE_LIMIT, burst);
	to->rq_psn &= PSN_MASK;
	to->sq_psn &= PSN_MASK;
}

static void reset(struct qp *qp)
{
	taps_forget(qp);
	requester_reset(qp);
	responder_reset(qp);
	dci_reset(qp);
	memset(&qp->attr, 0, sizeof(qp->attr));
	qp->peer = NULL;
	qp->wired = false;
	qp->local_gid_valid = false;
	qp->drained_told = qp->last_wqe_told = false;
}

/* Who waits for a peer beyond this host must be heard there before it says anything itself. */
static void open_path(struct qp *qp)
{
	const struct hca_adapter *a = qp->pub.ctx->adapter;

	if (a->ports[qp->attr.port - 1].link != HCA_LINK_ETHERNET)
		return;
	if (qp->pub.type == HCA_QP_UD || qp->pub.type == HCA_QP_DCT)
		wire_listen(qp);
	else if (qp->pub.type != HCA_QP_RAW && qp->pub.type != HCA_QP_DCI &&
		 (wire_forced() || !path_gid_is_local(qp, &qp->attr.av.dgid)))
		path_connected(qp);
}

/* A connection beyond this host needs the wire; without it, it cannot be made. */
static int check_path(struct qp *qp, const struct hca_qp_attr *attr, enum hca_qp_state to,
		      uint32_t mask)
{
	const struct hca_adapter *a = qp->pub.ctx->adapter;

	if (to != HCA_QPS_RTR || !(mask & HCA_QPM_AV) || qp->pub.type == HCA_QP_UD ||
	    a->ports[qp->attr.port - 1].link != HCA_LINK_ETHERNET)
		return 0;
	if (!wire_forced() && path_gid_is_local(qp, &attr->av.dgid))
		return 0;
	return wire_check(qp, qp->attr.port, &attr->av);
}

/* What a change of state sets going. Lock held, inside a guard. */
static void enter(struct qp *qp, enum hca_qp_state from, enum hca_qp_state to)
{
	switch (to) {
	case HCA_QPS_RESET:
		wire_settle(qp);
		reset(qp);
		set_state(qp, to);
		break;
	case HCA_QPS_RTR:
		qp->resp.epsn = qp->attr.rq_psn;
		set_state(qp, to);
		open_path(qp);
		break;
	case HCA_QPS_RTS:
		if (from == HCA_QPS_RTR)
			requester_start(qp, qp->dci ? dci_first_psn() : qp->attr.sq_psn);
		set_state(qp, to);
		requester_run(qp);
		break;
	case HCA_QPS_SQD:
		if (from != HCA_QPS_SQD) {
			qp->drained_told = false;
			qp->attr.sq_draining = 1;
		}
		set_state(qp, to);
		requester_check_drained(qp);
		break;
	case HCA_QPS_ERR:
		wire_settle(qp);
		qp_fail(qp);
		break;
	default:
		set_state(qp, to);
		break;
	}
}

/* Halves of a connection get the attributes of whole ones from programs; the other half's are moot. */
static uint32_t meant(enum hca_qp_type type, uint32_t mask)
{
	switch (type) {
	case HCA_QP_XRC_SEND:
		return mask & ~(HCA_QPM_MAX_DEST_RD_ATOMIC | HCA_QPM_MIN_RNR_TIMER);
	case HCA_QP_XRC_RECV:
		return mask & ~(HCA_QPM_MAX_RD_ATOMIC | HCA_QPM_RETRY_CNT | HCA_QPM_RNR_RETRY);
	default:
		return mask;
	}
}

int hca_qp_modify(struct hca_qp *pub, const struct hca_qp_attr *attr, uint32_t mask)
{
	struct qp *qp = to_priv(pub);
	enum hca_qp_state from, to;
	int err;

	if (unlikely(qp->owner))
		return xrc_open_modify(qp, attr, mask);
	mask = meant(pub->type, mask);

	hca_guard_enter();
	fabric_lock(&pub->lock);
	from = pub->state;
	to = mask & HCA_QPM_STATE ? attr->state : from;
	err = 0;
	if ((mask & HCA_QPM_CUR_STATE) && attr->cur_state != from)
		err = explain(EINVAL, "the queue pair is in %s, not in %s as cur_qp_state says",
			      qp_state_name(from), qp_state_name(attr->cur_state));
	if (!err)
		err = qp_state_check(pub->type, from, to, mask);
	if (!err)
		err = check_values(qp, attr, mask);
	if (!err)
		err = check_path(qp, attr, to, mask);
	if (!err) {
		take_values(&qp->attr, attr, mask);
		enter(qp, from, to);
	}
	fabric_unlock(&pub->lock);
	hca_guard_exit();
	return err;
}

int hca_qp_set_udp_sport(struct hca_qp *pub, uint16_t port)
{
	const struct hca_adapter *a = pub->ctx->adapter;
	struct qp *qp = to_priv(pub);
	int err = 0;

	hca_guard_enter();
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
	hca_guard_exit();
	return err;
}

void hca_qp_set_counters(struct hca_qp *pub, struct hca_counters *counters)
{
	struct hca_counters *old;

	hca_guard_enter();
	fabric_lock(&pub->lock);
	old = pub->counters;
	pub->counters = hca_counters_get(counters);
	fabric_unlock(&pub->lock);
	hca_guard_exit();
	hca_counters_put(old);
}

void hca_qp_set_shaper(struct hca_qp *pub, struct hca_shaper *shaper)
{
	struct hca_shaper *old;

	hca_guard_enter();
	fabric_lock(&pub->lock);
	old = to_priv(pub)->shaper;
	to_priv(pub)->shaper = hca_shaper_get(shaper);
	fabric_unlock(&pub->lock);
	hca_guard_exit();
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
	fabric_unlock(&pub->lock);
}
