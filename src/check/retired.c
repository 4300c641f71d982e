/* SPDX-License-Identifier: BSD-2-Clause */
#include "check/retired.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "check/place.h"
#include "check/report.h"
#include "check/state.h"
#include "verbs/objects.h"

#define RETIRED_MOST 4096

struct check_retired {
	struct hash_link link; /* by the address of the handle */
	TAILQ_ENTRY(check_retired) entry;
	void *memory;
	const struct check_place *destroyed;
	enum vb_kind kind;
};

/* A context that destroyed objects point to; one for each adapter. Never freed. */
struct check_dead {
	LIST_ENTRY(check_dead) entry;
	struct vb_context ctx;
};

static void tell(const struct vb_handle *own, const char *call)
{
	struct check_report r = { .kind = CHECK_USE_AFTER_DESTROY };
	struct hash_link *link;

	pthread_mutex_lock(&check.object_lock);
	link = hash_find(&check.retired, (uintptr_t)own);
	if (link) {
		const struct check_retired *gone = container_of(link, struct check_retired, link);

		snprintf(r.text, sizeof(r.text), "%s was called on a %s that is destroyed.", call,
			 verbena_kind_name(gone->kind));
		r.stacks[1].title = "destroyed at";
		r.stacks[1].place = gone->destroyed;
	}
	pthread_mutex_unlock(&check.object_lock);
	if (!link)
		return;
	r.stacks[0].title = "called at";
	r.stacks[0].place = check_place_here();
	check_report(&r);
}

void check_stale(const struct vb_handle *own, const char *call)
{
	tell(own, call);
}

static int dead_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	tell(&to_qp(qp)->own, "ibv_post_send");
	*bad = wr;
	return EINVAL;
}

static int dead_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	tell(&to_qp(qp)->own, "ibv_post_recv");
	*bad = wr;
	return EINVAL;
}

static int dead_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	tell(&to_srq(srq)->own, "ibv_post_srq_recv");
	*bad = wr;
	return EINVAL;
}

static int dead_poll_cq(struct ibv_cq *cq, int count, struct ibv_wc *wc)
{
	tell(&to_cq(cq)->own, "ibv_poll_cq");
	return -1;
}

static int dead_req_notify_cq(struct ibv_cq *cq, int solicited)
{
	tell(&to_cq(cq)->own, "ibv_req_notify_cq");
	return EINVAL;
}

static int dead_start_poll(struct ibv_cq_ex *cq, struct ibv_poll_cq_attr *attr)
{
	tell(&to_cq(ibv_cq_ex_to_cq(cq))->own, "ibv_start_poll");
	return EINVAL;
}

static void dead_wr_start(struct ibv_qp_ex *qp)
{
	tell(&to_qp(&qp->qp_base)->own, "ibv_wr_start");
}

static struct check_dead *make_dead(const struct vb_context *ctx)
{
	struct check_dead *dead = calloc(1, sizeof(*dead));
	struct ibv_context_ops *ops;

	if (!dead)
		return NULL;
	dead->ctx = *ctx;
	dead->ctx.root = &dead->ctx;
	ops = &dead->ctx.verbs.context.ops;
	ops->post_send = dead_post_send;
	ops->post_recv = dead_post_recv;
	ops->post_srq_recv = dead_post_srq_recv;
	ops->poll_cq = dead_poll_cq;
	ops->req_notify_cq = dead_req_notify_cq;
	LIST_INSERT_HEAD(&check.dead_contexts, dead, entry);
	return dead;
}

static struct check_dead *dead_of(const struct vb_context *ctx)
{
	struct check_dead *dead;

	LIST_FOREACH(dead, &check.dead_contexts, entry)
		if (dead->ctx.adapter == ctx->adapter)
			return dead;
	return make_dead(ctx);
}

static enum vb_kind kind_of(const struct vb_handle *own)
{
	return (enum vb_kind)(own->link.key >> 32);
}

/* The operations that lie in the object itself. */
static void kill_object(struct check_retired *gone, struct vb_handle *own)
{
	if (gone->kind == VB_KIND_CQ)
		container_of(own, struct vb_cq, own)->ex.start_poll = dead_start_poll;
	else if (gone->kind == VB_KIND_QP && container_of(own, struct vb_qp, own)->has_ex)
		container_of(own, struct vb_qp, own)->ex.wr_start = dead_wr_start;
}

static void forget_oldest(void)
{
	struct check_retired *oldest = TAILQ_FIRST(&check.retired_order);

	TAILQ_REMOVE(&check.retired_order, oldest, entry);
	hash_remove(&check.retired, &oldest->link);
	check.retired_count--;
	free(oldest->memory);
	free(oldest);
}

void check_retire(void *memory, const struct vb_handle *own, struct ibv_context **context)
{
	const struct check_place *place = check_place_here();
	struct check_retired *gone = calloc(1, sizeof(*gone));
	struct check_dead *dead;

	pthread_mutex_lock(&check.object_lock);
	dead = gone ? dead_of(own->ctx) : NULL;
	if (!dead) {
		pthread_mutex_unlock(&check.object_lock);
		free(gone);
		free(memory);
		return;
	}
	gone->memory = memory;
	gone->destroyed = place;
	gone->kind = kind_of(own);
	*context = &dead->ctx.verbs.context;
	kill_object(gone, (struct vb_handle *)own);
	hash_add(&check.retired, &gone->link, (uintptr_t)own);
	TAILQ_INSERT_TAIL(&check.retired_order, gone, entry);
	if (++check.retired_count > RETIRED_MOST)
		forget_oldest();
	pthread_mutex_unlock(&check.object_lock);
}

bool check_ah_retired(const struct ibv_ah *ah)
{
	if (ah->context->ops.post_send != dead_post_send)
		return false;
	tell(&to_ah((struct ibv_ah *)ah)->own, "A post with its address handle");
	return true;
}
