/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who has which queue pair of this process open; and stand-ins for those of others. The list is
 * guarded by open_lock, inside of which nothing is locked. A queue pair in the list is freed by the
 * service thread alone, which is also who answers questions about it.
 */
#include "hca/transport/xrc_open.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/directory.h"
#include "fabric/lock.h"
#include "fabric/numbers.h"
#include "hca/peers/rpc.h"
#include "hca/transport/qp_priv.h"
#include "util/explain.h"
#include "util/forksafe.h"

struct opener {
	struct opener *next;
	struct qp *qp;
	fabric_id_t who;
	unsigned int times;
};

/* Questions. */
struct which {
	uint32_t qpn;
	uint32_t xrcd;
};

struct change {
	uint32_t qpn;
	uint32_t mask;
	struct hca_qp_attr attr;
};

struct news {
	uint32_t qpn;
	uint32_t event;
};

_Static_assert(sizeof(struct change) <= HCA_RPC_BYTES, "fits a question");

static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;
FORKSAFE(open_lock, FORKSAFE_OBJECT);
static struct opener *openers;
/* Guards the list of stand-ins; their own locks are taken inside of it. */
static pthread_mutex_t stand_in_lock = PTHREAD_MUTEX_INITIALIZER;
FORKSAFE(stand_in_lock, FORKSAFE_OBJECT);
static struct qp *stand_ins;

/* ---- where it is open ---- */

int hca_xrc_open(struct hca_ctx *ctx, uint32_t qpn, uint32_t xrcd, struct hca_qp **out)
{
	const struct which w = { qpn, xrcd };
	fabric_id_t owner = fabric_qpn_owner(qpn);
	struct qp *qp;
	int err = -EINVAL;

	qp = calloc(1, sizeof(*qp));
	if (!qp)
		return -ENOMEM;
	if (owner && owner != fabric_self())
		err = hca_rpc_call(owner, HCA_RPC_XRC_OPEN, &w, sizeof(w), NULL, 0);
	if (err) {
		free(qp);
		return explain(EINVAL,
			       "no process of the host has an XRC receive queue pair 0x%x in the "
			       "domain",
			       qpn);
	}
	qp->pub.type = HCA_QP_XRC_RECV;
	qp->pub.qpn = qpn;
	qp->pub.ctx = ctx;
	qp->xrcd = xrcd;
	qp->owner = owner;
	pthread_mutex_lock(&stand_in_lock);
	qp->all_next = stand_ins;
	stand_ins = qp;
	pthread_mutex_unlock(&stand_in_lock);
	*out = &qp->pub;
	return 0;
}

static int refuse(const struct qp *qp, int err)
{
	if (err == -ECONNRESET)
		return explain(EIO, "the process that made the queue pair 0x%x is gone",
			       qp->pub.qpn);
	return explain(-err, "the process that made the queue pair 0x%x refuses: %s", qp->pub.qpn,
		       strerror(-err));
}

int xrc_open_modify(struct qp *qp, const struct hca_qp_attr *attr, uint32_t mask)
{
	const struct change c = { qp->pub.qpn, mask, *attr };
	int err = hca_rpc_call(qp->owner, HCA_RPC_XRC_MODIFY, &c, sizeof(c), NULL, 0);

	return err ? refuse(qp, err) : 0;
}

void xrc_open_query(struct qp *qp, struct hca_qp_attr *out)
{
	const struct which w = { qp->pub.qpn, qp->xrcd };

	if (!hca_rpc_call(qp->owner, HCA_RPC_XRC_QUERY, &w, sizeof(w), &qp->attr,
			  sizeof(qp->attr))) {
		*out = qp->attr;
		return;
	}
	/* As it was last seen, and nothing goes through it any more. */
	*out = qp->attr;
	out->state = out->cur_state = HCA_QPS_ERR;
}

int xrc_open_close(struct qp *qp)
{
	const struct which w = { qp->pub.qpn, qp->xrcd };

	struct qp **at;

	pthread_mutex_lock(&stand_in_lock);
	for (at = &stand_ins; *at && *at != qp; at = &(*at)->all_next)
		;
	if (*at)
		*at = qp->all_next;
	pthread_mutex_unlock(&stand_in_lock);
	hca_rpc_call(qp->owner, HCA_RPC_XRC_CLOSE, &w, sizeof(w), NULL, 0);
	free(qp);
	return 0;
}

/* 0: all that this process had made. */
static void tell_stand_ins(fabric_id_t owner, uint32_t qpn, enum hca_event_type event)
{
	pthread_mutex_lock(&stand_in_lock);
	for (struct qp *qp = stand_ins; qp; qp = qp->all_next)
		if (qp->owner == owner && (!qpn || qp->pub.qpn == qpn)) {
			fabric_lock(&qp->pub.lock);
			qp_tell_listeners(qp, event);
			fabric_unlock(&qp->pub.lock);
		}
	pthread_mutex_unlock(&stand_in_lock);
}

static int serve_event(fabric_id_t from, const void *in, void *out)
{
	const struct news *n = in;

	(void)out;
	switch (n->event) {
	case HCA_EVENT_QP_FATAL:
	case HCA_EVENT_QP_REQ_ERR:
	case HCA_EVENT_QP_ACCESS_ERR:
	case HCA_EVENT_COMM_EST:
	case HCA_EVENT_SQ_DRAINED:
	case HCA_EVENT_QP_LAST_WQE_REACHED:
		if (n->qpn)
			tell_stand_ins(from, n->qpn, (enum hca_event_type)n->event);
		return 0;
	default:
		return -EINVAL;
	}
}

/* ---- where it was made ---- */

/* Locked. */
static struct opener *find(const struct qp *qp, fabric_id_t who)
{
	struct opener *o;

	for (o = openers; o && (o->qp != qp || (who && o->who != who)); o = o->next)
		;
	return o;
}

/* Locked. By number, when that process has it open. */
static struct opener *find_open(uint32_t qpn, fabric_id_t who)
{
	struct opener *o;

	for (o = openers; o && (o->qp->pub.qpn != qpn || o->who != who); o = o->next)
		;
	return o;
}

/* Locked, in a guard. */
static int add(struct qp *qp, fabric_id_t who)
{
	struct opener *o = find(qp, who);

	if (o) {
		o->times++;
		return 0;
	}
	o = malloc(sizeof(*o));
	if (!o)
		return -ENOMEM;
	*o = (struct opener){ .next = openers, .qp = qp, .who = who, .times = 1 };
	openers = o;
	return 0;
}

static int serve_open(fabric_id_t from, const void *in, void *out)
{
	const struct which *w = in;
	struct qp *qp;
	int err = -EINVAL;

	(void)out;
	epoch_enter();
	qp = qp_find(w->qpn);
	if (qp && qp->pub.type == HCA_QP_XRC_RECV && qp->xrcd == w->xrcd) {
		pthread_mutex_lock(&open_lock);
		if (!qp->closed)
			err = add(qp, from);
		pthread_mutex_unlock(&open_lock);
	}
	epoch_exit();
	return err;
}

static struct qp *opened_by(uint32_t qpn, fabric_id_t who)
{
	struct opener *o;
	struct qp *qp;

	pthread_mutex_lock(&open_lock);
	o = find_open(qpn, who);
	qp = o ? o->qp : NULL;
	pthread_mutex_unlock(&open_lock);
	return qp;
}

static int serve_modify(fabric_id_t from, const void *in, void *out)
{
	const struct change *c = in;
	struct qp *qp = opened_by(c->qpn, from);

	(void)out;
	return qp ? hca_qp_modify(&qp->pub, &c->attr, c->mask) : -EINVAL;
}

static int serve_query(fabric_id_t from, const void *in, void *out)
{
	const struct which *w = in;
	struct qp *qp = opened_by(w->qpn, from);

	if (!qp)
		return -EINVAL;
	hca_qp_query(&qp->pub, out);
	return 0;
}

/* Locked. The queue pair, when it was the last one and its maker does not need it any more. */
static struct qp *drop(struct opener **at)
{
	struct opener *o = *at;
	struct qp *qp = o->qp;

	*at = o->next;
	free(o);
	if (!qp->orphan || find(qp, FABRIC_ID_NONE))
		return NULL;
	qp->orphan = false;
	qp->closed = true;
	return qp;
}

static void end(struct qp *qp)
{
	struct hca_ctx *ctx = qp->pub.ctx;

	hca_qp_destroy(&qp->pub);
	if (ctx->put)
		ctx->put(ctx);
}

static int serve_close(fabric_id_t from, const void *in, void *out)
{
	const struct which *w = in;
	struct opener **at, *o;
	struct qp *last = NULL;

	(void)out;
	pthread_mutex_lock(&open_lock);
	o = find_open(w->qpn, from);
	for (at = &openers; *at && *at != o; at = &(*at)->next)
		;
	if (o && !--o->times)
		last = drop(at);
	pthread_mutex_unlock(&open_lock);
	if (last)
		end(last);
	return o ? 0 : -EINVAL;
}

bool xrc_open_outlives(struct qp *qp)
{
	bool outlives = false;

	pthread_mutex_lock(&open_lock);
	if (!qp->closed) {
		outlives = find(qp, FABRIC_ID_NONE);
		qp->orphan = outlives;
		qp->closed = !outlives;
	}
	pthread_mutex_unlock(&open_lock);
	if (!outlives)
		return false;
	/* Its context stays for it, and nobody here hears its events. */
	if (qp->pub.ctx->get)
		qp->pub.ctx->get(qp->pub.ctx);
	hca_qp_set_user(&qp->pub, NULL);
	return true;
}

void xrc_open_event(const struct qp *qp, enum hca_event_type type)
{
	const struct news n = { qp->pub.qpn, type };

	pthread_mutex_lock(&open_lock);
	for (const struct opener *o = openers; o; o = o->next)
		if (o->qp == qp)
			hca_rpc_notify(o->who, HCA_RPC_XRC_EVENT, &n, sizeof(n));
	pthread_mutex_unlock(&open_lock);
}

void xrc_open_peer_gone(fabric_id_t id)
{
	struct opener **at;
	struct qp *last;

	tell_stand_ins(id, 0, HCA_EVENT_QP_FATAL);
	do {
		last = NULL;
		pthread_mutex_lock(&open_lock);
		for (at = &openers; *at && !last;) {
			if ((*at)->who == id)
				last = drop(at);
			else
				at = &(*at)->next;
		}
		pthread_mutex_unlock(&open_lock);
		if (last)
			end(last);
	} while (last);
}

void xrc_open_forked(void)
{
	openers = NULL;
	stand_ins = NULL;
}

__attribute__((constructor)) static void serve(void)
{
	hca_rpc_serve(HCA_RPC_XRC_OPEN, serve_open);
	hca_rpc_serve(HCA_RPC_XRC_MODIFY, serve_modify);
	hca_rpc_serve(HCA_RPC_XRC_QUERY, serve_query);
	hca_rpc_serve(HCA_RPC_XRC_CLOSE, serve_close);
	hca_rpc_serve(HCA_RPC_XRC_EVENT, serve_event);
}
