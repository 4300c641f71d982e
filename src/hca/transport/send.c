/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets of connected transports. On this host a message is one packet if it fits a record of the link
 * or the peer can fetch it by reference, and otherwise packets of QP_LINK_MTU; to another host, packets
 * of the path MTU.
 */
#include "hca/transport/send.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hca/hca.h"
#include "hca/memory/mr_share.h"
#include "hca/transport/answer.h"
#include "hca/transport/dci.h"
#include "hca/transport/egress.h"
#include "hca/transport/probe.h"
#include "hca/transport/request.h"
#include "hca/transport/request_fail.h"
#include "hca/transport/sig_error.h"
#include "hca/transport/syndrome.h"
#include "hca/transport/timer.h"
#include "hca/transport/window.h"

/* Payloads above this are passed by reference: that costs less than a second copy. */
#define INLINE_MOST 2048u

/* True when the peer can fetch every element itself. */
static bool make_refs(const struct qp *qp, const struct hca_send *s, struct roce_ref *refs,
		      uint16_t *count)
{
	const struct hca_segment *segment = hca.peers.segment;
	const struct hca_peer *peer = qp->peer;
	uint16_t n = 0;

	/* UC has no acknowledgement that says when the memory may be reused. */
	if (peer->no_refs || qp->pub.type == HCA_QP_UC)
		return false;
	for (int i = 0; i < s->sge_count; i++) {
		const struct hca_mr_entry *e;
		uint32_t flags;

		if (!s->sge[i].len)
			continue;
		if (s->sge[i].key == HCA_KEY_INLINE)
			return false;
		e = &segment->mr[s->sge[i].key >> 8];
		flags = hca_entry_flags(e);
		/* The peer looks the key up in this process's table; an imported region is not there. */
		if (atomic_load_explicit(&e->key, memory_order_relaxed) != s->sge[i].key)
			return false;
		if (flags & (HCA_MR_NULL | HCA_MR_CAREFUL | HCA_MR_INDIRECT))
			return false;
		if (!peer->is_self && !peer->can_vm &&
		    (!(flags & HCA_MR_SHARED) || mr_share_is_suspended()))
			return false;
		refs[n++] = (struct roce_ref){ s->sge[i].addr, s->sge[i].len, s->sge[i].key };
	}
	*count = n;
	return true;
}

/* Position of a packet in its message. */
enum { PART_FIRST, PART_MIDDLE, PART_LAST, PART_ONLY };

static inline uint8_t opcode(const struct qp *qp, enum hca_op op, int part)
{
	static const uint8_t transport[] = {
		[HCA_QP_RC] = ROCE_TR_RC,        [HCA_QP_UC] = ROCE_TR_UC,
		[HCA_QP_XRC_SEND] = ROCE_TR_XRC, [HCA_QP_XRC_RECV] = ROCE_TR_XRC,
		[HCA_QP_DCI] = ROCE_TR_DC,
	};
	static const uint8_t table[HCA_OP_COUNT][4] = {
		[HCA_OP_SEND] = { ROCE_PKT_SEND_FIRST, ROCE_PKT_SEND_MIDDLE, ROCE_PKT_SEND_LAST,
				  ROCE_PKT_SEND_ONLY },
		[HCA_OP_SEND_IMM] = { ROCE_PKT_SEND_FIRST, ROCE_PKT_SEND_MIDDLE,
				      ROCE_PKT_SEND_LAST_IMM, ROCE_PKT_SEND_ONLY_IMM },
		[HCA_OP_SEND_INV] = { ROCE_PKT_SEND_FIRST, ROCE_PKT_SEND_MIDDLE,
				      ROCE_PKT_SEND_LAST_INV, ROCE_PKT_SEND_ONLY_INV },
		[HCA_OP_WRITE] = { ROCE_PKT_WRITE_FIRST, ROCE_PKT_WRITE_MIDDLE, ROCE_PKT_WRITE_LAST,
				   ROCE_PKT_WRITE_ONLY },
		[HCA_OP_WRITE_IMM] = { ROCE_PKT_WRITE_FIRST, ROCE_PKT_WRITE_MIDDLE,
				       ROCE_PKT_WRITE_LAST_IMM, ROCE_PKT_WRITE_ONLY_IMM },
		[HCA_OP_READ] = { [PART_FIRST] = ROCE_PKT_READ_REQUEST,
				  [PART_ONLY] = ROCE_PKT_READ_REQUEST },
		[HCA_OP_CMP_SWAP] = { [PART_ONLY] = ROCE_PKT_CMP_SWAP },
		[HCA_OP_FETCH_ADD] = { [PART_ONLY] = ROCE_PKT_FETCH_ADD },
		[HCA_OP_FLUSH] = { [PART_ONLY] = ROCE_PKT_FLUSH },
		[HCA_OP_ATOMIC_WRITE] = { [PART_ONLY] = ROCE_PKT_ATOMIC_WRITE },
		[HCA_OP_MASKED_CMP_SWAP] = { [PART_ONLY] = ROCE_PKT_MASKED_ATOMIC },
		[HCA_OP_MASKED_FETCH_ADD] = { [PART_ONLY] = ROCE_PKT_MASKED_ATOMIC },
	};

	return transport[qp->pub.type] | table[op][part];
}

/* The timer runs from the first packet on: a closed congestion window opens by answers only. */
static __attribute__((noinline)) void start_timer(struct qp *qp)
{
	timer_start(qp, hca_now_ns() + timer_ack_ns(qp->attr.timeout));
}

/* A read that is requested again keeps the data that has come. */
static uint32_t got_before(const struct qp *qp, const struct hca_send *s)
{
	const struct req_slot *slot = window_at(&qp->window, qp->window.tail);

	return window_is_empty(&qp->window) && s->op == HCA_OP_READ && slot->op == HCA_OP_READ &&
			       slot->index == qp->req.next && slot->first_psn == qp->req.psn
		       ? slot->got
		       : 0;
}

/* Puts the request into the window and assigns its PSNs; NULL: no memory for a window. */
static inline const struct req_slot *enter_window(struct qp *qp, const struct hca_send *s,
						  bool read, uint32_t packets)
{
	struct requester *r = &qp->req;
	struct req_slot *slot;

	if (unlikely(!qp->window.slots) && window_reserve(&qp->window))
		return NULL;
	slot = window_at(&qp->window, qp->window.tail);
	slot->got = unlikely(read) ? got_before(qp, s) : 0;
	slot->index = r->next;
	slot->first_psn = r->psn;
	slot->last_psn = psn_add(r->psn, packets - 1);
	slot->length = unlikely(read) && op_is_atomic(s->op) ? 8 : s->length;
	slot->counter = s->counter;
	slot->blocks = s->blocks;
	slot->op = s->op;
	slot->signaled = s->signaled | qp->pub.sig_all;
	slot->local = false;
	window_push(&qp->window, read);
	r->partial = true;
	if (unlikely(!qp->comp.timeout_at) && qp->attr.timeout && qp->pub.type != HCA_QP_UC)
		start_timer(qp);
	if (unlikely(qp->comp.probe.lossy))
		probe_begin(qp);
	return slot;
}

/* An earlier attempt was acknowledged to its end. */
static inline bool has_arrived(const struct qp *qp, const struct hca_send *s,
			       const struct req_slot *slot)
{
	return unlikely(psn_diff(qp->comp.una, slot->last_psn) > 0) && qp->pub.type != HCA_QP_UC &&
	       !op_is_read(s->op);
}

static inline void leave_request(struct qp *qp, const struct hca_send *s,
				 const struct req_slot *slot)
{
	struct requester *r = &qp->req;

	r->next += s->blocks;
	r->psn = psn_add(slot->last_psn, 1);
	r->partial = false;
	r->sent = 0;
	if (unlikely(qp->pub.type == HCA_QP_UC)) {
		/* UC: a request is complete when it is sent (IBTA volume 1, 9.8.2). */
		request_complete(qp, window_pop(&qp->window), HCA_SUCCESS, 0);
	}
}

static inline void fill_packet(const struct qp *qp, const struct hca_send *s, struct roce_pkt *pkt)
{
	*pkt = (struct roce_pkt){
		.dqpn = qp->attr.dest_qpn,
		.sqpn = qp->pub.qpn,
		.imm = s->imm,
		.rdma = { .va = s->raddr,
			  .rkey = s->rkey,
			  .dma_len = s->length,
			  .srqn = s->xrc_srqn },
	};
	if (unlikely(qp->dci) && qp->remote)
		dci_fill(qp, pkt);
	if (unlikely(op_is_atomic(s->op))) {
		pkt->atomic.va = s->raddr;
		pkt->atomic.rkey = s->rkey;
		pkt->atomic.compare = s->compare;
		pkt->atomic.swap = s->op == HCA_OP_CMP_SWAP ? s->swap : s->compare;
		pkt->atomic.srqn = s->xrc_srqn;
	}
	if (unlikely(s->op == HCA_OP_FLUSH))
		pkt->rdma.feth = s->feth;
}

/*
 * An unsignaled request of a program that rings its doorbells itself: the acknowledgement would wake the
 * service thread for nothing, so the peer may delay it.
 */
static inline bool is_ack_delayable(const struct qp *qp, const struct hca_send *s)
{
	return unlikely(qp->doorbell.watched) && qp->peer && !s->signaled && !qp->pub.sig_all &&
	       window_count(&qp->window) < QP_WINDOW / 4;
}

static inline int send_one(struct qp *qp, const struct hca_send *s, struct roce_pkt *pkt, int part,
			   const struct hca_list *list, uint64_t off, const struct roce_ref *refs)
{
	int err;

	pkt->op = opcode(qp, s->op, part);
	if (part == PART_LAST || part == PART_ONLY) {
		if (qp->pub.type != HCA_QP_UC)
			pkt->flags |= ROCE_PKT_ACK_REQ;
		qp->req.ack_delayable = is_ack_delayable(qp, s);
		if (qp->req.ack_delayable)
			pkt->flags |= ROCE_PKT_ACK_DELAYABLE;
		if (s->solicited)
			pkt->flags |= ROCE_PKT_SOLICITED;
	}
	err = send_packet(qp, qp->peer, pkt, list, off, refs);
	sig_error_of_request(qp);
	return err;
}

/* A packet with this PSN was sent. */
static inline void note_sent(struct qp *qp, uint32_t psn)
{
	struct requester *r = &qp->req;

	if (unlikely(psn_diff(psn, r->high) < 0))
		return;
	if (unlikely(qp->comp.probe.lossy) && !r->resending)
		probe_time(&qp->comp, r->high);
	r->high = psn_add(psn, 1);
}

/* To another host no more is sent than the congestion window allows. */
static inline bool window_closed(const struct qp *qp, uint32_t psn)
{
	uint32_t most = qp->comp.probe.outstanding ? 1 : qp->comp.cwnd;

	return qp->remote && psn_diff(psn, qp->comp.una) >= (int32_t)most &&
	       qp->pub.type != HCA_QP_UC;
}

/* Sends packets of the MTU, from where an earlier attempt ran out of room. */
static int send_pieces(struct qp *qp, const struct hca_send *s, struct roce_pkt *pkt,
		       const struct hca_list *list)
{
	struct requester *r = &qp->req;
	uint32_t first = window_last(&qp->window)->first_psn;
	int32_t arrived = psn_diff(qp->comp.una, first);

	/* Packets that an earlier attempt had acknowledged are not sent again. */
	if (qp->pub.type != HCA_QP_UC && arrived > 0 && arrived * (uint64_t)qp->mtu > r->sent)
		r->sent = (uint32_t)arrived * qp->mtu;
	do {
		uint32_t left = s->length - r->sent;
		uint32_t n = left > qp->mtu ? qp->mtu : left;
		int part = r->sent ? (n == left ? PART_LAST : PART_MIDDLE)
				   : (n == left ? PART_ONLY : PART_FIRST);
		int err;

		pkt->len = n;
		pkt->flags = 0;
		pkt->psn = psn_add(first, r->sent / qp->mtu);
		if (window_closed(qp, pkt->psn))
			return -EBUSY;
		/* Acknowledgements in between keep the congestion window moving. */
		if (qp->remote && qp->pub.type != HCA_QP_UC &&
		    (qp->comp.probe.outstanding ||
		     !(((pkt->psn - r->first_psn) & PSN_MASK) % (qp->comp.cwnd / 4))))
			pkt->flags = ROCE_PKT_ACK_REQ;
		err = send_one(qp, s, pkt, part, list, r->sent, NULL);
		if (err)
			return err;
		note_sent(qp, pkt->psn);
		r->sent += n;
	} while (r->sent < s->length);
	return 0;
}

/* ---- reads ---- */

uint32_t send_reads_most(const struct qp *qp)
{
	return qp->attr.max_rd_atomic ? qp->attr.max_rd_atomic : 1;
}

/*
 * The answer to a read is a burst whose length only the requester can limit. To the responder the pieces
 * are reads of their own. A repeated request must lie within the original one (IBTA volume 1,
 * 9.7.5.2.8), so pieces have the same ends each time.
 */
uint32_t send_read_piece(const struct qp *qp)
{
	return qp->remote ? QP_READ_PIECE : HCA_MAX_MESSAGE;
}

/* Read responses must fit the congestion window and the socket's buffer; one is always allowed. */
static bool read_closed(const struct qp *qp, uint32_t first, uint32_t last)
{
	uint32_t most = qp->comp.cwnd;

	if (unlikely(qp->comp.probe.outstanding))
		return qp->window.reads_out > 0;
	if (!qp->remote || psn_diff(first, qp->comp.una) <= 0)
		return false;
	if (most > qp->read_bytes_most / qp->mtu)
		most = qp->read_bytes_most / qp->mtu;
	return psn_diff(last, qp->comp.una) >= (int32_t)most;
}

/* Responses to an earlier attempt have brought all data. */
static bool read_is_there(const struct req_slot *slot, const struct hca_send *s)
{
	return slot->got && slot->got == s->length;
}

/* Requests the data from where an earlier attempt found the window closed. */
static int send_read(struct qp *qp, const struct hca_send *s, struct roce_pkt *pkt)
{
	struct requester *r = &qp->req;
	const struct req_slot *slot = window_last(&qp->window);
	uint64_t piece = send_read_piece(qp), end;
	int err;

	/* Responses to an earlier attempt may be ahead of this one. */
	if (r->sent < slot->got)
		r->sent = slot->got;
	if (read_is_there(slot, s))
		return 0;
	do {
		uint32_t last;

		end = (r->sent / piece + 1) * piece;
		end = end < s->length ? end : s->length;
		pkt->psn = psn_add(slot->first_psn, r->sent / qp->mtu);
		last = psn_add(slot->first_psn, end ? (end - 1) / qp->mtu : 0);
		if (qp->window.reads_out >= send_reads_most(qp) || read_closed(qp, pkt->psn, last))
			return -EBUSY;
		pkt->rdma.va = s->raddr + r->sent;
		pkt->rdma.dma_len = end - r->sent;
		pkt->flags = 0;
		/* Only the last piece asks for an acknowledgement: the responder counts whole reads by it. */
		err = send_one(qp, s, pkt, end < s->length ? PART_FIRST : PART_ONLY, NULL, 0, NULL);
		if (err)
			return err;
		note_sent(qp, last);
		window_read_sent(&qp->window, 1);
		r->sent = end;
	} while (r->sent < s->length);
	return 0;
}

static inline uint32_t packets_of(const struct qp *qp, const struct hca_send *s, bool whole)
{
	if (whole || !s->length)
		return 1;
	return (s->length + qp->mtu - 1) / qp->mtu;
}

/* Takes the request at `next` out of the window, as if it had not begun. */
static void leave_window(struct qp *qp)
{
	struct requester *r = &qp->req;

	window_unpush(&qp->window);
	r->partial = false;
	r->sent = 0;
}

static enum run_result local_error(struct qp *qp, const struct hca_send *s)
{
	if (!window_is_empty(&qp->window))
		return RUN_WAIT;
	request_fail(qp, s, HCA_LOC_PROT_ERR, SYN_LOCAL_PROT);
	return RUN_STOP;
}

/* Nothing would wake a request that waits for memory, and none is before it: there is no window yet. */
static __attribute__((cold, noinline)) enum run_result no_window(struct qp *qp,
								 const struct hca_send *s)
{
	request_fail(qp, s, HCA_LOC_QP_OP_ERR, SYN_QP_OP);
	return RUN_STOP;
}

/* Sends the request as one packet: an atomic, a flush, all of the data, or references to it. */
static inline int send_whole(struct qp *qp, const struct hca_send *s, struct roce_pkt *pkt,
			     const struct hca_list *list, const struct roce_ref *refs,
			     uint16_t ref_count, uint32_t psn)
{
	int err;

	pkt->psn = psn;
	pkt->len = op_is_atomic(s->op) || s->op == HCA_OP_FLUSH ? 0 : s->length;
	if (unlikely(op_is_masked(s->op)))
		pkt->len = (uint32_t)list->total;
	if (unlikely(ref_count)) {
		pkt->flags = ROCE_PKT_BY_REF;
		pkt->refs = ref_count;
	}
	err = send_one(qp, s, pkt, PART_ONLY, list, 0, refs);
	if (unlikely(err))
		return err;
	note_sent(qp, psn);
	window_read_sent(&qp->window, op_is_read(s->op));
	return 0;
}

/* The payload of a masked atomic's packet, in `words`. */
static __attribute__((noinline)) void list_operands(const struct hca_atomic *a, uint64_t words[4],
						    struct hca_list *out)
{
	words[0] = htobe64(a->swap);
	words[1] = htobe64(a->compare);
	words[2] = htobe64(a->swap_mask);
	words[3] = htobe64(a->compare_mask);
	out->count = 1;
	out->total = a->add ? ROCE_MASKED_ADD_BYTES : ROCE_MASKED_SWAP_BYTES;
	out->seg[0] = (struct hca_seg){
		.ptr = (char *)words,
		.len = out->total,
		.kind = HCA_SEG_PLAIN,
	};
}

/* There was no room, or the memory was deregistered. */
static __attribute__((noinline)) enum run_result not_sent(struct qp *qp, const struct hca_send *s,
							  bool whole, int err)
{
	if (err == -EFAULT) {
		leave_window(qp);
		return local_error(qp, s);
	}
	/* Without room, a request of one packet has not begun. */
	if (err == -EAGAIN && whole)
		leave_window(qp);
	return RUN_WAIT;
}

enum run_result send_connected(struct qp *qp, struct hca_send *s, bool reachable)
{
	struct roce_ref refs[HCA_MAX_SGE];
	struct requester *r = &qp->req;
	struct hca_list list;
	struct roce_pkt pkt;
	uint64_t operands[4];
	const bool read = op_is_read(s->op);
	const struct req_slot *slot;
	uint16_t ref_count = 0;
	bool whole;
	int err;

	/* Where an answer is to be written is checked when the answer comes (completer.c). */
	if (!unlikely(op_returns_data(s->op)) &&
	    unlikely(!hca_mem_resolve(s->sge, s->sge_count, qp->pub.pd->pdn, 0, &list))) {
		if (r->partial)
			leave_window(qp); /* deregistered after a part was sent */
		return local_error(qp, s);
	}
	/* On a link an acknowledgement that is due leaves before the request, in the same batch. */
	if (unlikely(qp->ack_due) && !qp->remote)
		answer_send_ack(qp);
	if (unlikely(read))
		whole = s->op != HCA_OP_READ; /* the others fit one packet */
	else
		whole = s->length <= (qp->remote ? qp->mtu : INLINE_MOST) ||
			(reachable && qp->peer && make_refs(qp, s, refs, &ref_count));
	if (unlikely(r->partial)) {
		slot = window_last(&qp->window);
	} else {
		if (unlikely(window_closed(qp, r->psn)))
			return RUN_WAIT;
		slot = enter_window(qp, s, read, packets_of(qp, s, whole));
		if (unlikely(!slot))
			return no_window(qp, s);
	}
	if (unlikely(!reachable)) {
		leave_request(qp, s, slot); /* lost; the timer will expire */
		return RUN_ON;
	}
	if (unlikely(has_arrived(qp, s, slot))) {
		leave_request(qp, s, slot);
		request_retire(qp, psn_add(qp->comp.una, PSN_MASK));
		return RUN_ON;
	}
	fill_packet(qp, s, &pkt);
	if (unlikely(op_is_masked(s->op)))
		list_operands(&s->masked, operands, &list);
	if (likely(whole))
		err = send_whole(qp, s, &pkt, &list, refs, ref_count, slot->first_psn);
	else if (s->op == HCA_OP_READ)
		err = send_read(qp, s, &pkt);
	else
		err = send_pieces(qp, s, &pkt, &list);
	if (unlikely(err == -EBUSY || err == -EAGAIN || err == -EFAULT))
		return not_sent(qp, s, whole, err);
	leave_request(qp, s, slot);
	/* All of its data came while it was being requested again. */
	if (unlikely(read) && s->op == HCA_OP_READ && read_is_there(slot, s))
		request_retire(qp, psn_add(r->psn, PSN_MASK));
	return RUN_ON;
}
