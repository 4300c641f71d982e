/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The completer: answers to requests, and the lack of them (IBTA volume 1, 9.7.6 and 9.9.2.1).
 * Lock held, inside an epoch section.
 */
#include "hca/transport/completer.h"

#include <string.h>

#include "hca/hca.h"
#include "hca/memory/mem.h"
#include "hca/transport/cwnd.h"
#include "hca/transport/drops.h"
#include "hca/transport/probe.h"
#include "hca/transport/progress.h"
#include "hca/transport/qp_count.h"
#include "hca/transport/qp_fail.h"
#include "hca/transport/request.h"
#include "hca/transport/requester.h"
#include "hca/transport/send.h"
#include "hca/transport/sig_error.h"
#include "hca/transport/syndrome.h"
#include "hca/transport/timer.h"
#include "hca/transport/window.h"

/* How long a peer on this host may be late: gigabytes take time on a loaded machine. */
#define LATE_PEER_NS 60000000000ull
/* Time for the service thread to receive packets that are unread. */
#define UNREAD_NS 1000000u
/* Timeouts in a row that do not count because responses to earlier attempts came. */
#define STALE_TIMEOUTS_MOST 8

/*
 * Refusals in a row, of later requests that have no receive, without the answer to the oldest one,
 * which is a read. With each refusal the read is sent again: where half of all rounds lose a packet, 64
 * in a row come once in 2^64. They must also have taken as long as all retries.
 */
#define PASSED_REFUSALS_MOST 64

/* Fails the oldest request, and the queue pair with it. */
static void fail_head(struct qp *qp, enum hca_status status, uint8_t vendor)
{
	struct req_slot slot;

	if (window_is_empty(&qp->window))
		return;
	slot = request_abandon(qp);
	request_complete(qp, &slot, status, vendor);
	qp_fail_send(qp);
}

static void receiver_not_ready(struct qp *qp, const struct roce_pkt *pkt, bool counts)
{
	struct completer *c = &qp->comp;

	qp_count(qp, HCA_COUNT_RNR_NAK);
	c->nak = pkt->ack.syndrome;
	if (counts && qp->attr.rnr_retry != 7 && c->rnr_retries++ >= qp->attr.rnr_retry) {
		fail_head(qp, HCA_RNR_RETRY_EXC_ERR, SYN_RNR);
		return;
	}
	request_rewind(qp);
	c->progress = true;
	timer_pause(qp, timer_rnr_ns(pkt->ack.syndrome & 0x1f));
}

static void negative(struct qp *qp, const struct roce_pkt *pkt)
{
	switch (pkt->ack.syndrome) {
	case ROCE_SYN_NAK_SEQ:
		qp_count(qp, HCA_COUNT_SEQ_NAK);
		qp->comp.nak = ROCE_SYN_NAK_SEQ;
		if (qp->comp.retries++ >= qp->attr.retry_cnt)
			fail_head(qp, HCA_RETRY_EXC_ERR, SYN_RETRY);
		else
			request_rewind(qp);
		cwnd_reduce(&qp->comp);
		probe_lost(qp);
		break;
	case ROCE_SYN_NAK_REF:
		if (qp->peer)
			qp->peer->no_refs = true;
		request_rewind(qp);
		break;
	case ROCE_SYN_NAK_INVALID:
		fail_head(qp, HCA_REM_INV_REQ_ERR, SYN_REMOTE_INVALID);
		break;
	case ROCE_SYN_NAK_ACCESS:
		fail_head(qp, HCA_REM_ACCESS_ERR, SYN_REMOTE_ACCESS);
		break;
	default:
		fail_head(qp, HCA_REM_OP_ERR, SYN_REMOTE_OP);
		break;
	}
}

/*
 * Data is missing in front of `psn`: request the rest again (IBTA volume 1, 9.7.5.2.8). Once per response:
 * packets with rising PSNs are more of the same one.
 */
static void ask_again(struct qp *qp, uint32_t psn)
{
	struct completer *c = &qp->comp;
	bool same = c->read_rerequested && psn_diff(psn, c->gap_psn) > 0;

	c->gap_psn = psn;
	if (same)
		return;
	c->read_rerequested = true;
	qp_count(qp, HCA_COUNT_READ_GAP);
	cwnd_reduce(c);
	request_rewind(qp);
	probe_lost(qp);
}

/* The peer has answered, or refused, a request behind this one. */
static bool is_passed(const struct req_slot *slot, uint32_t psn)
{
	return psn_diff(psn, slot->last_psn) > 0;
}

/*
 * The receiver is not ready for a later request, and the answer to the oldest one has not come.
 * The timeout does not run while the receiver is waited for: without a limit, a read whose answers
 * never get through would be sent again for ever.
 */
static void passed_by_refusal(struct qp *qp, const struct roce_pkt *pkt,
			      const struct req_slot *slot)
{
	uint64_t retries_ns = (qp->attr.retry_cnt + 1u) * timer_ack_ns(qp->attr.timeout);
	uint32_t awaited = psn_add(slot->first_psn, slot->got / qp->mtu);
	struct completer *c = &qp->comp;
	uint64_t now_ns = hca_now_ns();

	if (!c->passed || awaited != c->passed_psn) {
		c->passed = 0;
		c->passed_since = now_ns;
	}
	c->passed_psn = awaited;
	if (c->passed < PASSED_REFUSALS_MOST)
		c->passed++;
	/* A timeout of 0 is none. */
	if (c->passed < PASSED_REFUSALS_MOST || !retries_ns ||
	    now_ns - c->passed_since < retries_ns)
		receiver_not_ready(qp, pkt, false);
	else
		fail_head(qp, HCA_RETRY_EXC_ERR, SYN_RETRY);
}

/*
 * A NAK or RNR NAK names the packet that it refuses; all before it are acknowledged. The oldest
 * request may be one of these, when its answer was lost, or while it is being sent again: then the
 * refusal is not its own, and comes again when the refused request does.
 */
static void refused(struct qp *qp, const struct roce_pkt *pkt)
{
	bool rnr = (pkt->ack.syndrome & ROCE_SYN_KIND) == ROCE_SYN_RNR;
	const struct req_slot *slot;

	/* The packet was accepted since: the NAK is late, or a duplicate. */
	if ((rnr || pkt->ack.syndrome == ROCE_SYN_NAK_SEQ) && psn_diff(pkt->psn, qp->comp.una) < 0)
		return;
	slot = request_retire(qp, psn_add(pkt->psn, PSN_MASK));
	if (!slot)
		return;
	if (rnr && is_passed(slot, pkt->psn))
		passed_by_refusal(qp, pkt, slot);
	else if (rnr)
		receiver_not_ready(qp, pkt, true);
	else if (pkt->ack.syndrome == ROCE_SYN_NAK_SEQ || !is_passed(slot, pkt->psn))
		negative(qp, pkt);
	else if (op_is_read(slot->op))
		ask_again(qp, pkt->psn);
}

/* An acknowledgement of a request behind a read says that the read's data was lost. */
static inline void acknowledged(struct qp *qp, uint32_t psn)
{
	const struct req_slot *slot = request_retire(qp, psn);

	if (unlikely(slot) && op_is_read(slot->op) && is_passed(slot, psn))
		ask_again(qp, psn);
}

/*
 * The answer to a FLUSH or an ATOMIC WRITE is that of a read of nothing (IBTA volume 1, A19): accepted when it
 * is that, and false otherwise.
 */
static bool take_placed(struct req_slot *slot, const struct roce_pkt *pkt)
{
	slot->got = slot_awaits(slot);
	return (pkt->op & ROCE_PKT_OPCODE_MASK) == ROCE_PKT_READ_RESP_ONLY && !pkt->len;
}

/* Data of a read, or the value before an atomic, for the oldest request. */
static bool take_data(struct qp *qp, struct req_slot *slot, const struct roce_pkt *pkt,
		      const struct hca_list *payload, const struct hca_list *list, bool *answered)
{
	uint64_t old;
	bool good;

	if ((pkt->op & ROCE_PKT_OPCODE_MASK) == ROCE_PKT_ATOMIC_ACK) {
		old = qp_atomic_reply(qp, pkt->ack.orig, slot->length);
		good = slot->op != HCA_OP_READ && list->total >= slot->length &&
		       hca_mem_copy_in(list, 0, &old, slot->length);
		slot->got = slot->length;
		return good;
	}
	good = slot->op == HCA_OP_READ && slot->got + (uint64_t)pkt->len <= slot->length &&
	       (pkt->len == qp->mtu || slot->got + pkt->len == slot->length) &&
	       hca_mem_copy(list, slot->got, payload, 0, pkt->len);
	slot->got += pkt->len;
	/* A read of nothing is counted when it leaves the window: the answer may have been lost. */
	*answered =
		slot->length && (slot->got == slot->length || !(slot->got % send_read_piece(qp)));
	return good;
}

/* The domain of local keys: data of a rendezvous goes to a buffer of the receive queue (tag_sq.c). */
static uint32_t local_pdn(const struct qp *qp)
{
	return unlikely(qp->tag_sq) ? qp->pub.srq->pd->pdn : qp->pub.pd->pdn;
}

/* An answer with data, or to a request that has an answer of its own, for the oldest request. */
static void returned(struct qp *qp, const struct roce_pkt *pkt, const struct hca_list *payload)
{
	struct completer *c = &qp->comp;
	struct req_slot *slot;
	struct hca_list list;
	struct hca_send s;
	bool good, answered = true;
	int32_t ahead;

	request_retire(qp, psn_add(pkt->psn, PSN_MASK));
	slot = window_head(&qp->window);
	if (!slot || !op_is_read(slot->op))
		return; /* a response to an earlier attempt */
	ahead = psn_diff(pkt->psn, psn_add(slot->first_psn, slot->got / qp->mtu));
	if (unlikely(ahead)) {
		if (ahead > 0)
			ask_again(qp, pkt->psn);
		else
			c->stale++;
		return;
	}
	c->read_rerequested = false;
	if (op_returns_data(slot->op)) {
		qp->pub.format->sq_decode(&qp->pub, slot->index, &s);
		if (!hca_mem_resolve(s.sge, s.sge_count, local_pdn(qp), HCA_ACCESS_LOCAL_WRITE,
				     &list)) {
			fail_head(qp, HCA_LOC_PROT_ERR, SYN_LOCAL_PROT);
			return;
		}
		good = take_data(qp, slot, pkt, payload, &list, &answered);
	} else {
		good = take_placed(slot, pkt);
	}
	sig_error_of_request(qp);
	if (!good) {
		fail_head(qp, HCA_BAD_RESP_ERR, SYN_BAD_RESPONSE);
		return;
	}
	if (answered)
		window_read_answered(&qp->window);
	progress_made(c);
	/* Requests behind the read may have been acknowledged before its data came. */
	request_retire(qp, psn_add(c->una, PSN_MASK));
}

/* The peer has accepted all packets before `una`. */
static inline void advance(struct completer *c, uint32_t una)
{
	int32_t packets = psn_diff(una, c->una);

	if (unlikely(packets <= 0))
		return;
	c->una = una;
	c->progress = true;
	c->retries = 0;
	cwnd_grow(c, packets);
	probe_answered(c);
}

/* An answer to no open request. */
static __attribute__((noinline)) void unasked(struct qp *qp, const struct roce_pkt *pkt)
{
	if (qp->remote)
		drop_count(DROP_UNASKED);
	if (!window_is_empty(&qp->window) && pkt->sqpn == qp->attr.dest_qpn &&
	    psn_diff(pkt->psn, qp->req.high) < 0)
		qp->comp.stale += (pkt->op & ROCE_PKT_OPCODE_MASK) != ROCE_PKT_ACK;
}

/* A NAK with a defined code; others are reserved (IBTA volume 1, 9.7.5.2.8), or of links only. */
static bool is_refusal(const struct qp *qp, uint8_t syndrome)
{
	if ((syndrome & ROCE_SYN_KIND) == ROCE_SYN_RNR)
		return true;
	return (syndrome >= ROCE_SYN_NAK_SEQ && syndrome <= ROCE_SYN_NAK_OP) ||
	       (syndrome == ROCE_SYN_NAK_REF && qp->peer);
}

void completer_packet(struct qp *qp, const struct roce_pkt *pkt, const struct hca_list *payload)
{
	const struct requester *r = &qp->req;
	const struct req_slot *slot = window_head(&qp->window);

	if (unlikely(qp->pub.state != HCA_QPS_RTS && qp->pub.state != HCA_QPS_SQD))
		return;
	/*
	 * Accept PSNs from the oldest unanswered request to the last one ever sent. That may be behind
	 * the window: while requests are resent, the peer may have received more of them before.
	 */
	if (unlikely(!slot || pkt->sqpn != qp->attr.dest_qpn ||
		     psn_diff(pkt->psn, slot->first_psn) < 0 || psn_diff(pkt->psn, r->high) >= 0)) {
		unasked(qp, pkt);
		return;
	}
	if ((pkt->op & ROCE_PKT_OPCODE_MASK) != ROCE_PKT_ACK) {
		advance(&qp->comp, psn_add(pkt->psn, 1));
		returned(qp, pkt, payload);
	} else if (likely((pkt->ack.syndrome & ROCE_SYN_KIND) == 0)) {
		advance(&qp->comp, psn_add(pkt->psn, 1));
		acknowledged(qp, pkt->psn);
	} else if (is_refusal(qp, pkt->ack.syndrome)) {
		advance(&qp->comp, pkt->psn);
		refused(qp, pkt);
	} else {
		unasked(qp, pkt);
		return;
	}
	/* Usually no request waits. The caller flushes what is sent here. */
	if (unlikely(qp->pub.state != HCA_QPS_RTS || r->resending) || qp_send_is_posted(qp))
		requester_run(qp);
}

/*
 * Links lose nothing: while records are unread at either end, the peer is late, and sending again would
 * not help.
 */
static bool forgive(struct qp *qp, uint64_t now_ns)
{
	struct completer *c = &qp->comp;

	if (!qp->peer || !hca_peer_is_late(qp->peer))
		return false;
	if (!c->late_since)
		c->late_since = now_ns;
	return now_ns - c->late_since < LATE_PEER_NS;
}

static void give_up(struct qp *qp)
{
	if (window_head(&qp->window))
		fail_head(qp, HCA_RETRY_EXC_ERR, SYN_RETRY);
	else
		requester_give_up(qp);
}

void completer_timeout(struct qp *qp, uint64_t now_ns)
{
	const struct requester *r = &qp->req;
	struct completer *c = &qp->comp;
	uint64_t again = timer_ack_ns(qp->attr.timeout);

	if (probe_is_due(qp, now_ns)) {
		request_rewind(qp);
		requester_run(qp);
		probe_arm(qp, now_ns);
	}
	if (c->rnr_until && now_ns >= c->rnr_until) {
		c->rnr_until = 0;
		requester_run(qp);
	}
	if (!c->timeout_at || now_ns < c->timeout_at)
		return;
	c->timeout_at = 0;
	if ((window_is_empty(&qp->window) && !r->awaits_path) || !again)
		return;
	if (c->progress)
		c->late_since = 0;
	/* The answer may have arrived and be unread, on a loaded machine: wait once. */
	if (!c->progress && !c->unread_awaited && qp->remote && qp->carrier->has_unread(qp)) {
		c->unread_awaited = true;
		timer_start(qp, now_ns + UNREAD_NS);
		return;
	}
	c->unread_awaited = false;
	/* Responses to an earlier attempt still come: the peer is busy, and resending would not help. */
	if (!c->progress && c->stale != c->stale_at_timer &&
	    c->stale_timeouts < STALE_TIMEOUTS_MOST) {
		c->stale_timeouts++;
		c->progress = true;
	}
	c->stale_at_timer = c->stale;
	if (!c->progress && !c->rnr_until && !forgive(qp, now_ns)) {
		qp_count(qp, HCA_COUNT_ACK_TIMEOUT);
		c->nak = 0;
		if (c->retries++ >= qp->attr.retry_cnt) {
			give_up(qp);
			requester_run(qp); /* other DC streams go on */
			return;
		}
		c->read_rerequested = false;
		c->probe.outstanding = false;
		cwnd_reduce(c);
		probe_expired(qp);
		request_rewind(qp);
		requester_run(qp);
	}
	if (!window_is_empty(&qp->window) || r->awaits_path)
		timer_start(qp, now_ns + again);
}

void completer_start(struct qp *qp, uint32_t psn)
{
	progress_start(&qp->comp, psn & PSN_MASK);
	cwnd_start(&qp->comp);
}

void completer_reset(struct qp *qp)
{
	qp->comp = (struct completer){ 0 };
}
