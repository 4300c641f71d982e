/* SPDX-License-Identifier: BSD-2-Clause */
#include "check/attach.h"

#include <stdlib.h>

#include "check/adapter.h"
#include "check/adversary.h"
#include "check/buffer.h"
#include "check/connect.h"
#include "check/context.h"
#include "check/cycle.h"
#include "check/fork.h"
#include "check/memory.h"
#include "check/notify.h"
#include "check/object.h"
#include "check/poll.h"
#include "check/portable.h"
#include "check/post.h"
#include "check/queue.h"
#include "check/report.h"
#include "check/retired.h"
#include "check/state.h"
#include "check/wr.h"

static void context_opened(struct vb_context *ctx)
{
	struct check_context *c = calloc(1, sizeof(*c));
	struct ibv_context_ops *ops = &ctx->verbs.context.ops;

	if (!c)
		return;
	c->driver = *ops;
	ops->post_send = check_post_send;
	ops->post_recv = check_post_recv;
	ops->post_srq_recv = check_post_srq_recv;
	ops->poll_cq = check_poll_cq;
	ops->req_notify_cq = check_req_notify_cq;
	pthread_mutex_lock(&check.object_lock);
	c->next = check.contexts;
	check.contexts = c;
	pthread_mutex_unlock(&check.object_lock);
	ctx->watch = c;
}

static void device_queried(struct vb_context *ctx)
{
	struct check_context *c = ctx->watch;

	if (c)
		atomic_store_explicit(&c->queried, true, memory_order_relaxed);
}

static void mr_created(struct vb_mr *mr)
{
	check_mr_created(mr);
	check_cycle_mr(mr);
	check_portable_mr(mr);
}

static void cq_created(struct vb_cq *cq, uint32_t flags)
{
	check_cq_created(cq, flags);
	if (cq->watch && cq->ex.start_poll)
		check_poll_wrap(cq->watch);
	check_portable_cq(cq);
}

static void qp_created(struct vb_qp *qp, const void *driver_attr)
{
	check_qp_created(qp, driver_attr);
	if (qp->watch && qp->has_ex)
		check_wr_wrap(qp->watch);
	check_portable_qp(qp);
}

static void exiting(void)
{
	check_fork_tell();
	check_objects_left();
	check_report_end();
}

static const struct vb_observer observer = {
	.abi = VB_OBSERVER_ABI,
	.context_opened = context_opened,
	.object_added = check_object_added,
	.object_removed = check_object_removed,
	.object_busy = check_object_busy,
	.object_stale = check_stale,
	.memory_retired = check_retire,
	.mr_created = mr_created,
	.mr_changed = check_mr_changed,
	.mr_destroying = check_mr_destroying,
	.mr_destroyed = check_mr_destroyed,
	.ah_created = check_cycle_ah,
	.cq_created = cq_created,
	.cq_destroying = check_cq_destroying,
	.cq_destroyed = check_cq_destroyed,
	.srq_created = check_srq_created,
	.srq_destroyed = check_srq_destroyed,
	.qp_created = qp_created,
	.qp_modified = check_qp_modified,
	.qp_destroyed = check_qp_destroyed,
	.event_wanted = check_event_wanted,
	.event_fetched = check_event_fetched,
	.device_queried = device_queried,
	.exiting = exiting,
};

static void register_locks(void)
{
	pthread_mutex_t *locks[CHECK_LOCKS] = { &check.queue_lock, &check.object_lock,
						&check.memory_lock, &check.report_lock };

	for (int i = 0; i < CHECK_LOCKS; i++)
		/* Locks of queues nest in the first, and are held while the adapter works. */
		forksafe_add(&check.forksafe[i], locks[i], i ? FORKSAFE_LEAF : FORKSAFE_CONTEXT);
}

const struct vb_observer *verbena_check_attach(void)
{
	TAILQ_INIT(&check.retired_order);
	register_locks();
	check_report_open();
	check_adversary_open();
	check_adapter_open();
	check_fork_open();
	return &observer;
}
