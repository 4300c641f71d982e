/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Acknowledgements that are sent to a peer when all packets that have arrived are handled. The receive
 * lock of a link or wire port guards its list.
 */
#include "hca/transport/acks.h"

#include "fabric/clock.h"
#include "fabric/link.h"
#include "hca/hca.h"
#include "fabric/epoch.h"
#include "hca/peers/peer.h"
#include "hca/transport/answer.h"
#include "hca/transport/egress.h"

#define WAIT_NS 1000000u

/* True when some were left, to leave with a reply. */
static bool send_acks(struct hca_acks *acks, bool may_wait)
{
	unsigned int left = 0;

	for (unsigned int i = 0; i < acks->count; i++) {
		struct qp *qp = acks->qp[i];

		fabric_lock(&qp->pub.lock);
		if (!qp->dying && qp->ack_due) {
			if (may_wait && qp->doorbell.watched && !qp->resp.ack_urgent) {
				acks->qp[left++] = qp;
			} else {
				answer_send_ack(qp);
				send_flush(qp);
			}
		}
		fabric_unlock(&qp->pub.lock);
	}
	acks->count = left;
	return left;
}

void acks_send(struct hca_acks *acks)
{
	send_acks(acks, false);
}

/*
 * A program that drives its rings itself is about to reply, and the service thread carries that out:
 * a delayed acknowledgement then needs no wake-up of its own.
 */
void acks_settle(struct hca_acks *acks, bool is_service_thread)
{
	if (send_acks(acks, is_service_thread) && hca.transport.acks.due_ns == UINT64_MAX) {
		hca.transport.acks.due_ns = hca_now_ns() + WAIT_NS;
		hca_wake_at(hca.transport.acks.due_ns);
	}
}

uint64_t acks_timers(uint64_t now_ns)
{
	if (now_ns < hca.transport.acks.due_ns)
		return hca.transport.acks.due_ns;
	hca.transport.acks.due_ns = UINT64_MAX;
	for (uint32_t i = 0; i < hca_peer_end(); i++) {
		struct hca_peer *peer = hca_peer_at(i);

		if (!peer)
			continue;
		fabric_link_rx_lock(peer->link);
		epoch_enter();
		send_acks(&peer->acks, false);
		epoch_exit();
		fabric_link_rx_unlock(peer->link);
	}
	return UINT64_MAX;
}

void acks_forget(struct hca_peer *peer, struct qp *qp)
{
	struct hca_acks *acks = &peer->acks;

	fabric_link_rx_lock(peer->link);
	for (unsigned int i = 0; i < acks->count; i++)
		if (acks->qp[i] == qp)
			acks->qp[i--] = acks->qp[--acks->count];
	fabric_link_rx_unlock(peer->link);
}
