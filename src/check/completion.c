/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Send queues complete in order, and a completion is one of all requests before it, too. Receives of a queue pair
 * complete in order; those of a shared receive queue in any.
 */
#include "check/completion.h"

#include <stdio.h>

#include "check/buffer.h"
#include "check/report.h"
#include "check/state.h"
#include "check/target.h"

/* How far a shared receive queue is searched for a request. */
#define SEARCH_MOST 8192u

static uint64_t tick(void)
{
	return atomic_fetch_add_explicit(&check.clock, 1, memory_order_relaxed) + 1;
}

/* The index of the send that the completion is about; head: there is none. */
static uint32_t find_send(const struct check_ring *ring, const struct check_wc *wc)
{
	uint32_t i;

	for (i = ring->tail; i != ring->head; i++) {
		const struct check_request *r = check_ring_at(ring, i);

		if (r->wr_id == wc->wr_id && (r->signaled || wc->status != IBV_WC_SUCCESS))
			break;
	}
	return i;
}

/*
 * Datagrams are sent once. A program that has got one since may know from that answer that its own has arrived, as UCX
 * does.
 */
static bool is_answered(const struct check_qp *q, const struct check_request *r)
{
	return q->datagrams &&
	       atomic_load_explicit(&check.answered, memory_order_relaxed) > r->posted;
}

static void complete_sends(struct check_qp *q, const struct check_wc *wc,
			   const struct check_place *polled)
{
	struct check_request bad;
	enum check_verdict verdict = CHECK_CLEAN;
	uint32_t last, signaled = 0;

	pthread_mutex_lock(&q->lock);
	last = q->lost ? q->send.head : find_send(&q->send, wc);
	if (last == q->send.head) {
		q->lost = true; /* of a request that the checker has not seen */
		pthread_mutex_unlock(&q->lock);
		return;
	}
	for (; q->send.tail != last + 1; q->send.tail++) {
		struct check_request *r = check_ring_at(&q->send, q->send.tail);

		signaled += r->signaled;
		if (verdict == CHECK_CLEAN && wc->status == IBV_WC_SUCCESS) {
			verdict = check_buffer_done(r);
			if (unlikely(verdict == CHECK_CHANGED && is_answered(q, r)))
				verdict = CHECK_CLEAN;
			if (unlikely(verdict != CHECK_CLEAN))
				bad = *r;
		}
		r->completed = tick();
	}
	if (q->send_cq)
		atomic_fetch_sub_explicit(&q->send_cq->pending, (int)signaled,
					  memory_order_relaxed);
	if (q->send.head - q->send.tail < q->unsignaled)
		q->unsignaled = q->send.head - q->send.tail;
	pthread_mutex_unlock(&q->lock);
	if (verdict != CHECK_CLEAN)
		check_buffer_tell(verdict, &bad, q->number, polled);
}

static void complete_receive(struct check_qp *q, const struct check_wc *wc,
			     const struct check_place *polled)
{
	enum check_verdict verdict = CHECK_CLEAN;
	struct check_request *r, bad;
	bool changed = false;

	pthread_mutex_lock(&q->lock);
	if (q->lost || q->recv.tail == q->recv.head ||
	    check_ring_at(&q->recv, q->recv.tail)->wr_id != wc->wr_id) {
		q->lost = true;
		pthread_mutex_unlock(&q->lock);
		return;
	}
	r = check_ring_at(&q->recv, q->recv.tail++);
	r->completed = tick();
	if (q->recv_cq)
		atomic_fetch_sub_explicit(&q->recv_cq->pending, 1, memory_order_relaxed);
	if (wc->status == IBV_WC_SUCCESS) {
		verdict = check_buffer_done(r);
		changed = r->changed;
		q->received++;
		if (q->recv.head - q->recv.tail < q->fewest)
			q->fewest = q->recv.head - q->recv.tail;
	}
	if (unlikely(verdict != CHECK_CLEAN || changed))
		bad = *r;
	pthread_mutex_unlock(&q->lock);
	if (unlikely(verdict != CHECK_CLEAN))
		check_buffer_tell(verdict, &bad, q->number, polled);
	else if (unlikely(changed))
		check_target_done(&bad, q->number, polled);
}

/* The oldest request takes the slot of the one that completed. */
static void complete_shared(struct check_srq *s, const struct check_wc *wc)
{
	struct check_request *r, done;
	uint32_t i;

	pthread_mutex_lock(&s->lock);
	for (i = s->recv.tail; i != s->recv.head && i - s->recv.tail < SEARCH_MOST; i++)
		if (check_ring_at(&s->recv, i)->wr_id == wc->wr_id)
			break;
	if (i != s->recv.head && check_ring_at(&s->recv, i)->wr_id == wc->wr_id) {
		r = check_ring_at(&s->recv, i);
		done = *r;
		*r = *check_ring_at(&s->recv, s->recv.tail);
		done.completed = tick();
		*check_ring_at(&s->recv, s->recv.tail++) = done;
		s->received++;
		if (s->recv.head - s->recv.tail < s->fewest)
			s->fewest = s->recv.head - s->recv.tail;
		if (s->cq)
			atomic_fetch_sub_explicit(&s->cq->pending, 1, memory_order_relaxed);
	}
	pthread_mutex_unlock(&s->lock);
}

static void tell_rnr(const struct check_qp *q, const struct check_wc *wc,
		     const struct check_place *polled)
{
	struct check_report r = { .kind = CHECK_RNR_RETRY_EXCEEDED,
				  .stacks[0] = { "completion polled at", polled } };

	snprintf(r.text, sizeof(r.text),
		 "A request of QP 0x%06x (wr_id 0x%llx) failed with IBV_WC_RNR_RETRY_EXC_ERR.",
		 q->number, (unsigned long long)wc->wr_id);
	check_report(&r);
}

void check_completion(struct check_cq *cq, const struct check_wc *wc,
		      const struct check_place *polled)
{
	struct check_qp *_Atomic *recent = &cq->recent[wc->qp_num % CHECK_RECENT];
	struct check_qp *q = atomic_load_explicit(recent, memory_order_relaxed);

	if (!q || q->number != wc->qp_num || !q->qp) {
		q = check_qp_find(to_context(cq->cq->cq.context)->adapter, wc->qp_num);
		if (!q)
			return;
		atomic_store_explicit(recent, q, memory_order_relaxed);
	}
	if (wc->status != IBV_WC_SUCCESS)
		__atomic_store_n(&q->alive, false, __ATOMIC_RELAXED);
	if (wc->status == IBV_WC_RNR_RETRY_EXC_ERR)
		tell_rnr(q, wc, polled);
	if (wc->receive && q->datagrams)
		atomic_store_explicit(&check.answered, tick(), memory_order_relaxed);
	if (!wc->receive)
		complete_sends(q, wc, polled);
	else if (q->srq)
		complete_shared(q->srq, wc);
	else
		complete_receive(q, wc, polled);
}
