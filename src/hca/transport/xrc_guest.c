/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/transport/xrc_guest.h"

#include <stdlib.h>

#include "hca/hca.h"
#include "fabric/epoch.h"
#include "hca/queue/srq.h"
#include "hca/transport/qp_table.h"
#include "hca/transport/recv.h"
#include "hca/transport/reorder.h"
#include "hca/transport/responder.h"
#include "hca/transport/tx_wait.h"
#include "hca/transport/xrc_forward.h"

struct xrc_guest {
	struct qp qp; /* its number is the queue pair's */
	LIST_ENTRY(xrc_guest) entry;
	fabric_id_t from;
};

static struct xrc_guest *find(fabric_id_t from, uint32_t qpn)
{
	struct xrc_guest *g;

	fabric_lock(&hca.transport.xrc_guests.lock);
	LIST_FOREACH(g, &hca.transport.xrc_guests.all, entry)
		if (g->from == from && g->qp.pub.qpn == qpn)
			break;
	fabric_unlock(&hca.transport.xrc_guests.lock);
	return g;
}

static struct xrc_guest *make(fabric_id_t from, uint32_t qpn, const struct hca_srq *srq)
{
	struct xrc_guest *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->from = from;
	g->qp.guest = true;
	/* No context: the guest may outlive that of the SRQ, and serve SRQs of others. */
	g->qp.pub = (struct hca_qp){
		.type = HCA_QP_XRC_RECV,
		.state = HCA_QPS_RTR,
		.qpn = qpn,
		.format = srq->format,
	};
	g->qp.attr = (struct hca_qp_attr){
		.state = HCA_QPS_RTR,
		.dest_qpn = qpn,
		/* Requests that the queue pair does not permit are not forwarded. */
		.access = HCA_ACCESS_REMOTE_WRITE | HCA_ACCESS_REMOTE_READ |
			  HCA_ACCESS_REMOTE_ATOMIC | HCA_ACCESS_FLUSH,
		.max_dest_rd_atomic = RESP_RESOURCES,
	};
	g->qp.mtu = QP_LINK_MTU;
	responder_reset(&g->qp);
	/* On the list before it is used: a peer that leaves is dropped from every QP on it. */
	qp_link(&g->qp);
	fabric_lock(&hca.transport.xrc_guests.lock);
	LIST_INSERT_HEAD(&hca.transport.xrc_guests.all, g, entry);
	fabric_unlock(&hca.transport.xrc_guests.lock);
	return g;
}

struct qp *xrc_guest(struct hca_peer *from, const struct roce_pkt *pkt)
{
	const struct hca_srq *srq = hca_srq_find(pkt->dqpn);
	struct xrc_guest *g;

	if (!srq || srq->type != HCA_SRQ_XRC)
		return NULL;
	/* Called under the link's receive lock: no other thread creates the guest meanwhile. */
	g = find(from->id, pkt->sqpn);
	if (!g && pkt->flags & ROCE_PKT_XRC_TURN)
		g = make(from->id, pkt->sqpn, srq);
	if (!g)
		return NULL;
	if (pkt->flags & ROCE_PKT_XRC_TURN) {
		fabric_lock(&g->qp.pub.lock);
		recv_flush(&g->qp);
		responder_reset(&g->qp);
		g->qp.pub.state = g->qp.attr.state = HCA_QPS_RTR;
		responder_start(&g->qp, pkt->psn);
		g->qp.xrcd = xrc_forward_domain(pkt);
		if (pkt->refs >= 256 && pkt->refs <= QP_LINK_MTU)
			g->qp.mtu = pkt->refs;
		fabric_unlock(&g->qp.pub.lock);
	}
	return &g->qp;
}

/* Frees the guests of a peer that has gone. */
static void leave(struct hca_peer *peer)
{
	const fabric_id_t from = peer->id;
	LIST_HEAD(, xrc_guest) gone = LIST_HEAD_INITIALIZER(gone);
	struct xrc_guest *g, *next;

	fabric_lock(&hca.transport.xrc_guests.lock);
	for (g = LIST_FIRST(&hca.transport.xrc_guests.all); g; g = next) {
		next = LIST_NEXT(g, entry);
		if (g->from != from)
			continue;
		LIST_REMOVE(g, entry);
		LIST_INSERT_HEAD(&gone, g, entry);
	}
	fabric_unlock(&hca.transport.xrc_guests.lock);
	if (LIST_EMPTY(&gone))
		return;
	LIST_FOREACH(g, &gone, entry) {
		fabric_lock(&g->qp.pub.lock);
		recv_flush(&g->qp);
		g->qp.dying = true;
		fabric_unlock(&g->qp.pub.lock);
		qp_unlink(&g->qp);
		tx_wait_forget_qp(&g->qp);
	}
	epoch_wait();
	while ((g = LIST_FIRST(&gone))) {
		LIST_REMOVE(g, entry);
		free(g->qp.resp.recv);
		free(g->qp.resp.resource);
		reorder_clear(&g->qp.resp);
		free(g);
	}
}

const struct peer_listener xrc_guest_listener = { .leaving = leave };
