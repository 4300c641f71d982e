/* SPDX-License-Identifier: BSD-2-Clause */
#include "check/notify.h"

#include <stdio.h>
#include <unistd.h>

#include "check/context.h"
#include "check/report.h"
#include "check/state.h"

/* As doorbell records have it. */
#define INDEX_MASK 0xffffffu

static uint32_t count_entries(const struct hca_cq *cq)
{
	uint32_t produced = __atomic_load_n(&cq->pi, __ATOMIC_RELAXED);

	return (produced - cq->format->cq_consumer(cq)) & INDEX_MASK;
}

int check_req_notify_cq(struct ibv_cq *cq, int solicited)
{
	const struct check_context *context = check_context_of(cq->context);
	struct check_cq *c = to_cq(cq)->watch;
	bool late = c && count_entries(to_cq(cq)->hca);

	if (c)
		atomic_store_explicit(&c->armed_late, late ? check_place_of_caller() : NULL,
				      memory_order_relaxed);
	return context->driver.req_notify_cq(cq, solicited);
}

/* The first CQ of the channel with such a mistake; false: none. */
static bool find_late(const struct vb_channel *channel, struct check_report *r)
{
	struct check_cq *c;

	pthread_mutex_lock(&check.queue_lock);
	LIST_FOREACH(c, &check.cqs, entry) {
		const struct check_place *armed;

		if (c->cq->cq.channel != &channel->channel)
			continue;
		armed = atomic_exchange_explicit(&c->armed_late, NULL, memory_order_relaxed);
		if (!armed)
			continue;
		r->stacks[1].title = "armed at";
		r->stacks[1].place = armed;
		break;
	}
	pthread_mutex_unlock(&check.queue_lock);
	return c;
}

void check_event_wanted(struct vb_channel *channel)
{
	struct check_report r = { .kind = CHECK_LOST_WAKEUP };

	if (!find_late(channel, &r))
		return;
	snprintf(r.text, sizeof(r.text),
		 "The program waits for an event of a CQ that had completions when it was armed, "
		 "and has "
		 "not polled since.");
	r.stacks[0].title = "waiting at";
	r.stacks[0].place = check_place_here();
	check_report(&r);
}

void check_event_fetched(struct vb_cq *cq)
{
	struct check_cq *c = cq->watch;

	if (c)
		atomic_store_explicit(&c->fetcher, (int)gettid(), memory_order_relaxed);
}

/* An event that another thread has fetched may be acknowledged there at any moment. */
void check_cq_destroying(struct vb_cq *cq)
{
	struct check_report r = { .kind = CHECK_EVENTS_UNACKNOWLEDGED };
	const struct check_cq *c = cq->watch;
	uint32_t open;

	if (!c || atomic_load_explicit(&c->fetcher, memory_order_relaxed) != (int)gettid() ||
	    atomic_load(&cq->hca->users))
		return;
	pthread_mutex_lock(&cq->cq.mutex);
	open = atomic_load(&cq->comp_events) - cq->cq.comp_events_completed;
	pthread_mutex_unlock(&cq->cq.mutex);
	if (!open)
		return;
	snprintf(r.text, sizeof(r.text), "A CQ is destroyed with %u event%s not acknowledged.",
		 open, open == 1 ? "" : "s");
	r.stacks[0].title = "destroyed at";
	r.stacks[0].place = check_place_here();
	r.stacks[1].title = "CQ created at";
	r.stacks[1].place = c->created;
	check_report(&r);
}
