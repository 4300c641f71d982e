/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/transport/window.h"

#include <stdlib.h>

#include "hca/hca.h"
#include "hca/peers/grace.h"
#include "hca/queue/cq.h"
#include "hca/transport/comp_cntr.h"
#include "hca/transport/probe.h"
#include "hca/transport/syndrome.h"
#include "hca/transport/timer.h"

#define GRACE_RETRY_NS 50000u

void window_complete(struct qp *qp, const struct req_slot *slot, enum hca_status status,
		     uint8_t vendor)
{
	struct hca_cqe cqe; /* fields of receives are not set: no format reads them here */

	if (unlikely(qp->cntr))
		comp_cntr_sent(qp, slot->op, status == HCA_SUCCESS, slot->length);
	if (unlikely(status != HCA_SUCCESS))
		hca_count(qp->pub.counters, HCA_COUNT_REQ_STATUS + status);
	else if (!slot->signaled)
		return;
	cqe.is_recv = false;
	cqe.solicited = false;
	cqe.vendor = vendor;
	cqe.counter = slot->counter;
	cqe.status = status;
	cqe.op = slot->op;
	cqe.qpn = qp->pub.qpn;
	cqe.user_index = qp->pub.user_index;
	cqe.byte_len = slot->length;
	cqe.timestamp = 0;
	hca_cq_add(qp->pub.send_cq, &cqe);
}

void window_fill_slot(const struct qp *qp, const struct hca_send *s, struct req_slot *slot)
{
	*slot = (struct req_slot){
		.index = qp->req.next,
		.counter = s->counter,
		.blocks = s->blocks,
		.op = s->op,
		.signaled = s->signaled | qp->pub.sig_all,
		.length = op_is_atomic(s->op) ? 8 : s->length,
	};
}

void window_finish(struct qp *qp, const struct hca_send *s, enum hca_status status, uint8_t vendor)
{
	struct req_slot slot;

	window_fill_slot(qp, s, &slot);
	qp->req.next += s->blocks;
	qp->req.partial = false;
	window_complete(qp, &slot, status, vendor);
}

void window_finish_local(struct qp *qp, const struct hca_send *s)
{
	struct requester *r = &qp->req;
	struct req_slot slot;

	/* Unsignaled, and all before it are complete: nothing to tell. */
	if (likely(window_is_empty(r) && !(s->signaled | qp->pub.sig_all) && !qp->cntr)) {
		r->next += s->blocks;
		return;
	}
	window_fill_slot(qp, s, &slot);
	r->next += s->blocks;
	if (likely(window_is_empty(r))) {
		window_complete(qp, &slot, HCA_SUCCESS, 0);
		return;
	}
	slot.local = true;
	slot.first_psn = slot.last_psn = psn_add(r->psn, PSN_MASK);
	*window_at(r, r->tail++) = slot;
}

enum run_result window_await_grace(struct qp *qp, const struct hca_send *s)
{
	struct requester *r = &qp->req;

	if (!grace_has_passed(r->grace)) {
		timer_pause(qp, GRACE_RETRY_NS);
		return RUN_WAIT;
	}
	free(r->grace);
	r->grace = NULL;
	window_finish_local(qp, s);
	return RUN_ON;
}

void window_progress(struct requester *r)
{
	r->progress = true;
	r->retries = 0;
	r->rnr_retries = 0;
	r->stale_timeouts = 0;
	probe_answered(r);
}

/* Completes the oldest request. */
static inline void pop(struct qp *qp, const struct req_slot *slot)
{
	qp->req.head++;
	qp->req.reads -= op_is_read(slot->op);
	window_complete(qp, slot, HCA_SUCCESS, 0);
}

struct req_slot *window_ack(struct qp *qp, uint32_t psn)
{
	struct requester *r = &qp->req;
	struct req_slot *slot = window_head(r);
	bool some = false;

	while (slot && psn_diff(psn, slot->last_psn) >= 0) {
		if (op_is_read(slot->op) && slot->got < slot->length)
			break;
		/* It is being sent again, in part; send_connected() sees that it has arrived. */
		if (unlikely(r->partial) && r->head + 1 == r->tail)
			break;
		pop(qp, slot);
		some = true;
		slot = window_head(r);
	}
	if (likely(some))
		window_progress(r);
	for (; slot && unlikely(slot->local); slot = window_head(r))
		pop(qp, slot);
	return slot;
}

void window_flush(struct qp *qp)
{
	struct requester *r = &qp->req;
	struct req_slot slot;

	while (!window_is_empty(r)) {
		slot = *window_at(r, r->head++);
		/* A request that is sent in part is in the window and still at `next`. */
		if (r->partial && window_is_empty(r))
			r->next += slot.blocks;
		window_complete(qp, &slot, HCA_WR_FLUSH_ERR, SYN_FLUSH);
	}
	r->partial = false;
	r->reads = r->reads_out = 0;
	r->timeout_at = 0;
	r->rnr_until = 0;
	r->awaits_path = false;
}

void window_flush_all(struct qp *qp)
{
	struct requester *r = &qp->req;
	struct req_slot slot;
	struct hca_send s;

	window_flush(qp);
	/* An invalidation is complete only after its grace period; later requests wait for it. */
	if (r->grace) {
		qp->pub.format->sq_decode(&qp->pub, r->next, &s);
		if (window_await_grace(qp, &s) == RUN_WAIT)
			return;
	}
	while (qp_send_is_posted(qp)) {
		qp->pub.format->sq_decode(&qp->pub, r->next, &s);
		window_fill_slot(qp, &s, &slot);
		r->next += s.blocks ? s.blocks : 1;
		window_complete(qp, &slot, HCA_WR_FLUSH_ERR, SYN_FLUSH);
	}
}

/*
 * Go-back-N (IBTA volume 1, 9.7.5.1.3): the ring still holds every unanswered request, so sending again
 * is decoding again. A read that was answered in part is requested from where its data ends.
 */
void window_rewind(struct qp *qp)
{
	struct requester *r = &qp->req;
	uint32_t end;

	if (window_is_empty(r))
		return;
	end = r->next + (r->partial ? window_at(r, r->tail - 1)->blocks : 0);
	if (!r->resending || (int32_t)(end - r->resend_end) > 0)
		r->resend_end = end;
	r->resending = true;
	r->next = window_at(r, r->head)->index;
	r->psn = window_at(r, r->head)->first_psn;
	r->tail = r->head;
	r->reads = r->reads_out = 0;
	r->partial = false;
	r->sent = 0;
	r->probe.rtt_sent_ns = 0;
	r->announced = false;
}
