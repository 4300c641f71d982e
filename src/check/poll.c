/* SPDX-License-Identifier: BSD-2-Clause */
#include "check/poll.h"

#include <stdio.h>
#include <unistd.h>

#include "check/adversary.h"
#include "check/completion.h"
#include "check/context.h"
#include "check/report.h"
#include "check/thread.h"

static void tell_two_threads(const struct check_cq *c, const struct check_place *place)
{
	struct check_report r = { .kind = CHECK_CQ_TWO_THREADS,
				  .stacks = { { "polled at", place },
					      { "CQ created at", c->created } } };

	snprintf(r.text, sizeof(r.text),
		 "Two threads poll a CQ at one time that was created with "
		 "IBV_CREATE_CQ_ATTR_SINGLE_THREADED.");
	check_report(&r);
}

/* Only CQs without a lock of their own are looked at: gettid() is a system call. */
static void begin(struct check_cq *c, const struct check_place *place)
{
	int other = 0, self;

	if (unlikely(atomic_load_explicit(&c->armed_late, memory_order_relaxed)))
		atomic_store_explicit(&c->armed_late, NULL, memory_order_relaxed);
	if (likely(!(c->flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED)))
		return;
	self = (int)gettid();
	if (!atomic_compare_exchange_strong(&c->poller, &other, self) && other != self)
		tell_two_threads(c, place);
}

static void end(struct check_cq *c)
{
	if (unlikely(c->flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED))
		atomic_store(&c->poller, 0);
}

int check_poll_cq(struct ibv_cq *cq, int count, struct ibv_wc *wc)
{
	const struct check_context *context = check_context_of(cq->context);
	struct check_cq *c = to_cq(cq)->watch;
	const struct check_place *place = NULL;
	int got;

	if (unlikely(!c))
		return context->driver.poll_cq(cq, count, wc);
	/* Most polls find nothing: those of a CQ with a lock need no place. */
	if (unlikely(c->flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED))
		place = check_place_of_caller();
	begin(c, place);
	got = check_adversary_holds()
		      ? 0
		      : context->driver.poll_cq(cq, check_adversary_count(count), wc);
	if (got > 0)
		place = check_place_of_caller();
	for (int i = 0; i < got; i++)
		check_completion(c,
				 &(struct check_wc){ .wr_id = wc[i].wr_id,
						     .status = wc[i].status,
						     .qp_num = wc[i].qp_num,
						     .receive = wc[i].opcode & IBV_WC_RECV },
				 place);
	end(c);
	return got;
}

/* ---- extended CQs ---- */

static void take(struct check_cq *c, struct ibv_cq_ex *cq, const struct check_place *place)
{
	check_completion(c,
			 &(struct check_wc){ .wr_id = cq->wr_id,
					     .status = cq->status,
					     .qp_num = ibv_wc_read_qp_num(cq),
					     .receive = ibv_wc_read_opcode(cq) & IBV_WC_RECV },
			 place);
}

static int start_poll(struct ibv_cq_ex *cq, struct ibv_poll_cq_attr *attr)
{
	const struct check_place *place = check_place_of_caller();
	struct check_cq *c = to_cq(ibv_cq_ex_to_cq(cq))->watch;
	int err;

	begin(c, place);
	err = check_adversary_holds() ? ENOENT : c->start_poll(cq, attr);
	if (err)
		end(c);
	else
		take(c, cq, place);
	return err;
}

static int next_poll(struct ibv_cq_ex *cq)
{
	const struct check_place *place = check_place_of_caller();
	struct check_cq *c = to_cq(ibv_cq_ex_to_cq(cq))->watch;
	int err = check_adversary_holds() ? ENOENT : c->next_poll(cq);

	if (!err)
		take(c, cq, place);
	return err;
}

static void end_poll(struct ibv_cq_ex *cq)
{
	struct check_cq *c = to_cq(ibv_cq_ex_to_cq(cq))->watch;

	c->end_poll(cq);
	end(c);
}

void check_poll_wrap(struct check_cq *c)
{
	struct ibv_cq_ex *cq = &c->cq->ex;

	c->start_poll = cq->start_poll;
	c->next_poll = cq->next_poll;
	c->end_poll = cq->end_poll;
	cq->start_poll = start_poll;
	cq->next_poll = next_poll;
	cq->end_poll = end_poll;
}
