/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The responder: requests of the peer, in order of their packet numbers (IBTA volume 1, 9.7.4 and
 * 9.8). Lock held, inside an epoch section. Checks run straight down; what a fault does is decided once, in
 * fault_handle(). Reads and atomics are in resource.c, acknowledgements in answer.c.
 */
#include "hca/transport/responder.h"
#include "hca/transport/qp_count.h"

#include <stdlib.h>
#include <string.h>

#include "hca/device/checker.h"
#include "hca/device/lid.h"
#include "hca/memory/mkey.h"
#include "hca/memory/mw.h"
#include "hca/memory/shuffle.h"
#include "hca/transport/answer.h"
#include "hca/transport/comp_cntr.h"
#include "hca/transport/drops.h"
#include "hca/transport/failure.h"
#include "hca/transport/fault.h"
#include "hca/transport/grh.h"
#include "hca/transport/observer.h"
#include "hca/transport/path.h"
#include "hca/transport/qp_fail.h"
#include "hca/transport/recv.h"
#include "hca/transport/reorder.h"
#include "hca/transport/requester.h"
#include "hca/transport/resource.h"
#include "hca/transport/sig_error.h"
#include "hca/transport/syndrome.h"
#include "hca/transport/tag_recv.h"
#include "hca/transport/xrc_forward.h"

#define NAKS_AGAIN 2

/* ---- opcodes ---- */

/* By opcode without the transport bits. Reads and atomics are messages of one packet. */
enum {
	OP_SEND = 1 << 0,
	OP_WRITE = 1 << 1,
	OP_GOES_ON = 1 << 2, /* not the first packet of its message */
	OP_OPEN = 1 << 3,    /* not the last */
	OP_IMM = 1 << 4,
	OP_INV = 1 << 5,
};

static const uint8_t traits[ROCE_PKT_OPCODE_MASK + 1] = {
	[ROCE_PKT_SEND_FIRST] = OP_SEND | OP_OPEN,
	[ROCE_PKT_SEND_MIDDLE] = OP_SEND | OP_GOES_ON | OP_OPEN,
	[ROCE_PKT_SEND_LAST] = OP_SEND | OP_GOES_ON,
	[ROCE_PKT_SEND_LAST_IMM] = OP_SEND | OP_GOES_ON | OP_IMM,
	[ROCE_PKT_SEND_LAST_INV] = OP_SEND | OP_GOES_ON | OP_INV,
	[ROCE_PKT_SEND_ONLY] = OP_SEND,
	[ROCE_PKT_SEND_ONLY_IMM] = OP_SEND | OP_IMM,
	[ROCE_PKT_SEND_ONLY_INV] = OP_SEND | OP_INV,
	[ROCE_PKT_WRITE_FIRST] = OP_WRITE | OP_OPEN,
	[ROCE_PKT_WRITE_MIDDLE] = OP_WRITE | OP_GOES_ON | OP_OPEN,
	[ROCE_PKT_WRITE_LAST] = OP_WRITE | OP_GOES_ON,
	[ROCE_PKT_WRITE_LAST_IMM] = OP_WRITE | OP_GOES_ON | OP_IMM,
	[ROCE_PKT_WRITE_ONLY] = OP_WRITE,
	[ROCE_PKT_WRITE_ONLY_IMM] = OP_WRITE | OP_IMM,
};

static bool is_first(uint8_t op)
{
	return !(traits[op] & OP_GOES_ON);
}

static bool is_last(uint8_t op)
{
	return !(traits[op] & OP_OPEN);
}

static bool is_write(uint8_t op)
{
	return traits[op] & OP_WRITE;
}

static bool is_send(uint8_t op)
{
	return traits[op] & OP_SEND;
}

static bool has_imm(uint8_t op)
{
	return traits[op] & OP_IMM;
}

static bool has_inv(uint8_t op)
{
	return traits[op] & OP_INV;
}

/* Whether the packet continues the message in progress, or begins one when none is. */
static bool continues_message(const struct responder *r, uint8_t op)
{
	if (r->last_op == NO_MESSAGE)
		return is_first(op);
	if (is_first(op))
		return false;
	return is_write(op) == is_write(r->last_op);
}

/* ---- sends and writes ---- */

static inline enum fault need_recv(struct qp *qp, const struct roce_pkt *pkt)
{
	struct hca_srq *srq = recv_srq(qp, pkt->rdma.srqn);

	if (qp->resp.has_recv)
		return FAULT_NONE; /* taken by an attempt whose references could not be fetched */
	if (qp->pub.type == HCA_QP_XRC_RECV && !srq)
		return FAULT_INVALID;
	if (!recv_take(qp, srq))
		return FAULT_WAIT;
	qp->resp.has_recv = true;
	return FAULT_NONE;
}

static enum fault copy_fault(const struct roce_pkt *pkt)
{
	return pkt->flags & ROCE_PKT_BY_REF ? FAULT_FETCH : FAULT_LOCAL;
}

/* Copies into the receive entry, behind the earlier packets of the message. */
static enum fault scatter(struct qp *qp, const struct roce_pkt *pkt, const struct hca_list *payload,
			  enum hca_status *status)
{
	struct responder *r = &qp->resp;
	const struct hca_pd *pd = r->recv_srq ? r->recv_srq->pd : qp->pub.pd;
	enum hca_mem_result result = hca_mem_scatter(r->recv->sge, r->recv->sge_count, pd->pdn,
						     r->offset, payload, pkt->len);

	if (likely(result == HCA_MEM_DONE)) {
		r->offset += pkt->len;
		return FAULT_NONE;
	}
	*status = result == HCA_MEM_SHORT ? HCA_LOC_LEN_ERR : HCA_LOC_PROT_ERR;
	return result == HCA_MEM_SHORT ? FAULT_INVALID
	       : result == HCA_MEM_BAD ? FAULT_LOCAL
				       : copy_fault(pkt);
}

static bool invalidate(struct qp *qp, const struct roce_pkt *pkt)
{
	uint32_t pdn = recv_pdn(qp, pkt->rdma.srqn);

	return !hca_mw_invalidate(pkt->imm, pdn, qp->pub.qpn) ||
	       !hca_mkey_invalidate(pkt->imm, pdn, true);
}

/* Sends, not writes with immediate data: these take an entry as usual. */
static bool matches_tags(const struct qp *qp)
{
	return qp->pub.srq && qp->pub.srq->tags;
}

static enum fault do_send(struct qp *qp, const struct roce_pkt *pkt, const struct hca_list *payload,
			  enum hca_status *status)
{
	struct responder *r = &qp->resp;
	uint8_t op = pkt->op & ROCE_PKT_OPCODE_MASK;
	enum fault f;

	if (is_first(op)) {
		f = unlikely(matches_tags(qp)) ? tag_recv_begin(qp, pkt, payload, is_last(op))
					       : need_recv(qp, pkt);
		if (unlikely(f))
			return f;
		r->offset = 0;
	}
	f = unlikely(r->tag.what) ? tag_recv_place(qp, pkt, payload, is_first(op), status)
				  : scatter(qp, pkt, payload, status);
	if (unlikely(f))
		return f;
	if (unlikely(has_inv(op)) && !invalidate(qp, pkt)) {
		*status = HCA_LOC_ACCESS_ERR;
		return FAULT_INVALIDATE;
	}
	return FAULT_NONE;
}

/* The region that a packet of a write goes to; NULL without the right. */
static const struct hca_mr_entry *write_target(const struct qp *qp, const struct roce_pkt *pkt)
{
	const struct responder *r = &qp->resp;

	return hca_mem_find_here(r->rkey, recv_pdn(qp, pkt->rdma.srqn), qp->pub.qpn, r->va,
				 pkt->len, HCA_ACCESS_REMOTE_WRITE);
}

/* The adversary of the checker places bytes in any order. */
static inline bool write_bytes(const struct qp *qp, const struct hca_mr_entry *e,
			       const struct hca_list *payload, uint64_t len)
{
	if (unlikely(qp->pub.checked) && hca.checker->random)
		return shuffle_write(e, qp->resp.va, payload, len);
	return hca_mem_write(e, qp->resp.va, payload, len);
}

static enum fault do_write(struct qp *qp, const struct roce_pkt *pkt,
			   const struct hca_list *payload, enum hca_status *status)
{
	struct responder *r = &qp->resp;
	uint8_t op = pkt->op & ROCE_PKT_OPCODE_MASK;
	const struct hca_mr_entry *e;
	enum fault f;

	if (is_first(op)) {
		r->va = pkt->rdma.va;
		r->rkey = pkt->rdma.rkey;
		r->left = pkt->rdma.dma_len;
		r->offset = 0;
	}
	if (pkt->len > r->left || (is_last(op) && pkt->len != r->left))
		return FAULT_INVALID;
	/* Without the right the QP does not support the operation (IBTA volume 1, 9.7.4.1.2). */
	if (!(qp->attr.access & HCA_ACCESS_REMOTE_WRITE))
		return FAULT_INVALID;
	if (has_imm(op)) {
		/*
		 * A message of several packets on a wire shows its key in the first of them, before
		 * a receive is taken for the last one (IBTA volume 1, 9.7.4.1).
		 */
		if (unlikely(pkt->len > 128U << qp->attr.path_mtu) && !write_target(qp, pkt))
			return FAULT_ACCESS;
		f = need_recv(qp, pkt);
		if (f)
			return f;
	}
	if (pkt->len) {
		e = write_target(qp, pkt);
		if (unlikely(!e)) {
			*status = HCA_LOC_ACCESS_ERR;
			return FAULT_ACCESS;
		}
		if (unlikely(!write_bytes(qp, e, payload, pkt->len)))
			return copy_fault(pkt);
	}
	r->va += pkt->len;
	r->left -= pkt->len;
	r->offset += pkt->len;
	return FAULT_NONE;
}

/* Requests with an answer of their own. */
static enum fault do_answered(struct qp *qp, const struct roce_pkt *pkt,
			      const struct hca_list *payload)
{
	switch (pkt->op & ROCE_PKT_OPCODE_MASK) {
	case ROCE_PKT_READ_REQUEST:
		return resource_read(qp, pkt);
	case ROCE_PKT_CMP_SWAP:
	case ROCE_PKT_FETCH_ADD:
		return resource_atomic(qp, pkt);
	case ROCE_PKT_MASKED_ATOMIC:
		return resource_masked_atomic(qp, pkt, payload);
	case ROCE_PKT_ATOMIC_WRITE:
		return resource_atomic_write(qp, pkt, payload);
	case ROCE_PKT_FLUSH:
		return resource_flush(qp, pkt);
	default:
		return FAULT_INVALID;
	}
}

static void finish_message(struct qp *qp, const struct roce_pkt *pkt, uint8_t op)
{
	struct hca_cqe cqe; /* `frame` is not set: the format reads it for raw packets only */

	qp->resp.msn++;
	qp->resp.last_op = NO_MESSAGE;
	if (unlikely(qp->cntr) && is_write(op))
		comp_cntr_add(qp, HCA_CNTR_REMOTE_WRITE, true, qp->resp.offset);
	if (is_write(op) && !has_imm(op))
		return;
	memset(&cqe, 0, offsetof(struct hca_cqe, frame));
	if (is_write(op))
		cqe.recv_kind = HCA_RECV_WRITE_IMM;
	else if (unlikely(has_imm(op) || has_inv(op)))
		cqe.recv_kind = has_imm(op) ? HCA_RECV_SEND_IMM : HCA_RECV_SEND_INV;
	cqe.byte_len = qp->resp.offset;
	cqe.imm = pkt->imm;
	cqe.solicited = pkt->flags & ROCE_PKT_SOLICITED;
	cqe.src_qpn = qp->attr.dest_qpn;
	if (unlikely(qp->resp.tag.what))
		tag_recv_finish(qp, &cqe);
	else
		recv_complete(qp, &cqe);
}

/* ---- order ---- */

/* Duplicates are acknowledged and not executed again, except reads (IBTA volume 1, 9.7.5.1.1). */
static void duplicate(struct qp *qp, struct hca_acks *acks, const struct roce_pkt *pkt)
{
	if (qp_pkt_takes_resource(pkt))
		resource_again(qp, pkt);
	else {
		qp->resp.ack_urgent = true;
		answer_ack_later(qp, acks);
	}
}

static void count_fault(struct qp *qp, enum fault f, uint8_t op)
{
	if (f == FAULT_WAIT || f == FAULT_FETCH)
		return; /* the packet will be sent again */
	if (is_write(op))
		comp_cntr_add(qp, HCA_CNTR_REMOTE_WRITE, false, 0);
	else if (op == ROCE_PKT_READ_REQUEST)
		comp_cntr_add(qp, HCA_CNTR_REMOTE_READ, false, 0);
}

static void count_request(struct qp *qp, uint8_t op)
{
	if (is_write(op) && is_last(op))
		hca_count(qp->pub.counters, HCA_COUNT_RX_WRITE);
	else if (op == ROCE_PKT_READ_REQUEST)
		hca_count(qp->pub.counters, HCA_COUNT_RX_READ);
	else if (op == ROCE_PKT_CMP_SWAP || op == ROCE_PKT_FETCH_ADD ||
		 op == ROCE_PKT_ATOMIC_WRITE || op == ROCE_PKT_MASKED_ATOMIC)
		hca_count(qp->pub.counters, HCA_COUNT_RX_ATOMIC);
}

/*
 * From another host every packet of a message but the last is as long as the path MTU, and none is longer
 * (IBTA volume 1, 9.7.4.1.6).
 */
static bool is_full(const struct qp *qp, const struct roce_pkt *pkt)
{
	if (!qp->remote)
		return true;
	return is_last(pkt->op & ROCE_PKT_OPCODE_MASK) ? pkt->len <= qp->mtu : pkt->len == qp->mtu;
}

static void execute(struct qp *qp, struct hca_acks *acks, const struct roce_pkt *pkt,
		    const struct hca_list *payload)
{
	uint8_t op = pkt->op & ROCE_PKT_OPCODE_MASK;
	struct responder *r = &qp->resp;
	enum hca_status status = HCA_REM_INV_REQ_ERR;
	enum fault f = FAULT_INVALID;

	if (unlikely(qp->pub.type == HCA_QP_XRC_RECV))
		recv_check_srq(qp);
	if (likely(continues_message(r, op) && is_full(qp, pkt))) {
		if (is_send(op))
			f = do_send(qp, pkt, payload, &status);
		else if (is_write(op))
			f = do_write(qp, pkt, payload, &status);
		else if (qp_is_reliable(qp))
			f = do_answered(qp, pkt, payload);
	}
	sig_error_of_peer(qp);
	if (unlikely(qp->pub.counters) && f != FAULT_WAIT)
		count_request(qp, op);
	if (unlikely(f)) {
		if (unlikely(qp->cntr))
			count_fault(qp, f, op);
		if (f != FAULT_WAIT && f != FAULT_FETCH && qp_is_reliable(qp))
			hca.failures->refused(qp, pkt, f, status);
		fault_handle(qp, f, status);
		if (!qp_is_reliable(qp)) /* it will not be sent again */
			r->epsn = psn_add(r->epsn, 1);
		return;
	}
	r->nak_sent = false;
	if (!is_send(op) && !is_write(op))
		return; /* requests with an answer of their own have advanced epsn */
	r->epsn = psn_add(r->epsn, 1);
	if (is_last(op))
		finish_message(qp, pkt, op);
	else
		r->last_op = op;
	if (pkt->flags & ROCE_PKT_ACK_REQ && likely(qp_is_reliable(qp))) {
		r->ack_urgent |= !(pkt->flags & ROCE_PKT_ACK_DELAYABLE);
		answer_ack_later(qp, acks);
	}
	if (unlikely(r->tag.run)) {
		r->tag.run = false;
		requester_run(qp);
	}
}

/* Sends the NAK that a fault script demands; true when there was one. */
static bool refuse_by_script(const struct observer *observer, struct qp *qp,
			     const struct roce_pkt *pkt)
{
	struct roce_verdict v = observer->judge(qp, pkt);

	if (v.action == ROCE_FAULT_NONE)
		return false;
	switch (v.syndrome) {
	case ROCE_SYN_NAK_INVALID:
		fault_handle(qp, FAULT_INVALID, HCA_REM_INV_REQ_ERR);
		break;
	case ROCE_SYN_NAK_ACCESS:
		fault_handle(qp, FAULT_ACCESS, HCA_LOC_ACCESS_ERR);
		break;
	case ROCE_SYN_NAK_OP:
		fault_handle(qp, FAULT_LOCAL, HCA_LOC_PROT_ERR);
		break;
	default: /* RNR or sequence NAK: the packet will be sent again */
		fault_refuse_for_now(qp, v.syndrome);
		break;
	}
	return true;
}

static __attribute__((noinline)) void out_of_sequence(struct qp *qp, struct hca_acks *acks,
						      const struct roce_pkt *pkt,
						      const struct hca_list *payload)
{
	struct responder *r = &qp->resp;

	if (psn_diff(pkt->psn, r->epsn) < 0) {
		qp_count(qp, HCA_COUNT_DUPLICATE);
		if (qp->remote)
			drop_count(DROP_SEEN);
		duplicate(qp, acks, pkt);
		return;
	}
	qp_count(qp, HCA_COUNT_OUT_OF_SEQUENCE);
	if (qp->pub.out_of_order && qp->remote && reorder_keep(qp, pkt, payload))
		return;
	/*
	 * One NAK per gap, and another when the packet that showed the gap comes again: then the
	 * requester has gone back, and the missing packet was lost once more. NAKS_AGAIN at most, since
	 * each costs the requester a retry.
	 */
	if (r->nak_sent && r->dropping_behind && psn_diff(pkt->psn, r->nak_trigger_psn) > 0) {
		r->nak_trigger_psn = pkt->psn;
		return;
	}
	r->dropping_behind = false;
	if (r->nak_sent &&
	    (psn_diff(pkt->psn, r->nak_trigger_psn) > 0 || r->nak_repeats >= NAKS_AGAIN))
		return;
	r->nak_repeats = r->nak_sent ? r->nak_repeats + 1 : 0;
	r->nak_sent = true;
	r->nak_trigger_psn = pkt->psn;
	answer_refuse(qp, ROCE_SYN_NAK_SEQ);
}

/* True when the packet has the expected PSN; otherwise it has been dealt with. */
static bool reliable(struct qp *qp, struct hca_acks *acks, const struct roce_pkt *pkt,
		     const struct hca_list *payload)
{
	const struct observer *observer;

	if (unlikely(qp->pub.type == HCA_QP_XRC_RECV && !qp->guest) &&
	    xrc_forward_request(qp, acks, pkt, payload))
		return false;
	if (unlikely(psn_diff(pkt->psn, qp->resp.epsn))) {
		out_of_sequence(qp, acks, pkt, payload);
		return false;
	}
	observer = observer_get();
	return likely(!observer || !observer->judge) || !refuse_by_script(observer, qp, pkt);
}

/*
 * UC: a gap ends the message in progress, and a new one may begin behind it (IBTA volume 1, 9.8.2). Late
 * packets are dropped: programs rely on the order of a connection.
 */
static bool unreliable(struct qp *qp, const struct roce_pkt *pkt)
{
	struct responder *r = &qp->resp;
	uint8_t op = pkt->op & ROCE_PKT_OPCODE_MASK;

	if (psn_diff(pkt->psn, r->epsn) < 0) {
		if (qp->remote)
			drop_count(DROP_SEEN);
		return false;
	}
	if (pkt->psn != r->epsn || is_first(op)) {
		r->last_op = NO_MESSAGE;
		if (!is_first(op))
			return false;
	}
	r->epsn = pkt->psn;
	return true;
}

/* ---- datagrams ---- */

/*
 * A datagram that its receive has no room for is dropped, and the next one gets the receive (IBTA volume 1,
 * 9.9.6.3, class D). An entry of a shared queue cannot go back, and is completed with an error; the queue pair
 * goes on (class E). ConnectX adapters do so, too: SendWithTooSmallRecv of the tests in
 * github.com/google/rdma-unit-test, whose list of deviations of mlx4 and mlx5 does not have it.
 */
static void too_long(struct qp *qp, uint32_t bytes)
{
	drop_count(DROP_TOO_LONG);
	if (qp->pub.checked)
		hca.checker->datagram_too_long(&qp->pub, bytes);
	if (qp->pub.srq)
		recv_complete_error(qp, HCA_LOC_LEN_ERR, SYN_LENGTH);
}

/* On InfiniBand the LID decides which port gets a datagram. Without one the GRH does. */
static bool is_for_port(const struct qp *qp, const struct roce_pkt *pkt)
{
	const struct hca_adapter *a = qp->pub.ctx->adapter;
	uint16_t lid, sm;

	if (a->ports[qp->attr.port - 1].link != HCA_LINK_INFINIBAND || !pkt->ud.dlid ||
	    pkt->flags & ROCE_PKT_MCAST)
		return true;
	return !hca_lid_get(a, qp->attr.port, &lid, &sm) && lid == pkt->ud.dlid;
}

static void datagram(struct qp *qp, const struct roce_pkt *pkt, const struct hca_list *payload,
		     const uint8_t *grh)
{
	struct hca_list list;
	bool placed;
	struct hca_cqe cqe = {
		.recv_kind =
			has_imm(pkt->op & ROCE_PKT_OPCODE_MASK) ? HCA_RECV_SEND_IMM : HCA_RECV_SEND,
		.byte_len = pkt->len + HCA_GRH_BYTES,
		.imm = pkt->imm,
		.solicited = pkt->flags & ROCE_PKT_SOLICITED,
		.src_qpn = pkt->sqpn,
		.slid = pkt->ud.slid,
		.sl = pkt->ud.sl,
		.grh = grh != NULL,
		.roce = qp->pub.ctx->adapter->ports[qp->attr.port - 1].link == HCA_LINK_ETHERNET,
		.roce_kind = pkt->ud.roce_kind,
	};

	/* An entry that was too short for a datagram waits for the next one. */
	if (!qp->resp.has_recv && !recv_take(qp, qp->pub.srq)) {
		qp_count(qp, HCA_COUNT_OUT_OF_BUFFER);
		drop_count(DROP_NO_RECEIVE);
		return;
	}
	qp->resp.has_recv = true;
	memcpy(cqe.smac, pkt->ud.smac, sizeof(cqe.smac));
	if (!hca_mem_resolve_first(qp->resp.recv->sge, qp->resp.recv->sge_count,
				   qp->pub.srq ? qp->pub.srq->pd->pdn : qp->pub.pd->pdn,
				   HCA_ACCESS_LOCAL_WRITE, cqe.byte_len, &list)) {
		recv_complete_error(qp, HCA_LOC_PROT_ERR, SYN_LOCAL_PROT);
		qp_fail(qp);
		return;
	}
	if (list.total < cqe.byte_len) {
		too_long(qp, cqe.byte_len);
		return;
	}
	if (grh)
		hca_mem_copy_in(&list, 0, grh, HCA_GRH_BYTES);
	placed = hca_mem_copy(&list, HCA_GRH_BYTES, payload, 0, pkt->len);
	sig_error_of_peer(qp);
	if (!placed) {
		recv_complete_error(qp, HCA_LOC_PROT_ERR, SYN_LOCAL_PROT);
		qp_fail(qp);
		return;
	}
	recv_complete(qp, &cqe);
}

static __attribute__((cold, noinline)) void
refuse_datagram(struct qp *qp, const struct hca_peer *from, const struct roce_pkt *pkt)
{
	if (!from)
		drop_count(DROP_QKEY);
	if (qp->pub.checked && (pkt->op & ROCE_PKT_TRANSPORT_MASK) == ROCE_TR_UD &&
	    pkt->ud.qkey != qp->attr.qkey)
		hca.checker->datagram_qkey(&qp->pub, pkt->ud.qkey, qp->attr.qkey);
}

static bool is_receiving(const struct qp *qp)
{
	const uint32_t states =
		1u << HCA_QPS_RTR | 1u << HCA_QPS_RTS | 1u << HCA_QPS_SQD | 1u << HCA_QPS_SQE;

	return states >> qp->pub.state & 1;
}

/* Requests that came too early, and whose turn it is now. */
static void execute_kept(struct qp *qp, struct hca_acks *acks)
{
	struct reorder_packet *p;
	struct hca_list payload;

	while (is_receiving(qp) && (p = reorder_take(qp))) {
		payload.count = p->pkt.len ? 1 : 0;
		payload.total = p->pkt.len;
		payload.seg[0] = (struct hca_seg){ .ptr = (char *)p->payload, .len = p->pkt.len };
		if (reliable(qp, acks, &p->pkt, &payload))
			execute(qp, acks, &p->pkt, &payload);
		free(p);
	}
}

static void establish(struct qp *qp)
{
	qp->resp.established = true;
	if (qp->pub.state == HCA_QPS_RTR && !qp->guest)
		qp_event(qp, HCA_EVENT_COMM_EST);
}

void responder_packet(struct qp *qp, struct hca_peer *from, struct hca_acks *acks,
		      const struct roce_pkt *pkt, const struct hca_list *payload,
		      const uint8_t *grh)
{
	uint8_t tr = pkt->op & ROCE_PKT_TRANSPORT_MASK;

	if (unlikely(!is_receiving(qp))) {
		if (!from)
			drop_count(DROP_STATE);
		return;
	}
	if (unlikely(qp->pub.type == HCA_QP_UD)) {
		if (tr == ROCE_TR_UD && pkt->ud.qkey == qp->attr.qkey && is_for_port(qp, pkt))
			datagram(qp, pkt, payload, grh);
		else
			refuse_datagram(qp, from, pkt);
		return;
	}
	if (unlikely(pkt->sqpn != qp->attr.dest_qpn))
		return;
	/* Answers take the path by which requests come, if they have the address of a port. */
	if (from) {
		if (unlikely(qp->peer != from || qp->remote) && path_exists(qp))
			qp_set_peer(qp, from);
	} else if (unlikely(!qp->remote) && path_connected(qp) != PATH_READY) {
		return;
	}
	if (unlikely(!qp->resp.established))
		establish(qp);
	if (unlikely(pkt->op == ROCE_PKT_HELLO)) {
		/* The peer waits for the acknowledgement that was delayed. */
		if (pkt->flags & ROCE_PKT_ACK_REQ && qp->ack_due) {
			qp->resp.ack_urgent = true;
			answer_list_ack(qp, acks);
		}
		return;
	}
	if (qp_is_reliable(qp)
		    ? tr == qp_answer_transport(qp) && reliable(qp, acks, pkt, payload)
		    : qp->pub.type == HCA_QP_UC && tr == ROCE_TR_UC && unreliable(qp, pkt))
		execute(qp, acks, pkt, payload);
	if (unlikely(qp->resp.reorder))
		execute_kept(qp, acks);
}

void responder_start(struct qp *qp, uint32_t psn)
{
	qp->resp.epsn = psn;
	qp->peer_sport = 0;
	qp->source = (struct qp_source){ 0 };
}

void responder_reset(struct qp *qp)
{
	struct hca_recv *recv = qp->resp.recv;
	struct resp_resource *resource = qp->resp.resource;

	recv_forget_tag(qp);
	reorder_clear(&qp->resp);
	qp->resp = (struct responder){ .recv = recv, .resource = resource, .last_op = NO_MESSAGE };
	atomic_store_explicit(&qp->ack_due, false, memory_order_relaxed);
	atomic_store_explicit(&qp->replies, 0, memory_order_relaxed);
	resource_reset(qp);
}
