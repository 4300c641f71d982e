/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a responder says of requests: acknowledgements, of which one serves many, and refusals. None
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
		.ack = { .syndrome = syndrome, .msn = qp->resp.msn },
	};

	if (!qp->peer && !qp->remote && path_connected(qp) != PATH_READY)
		return 0; /* nobody to tell */
	return send_packet(qp, qp->peer, &pkt, NULL, 0, NULL);
}

/* Behind the last request that is known to be done. */
static uint32_t acknowledgeable(const struct qp *qp)
{
	return qp_has_forwarded(&qp->resp) ? qp->resp.away_una : qp->resp.epsn;
}

bool answer_send_ack(struct qp *qp)
{
	/* What follows a read is not acknowledged before the read is answered. */
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

/* One that waits is in the list already, unless the peer has another link by now. */
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
	if (qp->resp.unanswered)
		atomic_store_explicit(&qp->replies, 0, memory_order_relaxed);
	qp->resp.unanswered = true;
	if (qp->ack_due)
		return;
	atomic_store_explicit(&qp->ack_due, true, memory_order_relaxed);
	answer_list_ack(qp, acks);
}

/*
 * Not before the answers to what came first. Without room it goes out when there is: a refusal that
 * is lost costs the requester a timeout.
 */
void answer_refuse(struct qp *qp, uint8_t syndrome)
{
	if (qp->resp.nak_due)
		return; /* an earlier one waits */
	/* What came before must not be acknowledged after the refusal. */
	atomic_store_explicit(&qp->ack_due, false, memory_order_relaxed);
	if (qp_answer_is_due(qp) || answer(qp, syndrome, qp->resp.epsn) == -EAGAIN) {
		qp->resp.nak_due = syndrome;
		qp->resp.nak_psn = qp->resp.epsn;
	}
}

void answer_settle(struct qp *qp)
{
	if (!qp->ack_due)
		return;
	answer_send_ack(qp);
	send_flush(qp);
}
