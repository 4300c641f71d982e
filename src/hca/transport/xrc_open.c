/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opening XRC receive queue pairs between processes: stand-ins here for queue pairs of others, whose
 * calls are RPCs to the process that made them, and the service of those RPCs for queue pairs that were
 * made here (xrc_openers.c).
 */
#include "hca/transport/xrc_open.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/directory.h"
#include "fabric/numbers.h"
#include "hca/hca.h"
#include "fabric/epoch.h"
#include "hca/peers/rpc.h"
#include "hca/transport/qp.h"
#include "hca/transport/qp_fail.h"
#include "hca/transport/qp_table.h"
#include "hca/transport/qp_modify.h"
#include "hca/transport/qp_types.h"
#include "hca/transport/xrc_openers.h"
#include "util/explain.h"

/* Arguments of RPCs. */
struct which {
	uint32_t qpn;
	uint32_t xrcd;
};

struct change {
	uint32_t qpn;
	uint32_t mask;
	struct hca_qp_attr attr;
};

_Static_assert(sizeof(struct change) <= HCA_RPC_BYTES, "fits a question");

/* ---- the process that has opened it ---- */

static int refuse(const struct qp *qp, int err)
{
	if (err == -ECONNRESET)
		return explain(EIO, "the process that made the queue pair 0x%x is gone",
			       qp->pub.qpn);
	return explain(-err, "the process that made the queue pair 0x%x refuses: %s", qp->pub.qpn,
		       strerror(-err));
}

static int stand_in_modify(struct qp *qp, const struct hca_qp_attr *attr, uint32_t mask)
{
	const struct change c = { qp->pub.qpn, mask, *attr };
	int err = hca_rpc_call(qp->owner, HCA_RPC_XRC_MODIFY, &c, sizeof(c), NULL, 0);

	return err ? refuse(qp, err) : 0;
}

static void stand_in_query(struct qp *qp, struct hca_qp_attr *out)
{
	const struct which w = { qp->pub.qpn, qp->xrcd };

	if (!hca_rpc_call(qp->owner, HCA_RPC_XRC_QUERY, &w, sizeof(w), &qp->attr,
			  sizeof(qp->attr))) {
		*out = qp->attr;
		return;
	}
	/* The maker is gone: the last known attributes, in ERR. */
	*out = qp->attr;
	out->state = out->cur_state = HCA_QPS_ERR;
}

static int stand_in_close(struct qp *qp)
{
	const struct which w = { qp->pub.qpn, qp->xrcd };

	pthread_mutex_lock(&hca.transport.xrc_open.stand_in_lock);
	LIST_REMOVE(qp, all);
	pthread_mutex_unlock(&hca.transport.xrc_open.stand_in_lock);
	hca_rpc_call(qp->owner, HCA_RPC_XRC_CLOSE, &w, sizeof(w), NULL, 0);
	free(qp);
	return 0;
}

static const struct stand_in_ops stand_in_ops = {
	.modify = stand_in_modify,
	.query = stand_in_query,
	.destroy = stand_in_close,
};

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
	qp->stand_in = &stand_in_ops;
	pthread_mutex_lock(&hca.transport.xrc_open.stand_in_lock);
	LIST_INSERT_HEAD(&hca.transport.xrc_open.stand_ins, qp, all);
	pthread_mutex_unlock(&hca.transport.xrc_open.stand_in_lock);
	*out = &qp->pub;
	return 0;
}

/* qpn 0: all queue pairs that the process had made. */
static void tell_stand_ins(fabric_id_t owner, uint32_t qpn, enum hca_event_type event)
{
	struct qp *qp;

	pthread_mutex_lock(&hca.transport.xrc_open.stand_in_lock);
	LIST_FOREACH(qp, &hca.transport.xrc_open.stand_ins, all)
		if (qp->owner == owner && (!qpn || qp->pub.qpn == qpn)) {
			fabric_lock(&qp->pub.lock);
			qp_tell_listeners(qp, event);
			fabric_unlock(&qp->pub.lock);
		}
	pthread_mutex_unlock(&hca.transport.xrc_open.stand_in_lock);
}

static int serve_event(fabric_id_t from, const void *in, void *out)
{
	const struct xrc_event *n = in;

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

/* ---- the process that made it ---- */

static int serve_open(fabric_id_t from, const void *in, void *out)
{
	const struct which *w = in;

	(void)out;
	return xrc_openers_add(w->qpn, w->xrcd, from);
}

static int serve_modify(fabric_id_t from, const void *in, void *out)
{
	const struct change *c = in;
	struct qp *qp = xrc_openers_find(c->qpn, from);

	(void)out;
	return qp ? hca_qp_modify(&qp->pub, &c->attr, c->mask) : -EINVAL;
}

static int serve_query(fabric_id_t from, const void *in, void *out)
{
	const struct which *w = in;
	struct qp *qp = xrc_openers_find(w->qpn, from);

	if (!qp)
		return -EINVAL;
	hca_qp_query(&qp->pub, out);
	return 0;
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
	struct qp *last;
	int err = xrc_openers_remove(w->qpn, from, &last);

	(void)out;
	if (last)
		end(last);
	return err;
}

static void peer_gone(fabric_id_t id)
{
	struct qp *last;

	tell_stand_ins(id, 0, HCA_EVENT_QP_FATAL);
	while ((last = xrc_openers_process_gone(id)))
		end(last);
}

const struct peer_listener xrc_open_peer_listener = { .gone = peer_gone };

__attribute__((constructor)) static void serve(void)
{
	hca_rpc_serve(HCA_RPC_XRC_OPEN, serve_open);
	hca_rpc_serve(HCA_RPC_XRC_MODIFY, serve_modify);
	hca_rpc_serve(HCA_RPC_XRC_QUERY, serve_query);
	hca_rpc_serve(HCA_RPC_XRC_CLOSE, serve_close);
	hca_rpc_serve(HCA_RPC_XRC_EVENT, serve_event);
}
