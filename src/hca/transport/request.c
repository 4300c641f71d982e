/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/transport/request.h"
#include "hca/transport/qp_count.h"

#include <stdlib.h>

#include "hca/hca.h"
#include "hca/peers/grace.h"
#include "hca/queue/cq.h"
#include "hca/transport/comp_cntr.h"
#include "hca/transport/failure.h"
#include "hca/transport/probe.h"
#include "hca/transport/progress.h"
#include "hca/transport/syndrome.h"
#include "hca/transport/tag_sq.h"
#include "hca/transport/timer.h"
#include "hca/transport/window.h"

#define GRACE_RETRY_NS 50000u

static __attribute__((cold, noinline)) void failed(struct qp *qp, const struct req_slot *slot,
						   enum hca_status status, uint16_t vendor)
{
	qp_count(qp, HCA_COUNT_REQ_STATUS + status);
	if (status != HCA_WR_FLUSH_ERR)
		hca.failures->request(qp, slot, status, vendor);
}

void request_complete(struct qp *qp, const struct req_slot *slot, enum hca_status status,
		      uint16_t vendor)
{
	struct hca_cqe cqe; /* fields of receives are not set: no format reads them here */

	if (unlikely(qp->cntr))
		comp_cntr_sent(qp, slot->op, status == HCA_SUCCESS, slot->length);
	if (unlikely(status != HCA_SUCCESS))
		failed(qp, slot, status, vendor);
	else if (!slot->signaled)
		return;
	if (unlikely(qp->tag_sq)) {
		tag_sq_done(qp, slot->index, status == HCA_SUCCESS);
		return;
	}
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

static void fill_slot(const struct qp *qp, const struct hca_send *s, struct req_slot *slot)
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

void request_finish(struct qp *qp, const struct hca_send *s, enum hca_status status,
		    uint16_t vendor)
{
	struct req_slot slot;

	fill_slot(qp, s, &slot);
	qp->req.next += s->blocks;
	qp->req.partial = false;
	request_complete(qp, &slot, status, vendor);
}

void request_finish_local(struct qp *qp, const struct hca_send *s)
{
	struct requester *r = &qp->req;
	const struct window *w = &qp->window;
	struct req_slot slot;

	/* Unsignaled, and all before it are complete: nothing to tell. */
	if (likely(window_is_empty(w) && !(s->signaled | qp->pub.sig_all) && !qp->cntr)) {
		r->next += s->blocks;
		return;
	}
	fill_slot(qp, s, &slot);
	r->next += s->blocks;
	if (likely(window_is_empty(w))) {
		request_complete(qp, &slot, HCA_SUCCESS, 0);
		return;
	}
	slot.local = true;
	slot.first_psn = slot.last_psn = psn_add(r->psn, PSN_MASK);
	*window_at(w, w->tail) = slot;
	window_push(&qp->window, false);
}

enum run_result request_await_grace(struct qp *qp, const struct hca_send *s)
{
	struct requester *r = &qp->req;

	if (!grace_has_passed(r->grace)) {
		timer_pause(qp, GRACE_RETRY_NS);
		return RUN_WAIT;
	}
	free(r->grace);
	r->grace = NULL;
	request_finish_local(qp, s);
	return RUN_ON;
}

static inline void complete_oldest(struct qp *qp)
{
	request_complete(qp, window_pop(&qp->window), HCA_SUCCESS, 0);
}

struct req_slot *request_retire(struct qp *qp, uint32_t psn)
{
	const struct window *w = &qp->window;
	struct req_slot *slot = window_head(w);
	bool some = false;

	while (slot && psn_diff(psn, slot->last_psn) >= 0) {
		if (op_is_read(slot->op) && slot->got < slot_awaits(slot))
			break;
		/* The request is being sent again, in part; send_connected() sees that it has arrived. */
		if (unlikely(qp->req.partial) && window_count(w) == 1)
			break;
		complete_oldest(qp);
		some = true;
		slot = window_head(w);
	}
	if (likely(some))
		progress_made(&qp->comp);
	for (; slot && unlikely(slot->local); slot = window_head(w))
		complete_oldest(qp);
	return slot;
}

struct req_slot request_abandon(struct qp *qp)
{
	struct req_slot slot = *window_pop(&qp->window);

	/* A request that is sent in part is in the window and still at `next`. */
	if (qp->req.partial && window_is_empty(&qp->window)) {
		qp->req.next += slot.blocks;
		qp->req.partial = false;
	}
	return slot;
}

void request_flush(struct qp *qp)
{
	struct req_slot slot;

	while (!window_is_empty(&qp->window)) {
		slot = request_abandon(qp);
		request_complete(qp, &slot, HCA_WR_FLUSH_ERR, SYN_FLUSH);
	}
	window_rewind(&qp->window);
	timer_stop(qp);
	qp->req.awaits_path = false;
}

void request_flush_all(struct qp *qp)
{
	struct requester *r = &qp->req;
	struct req_slot slot;
	struct hca_send s;

	request_flush(qp);
	/* An invalidation is complete only after its grace period; later requests wait for it. */
	if (r->grace) {
		qp->pub.format->sq_decode(&qp->pub, r->next, &s);
		if (request_await_grace(qp, &s) == RUN_WAIT)
			return;
	}
	while (qp_send_is_posted(qp)) {
		qp->pub.format->sq_decode(&qp->pub, r->next, &s);
		fill_slot(qp, &s, &slot);
		r->next += s.blocks ? s.blocks : 1;
		request_complete(qp, &slot, HCA_WR_FLUSH_ERR, SYN_FLUSH);
	}
}

/*
 * Go-back-N (IBTA volume 1, 9.7.5.1.3): the ring still holds every unanswered request, so sending again
 * is decoding again. A read that was answered in part is requested from where its data ends.
 */
void request_rewind(struct qp *qp)
{
	const struct req_slot *first = window_head(&qp->window);
	struct requester *r = &qp->req;
	uint32_t end;

	if (!first)
		return;
	end = r->next + (r->partial ? window_last(&qp->window)->blocks : 0);
	if (!r->resending || (int32_t)(end - r->resend_end) > 0)
		r->resend_end = end;
	r->resending = true;
	r->next = first->index;
	r->psn = first->first_psn;
	r->partial = false;
	r->sent = 0;
	r->announced = false;
	window_rewind(&qp->window);
	probe_untime(&qp->comp);
}
