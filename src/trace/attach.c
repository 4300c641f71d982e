/* SPDX-License-Identifier: BSD-2-Clause */
#include "trace/attach.h"

#include <stdlib.h>

#include "hca/inspect/trace.h"
#include "trace/chunk.h"
#include "trace/context.h"
#include "trace/poll.h"
#include "trace/post.h"
#include "trace/queue.h"

#define LIMIT (64ull << 20)

static void context_opened(struct vb_context *ctx)
{
	struct ibv_context_ops *ops = &ctx->verbs.context.ops;
	struct trace_context *c = calloc(1, sizeof(*c));

	if (!c)
		return;
	c->driver = *ops;
	pthread_mutex_lock(&trace.lock);
	c->next = trace.contexts;
	trace.contexts = c;
	pthread_mutex_unlock(&trace.lock);
	ctx->watch = c;
	ops->post_send = trace_post_send;
	ops->post_recv = trace_post_recv;
	ops->post_srq_recv = trace_post_srq_recv;
	ops->poll_cq = trace_poll_cq;
}

static void qp_created(struct vb_qp *qp, const void *driver_attr)
{
	trace_qp_created(qp, driver_attr);
	if (qp->watch && qp->has_ex)
		trace_post_wrap(qp);
}

static void cq_created(struct vb_cq *cq, uint32_t flags)
{
	trace_cq_created(cq, flags);
	if (cq->watch && cq->ex.start_poll)
		trace_poll_wrap(cq);
}

/* ---- what a trace does not have ---- */

static void ignore(const void *object)
{
}

static void ignore_kind(const void *object, int kind)
{
}

static void ignore_stale(const struct vb_handle *own, const char *call)
{
}

static void release(void *memory, const struct vb_handle *own, struct ibv_context **context)
{
	free(memory);
}

static void ignore_mr(struct vb_mr *mr)
{
}

static void ignore_ah(struct vb_ah *ah, const struct ibv_ah_attr *attr)
{
}

static void ignore_cq(struct vb_cq *cq)
{
}

static void ignore_srq(struct vb_srq *srq)
{
}

static void ignore_query(struct vb_context *ctx)
{
}

static void ignore_exit(void)
{
}

static const struct vb_observer observer = {
	.abi = VB_OBSERVER_ABI,
	.context_opened = context_opened,
	.object_added = ignore_kind,
	.object_removed = ignore,
	.object_busy = ignore_kind,
	.object_stale = ignore_stale,
	.memory_retired = release,
	.mr_created = ignore_mr,
	.mr_changed = ignore_mr,
	.mr_destroying = ignore_mr,
	.mr_destroyed = ignore_mr,
	.ah_created = ignore_ah,
	.cq_created = cq_created,
	.cq_destroying = ignore_cq,
	.cq_destroyed = trace_cq_destroyed,
	.srq_created = ignore_srq,
	.srq_destroyed = ignore_srq,
	.qp_created = qp_created,
	.qp_modified = trace_qp_modified,
	.qp_destroyed = trace_qp_destroyed,
	.event_wanted = trace_event_wanted,
	.event_fetched = trace_event_fetched,
	.device_queried = ignore_query,
	.exiting = ignore_exit,
};

/* ---- the adapter's side ---- */

static void packet(const struct hca_qp *qp, const struct hca_trace_packet *p)
{
	struct trace_record *r = trace_get();

	if (!r)
		return;
	r->qpn = p->out ? p->from : p->to;
	r->peer = p->out ? p->to : p->from;
	r->psn = p->psn;
	r->length = p->len;
	r->op = p->op;
	r->status = p->syndrome;
	r->flags = (p->out ? TRACE_OUT : 0) | (p->wire ? TRACE_WIRE : 0) |
		   (p->has_counter ? TRACE_COUNTER : 0);
	r->index = p->counter;
	trace_put(r, TRACE_PACKET);
}

static void direct(const struct hca_qp *qp, uint16_t counter, uint8_t op, uint64_t length)
{
	struct trace_record *r = trace_get();

	if (!r)
		return;
	r->qpn = qp->qpn;
	r->index = counter;
	r->op = op;
	r->length = (uint32_t)length;
	trace_put(r, TRACE_DIRECT);
}

const struct vb_observer *verbena_trace_attach(void)
{
	static const struct hca_trace_ops ops = { .packet = packet, .direct = direct };
	const char *limit = getenv("VERBENA_TRACE_LIMIT");
	uint64_t bytes = limit ? strtoull(limit, NULL, 0) : 0;

	trace_chunk_init(getenv("VERBENA_TRACE"), bytes ? bytes : LIMIT);
	hca_trace_start(&ops);
	/* The file shows that the process was traced, even if it makes no queue. */
	trace_chunk_next();
	return &observer;
}
