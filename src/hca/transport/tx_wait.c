/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queue pairs that wait for a link to come up or to have room. A QP that found a link full is on its
 * peer's list, guarded by map_lock, and is run by the first thread that learns of room.
 */
#include "hca/transport/tx_wait.h"

#include <pthread.h>

#include "fabric/link.h"
#include "hca/hca.h"
#include "fabric/epoch.h"
#include "hca/transport/acks.h"
#include "hca/transport/answer.h"
#include "hca/transport/blocked_list.h"
#include "hca/transport/qp_table.h"
#include "hca/transport/requester.h"
#include "hca/transport/resource.h"
#include "hca/transport/xrc_forward.h"

static void run_qp(struct qp *qp, void *arg)
{
	epoch_enter();
	fabric_lock(&qp->pub.lock);
	if (!qp->dying) {
		resource_continue(qp);
		answer_send_ack(qp);
		xrc_forward_resume(qp);
		requester_run(qp);
	}
	fabric_unlock(&qp->pub.lock);
	epoch_exit();
}

void tx_wait_wake_all(void)
{
	qp_for_each(run_qp, NULL);
}

void tx_wait_run(struct qp *qp)
{
	struct qp *next;

	for (; qp; qp = next) {
		fabric_lock(&qp->pub.lock);
		next = qp->blocked_next;
		qp->blocked = false;
		fabric_unlock(&qp->pub.lock);
		run_qp(qp, NULL);
	}
}

/* Every QP on the list tries again; one that finds no room is put on the list again. */
void tx_wait_room(struct hca_peer *peer)
{
	struct qp *qp;

	epoch_enter();
	pthread_mutex_lock(&peer->map_lock);
	qp = peer->blocked;
	peer->blocked = NULL;
	pthread_mutex_unlock(&peer->map_lock);
	tx_wait_run(qp);
	epoch_exit();
}

void tx_wait_poll(fabric_id_t id)
{
	struct hca_peer *peer;
	bool wait;

	epoch_enter();
	peer = hca_peer_find(id, &wait);
	if (!peer || fabric_link_room_is_back(peer->link)) {
		/* A QP that blocks from now on sets it again. */
		atomic_compare_exchange_strong(&hca.transport.tx_wait_for, &id, FABRIC_ID_NONE);
		if (peer)
			tx_wait_room(peer);
	}
	epoch_exit();
}

static void forget_blocked(struct hca_peer *peer, void *qp)
{
	pthread_mutex_lock(&peer->map_lock);
	blocked_list_remove(&peer->blocked, qp);
	pthread_mutex_unlock(&peer->map_lock);
}

static void forget_ack(struct hca_peer *peer, void *qp)
{
	acks_forget(peer, qp);
}

/* Peers are visited only where the QP may be on a list: few QPs are, and there may be many peers. */
void tx_wait_forget_qp(struct qp *qp)
{
	bool blocked;

	fabric_lock(&qp->pub.lock);
	blocked = qp->blocked;
	fabric_unlock(&qp->pub.lock);
	if (blocked)
		hca_peer_for_each_existing(forget_blocked, qp);
	if (qp->doorbell.watched) /* other QPs are on the list only while a link is drained */
		hca_peer_for_each_existing(forget_ack, qp);
}

/* ---- processes that come and go ---- */

static void peer_up(struct hca_peer *peer)
{
	tx_wait_wake_all();
}

static void drop_peer(struct qp *qp, void *peer)
{
	fabric_lock(&qp->pub.lock);
	if (qp->peer == peer)
		qp->peer = NULL;
	fabric_unlock(&qp->pub.lock);
}

static void peer_leaving(struct hca_peer *peer)
{
	qp_for_each(drop_peer, peer);
}

static void peer_left(fabric_id_t id)
{
	tx_wait_wake_all(); /* QPs that waited for its link must find another path */
}

const struct peer_listener tx_wait_peer_listener = {
	.up = peer_up,
	.room = tx_wait_room,
	.leaving = peer_leaving,
	.left = peer_left,
};
