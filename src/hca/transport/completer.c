/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The completer: answers to our requests, and the lack of them (IBTA volume 1, 9.7.6 and 9.9.2.1).
 * Lock held, inside an epoch section.
 */
#include "hca/transport/completer.h"

#include <string.h>

#include "hca/hca.h"
#include "hca/memory/mem.h"
#include "hca/transport/cwnd.h"
#include "hca/transport/drops.h"
#include "hca/transport/probe.h"
#include "hca/transport/qp_fail.h"
#include "hca/transport/requester.h"
#include "hca/transport/send.h"
#include "hca/transport/syndrome.h"
#include "hca/transport/timer.h"
#include "hca/transport/window.h"

/* A message of gigabytes takes its time on a loaded machine. */
#define PATIENCE_NS 60000000000ull
/* What the service thread needs to take in what lies unread. */
#define LOOK_NS 1000000u
/* Timeouts in a row during which answers to earlier attempts keep a requester waiting. */
#define STALE_MOST 8

/* The oldest request ends in an error, and the queue pair with it. */
static void fail_head(struct qp *qp, enum hca_status status, uint8_t vendor)
{
	struct requester *r = &qp->req;
	struct req_slot *slot = window_head(r), done;

	if (!slot)
		return;
	done = *slot;
	if (r->partial && r->head + 1 == r->tail) {
		r->next += done.blocks;
		r->partial = false;
	}
	r->head++;
	window_complete(qp, &done, status, vendor);
	qp_fail_send(qp);
}

static void receiver_not_ready(struct qp *qp, const struct roce_pkt *pkt)
{
	struct requester *r = &qp->req;

	hca_count(qp->pub.counters, HCA_COUNT_RNR_NAK);
	if (qp->attr.rnr_retry != 7 && r->rnr_retries++ >= qp->attr.rnr_retry) {
		fail_head(qp, HCA_RNR_RETRY_EXC_ERR, SYN_RNR);
		return;
	}
	window_rewind(qp);
	r->progress = true;
	r->rnr_until = hca_now_ns() + timer_rnr_ns(pkt->ack.syndrome & 0x1f);
	timer_start(qp, r->rnr_until);
}

static void negative(struct qp *qp, const struct roce_pkt *pkt)
{
	switch (pkt->ack.syndrome) {
	case ROCE_SYN_NAK_SEQ:
		hca_count(qp->pub.counters, HCA_COUNT_SEQ_NAK);
		if (qp->req.retries++ >= qp->attr.retry_cnt)
			fail_head(qp, HCA_RETRY_EXC_ERR, SYN_RETRY);
		else
			window_rewind(qp);
		cwnd_reduce(&qp->req);
		probe_lost(qp);
		break;
	case ROCE_SYN_NAK_REF:
		if (qp->peer)
			qp->peer->no_refs = true;
		window_rewind(qp);
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

/* A NAK or RNR names the request that it refuses; all before it are acknowledged. */
static void refused(struct qp *qp, const struct roce_pkt *pkt)
{
	bool rnr = (pkt->ack.syndrome & ROCE_SYN_KIND) == ROCE_SYN_RNR;

	/* Of something that was accepted since: late, or repeated by the network. */
	if ((rnr || pkt->ack.syndrome == ROCE_SYN_NAK_SEQ) && psn_diff(pkt->psn, qp->req.una) < 0)
		return;
	window_ack(qp, psn_add(pkt->psn, PSN_MASK));
	if (!window_head(&qp->req))
		return;
	if (rnr)
		receiver_not_ready(qp, pkt);
	else
		negative(qp, pkt);
}

/*
 * Data is missing in front of `psn`: ask again for the rest (9.7.5.2.8). Once, as more of the same
 * answer is on its way; but a number that is not higher than the last belongs to the next answer.
 */
static void ask_again(struct qp *qp, uint32_t psn)
{
	struct requester *r = &qp->req;
	bool same = r->asked_again && psn_diff(psn, r->gap_psn) > 0;

	r->gap_psn = psn;
	if (same)
		return;
	r->asked_again = true;
	cwnd_reduce(r);
	window_rewind(qp);
	probe_lost(qp);
}

/* An acknowledgement of what follows a read says that the read's data was lost. */
static inline void acknowledged(struct qp *qp, uint32_t psn)
{
	const struct req_slot *slot = window_ack(qp, psn);

	if (unlikely(slot) && op_is_read(slot->op) && psn_diff(psn, slot->last_psn) > 0)
		ask_again(qp, psn);
}

/* Data of a read, or the old value of an atomic, for the request at the window's head. */
static void returned(struct qp *qp, const struct roce_pkt *pkt, const struct hca_list *payload)
{
	struct requester *r = &qp->req;
	struct req_slot *slot;
	struct hca_list list;
	struct hca_send s;
	bool good, answered;
	int32_t ahead;

	window_ack(qp, psn_add(pkt->psn, PSN_MASK));
	slot = window_head(r);
	if (!slot || !op_is_read(slot->op))
		return; /* an answer to an earlier attempt */
	ahead = psn_diff(pkt->psn, psn_add(slot->first_psn, slot->got / qp->mtu));
	if (unlikely(ahead)) {
		if (ahead > 0)
			ask_again(qp, pkt->psn);
		else
			r->stale++;
		return;
	}
	r->asked_again = false;
	qp->pub.format->sq_decode(&qp->pub, slot->index, &s);
	good = hca_mem_resolve(s.sge, s.sge_count, qp->pub.pd->pdn, HCA_ACCESS_LOCAL_WRITE, &list);
	if (!good) {
		fail_head(qp, HCA_LOC_PROT_ERR, SYN_LOCAL_PROT);
		return;
	}
	if ((pkt->op & ROCE_PKT_OPCODE_MASK) == ROCE_PKT_ATOMIC_ACK) {
		if (slot->op != HCA_OP_READ && list.total < 8) {
			fail_head(qp, HCA_LOC_LEN_ERR, SYN_LENGTH);
			return;
		}
		good = slot->op != HCA_OP_READ && hca_mem_copy_in(&list, 0, &pkt->ack.orig, 8);
		slot->got = 8;
		answered = true;
	} else {
		good = slot->op == HCA_OP_READ && slot->got + (uint64_t)pkt->len <= slot->length &&
		       (pkt->len == qp->mtu || slot->got + pkt->len == slot->length) &&
		       hca_mem_copy(&list, slot->got, payload, 0, pkt->len);
		slot->got += pkt->len;
		answered = slot->got == slot->length || !(slot->got % send_read_piece(qp));
	}
	if (!good) {
		fail_head(qp, HCA_BAD_RESP_ERR, SYN_BAD_RESPONSE);
		return;
	}
	if (answered && r->asked)
		r->asked--;
	window_progress(r);
	/* Requests behind the read may have been acknowledged before its data came. */
	window_ack(qp, psn_add(r->una, PSN_MASK));
}

/* The other end has come up to `una`, or had before. */
static inline void advance(struct requester *r, uint32_t una)
{
	int32_t packets = psn_diff(una, r->una);

	if (unlikely(packets <= 0))
		return;
	r->una = una;
	r->progress = true;
	r->retries = 0;
	cwnd_grow(r, packets);
	probe_answered(r);
}

/* An answer to nothing that is open. */
static __attribute__((noinline)) void unasked(struct qp *qp, const struct roce_pkt *pkt)
{
	struct requester *r = &qp->req;

	if (qp->remote)
		drop_count(DROP_UNASKED);
	if (window_head(r) && pkt->sqpn == qp->attr.dest_qpn && psn_diff(pkt->psn, r->high) < 0)
		r->stale += (pkt->op & ROCE_PKT_OPCODE_MASK) != ROCE_PKT_ACK;
}

/* A refusal in a code that means something; others are reserved (9.7.5.2.1), or the fabric's own. */
static bool is_refusal(const struct qp *qp, uint8_t syndrome)
{
	if ((syndrome & ROCE_SYN_KIND) == ROCE_SYN_RNR)
		return true;
	return (syndrome >= ROCE_SYN_NAK_SEQ && syndrome <= ROCE_SYN_NAK_OP) ||
	       (syndrome == ROCE_SYN_NAK_REF && qp->peer);
}

void completer_packet(struct qp *qp, const struct roce_pkt *pkt, const struct hca_list *payload)
{
	struct requester *r = &qp->req;
	struct req_slot *slot = window_head(r);

	if (unlikely(qp->pub.state != HCA_QPS_RTS && qp->pub.state != HCA_QPS_SQD))
		return;
	/*
	 * Only what speaks of something that was sent and is not done counts. That may be behind the
	 * window: while requests are sent again, the other end may know more of them.
	 */
	if (unlikely(!slot || pkt->sqpn != qp->attr.dest_qpn ||
		     psn_diff(pkt->psn, slot->first_psn) < 0 || psn_diff(pkt->psn, r->high) >= 0)) {
		unasked(qp, pkt);
		return;
	}
	if ((pkt->op & ROCE_PKT_OPCODE_MASK) != ROCE_PKT_ACK) {
		advance(r, psn_add(pkt->psn, 1));
		returned(qp, pkt, payload);
	} else if (likely((pkt->ack.syndrome & ROCE_SYN_KIND) == 0)) {
		advance(r, psn_add(pkt->psn, 1));
		acknowledged(qp, pkt->psn);
	} else if (is_refusal(qp, pkt->ack.syndrome)) {
		advance(r, pkt->psn);
		refused(qp, pkt);
	} else {
		unasked(qp, pkt);
		return;
	}
	/* Mostly nothing has waited for it. What was sent all the same, our caller puts on its way. */
	if (unlikely(qp->pub.state != HCA_QPS_RTS || r->again) || qp_send_is_posted(qp))
		requester_run(qp);
}

/*
 * On one host nothing gets lost. While the peer has not come round to what we sent, or we to what
 * it answered, sending again helps nobody; but only for so long.
 */
static bool forgive(struct qp *qp, uint64_t now_ns)
{
	struct requester *r = &qp->req;

	if (!qp->peer || !hca_peer_is_late(qp->peer))
		return false;
	if (!r->late_since)
		r->late_since = now_ns;
	return now_ns - r->late_since < PATIENCE_NS;
}

static void give_up(struct qp *qp)
{
	if (window_head(&qp->req))
		fail_head(qp, HCA_RETRY_EXC_ERR, SYN_RETRY);
	else
		requester_give_up(qp);
}

void completer_timeout(struct qp *qp, uint64_t now_ns)
{
	struct requester *r = &qp->req;
	uint64_t again = timer_ack_ns(qp->attr.timeout);

	if (probe_is_due(qp, now_ns)) {
		window_rewind(qp);
		requester_run(qp);
		probe_arm(qp, now_ns);
	}
	if (r->rnr_until && now_ns >= r->rnr_until) {
		r->rnr_until = 0;
		requester_run(qp);
	}
	if (!r->timeout_at || now_ns < r->timeout_at)
		return;
	r->timeout_at = 0;
	if ((!window_head(r) && !r->no_path) || !again)
		return;
	if (r->progress)
		r->late_since = 0;
	/* The answer may lie here unread, for want of a processor: it is looked for once. */
	if (!r->progress && !r->looked && qp->remote && qp->carrier->has_unread(qp)) {
		r->looked = true;
		timer_start(qp, now_ns + LOOK_NS);
		return;
	}
	r->looked = false;
	/* The other end is there, and busy with what it was asked before: more of it would not help. */
	if (!r->progress && r->stale != r->stale_then && r->forgiven < STALE_MOST) {
		r->forgiven++;
		r->progress = true;
	}
	r->stale_then = r->stale;
	if (!r->progress && !r->rnr_until && !forgive(qp, now_ns)) {
		hca_count(qp->pub.counters, HCA_COUNT_ACK_TIMEOUT);
		if (r->retries++ >= qp->attr.retry_cnt) {
			give_up(qp);
			requester_run(qp); /* other streams go on */
			return;
		}
		r->asked_again = false;
		r->probe.out = false;
		cwnd_reduce(r);
		probe_expired(qp);
		window_rewind(qp);
		requester_run(qp);
	}
	r->progress = false;
	if (window_head(r) || r->no_path)
		timer_start(qp, now_ns + again);
}
