/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Answers of a responder: acknowledgements, of which one serves many requests, and NAKs. None
 * overtakes the answer to a read or an atomic (resource.c). Lock held, inside an epoch section.
 */
#include "hca/transport/answer.h"

#include <errno.h>

#include "hca/transport/egress.h"
#include "hca/transport/path.h"

static int answer(struct qp *qp, uint8_t syndrome, uint32_t psn)
{
	struct roce_pkt pkt = {
		.op = qp_answer_transport(qp) | ROCE_PKT_ACK,
		.dqpn = qp->attr.dest_qpn,
		.sqpn = qp->pub.qpn,
		.psn = psn,
		.ack = { .syndrome = syndrome, .msn = qp->resp.msn & PSN_MASK },
	};

	if (!qp->peer && !qp->remote && path_connected(qp) != PATH_READY)
		return 0; /* no path to the requester */
	return send_packet(qp, qp->peer, &pkt, NULL, 0, NULL);
}

/* The PSN behind the last request that is known to be executed. */
static uint32_t acknowledgeable(const struct qp *qp)
{
	return qp_has_forwarded(&qp->resp) ? qp->resp.fwd_una : qp->resp.epsn;
}

bool answer_send_ack(struct qp *qp)
{
	/* A request behind a read is not acknowledged before the read's response. */
	if (unlikely(qp_answer_is_due(qp)))
		return false;
	if (unlikely(qp->resp.nak_due)) {
		if (answer(qp, qp->resp.nak_due, qp->resp.nak_psn) == -EAGAIN)
			return false;
		qp->resp.nak_due = 0;
	}
	if (!qp->ack_due)
		return true;
	if (answer(qp, ROCE_SYN_ACK, psn_add(acknowledgeable(qp), PSN_MASK)))
		return false;
	atomic_store_explicit(&qp->ack_due, false, memory_order_relaxed);
	qp->resp.ack_urgent = false;
	return true;
}

/* The QP may be on the list already. */
void answer_list_ack(struct qp *qp, struct hca_acks *acks)
{
	for (unsigned int i = 0; i < acks->count; i++)
		if (acks->qp[i] == qp)
			return;
	if (acks->count < array_size(acks->qp))
		acks->qp[acks->count++] = qp;
	else
		answer_send_ack(qp);
}

void answer_ack_later(struct qp *qp, struct hca_acks *acks)
{
	if (qp->resp.reply_pending)
		answer_expect_no_reply(qp);
	qp->resp.reply_pending = true;
	if (qp->ack_due)
		return;
	atomic_store_explicit(&qp->ack_due, true, memory_order_relaxed);
	answer_list_ack(qp, acks);
}

/*
 * Leaves behind the responses to earlier requests. Without room it is kept: a lost NAK would cost the
 * requester a timeout.
 */
void answer_refuse(struct qp *qp, uint8_t syndrome)
{
	if (qp->resp.nak_due)
		return; /* an earlier NAK waits for room */
	/* The NAK acknowledges earlier requests; an acknowledgement after it would be stale. */
	atomic_store_explicit(&qp->ack_due, false, memory_order_relaxed);
	if (qp_answer_is_due(qp) || answer(qp, syndrome, qp->resp.epsn) == -EAGAIN) {
		qp->resp.nak_due = syndrome;
		qp->resp.nak_psn = qp->resp.epsn;
	}
}

void answer_settle(struct qp *qp)
{
	if (qp->ack_due)
		answer_send_ack(qp);
	/* Another thread may have sent it and not have come to flush it. */
	send_flush(qp);
}
