/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Limits are compared with what was granted, which is more than was asked for: only values that are beyond the other
 * adapter's after rounding count.
 */
#include "check/portable.h"

#include <stdio.h>

#include "check/context.h"
#include "check/report.h"

/* The smallest of common adapters, and whose it is. */
static const struct limit {
	const char *what, *of;
	uint32_t most;
} requests = { "requests in a queue of a QP", "a ConnectX-3", 16384 },
  elements = { "elements in a request", "a ConnectX-5", 30 },
  entries = { "entries in a CQ", "Linux rxe", 32767 };

static bool has_asked(struct ibv_context *context)
{
	const struct check_context *c = check_context_of(context);

	return !c || atomic_load_explicit(&c->queried, memory_order_relaxed);
}

static void compare(const struct limit *limit, uint32_t value)
{
	struct check_report r = { .kind = CHECK_LIMIT_NOT_PORTABLE };

	if (value <= limit->most)
		return;
	snprintf(r.text, sizeof(r.text), "%u %s; %s has up to %u, and the program has not asked.",
		 value, limit->what, limit->of, limit->most);
	r.stacks[0].title = "created at";
	r.stacks[0].place = check_place_here();
	check_report(&r);
}

void check_portable_qp(const struct vb_qp *qp)
{
	if (has_asked(qp->qp.context))
		return;
	compare(&requests, qp->cap.max_send_wr);
	compare(&requests, qp->cap.max_recv_wr);
	compare(&elements, qp->cap.max_send_sge);
	compare(&elements, qp->cap.max_recv_sge);
}

void check_portable_cq(const struct vb_cq *cq)
{
	if (!has_asked(cq->cq.context))
		compare(&entries, (uint32_t)cq->cq.cqe);
}

static void tell(const char *what, const char *title, const struct check_place *place)
{
	struct check_report r = { .kind = CHECK_CAPABILITY_NOT_ASKED,
				  .stacks[0] = { title, place } };

	snprintf(r.text, sizeof(r.text),
		 "The program uses %s, and has not asked whether the adapter can do that.", what);
	check_report(&r);
}

void check_portable_mr(const struct vb_mr *mr)
{
	if (mr->hca->access & IBV_ACCESS_ON_DEMAND && !has_asked(mr->mr.context))
		tell("on-demand paging (odp_caps)", "registered at", check_place_here());
}

void check_portable_atomic(struct ibv_context *context, const struct check_place *place)
{
	if (!has_asked(context))
		tell("atomic operations (atomic_cap)", "posted at", place);
}
