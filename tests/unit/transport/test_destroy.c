/* SPDX-License-Identifier: BSD-2-Clause */
/* A queue pair that is destroyed is on no list of a peer any more. */
#include "cmocka_all.h"

#include <pthread.h>
#include <sched.h>

#include "transport/end.h"

#include "fabric/directory.h"
#include "fabric/epoch.h"
#include "hca/hca.h"
#include "hca/transport/answer.h"
#include "hca/transport/blocked_list.h"
#include "hca/transport/qp_table.h"
#include "hca/transport/qp_watch.h"

static struct hca_peer *this_process(void)
{
	struct hca_peer *peer;
	bool wait;

	epoch_enter();
	peer = hca_peer_find(fabric_self(), &wait);
	epoch_exit();
	assert_non_null(peer);
	return peer;
}

/* As after a request whose acknowledgement may leave with the reply of a program that posts by hand. */
static void delay_ack(struct end *e, struct hca_peer *peer)
{
	assert_int_equal(hca_doorbell_watch_qp(e->qp), 0);
	fabric_link_rx_lock(peer->link);
	answer_list_ack(e->in, &peer->acks);
	fabric_link_rx_unlock(peer->link);
	assert_int_equal(peer->acks.count, 1);
}

/* As when the link has no room. The link itself is not told, so that the service thread does not run the QP. */
static void block(struct end *e, struct hca_peer *peer)
{
	fabric_lock(&e->qp->lock);
	pthread_mutex_lock(&peer->map_lock);
	blocked_list_add(&peer->blocked, e->in);
	pthread_mutex_unlock(&peer->map_lock);
	fabric_unlock(&e->qp->lock);
}

static void a_delayed_acknowledgement_is_forgotten(void **state)
{
	struct end *e = end_alone(&END_DEFAULTS);
	struct hca_peer *peer = this_process();

	delay_ack(e, peer);
	end_destroy(e);
	assert_int_equal(peer->acks.count, 0);
}

static void a_queue_pair_that_waits_for_room_is_forgotten_and_others_are_not(void **state)
{
	struct end *ends[3];
	struct hca_peer *peer;

	end_pair(ends, &END_DEFAULTS);
	ends[2] = end_create(0, &END_DEFAULTS);
	peer = this_process();
	for (int i = 0; i < 3; i++)
		block(ends[i], peer);
	end_destroy(ends[1]);
	assert_ptr_equal(peer->blocked, ends[2]->in);
	assert_ptr_equal(ends[2]->in->blocked_next, ends[0]->in);
	assert_null(ends[0]->in->blocked_next);
	end_destroy(ends[2]);
	end_destroy(ends[0]);
	assert_null(peer->blocked);
}

static void a_watched_queue_pair_that_waits_for_room_is_on_neither_list(void **state)
{
	struct end *e = end_alone(&END_DEFAULTS);
	struct hca_peer *peer = this_process();

	delay_ack(e, peer);
	block(e, peer);
	end_destroy(e);
	assert_int_equal(peer->acks.count, 0);
	assert_null(peer->blocked);
}

/* Between the time at which a peer cannot be found any more and the time at which it is freed. */
static void a_peer_that_leaves_forgets_the_queue_pair_too(void **state)
{
	struct end *e = end_alone(&END_DEFAULTS);
	struct hca_peer leaving = { .id = 1, .map_lock = PTHREAD_MUTEX_INITIALIZER };

	block(e, &leaving);
	pthread_mutex_lock(&hca.peers.peer.lock);
	hca.peers.peer.leaving = &leaving;
	pthread_mutex_unlock(&hca.peers.peer.lock);
	end_destroy(e);
	assert_null(leaving.blocked);
	pthread_mutex_lock(&hca.peers.peer.lock);
	hca.peers.peer.leaving = NULL;
	pthread_mutex_unlock(&hca.peers.peer.lock);
}

/* ---- the list of all ---- */

struct walk {
	struct end *doomed; /* destroyed by another thread while the walk is at it */
	pthread_t thread;
	struct qp *seen[4];
	uint32_t count;
};

static void *destroy(void *arg)
{
	end_destroy(arg);
	return NULL;
}

static void visit(struct qp *qp, void *arg)
{
	struct walk *walk = arg;

	assert_true(walk->count < array_size(walk->seen));
	walk->seen[walk->count++] = qp;
	if (qp != walk->doomed->in)
		return;
	assert_int_equal(pthread_create(&walk->thread, NULL, destroy, walk->doomed), 0);
	/* Ends only if the lock of the list is free. */
	while (qp_find(qp->pub.qpn))
		sched_yield();
}

static void queue_pairs_may_be_destroyed_while_all_are_visited(void **state)
{
	struct qp *expected[3];
	struct end *ends[3];
	struct walk walk = { 0 };

	for (int i = 0; i < 3; i++) {
		ends[i] = end_create(0, &END_DEFAULTS);
		expected[2 - i] = ends[i]->in; /* the newest comes first */
	}
	walk.doomed = ends[1];
	qp_for_each(visit, &walk);
	assert_int_equal(pthread_join(walk.thread, NULL), 0);
	assert_int_equal(walk.count, 3);
	assert_memory_equal(walk.seen, expected, sizeof(expected));
	end_destroy(ends[0]);
	end_destroy(ends[2]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_delayed_acknowledgement_is_forgotten),
		cmocka_unit_test(a_queue_pair_that_waits_for_room_is_forgotten_and_others_are_not),
		cmocka_unit_test(a_watched_queue_pair_that_waits_for_room_is_on_neither_list),
		cmocka_unit_test(a_peer_that_leaves_forgets_the_queue_pair_too),
		cmocka_unit_test(queue_pairs_may_be_destroyed_while_all_are_visited),
	};

	return cmocka_run_group_tests(tests, end_group_begin, end_group_end);
}
