/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * XRC between processes. Processes that open a domain on one file share it, so a message that comes
 * to a receive queue pair of one may be for a shared receive queue of another. Numbers of XRC
 * receive queues are taken from those of queue pairs: the directory knows whose they are.
 *
 * The queue pair's process checks order and passes requests on, as they are, to the queue's process.
 * There a guest stands for the queue pair, a responder like any other, whose answers come back here
 * and go on to the sender. Requests that were passed on count as received, and as acknowledged when
 * the guest has said so; when it refuses one, the queue pair expects that one again. Requests for
 * different processes must not overtake each other: the ones that wait are asked for again.
 */
#include "hca/transport/xrc.h"

#include <stdlib.h>

#include "fabric/directory.h"
#include "fabric/lock.h"
#include "fabric/numbers.h"
#include "hca/transport/responder.h"
#include "hca/transport/send.h"
#include "hca/queue/srq_priv.h"
#include "hca/transport/tx_wait.h"
#include "hca/wire/wire.h"

struct guest {
	struct qp qp; /* its number is the queue pair's */
	struct guest *next;
	fabric_id_t from;
};

static struct fabric_lock lock; /* guards the list; nothing is locked inside */
static struct guest *guests;

/* ---- where the queue pair is ---- */

static bool is_atomic(uint8_t op)
{
	return op == ROCE_PKT_CMP_SWAP || op == ROCE_PKT_FETCH_ADD;
}

static uint32_t access_of(uint8_t op)
{
	if (is_atomic(op))
		return HCA_ACCESS_REMOTE_ATOMIC;
	if (op == ROCE_PKT_READ_REQUEST)
		return HCA_ACCESS_REMOTE_READ;
	return op >= ROCE_PKT_WRITE_FIRST && op <= ROCE_PKT_WRITE_ONLY_IMM ? HCA_ACCESS_REMOTE_WRITE
									   : 0;
}

static uint32_t srqn_of(const struct roce_pkt *pkt)
{
	return is_atomic(pkt->op & ROCE_PKT_OPCODE_MASK) ? pkt->atomic.srqn : pkt->rdma.srqn;
}

/* What is passed on says which domain the queue pair is in, where a request of its kind has room. */
static void set_domain(struct roce_pkt *pkt, uint32_t xrcd)
{
	if (is_atomic(pkt->op & ROCE_PKT_OPCODE_MASK))
		pkt->imm = xrcd;
	else
		pkt->rdma.pad[0] = xrcd;
}

static uint32_t domain_of(const struct roce_pkt *pkt)
{
	return is_atomic(pkt->op & ROCE_PKT_OPCODE_MASK) ? pkt->imm : pkt->rdma.pad[0];
}

/* FABRIC_ID_NONE: it is ours, or nobody's. */
static fabric_id_t home_of(uint32_t srqn)
{
	fabric_id_t owner;

	if (likely(hca_srq_find(srqn)))
		return FABRIC_ID_NONE;
	owner = fabric_qpn_owner(srqn);
	return owner == fabric_self() ? FABRIC_ID_NONE : owner;
}

/* True when requests may go there from now on. */
static bool turn_to(struct responder *r, fabric_id_t home)
{
	bool wait;

	if (r->away == home)
		return true;
	/* What a dead process did not do is expected again. */
	if (xrc_some_are_away(r) && !hca_peer_find(r->away, &wait) && !wait)
		r->epsn = r->away_una;
	if (xrc_some_are_away(r)) {
		r->away_behind = true;
		return false;
	}
	r->away = home;
	r->away_una = r->epsn;
	r->away_turn = true;
	return true;
}

static uint32_t numbers_of(const struct qp *qp, const struct roce_pkt *pkt)
{
	if ((pkt->op & ROCE_PKT_OPCODE_MASK) != ROCE_PKT_READ_REQUEST || !pkt->rdma.dma_len)
		return 1;
	return (pkt->rdma.dma_len + qp->mtu - 1) / qp->mtu;
}

static bool pass_on(struct qp *qp, const struct roce_pkt *pkt, const struct hca_list *payload)
{
	struct responder *r = &qp->resp;
	struct roce_pkt out = *pkt;
	struct hca_peer *peer;
	bool wait;

	peer = hca_peer_find(r->away, &wait);
	if (!peer)
		return false;
	out.dqpn = srqn_of(pkt);
	out.sqpn = qp->pub.qpn;
	out.flags |= ROCE_PKT_ACK_REQ;
	out.refs = (uint16_t)qp->mtu;
	set_domain(&out, qp->xrcd);
	if (r->away_turn)
		out.flags |= ROCE_PKT_XRC_TURN;
	if (send_packet(qp, peer, &out, payload, 0, NULL))
		return false;
	r->away_turn = false;
	return true;
}

/* A refusal says that all before it is done, so it has to wait for that. */
static void refuse_or_wait(struct qp *qp, enum fault f)
{
	if (xrc_some_are_away(&qp->resp))
		qp->resp.away_behind = true;
	else
		responder_fault(qp, f, HCA_REM_INV_REQ_ERR);
}

bool xrc_pass(struct qp *qp, struct hca_acks *acks, const struct roce_pkt *pkt,
	      const struct hca_list *payload)
{
	uint8_t op = pkt->op & ROCE_PKT_OPCODE_MASK;
	struct responder *r = &qp->resp;
	fabric_id_t home = home_of(srqn_of(pkt));
	int32_t ahead = psn_diff(pkt->psn, r->epsn);

	if (likely(home == FABRIC_ID_NONE && !r->away))
		return false;
	if (ahead >= 0 && !turn_to(r, home))
		return true;
	ahead = psn_diff(pkt->psn, r->epsn);
	if (ahead < 0) {
		if (home == FABRIC_ID_NONE)
			return false;
		/* Reads and atomics are repeated where they were done. */
		if (home == r->away && access_of(op) & ~HCA_ACCESS_REMOTE_WRITE)
			pass_on(qp, pkt, payload);
		else
			responder_ack_later(qp, acks);
		return true;
	}
	if (home == FABRIC_ID_NONE)
		return false;
	if (ahead > 0) {
		if (!xrc_some_are_away(r))
			return false; /* a gap like any other */
		r->away_behind = true;
	} else if ((qp_access(qp) & access_of(op)) != access_of(op)) {
		refuse_or_wait(qp, FAULT_INVALID);
	} else if (pkt->flags & ROCE_PKT_BY_REF) {
		refuse_or_wait(qp, FAULT_FETCH);
	} else if (pass_on(qp, pkt, payload)) {
		r->epsn = psn_add(r->epsn, numbers_of(qp, pkt));
		r->nak_sent = false;
	} else {
		r->away_behind = true; /* no room, or no link yet */
	}
	return true;
}

static void refused(struct qp *qp, uint32_t psn, uint8_t syndrome)
{
	struct responder *r = &qp->resp;

	if (psn_diff(psn, r->away_una) < 0 || psn_diff(psn, r->epsn) >= 0)
		return; /* of an earlier attempt */
	r->epsn = r->away_una = psn;
	r->away_behind = false;
	switch (syndrome) {
	case ROCE_SYN_NAK_INVALID:
		responder_fault(qp, FAULT_INVALID, HCA_REM_INV_REQ_ERR);
		break;
	case ROCE_SYN_NAK_ACCESS:
		responder_fault(qp, FAULT_ACCESS, HCA_REM_INV_REQ_ERR);
		break;
	case ROCE_SYN_NAK_OP:
		responder_fault(qp, FAULT_LOCAL, HCA_REM_INV_REQ_ERR);
		break;
	case ROCE_SYN_NAK_SEQ:
		responder_refuse(qp, ROCE_SYN_NAK_SEQ);
		break;
	default:
		responder_fault(qp, FAULT_WAIT, HCA_REM_INV_REQ_ERR);
		break;
	}
}

void xrc_answer(struct qp *qp, const struct hca_peer *from, const struct roce_pkt *pkt,
		const struct hca_list *payload)
{
	bool ack = (pkt->op & ROCE_PKT_OPCODE_MASK) == ROCE_PKT_ACK;
	struct responder *r = &qp->resp;
	struct roce_pkt out = *pkt;
	uint32_t done = psn_add(pkt->psn, 1);

	if (from->id != r->away || qp->pub.state == HCA_QPS_ERR)
		return;
	if (ack && pkt->ack.syndrome & ROCE_SYN_KIND) {
		refused(qp, pkt->psn, (uint8_t)pkt->ack.syndrome);
		wire_flush(qp);
		return;
	}
	if (psn_diff(done, r->away_una) > 0 && psn_diff(done, r->epsn) <= 0)
		r->away_una = done;
	if (ack) {
		atomic_store_explicit(&qp->ack_due, true, memory_order_relaxed);
		responder_send_ack(qp);
	} else if (qp->peer || qp->wired) {
		out.dqpn = qp->attr.dest_qpn;
		out.sqpn = qp->pub.qpn;
		out.flags = 0;
		/* Lost without room: who misses it asks again. */
		send_packet(qp, qp->peer, &out, payload, 0, NULL);
	}
	wire_flush(qp); /* it came another way, where nobody thinks of it */
	xrc_continue(qp);
}

void xrc_continue(struct qp *qp)
{
	struct responder *r = &qp->resp;
	bool wait;

	if (likely(!r->away_behind) || xrc_some_are_away(r))
		return;
	if (r->away && !hca_peer_find(r->away, &wait) && wait)
		return;
	r->away_behind = false;
	responder_refuse(qp, ROCE_SYN_NAK_SEQ);
	wire_flush(qp);
}

/* ---- where the shared receive queue is ---- */

static struct guest *find(fabric_id_t from, uint32_t qpn)
{
	struct guest *g;

	fabric_lock(&lock);
	for (g = guests; g && (g->from != from || g->qp.pub.qpn != qpn); g = g->next)
		;
	fabric_unlock(&lock);
	return g;
}

static struct guest *make(fabric_id_t from, uint32_t qpn, const struct hca_srq *srq)
{
	struct guest *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->from = from;
	g->qp.guest = true;
	g->qp.pub = (struct hca_qp){
		.type = HCA_QP_XRC_RECV,
		.state = HCA_QPS_RTR,
		.qpn = qpn,
		.format = srq->format,
		.ctx = srq->pd->ctx,
	};
	g->qp.attr = (struct hca_qp_attr){
		.state = HCA_QPS_RTR,
		.dest_qpn = qpn,
		.access =
			HCA_ACCESS_REMOTE_WRITE | HCA_ACCESS_REMOTE_READ | HCA_ACCESS_REMOTE_ATOMIC,
		.max_dest_rd_atomic = RESP_RESOURCES,
	};
	g->qp.mtu = QP_FABRIC_MTU;
	responder_reset(&g->qp);
	/* The list of all first: a peer that goes must find it. */
	qp_link(&g->qp);
	fabric_lock(&lock);
	g->next = guests;
	guests = g;
	fabric_unlock(&lock);
	return g;
}

struct qp *xrc_guest(struct hca_peer *from, const struct roce_pkt *pkt)
{
	const struct hca_srq *srq = hca_srq_find(pkt->dqpn);
	struct guest *g;

	if (!srq || srq->type != HCA_SRQ_XRC)
		return NULL;
	/* Only the link's receiver gets here, so nobody else makes it meanwhile. */
	g = find(from->id, pkt->sqpn);
	if (!g && pkt->flags & ROCE_PKT_XRC_TURN)
		g = make(from->id, pkt->sqpn, srq);
	if (!g)
		return NULL;
	if (pkt->flags & ROCE_PKT_XRC_TURN) {
		fabric_lock(&g->qp.pub.lock);
		responder_flush(&g->qp);
		responder_reset(&g->qp);
		g->qp.pub.state = g->qp.attr.state = HCA_QPS_RTR;
		g->qp.resp.epsn = pkt->psn;
		g->qp.resp.established = true;
		g->qp.xrcd = domain_of(pkt);
		if (pkt->refs >= 256 && pkt->refs <= QP_FABRIC_MTU)
			g->qp.mtu = pkt->refs;
		fabric_unlock(&g->qp.pub.lock);
	}
	return &g->qp;
}

void xrc_guests_leave(fabric_id_t from)
{
	struct guest **at, *g, *gone = NULL;

	fabric_lock(&lock);
	for (at = &guests; (g = *at);) {
		if (g->from != from) {
			at = &g->next;
			continue;
		}
		*at = g->next;
		g->next = gone;
		gone = g;
	}
	fabric_unlock(&lock);
	if (!gone)
		return;
	for (g = gone; g; g = g->next) {
		fabric_lock(&g->qp.pub.lock);
		responder_flush(&g->qp);
		g->qp.dying = true;
		fabric_unlock(&g->qp.pub.lock);
		qp_unlink(&g->qp);
		tx_wait_forget_qp(&g->qp);
	}
	epoch_wait();
	while ((g = gone)) {
		gone = g->next;
		free(g->qp.resp.recv);
		free(g->qp.resp.resource);
		free(g);
	}
}

void xrc_forked(void)
{
	guests = NULL;
	lock = (struct fabric_lock){ 0 };
}
