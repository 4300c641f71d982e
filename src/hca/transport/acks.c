/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Acknowledgements that are due to a peer once everything that has arrived is handled. A list
 * belongs to whoever drains: a link's receive lock guards its peer's.
 */
#include "hca/transport/acks.h"

#include "fabric/clock.h"
#include "fabric/link.h"
#include "fabric/service.h"
#include "hca/transport/qp_priv.h"
#include "hca/wire/wire.h"

#define WAIT_NS 1000000u

/* True when some were left for a reply to take along. */
static bool send_acks(struct hca_acks *acks, bool may_wait)
{
	unsigned int left = 0;

	for (unsigned int i = 0; i < acks->count; i++) {
		struct qp *qp = acks->qp[i];

		fabric_lock(&qp->pub.lock);
		if (!qp->dying && qp->ack_due) {
			if (may_wait && qp->raw && !qp->resp.ack_urgent) {
				acks->qp[left++] = qp;
			} else {
				responder_send_ack(qp);
				wire_flush(qp);
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
 * A program that drives its rings itself is about to reply, and the service thread to carry that
 * out: an answer that nobody hurries then needs no wake-up of its own. Service thread only.
 */
static uint64_t due_ns = UINT64_MAX;

void acks_settle(struct hca_acks *acks)
{
	bool mine = fabric_service_is_self();

	if (send_acks(acks, mine) && due_ns == UINT64_MAX) {
		due_ns = fabric_now_ns() + WAIT_NS;
		fabric_service_set_deadline(due_ns);
	}
}

uint64_t acks_timers(uint64_t now_ns)
{
	if (now_ns < due_ns)
		return due_ns;
	due_ns = UINT64_MAX;
	for (unsigned int i = 0; i < FABRIC_SLOTS; i++) {
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

void acks_forked(void)
{
	due_ns = UINT64_MAX;
}
