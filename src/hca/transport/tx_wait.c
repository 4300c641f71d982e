/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queue pairs that wait for a link: to come up, or to have room again. Who found a link full stands
 * in its peer's list, which map_lock guards, and is run by whoever learns of room first.
 */
#include "hca/transport/tx_wait.h"

#include <pthread.h>

#include "fabric/link.h"
#include "hca/wire/forward.h"
#include "hca/transport/qp_priv.h"
#include "hca/transport/xrc.h"

static void run_qp(struct qp *qp)
{
	epoch_enter();
	fabric_lock(&qp->pub.lock);
	if (!qp->dying) {
		responder_continue(qp);
		responder_send_ack(qp);
		xrc_continue(qp);
		requester_run(qp);
	}
	fabric_unlock(&qp->pub.lock);
	epoch_exit();
}

void tx_wait_wake_all(void)
{
	qp_for_each(run_qp);
}

void tx_wait_run(struct qp *qp)
{
	struct qp *next;

	for (; qp; qp = next) {
		fabric_lock(&qp->pub.lock);
		next = qp->blocked_next;
		qp->req.blocked = false;
		fabric_unlock(&qp->pub.lock);
		run_qp(qp);
	}
}

/* Everybody who found no room tries again; who finds none again comes back to the list. */
void tx_wait_room(struct hca_peer *peer)
{
	struct qp *qp;

	epoch_enter();
	forward_ready(peer);
	pthread_mutex_lock(&peer->map_lock);
	qp = peer->blocked;
	peer->blocked = NULL;
	pthread_mutex_unlock(&peer->map_lock);
	tx_wait_run(qp);
	epoch_exit();
}

void tx_wait_link_room(struct fabric_link *link)
{
	if (link->user)
		tx_wait_room(link->user);
}

_Atomic fabric_id_t tx_wait_for;

void tx_wait_poll(fabric_id_t id)
{
	struct hca_peer *peer;
	bool wait;

	epoch_enter();
	peer = hca_peer_find(id, &wait);
	if (!peer || fabric_link_room_is_back(peer->link)) {
		/* Who blocks from now on says so again. */
		atomic_compare_exchange_strong(&tx_wait_for, &id, FABRIC_ID_NONE);
		if (peer)
			tx_wait_room(peer);
	}
	epoch_exit();
}

static void forget_blocked(struct hca_peer *peer, struct qp *qp)
{
	struct qp **at;

	pthread_mutex_lock(&peer->map_lock);
	for (at = &peer->blocked; *at; at = &(*at)->blocked_next)
		if (*at == qp) {
			*at = qp->blocked_next;
			break;
		}
	pthread_mutex_unlock(&peer->map_lock);
}

static void forget(struct hca_peer *peer, void *arg)
{
	struct qp *qp = arg;

	forget_blocked(peer, qp);
	if (qp->raw) /* of others none waits beyond a drain */
		acks_forget(peer, qp);
}

void tx_wait_forget_qp(struct qp *qp)
{
	hca_peer_for_each(forget, qp);
}
