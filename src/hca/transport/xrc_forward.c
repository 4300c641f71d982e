/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * XRC between processes. Processes that open a domain on one file share it, so a message that comes
 * to a receive queue pair of one may be for a shared receive queue of another. Numbers of XRC
 * receive queues are taken from those of queue pairs: the directory knows whose they are.
 *
 * The process of the queue pair checks the PSN and forwards requests unchanged to the process of the
 * shared receive queue. There a guest (xrc_guest.c), a responder like any other, stands for the queue
 * pair; its answers come back here and are sent to the requester. Forwarded requests count as received,
 * and as acknowledged when the guest acknowledges them; when the guest NAKs one, the queue pair expects
 * it again. Requests for different processes must not overtake each other: those that would are NAKed.
 */
#include "hca/transport/xrc_forward.h"

#include "fabric/directory.h"
#include "fabric/numbers.h"
#include "hca/queue/srq.h"
#include "hca/transport/answer.h"
#include "hca/transport/egress.h"
#include "hca/transport/fault.h"

static uint32_t access_of(const struct roce_pkt *pkt)
{
	uint8_t op = pkt->op & ROCE_PKT_OPCODE_MASK;

	if (xrc_op_is_atomic(op) || op == ROCE_PKT_MASKED_ATOMIC)
		return HCA_ACCESS_REMOTE_ATOMIC;
	if (op == ROCE_PKT_READ_REQUEST)
		return HCA_ACCESS_REMOTE_READ;
	if (op == ROCE_PKT_FLUSH)
		return qp_flush_access(pkt->rdma.feth);
	if (op == ROCE_PKT_ATOMIC_WRITE)
		return HCA_ACCESS_REMOTE_WRITE;
	return op >= ROCE_PKT_WRITE_FIRST && op <= ROCE_PKT_WRITE_ONLY_IMM ? HCA_ACCESS_REMOTE_WRITE
									   : 0;
}

static uint32_t srqn_of(const struct roce_pkt *pkt)
{
	return xrc_op_is_atomic(pkt->op & ROCE_PKT_OPCODE_MASK) ? pkt->atomic.srqn : pkt->rdma.srqn;
}

/* A forwarded request carries the XRC domain, in a field that its kind does not use. */
static void set_domain(struct roce_pkt *pkt, uint32_t xrcd)
{
	if (xrc_op_is_atomic(pkt->op & ROCE_PKT_OPCODE_MASK))
		pkt->imm = xrcd;
	else
		pkt->rdma.xrcd = xrcd;
}

/* FABRIC_ID_NONE: the queue is of this process, or does not exist. */
static fabric_id_t home_of(uint32_t srqn)
{
	fabric_id_t owner;

	if (likely(hca_srq_find(srqn)))
		return FABRIC_ID_NONE;
	owner = fabric_qpn_owner(srqn);
	return owner == fabric_self() ? FABRIC_ID_NONE : owner;
}

/* True when requests may be forwarded there from now on. */
static bool turn_to(struct responder *r, fabric_id_t home)
{
	bool wait;

	if (r->fwd_owner == home)
		return true;
	/* Requests that a dead process did not execute are expected again. */
	if (qp_has_forwarded(r) && !hca_peer_find(r->fwd_owner, &wait) && !wait)
		r->epsn = r->fwd_una;
	if (qp_has_forwarded(r)) {
		r->fwd_resend = true;
		return false;
	}
	r->fwd_owner = home;
	r->fwd_una = r->epsn;
	r->fwd_restart = true;
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

	peer = hca_peer_find(r->fwd_owner, &wait);
	if (!peer)
		return false;
	out.dqpn = srqn_of(pkt);
	out.sqpn = qp->pub.qpn;
	out.flags |= ROCE_PKT_ACK_REQ;
	out.refs = (uint16_t)qp->mtu;
	set_domain(&out, qp->xrcd);
	if (r->fwd_restart)
		out.flags |= ROCE_PKT_XRC_TURN;
	if (send_packet(qp, peer, &out, payload, 0, NULL))
		return false;
	r->fwd_restart = false;
	return true;
}

/* A NAK acknowledges all requests before it, so it waits for those that were forwarded. */
static void refuse_or_wait(struct qp *qp, enum fault f)
{
	if (qp_has_forwarded(&qp->resp))
		qp->resp.fwd_resend = true;
	else
		fault_handle(qp, f, HCA_REM_INV_REQ_ERR);
}

bool xrc_forward_request(struct qp *qp, struct hca_acks *acks, const struct roce_pkt *pkt,
			 const struct hca_list *payload)
{
	struct responder *r = &qp->resp;
	fabric_id_t home = home_of(srqn_of(pkt));
	int32_t ahead = psn_diff(pkt->psn, r->epsn);

	if (likely(home == FABRIC_ID_NONE && !r->fwd_owner))
		return false;
	if (ahead >= 0 && !turn_to(r, home))
		return true;
	ahead = psn_diff(pkt->psn, r->epsn);
	if (ahead < 0) {
		if (home == FABRIC_ID_NONE)
			return false;
		/* Duplicates of reads and atomics are answered by the process that executed them. */
		if (home == r->fwd_owner && qp_pkt_takes_resource(pkt))
			pass_on(qp, pkt, payload);
		else
			answer_ack_later(qp, acks);
		return true;
	}
	if (home == FABRIC_ID_NONE)
		return false;
	if (ahead > 0) {
		if (!qp_has_forwarded(r))
			return false; /* an ordinary gap */
		r->fwd_resend = true;
	} else if ((qp_access(qp) & access_of(pkt)) != access_of(pkt)) {
		refuse_or_wait(qp, FAULT_INVALID);
	} else if (pkt->flags & ROCE_PKT_BY_REF) {
		refuse_or_wait(qp, FAULT_FETCH);
	} else if (pass_on(qp, pkt, payload)) {
		r->epsn = psn_add(r->epsn, numbers_of(qp, pkt));
		r->nak_sent = false;
	} else {
		r->fwd_resend = true; /* no room, or no link yet */
	}
	return true;
}

static void refused(struct qp *qp, uint32_t psn, uint8_t syndrome)
{
	struct responder *r = &qp->resp;

	if (psn_diff(psn, r->fwd_una) < 0 || psn_diff(psn, r->epsn) >= 0)
		return; /* of an earlier attempt */
	r->epsn = r->fwd_una = psn;
	r->fwd_resend = false;
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

	if (from->id != r->fwd_owner || qp->pub.state == HCA_QPS_ERR)
		return;
	if (ack && pkt->ack.syndrome & ROCE_SYN_KIND) {
		refused(qp, pkt->psn, (uint8_t)pkt->ack.syndrome);
		send_flush(qp);
		return;
	}
	if (psn_diff(done, r->fwd_una) > 0 && psn_diff(done, r->epsn) <= 0)
		r->fwd_una = done;
	if (ack) {
		atomic_store_explicit(&qp->ack_due, true, memory_order_relaxed);
		answer_send_ack(qp);
	} else if (qp->peer || qp->remote) {
		out.dqpn = qp->attr.dest_qpn;
		out.sqpn = qp->pub.qpn;
		out.flags = 0;
		/* Dropped without room: the requester will request it again. */
		send_packet(qp, qp->peer, &out, payload, 0, NULL);
	}
	send_flush(qp); /* the caller flushes links only */
	xrc_forward_resume(qp);
}

void xrc_forward_resume(struct qp *qp)
{
	struct responder *r = &qp->resp;
	bool wait;

	if (likely(!r->fwd_resend) || qp_has_forwarded(r))
		return;
	if (r->fwd_owner && !hca_peer_find(r->fwd_owner, &wait) && wait)
		return;
	r->fwd_resend = false;
	answer_refuse(qp, ROCE_SYN_NAK_SEQ);
	send_flush(qp);
}
