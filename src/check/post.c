/* SPDX-License-Identifier: BSD-2-Clause */
#include "check/post.h"

#include <errno.h>
#include <stdio.h>

#include "check/adversary.h"
#include "check/buffer.h"
#include "check/context.h"
#include "check/order.h"
#include "check/portable.h"
#include "check/report.h"
#include "check/retired.h"
#include "check/state.h"
#include "check/thread.h"

static uint64_t tick(void)
{
	return atomic_fetch_add_explicit(&check.clock, 1, memory_order_relaxed) + 1;
}

static const char *verb_of(enum ibv_wr_opcode opcode)
{
	switch (opcode) {
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return "RDMA WRITE";
	case IBV_WR_RDMA_READ:
		return "RDMA READ";
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return "ATOMIC";
	case IBV_WR_SEND:
	case IBV_WR_SEND_WITH_IMM:
	case IBV_WR_SEND_WITH_INV:
		return "SEND";
	default:
		return "request";
	}
}

static bool writes_here(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_RDMA_READ || opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
	       opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

static bool is_remote(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_RDMA_READ || opcode == IBV_WR_RDMA_WRITE ||
	       opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

void check_post_count(struct check_ring *ring, struct check_cq *cq)
{
	struct check_request *r = check_ring_at(ring, ring->head++);

	r->posted = tick();
	r->completed = 0;
	if (cq && r->signaled)
		atomic_fetch_add_explicit(&cq->pending, 1, memory_order_relaxed);
}

void check_post_undo(struct check_ring *ring, struct check_cq *cq, uint32_t head)
{
	while ((int32_t)(ring->head - head) > 0) {
		struct check_request *r = check_ring_at(ring, --ring->head);

		if (cq && r->signaled)
			atomic_fetch_sub_explicit(&cq->pending, 1, memory_order_relaxed);
		*r = (struct check_request){ .completed = 1 };
	}
}

void check_post_cq(struct check_cq *cq, const struct check_place *place)
{
	struct check_report r = { .kind = CHECK_CQ_OVERRUN_POSSIBLE };
	int pending;

	if (!cq || (cq->flags & IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN))
		return;
	pending = atomic_load_explicit(&cq->pending, memory_order_relaxed);
	if (likely(pending <= cq->cq->cq.cqe))
		return;
	snprintf(
		r.text, sizeof(r.text),
		"%d completions can come into a CQ of %d entries before the program polls: so many "
		"receives and signaled sends are outstanding.",
		pending, cq->cq->cq.cqe);
	r.stacks[0].title = "CQ created at";
	r.stacks[0].place = cq->created;
	r.stacks[1].title = "last request posted at";
	r.stacks[1].place = place;
	check_report(&r);
}

void check_post_full(const struct check_qp *q, const struct check_place *place)
{
	struct check_report r = { .kind = CHECK_SEND_QUEUE_UNSIGNALED };

	snprintf(r.text, sizeof(r.text),
		 "The send queue of QP 0x%06x is full, and none of its %u requests is signaled.",
		 q->number, q->unsignaled);
	r.stacks[0].title = "posted at";
	r.stacks[0].place = place;
	check_report(&r);
}

/* ---- sends ---- */

void check_post_inline(const struct check_qp *q, uint64_t length, const struct check_place *place)
{
	struct check_report r = { .kind = CHECK_INLINE_TOO_LONG,
				  .stacks[0] = { "posted at", place } };

	if (likely(length <= q->max_inline))
		return;
	snprintf(r.text, sizeof(r.text),
		 "%llu bytes of inline data are posted; QP 0x%06x was granted %u.",
		 (unsigned long long)length, q->number, q->max_inline);
	check_report(&r);
}

static uint64_t length_of(const struct ibv_sge *list, int count)
{
	uint64_t length = 0;

	for (int i = 0; i < count; i++)
		length += list[i].length;
	return length;
}

static void note_data(struct check_qp *q, struct check_request *r, const struct ibv_send_wr *wr)
{
	const struct check_use use = { q->pd, r->target, true, &q->send_region };

	r->length = 0;
	if (is_remote(wr->opcode)) {
		r->remote = wr->wr.rdma.remote_addr;
		r->rkey = wr->wr.rdma.rkey;
		r->length = length_of(wr->sg_list, wr->num_sge);
	}
	if (wr->send_flags & IBV_SEND_INLINE) {
		check_post_inline(q, length_of(wr->sg_list, wr->num_sge), r->place);
		check_order_inline(r, wr->sg_list, wr->num_sge);
	} else {
		check_buffer_post(r, wr->sg_list, wr->num_sge, &use, q->alive && !r->target);
	}
	check_order_send(q, r, q->send.head, wr->send_flags & IBV_SEND_INLINE);
}

/* Requests up to the first that has no slot. */
static void note_sends(struct check_qp *q, const struct ibv_send_wr *wr,
		       const struct check_place *place)
{
	for (; wr; wr = wr->next) {
		struct check_request *r = check_ring_next(&q->send);

		if (!r) {
			q->lost = true;
			return;
		}
		r->wr_id = wr->wr_id;
		r->place = place;
		r->verb = verb_of(wr->opcode);
		r->signaled = q->sig_all || wr->send_flags & IBV_SEND_SIGNALED;
		r->target = writes_here(wr->opcode);
		r->fenced = wr->send_flags & IBV_SEND_FENCE;
		r->summed = false;
		r->frame = NULL;
		r->count = 0;
		if (unlikely(wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
			     wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD))
			check_portable_atomic(q->qp->qp.context, place);
		note_data(q, r, wr);
		check_post_count(&q->send, q->send_cq);
		if (r->target)
			q->reads_end = q->send.head;
	}
}

static uint32_t count_sends(const struct ibv_send_wr *wr, const struct ibv_send_wr *end)
{
	uint32_t count = 0;

	for (; wr && wr != end; wr = wr->next)
		count++;
	return count;
}

static void count_unsignaled(struct check_qp *q, uint32_t from)
{
	for (; from != q->send.head; from++)
		q->unsignaled = check_ring_at(&q->send, from)->signaled ? 0 : q->unsignaled + 1;
}

static int hand_on_send(struct check_qp *q, struct ibv_qp *qp, struct ibv_send_wr *wr,
			struct ibv_send_wr **bad, const struct check_place *place)
{
	const struct check_context *c = check_context_of(qp->context);
	bool full = false;
	uint32_t head;
	int err;

	pthread_mutex_lock(&q->lock);
	head = q->send.head;
	if (!q->lost)
		note_sends(q, wr, place);
	err = c->driver.post_send(qp, wr, bad);
	if (err && !q->lost)
		check_post_undo(&q->send, q->send_cq, head + count_sends(wr, *bad));
	if (!q->lost) {
		count_unsignaled(q, head);
		full = err == ENOMEM && q->unsignaled &&
		       q->unsignaled == q->send.head - q->send.tail;
	}
	pthread_mutex_unlock(&q->lock);
	if (full)
		check_post_full(q, place);
	return err;
}

int check_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	const struct check_place *place = check_place_of_caller();
	struct check_qp *q = to_qp(qp)->watch;
	bool begun;
	int err;

	if (unlikely(!q))
		return check_context_of(qp->context)->driver.post_send(qp, wr, bad);
	/* A count that two threads take at once is one too few: it is compared with small numbers. */
	atomic_store_explicit(&check.posts,
			      atomic_load_explicit(&check.posts, memory_order_relaxed) + 1,
			      memory_order_relaxed);
	if (qp->qp_type == IBV_QPT_UD) {
		atomic_fetch_add_explicit(&check.datagrams, 1, memory_order_relaxed);
		if (wr && wr->wr.ud.ah && check_ah_retired(wr->wr.ud.ah)) {
			*bad = wr;
			return EINVAL;
		}
	}
	begun = check_td_begin(q->td, place);
	check_adversary_post(to_qp(qp)->hca);
	err = hand_on_send(q, qp, wr, bad, place);
	check_td_end(q->td, begun);
	check_post_cq(q->send_cq, place);
	return err;
}

/* ---- receives ---- */

/* `sum`: the adapter tells which request a message takes. */
static bool note_receives(struct check_ring *ring, struct check_cq *cq, const struct check_use *use,
			  const struct ibv_recv_wr *wr, const struct check_place *place, bool sum)
{
	for (; wr; wr = wr->next) {
		struct check_request *r = check_ring_next(ring);

		if (!r)
			return false;
		r->wr_id = wr->wr_id;
		r->place = place;
		r->verb = "RECEIVE";
		r->signaled = r->target = true;
		check_buffer_post(r, wr->sg_list, wr->num_sge, use, sum);
		check_post_count(ring, cq);
	}
	return true;
}

static uint32_t count_receives(const struct ibv_recv_wr *wr, const struct ibv_recv_wr *end)
{
	uint32_t count = 0;

	for (; wr && wr != end; wr = wr->next)
		count++;
	return count;
}

int check_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	const struct check_place *place = check_place_of_caller();
	const struct check_context *c = check_context_of(qp->context);
	struct check_qp *q = to_qp(qp)->watch;
	struct check_use use = { .writes = true };
	uint32_t head;
	bool begun;
	int err;

	if (unlikely(!q))
		return c->driver.post_recv(qp, wr, bad);
	use.pd = q->pd;
	use.cache = &q->recv_region;
	begun = check_td_begin(q->td, place);
	pthread_mutex_lock(&q->lock);
	head = q->recv.head;
	if (!q->lost && !note_receives(&q->recv, q->recv_cq, &use, wr, place, true))
		q->lost = true;
	err = c->driver.post_recv(qp, wr, bad);
	if (err && !q->lost)
		check_post_undo(&q->recv, q->recv_cq, head + count_receives(wr, *bad));
	pthread_mutex_unlock(&q->lock);
	check_td_end(q->td, begun);
	check_post_cq(q->recv_cq, place);
	return err;
}

int check_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	const struct check_place *place = check_place_of_caller();
	const struct check_context *c = check_context_of(srq->context);
	struct check_srq *s = to_srq(srq)->watch;
	struct check_use use = { .writes = true };
	struct check_cq *cq;
	uint32_t head;
	int err;

	if (unlikely(!s))
		return c->driver.post_srq_recv(srq, wr, bad);
	use.pd = s->srq->pd;
	use.cache = &s->region;
	pthread_mutex_lock(&s->lock);
	head = s->recv.head;
	cq = s->cq;
	note_receives(&s->recv, cq, &use, wr, place, false);
	err = c->driver.post_srq_recv(srq, wr, bad);
	if (err)
		check_post_undo(&s->recv, cq, head + count_receives(wr, *bad));
	pthread_mutex_unlock(&s->lock);
	check_post_cq(cq, place);
	return err;
}
