/* SPDX-License-Identifier: BSD-2-Clause */
#include "trace/poll.h"

#include "hca/queue/cq.h"
#include "trace/chunk.h"
#include "trace/context.h"
#include "trace/queue.h"

/* A poll that has begun. */
struct visit {
	struct trace_record *begin, *idle;
	uint64_t ns;
};

static struct visit begin(uint32_t cqn)
{
	struct visit v = { .idle = trace_thread.idle };

	v.begin = trace_get();
	if (!v.begin)
		return v;
	v.ns = v.begin->ns;
	v.begin->cqn = cqn;
	trace_put(v.begin, TRACE_POLL_BEGIN);
	return v;
}

static void end(uint32_t cqn, int count)
{
	struct trace_record *r = trace_get();

	if (!r)
		return;
	r->cqn = cqn;
	r->count = (uint16_t)count;
	trace_put(r, TRACE_POLL_END);
}

/* Polls that find nothing are one record, which grows: a program that polls in vain would fill the file. */
static void end_empty(uint32_t cqn, struct visit v)
{
	struct trace_thread *t = &trace_thread;
	struct trace_record *r = v.idle;

	if (!v.begin)
		return;
	if (!trace_take_back(v.begin)) {
		end(cqn, 0); /* the poll has taken in packets */
		return;
	}
	if (!r || t->at != r + 1 || r->cqn != cqn) {
		r = trace_get();
		if (!r)
			return;
		r->ns = v.ns;
		r->cqn = cqn;
		r->length = 0;
		trace_put(r, TRACE_IDLE);
	}
	r->length++;
	r->duration = fabric_now_ns() - r->ns;
	t->idle = r;
}

static void note_polled(uint32_t cqn, uint32_t qpn, bool recv, uint64_t wr_id, unsigned int status)
{
	struct trace_record *r = trace_get();

	if (!r)
		return;
	r->cqn = cqn;
	r->qpn = qpn;
	r->flags = recv ? TRACE_RECV : 0;
	r->wr_id = wr_id;
	r->status = (uint16_t)status;
	trace_put(r, TRACE_POLLED);
}

int trace_poll_cq(struct ibv_cq *cq, int count, struct ibv_wc *wc)
{
	uint32_t cqn = cq->handle;
	struct visit v = begin(cqn);
	int got = trace_driver_of(cq->context)->poll_cq(cq, count, wc);

	if (!got) {
		end_empty(cqn, v);
		return 0;
	}
	for (int i = 0; i < got; i++)
		note_polled(cqn, wc[i].qp_num, wc[i].opcode & IBV_WC_RECV, wc[i].wr_id,
			    wc[i].status);
	end(cqn, got < 0 ? 0 : got);
	return got;
}

/* ---- extended CQs ---- */

static const struct trace_cq *watch_of(struct ibv_cq_ex *cq)
{
	return to_cq(ibv_cq_ex_to_cq(cq))->watch;
}

static void take(struct ibv_cq_ex *cq)
{
	note_polled(cq->handle, ibv_wc_read_qp_num(cq), ibv_wc_read_opcode(cq) & IBV_WC_RECV,
		    cq->wr_id, cq->status);
}

static int start_poll(struct ibv_cq_ex *cq, struct ibv_poll_cq_attr *attr)
{
	struct visit v = begin(cq->handle);
	int err = watch_of(cq)->start_poll(cq, attr);

	if (err)
		end_empty(cq->handle, v);
	else
		take(cq);
	return err;
}

static int next_poll(struct ibv_cq_ex *cq)
{
	int err = watch_of(cq)->next_poll(cq);

	if (!err)
		take(cq);
	return err;
}

static void end_poll(struct ibv_cq_ex *cq)
{
	watch_of(cq)->end_poll(cq);
	end(cq->handle, 0);
}

void trace_poll_wrap(struct vb_cq *cq)
{
	struct trace_cq *c = cq->watch;

	c->start_poll = cq->ex.start_poll;
	c->next_poll = cq->ex.next_poll;
	c->end_poll = cq->ex.end_poll;
	cq->ex.start_poll = start_poll;
	cq->ex.next_poll = next_poll;
	cq->ex.end_poll = end_poll;
}

/* ---- events ---- */

void trace_event_wanted(struct vb_channel *channel)
{
	struct trace_record *r = trace_get();

	if (r)
		trace_put(r, TRACE_WAIT_BEGIN);
}

void trace_event_fetched(struct vb_cq *cq)
{
	struct trace_record *r = trace_get();

	if (!r)
		return;
	r->cqn = cq->hca->cqn;
	trace_put(r, TRACE_WAIT_END);
}
