/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Acknowledgements, of which one serves many requests, and refusals. None overtakes the answer to a read
 * or an atomic (resource.c). Lock held, inside an epoch section.
 */
#ifndef HCA_ANSWER_H
#define HCA_ANSWER_H

#include "hca/transport/qp_types.h"

/* An acknowledgement may leave with the next request of the QP, after this many that were replies. */
#define ANSWER_REPLIES_EXPECTED 4u

/* Requests of the peer are usually followed by one of this QP. Without the lock. */
static inline bool answer_expects_reply(const struct qp *qp)
{
	return atomic_load_explicit(&qp->replies, memory_order_relaxed) >= ANSWER_REPLIES_EXPECTED;
}

static inline void answer_expect_no_reply(struct qp *qp)
{
	atomic_store_explicit(&qp->replies, 0, memory_order_relaxed);
}

/* The QP has sent a request: a reply, if the peer's last request came before it, and `soon` after that. */
static inline void answer_request_sent(struct qp *qp, bool soon)
{
	if (!qp->resp.reply_pending)
		return;
	qp->resp.reply_pending = false;
	if (!soon)
		answer_expect_no_reply(qp);
	else if (!answer_expects_reply(qp))
		atomic_store_explicit(&qp->replies, qp->replies + 1, memory_order_relaxed);
}

/* Sends the acknowledgement and the refusal that are due. False when there was no room. */
bool answer_send_ack(struct qp *qp);
/* Refuses the request that is expected now. */
void answer_refuse(struct qp *qp, uint8_t syndrome);
/* Acknowledges at the end of the batch that is being received. */
void answer_ack_later(struct qp *qp, struct hca_acks *acks);
/* Puts the QP on the list of those that owe an acknowledgement at the end of the batch. */
void answer_list_ack(struct qp *qp, struct hca_acks *acks);
/* The QP stops, or ends: what it owes leaves now. */
void answer_settle(struct qp *qp);

#endif
