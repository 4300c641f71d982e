/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The sum of the first bytes of a buffer is taken when the receive is posted and again when a message takes it, on the thread that
 * runs the queue pair, which knows no lock of the checker: the slot of an outstanding request changes no more
 * until its completion is polled.
 */
#include "check/target.h"

#include <stdio.h>

#include "check/report.h"
#include "hca/hca.h"
#include "hca/peers/segment.h"

/* The adapter writes there next: the memory is as safe to read as it is to write. */
static bool is_registered(const struct check_piece *piece)
{
	return atomic_load_explicit(&hca.peers.segment->mr[piece->lkey >> 8].key,
				    memory_order_relaxed) == piece->lkey;
}

static bool is_receiving(const struct hca_qp *qp)
{
	return qp->state == HCA_QPS_RTR || qp->state == HCA_QPS_RTS || qp->state == HCA_QPS_SQD;
}

void check_target_taken(struct check_qp *q, const struct hca_qp *qp, uint32_t counter)
{
	struct check_request *r;

	if (!q->recv.slots || !is_receiving(qp))
		return;
	r = check_ring_at(&q->recv, q->recv_base + counter);
	if (r->completed || !r->target || !r->summed || !is_registered(&r->pieces[0]))
		return;
	r->changed = check_head_sum(&r->pieces[0]) != r->sum;
}

void check_target_done(const struct check_request *r, uint32_t qpn,
		       const struct check_place *polled)
{
	struct check_report report = { .kind = CHECK_RECEIVE_BUFFER_CHANGED,
				       .stacks = { { "posted at", r->place },
						   { "completion polled at", polled } } };

	/* A program that sends from the buffer meanwhile expects its message as an answer: nothing is amiss. */
	if (check_queues_used(r, true))
		return;
	snprintf(
		report.text, sizeof(report.text),
		"The buffer of a RECEIVE was changed after it was posted, before its message came: "
		"QP 0x%06x, wr_id 0x%llx, %u bytes at 0x%llx%s.",
		qpn, (unsigned long long)r->wr_id, r->pieces[0].length,
		(unsigned long long)r->pieces[0].addr, r->count > 1 ? " and others" : "");
	check_report(&report);
}
