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
#include "hca/transport/xrc_forward.h"

#include "fabric/directory.h"
#include "fabric/numbers.h"
#include "hca/queue/srq.h"
#include "hca/transport/answer.h"
#include "hca/transport/egress.h"
#include "hca/transport/fault.h"

static uint32_t access_of(uint8_t op)
{
	if (xrc_op_is_atomic(op))
		return HCA_ACCESS_REMOTE_ATOMIC;
	if (op == ROCE_PKT_READ_REQUEST)
		return HCA_ACCESS_REMOTE_READ;
	return op >= ROCE_PKT_WRITE_FIRST && op <= ROCE_PKT_WRITE_ONLY_IMM ? HCA_ACCESS_REMOTE_WRITE
									   : 0;
}

static uint32_t srqn_of(const struct roce_pkt *pkt)
{
	return xrc_op_is_atomic(pkt->op & ROCE_PKT_OPCODE_MASK) ? pkt->atomic.srqn : pkt->rdma.srqn;
}

/* What is passed on says which domain the queue pair is in, where a request of its kind has room. */
static void set_domain(struct roce_pkt *pkt, uint32_t xrcd)
{
	if (xrc_op_is_atomic(pkt->op & ROCE_PKT_OPCODE_MASK))
		pkt->imm = xrcd;
	else
		pkt->rdma.pad[0] = xrcd;
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
	if (qp_has_forwarded(r) && !hca_peer_find(r->away, &wait) && !wait)
		r->epsn = r->away_una;
	if (qp_has_forwarded(r)) {
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
	if (qp_has_forwarded(&qp->resp))
		qp->resp.away_behind = true;
	else
		fault_handle(qp, f, HCA_REM_INV_REQ_ERR);
}

bool xrc_forward_request(struct qp *qp, struct hca_acks *acks, const struct roce_pkt *pkt,
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
			answer_ack_later(qp, acks);
		return true;
	}
	if (home == FABRIC_ID_NONE)
		return false;
	if (ahead > 0) {
		if (!qp_has_forwarded(r))
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
		fault_handle(qp, FAULT_INVALID, HCA_REM_INV_REQ_ERR);
		break;
	case ROCE_SYN_NAK_ACCESS:
		fault_handle(qp, FAULT_ACCESS, HCA_REM_INV_REQ_ERR);
		break;
	case ROCE_SYN_NAK_OP:
		fault_handle(qp, FAULT_LOCAL, HCA_REM_INV_REQ_ERR);
		break;
	case ROCE_SYN_NAK_SEQ:
		answer_refuse(qp, ROCE_SYN_NAK_SEQ);
		break;
	default:
		fault_handle(qp, FAULT_WAIT, HCA_REM_INV_REQ_ERR);
		break;
	}
}

void xrc_forward_answer(struct qp *qp, const struct hca_peer *from, const struct roce_pkt *pkt,
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
		send_flush(qp);
		return;
	}
	if (psn_diff(done, r->away_una) > 0 && psn_diff(done, r->epsn) <= 0)
		r->away_una = done;
	if (ack) {
		atomic_store_explicit(&qp->ack_due, true, memory_order_relaxed);
		answer_send_ack(qp);
	} else if (qp->peer || qp->remote) {
		out.dqpn = qp->attr.dest_qpn;
		out.sqpn = qp->pub.qpn;
		out.flags = 0;
		/* Lost without room: who misses it asks again. */
		send_packet(qp, qp->peer, &out, payload, 0, NULL);
	}
	send_flush(qp); /* it came another way, where nobody thinks of it */
	xrc_forward_resume(qp);
}

void xrc_forward_resume(struct qp *qp)
{
	struct responder *r = &qp->resp;
	bool wait;

	if (likely(!r->away_behind) || qp_has_forwarded(r))
		return;
	if (r->away && !hca_peer_find(r->away, &wait) && wait)
		return;
	r->away_behind = false;
	answer_refuse(qp, ROCE_SYN_NAK_SEQ);
	send_flush(qp);
}
