/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Many connections over a bad network, with programs that accept, reject, disconnect and destroy at
 * random moments: in the end both ends of every connection agree, and nothing is left. CM_SEEDS is the
 * number of seeds, CM_SEED the first one.
 */
#include "cmocka_all.h"

#include <stdlib.h>

#include "cm/net.h"
#include "util/array.h"

#define CONNECTIONS 40u

static uint32_t last_qpn;

static unsigned int number_of(const char *name, unsigned int otherwise)
{
	const char *text = getenv(name);

	return text ? (unsigned int)strtoul(text, NULL, 0) : otherwise;
}

static bool chance(unsigned int percent)
{
	return net_draw() % 100 < percent;
}

/* ---- a program: answers each state once, a while after it came about ---- */

static void act(struct net_id *id)
{
	struct conn *conn = id->conn;

	switch (conn->state) {
	case CONN_REQ_RCVD:
		if (chance(80))
			assert_int_equal(net_accept(id, ++last_qpn), 0);
		else if (chance(50))
			assert_int_equal(conn_reject(conn, 28, "no", 2, net.now_ns), 0);
		else
			net_destroy(id);
		break;
	case CONN_REP_RCVD:
		if (chance(85))
			assert_int_equal(conn_establish(conn, NULL, 0), 0);
		else if (chance(50))
			assert_int_equal(conn_reject(conn, 28, "no", 2, net.now_ns), 0);
		else
			net_destroy(id);
		break;
	case CONN_ESTABLISHED:
		if (chance(40))
			conn_disconnect(conn, net.now_ns);
		else if (chance(30))
			net_destroy(id);
		break;
	case CONN_DREQ_RCVD:
		if (chance(80))
			assert_int_equal(conn_disconnect(conn, net.now_ns), 0);
		else
			net_destroy(id);
		break;
	case CONN_REQ_SENT:
	case CONN_DREQ_SENT:
	case CONN_TIMEWAIT:
	case CONN_CLOSED:
		if (chance(10))
			net_destroy(id);
		break;
	default: /* REP_SENT: a REJ of this end may be lost, and then the peer is not told again */
		break;
	}
}

/* Ids whose state is new get a moment to answer it at; due ones act. The next moment. */
static uint64_t run_programs(void)
{
	uint64_t next_ns = UINT64_MAX;
	struct net_id *id, *next;

	for (id = LIST_FIRST(&net.ids); id; id = next) {
		next = LIST_NEXT(id, entry);
		if (id->conn->state != id->seen) {
			id->seen = id->conn->state;
			/* Mostly soon, at times after the peer has tried again. */
			id->act_ns = net.now_ns + net_draw() % (chance(80) ? 100 * MS : 30000 * MS);
		}
		if (id->act_ns && id->act_ns <= net.now_ns) {
			id->act_ns = 0;
			act(id);
		} else if (id->act_ns && id->act_ns < next_ns) {
			next_ns = id->act_ns;
		}
	}
	return next_ns;
}

/* Until nothing happens any more. */
static void run(void)
{
	uint64_t next_ns;

	for (;;) {
		next_ns = run_programs();
		if (net_step())
			continue;
		if (next_ns == UINT64_MAX)
			break;
		net.now_ns = next_ns;
	}
	assert_null(net.broken);
}

static void start_some(void)
{
	for (unsigned int i = 0; i < CONNECTIONS; i++) {
		net_connect(chance(50), ++last_qpn);
		for (uint64_t steps = net_draw() % 20; steps; steps--) {
			run_programs();
			net_step();
		}
	}
}

/* ---- what must hold in the end ---- */

static void check_agreement(void)
{
	struct net_id *id;

	LIST_FOREACH(id, &net.ids, entry) {
		struct conn *conn = id->conn, *peer;

		assert_true(conn->state == CONN_ESTABLISHED || conn->state == CONN_CLOSED);
		if (conn->state != CONN_ESTABLISHED)
			continue;
		peer = conn_find_local(&net.hosts[1 - id->host].table, conn->remote_id);
		assert_non_null(peer);
		assert_int_equal(peer->state, CONN_ESTABLISHED);
		assert_int_equal(peer->remote_id, conn->local_id);
		assert_int_equal(peer->params.remote_qpn, conn->params.local_qpn);
		assert_int_equal(conn->params.remote_qpn, peer->params.local_qpn);
	}
}

static void check_each_event_came_once(void)
{
	struct net_id *id;

	LIST_FOREACH(id, &net.ids, entry) {
		unsigned int counts[CONN_EVENT_TIMEWAIT_EXIT + 1] = { 0 };

		assert_true(id->count <= NET_MOST_EVENTS);
		for (unsigned int i = 0; i < id->count; i++)
			assert_int_equal(counts[id->events[i].event.kind]++, 0);
	}
}

static void sweep(const struct net_faults *faults, bool agree)
{
	unsigned int first = number_of("CM_SEED", 1), seeds = number_of("CM_SEEDS", 300);

	for (unsigned int seed = first; seed < first + seeds; seed++) {
		struct net_faults f = *faults;
		struct net_id *id;

		f.seed = seed;
		net_begin(&f);
		start_some();
		net.faults = (struct net_faults){ .delay_ns = f.delay_ns };
		run();
		if (agree) {
			check_agreement();
			check_each_event_came_once();
		}
		while ((id = LIST_FIRST(&net.ids)))
			net_destroy(id);
		while (net_step())
			;
		if (!net_end())
			fail_msg("seed %u: something is left", seed);
	}
}

static void both_ends_agree_and_nothing_is_left_on_a_good_network(void **state)
{
	(void)state;
	sweep(&(struct net_faults){ .delay_ns = MS }, true);
}

static void both_ends_agree_and_nothing_is_left_with_loss(void **state)
{
	(void)state;
	sweep(&(struct net_faults){ .delay_ns = 20 * MS, .loss = 250000 }, true);
}

static void both_ends_agree_and_nothing_is_left_with_duplicates_and_reordering(void **state)
{
	(void)state;
	sweep(&(struct net_faults){ .delay_ns = 20 * MS, .duplicate = 300000, .reorder = 300000 },
	      true);
}

static void both_ends_agree_and_nothing_is_left_with_all_of_it(void **state)
{
	(void)state;
	sweep(&(struct net_faults){ .delay_ns = 20 * MS,
				    .loss = 150000,
				    .duplicate = 150000,
				    .reorder = 150000 },
	      true);
}

/* Messages are checked by their sum before they come here; those that are wrong all the same do no harm. */
static void nothing_is_left_with_flipped_bits(void **state)
{
	(void)state;
	sweep(&(struct net_faults){ .delay_ns = 20 * MS,
				    .loss = 100000,
				    .duplicate = 100000,
				    .reorder = 100000,
				    .corrupt = 300000 },
	      false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_ends_agree_and_nothing_is_left_on_a_good_network),
		cmocka_unit_test(both_ends_agree_and_nothing_is_left_with_loss),
		cmocka_unit_test(
			both_ends_agree_and_nothing_is_left_with_duplicates_and_reordering),
		cmocka_unit_test(both_ends_agree_and_nothing_is_left_with_all_of_it),
		cmocka_unit_test(nothing_is_left_with_flipped_bits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
