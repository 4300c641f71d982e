/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Connections whose messages arrive twice, too late, or from an attacker.
 */
#include "cm/conn_pair.h"

#include <errno.h>
#include <string.h>

#include "cm/conn_recv.h"

/* ---- duplicates ---- */

/* Every message so far arrives again: no state changes, and no program is told twice. */
static void duplicates_change_nothing_in_any_state(void **state)
{
	(void)state;
	for (size_t i = 0; i < array_size(stages); i++) {
		struct pair p = stages[i].make();
		unsigned int sent = net.sent_count;

		for (unsigned int n = 0; n < sent; n++)
			net_inject(net.sent[n].host, 1 - net.sent[n].host, net.sent[n].mad);
		net_pass(10 * MS);
		assert_int_equal(p.a->conn->state, stages[i].a);
		assert_int_equal(p.b->conn->state, stages[i].b);
		expect_none(p.a);
		expect_none(p.b);
		assert_ptr_equal(net_request(), p.b);
		assert_int_equal(end(NULL), 0);
		begin(NULL);
	}
}

static void a_duplicate_is_answered_as_its_answer_may_be_lost(void **state)
{
	static const struct {
		struct pair (*make)(void);
		enum msg_kind again, answer;
		int host; /* that sends it again */
	} cases[] = {
		{ requested, MSG_REQ, MSG_MRA, 0 },   { replied, MSG_REP, MSG_MRA, 1 },
		{ established, MSG_REP, MSG_RTU, 1 }, { in_timewait, MSG_DREQ, MSG_DREP, 0 },
		{ in_timewait, MSG_REQ, MSG_REJ, 0 },
	};

	(void)state;
	for (size_t i = 0; i < array_size(cases); i++) {
		int host = cases[i].host;
		unsigned int count;

		cases[i].make();
		count = net_count(1 - host, cases[i].answer);
		net_inject(host, 1 - host, net_nth(host, cases[i].again, 0)->mad);
		assert_int_equal(net_count(1 - host, cases[i].answer), count + 1);
		assert_int_equal(end(NULL), 0);
		begin(NULL);
	}
}

static void a_lost_rtu_is_made_up_for(void **state)
{
	struct pair p = replied();

	(void)state;
	lose_everything();
	assert_int_equal(conn_establish(p.a->conn, NULL, 0), 0);
	lose_nothing();
	net_pass(REP_NS);
	expect_event(p.b, CONN_EVENT_ESTABLISHED, 0);
	expect_none(p.a);
}

static void a_disconnect_tells_an_end_whose_rtu_was_lost(void **state)
{
	struct pair p = replied();

	(void)state;
	lose_everything();
	assert_int_equal(conn_establish(p.a->conn, NULL, 0), 0);
	lose_nothing();
	assert_int_equal(conn_disconnect(p.a->conn, net.now_ns), 0);
	net_pass(10 * MS);
	expect_event(p.b, CONN_EVENT_DISCONNECTED, 0);
	assert_int_equal(conn_disconnect(p.b->conn, net.now_ns), 0);
	net_pass(10 * MS);
	expect_event(p.a, CONN_EVENT_DISCONNECTED, 0);
}

static void a_disconnect_is_answered_even_after_timewait(void **state)
{
	struct pair p = in_timewait();
	unsigned int count;

	(void)state;
	net_pass(WAIT_NS + 10 * MS);
	assert_int_equal(p.b->conn->state, CONN_CLOSED);
	count = net_count(1, MSG_DREP);
	net_inject(0, 1, net_nth(0, MSG_DREQ, 0)->mad);
	assert_int_equal(net_count(1, MSG_DREP), count + 1);
	net_destroy(p.b);
	net_inject(0, 1, net_nth(0, MSG_DREQ, 0)->mad);
	assert_int_equal(net_count(1, MSG_DREP), count + 2);
}

static void both_ends_disconnect_at_once(void **state)
{
	struct pair p = established();

	(void)state;
	assert_int_equal(conn_disconnect(p.a->conn, net.now_ns), 0);
	assert_int_equal(conn_disconnect(p.b->conn, net.now_ns), 0);
	net_pass(10 * MS);
	expect_event(p.a, CONN_EVENT_DISCONNECTED, 0);
	expect_event(p.b, CONN_EVENT_DISCONNECTED, 0);
	net_pass(WAIT_NS);
	expect_event(p.a, CONN_EVENT_TIMEWAIT_EXIT, 0);
	expect_event(p.b, CONN_EVENT_TIMEWAIT_EXIT, 0);
	assert_int_equal(net_count(0, MSG_DREQ), 1);
	assert_int_equal(net_count(1, MSG_DREQ), 1);
}

/* ---- stale connections ---- */

static void a_request_of_a_queue_pair_that_is_connected_ends_the_old_connection(void **state)
{
	struct pair p = established();
	struct net_id *again = net_connect(0, QPN_A);

	(void)state;
	net_pass(10 * MS);
	expect_event(again, CONN_EVENT_REJECTED, MSG_REJ_STALE_CONN);
	expect_event(p.a, CONN_EVENT_DISCONNECTED, 0);
	expect_none(p.b);
	assert_int_equal(p.b->conn->state, CONN_DREQ_SENT);
	assert_int_equal(conn_disconnect(p.a->conn, net.now_ns), 0);
	net_pass(10 * MS);
	expect_event(p.b, CONN_EVENT_DISCONNECTED, 0);
}

static void the_queue_pair_of_an_ended_connection_connects_again(void **state)
{
	struct pair p = in_timewait();
	struct net_id *again = net_connect(0, QPN_A), *other;

	(void)state;
	net_pass(10 * MS);
	expect_none(again);
	assert_ptr_not_equal(net_request(), p.b);
	/* ... and is found although the old connection has the same queue pair. */
	other = net_connect(0, QPN_A);
	net_pass(10 * MS);
	expect_event(other, CONN_EVENT_REJECTED, MSG_REJ_STALE_CONN);
}

static void a_stranger_ends_no_connection_by_naming_its_queue_pair(void **state)
{
	struct pair p = established();
	struct msg_req req;
	uint8_t mad[MSG_BYTES];

	(void)state;
	msg_get_req(net_nth(0, MSG_REQ, 0)->mad, &req);
	req.local_comm_id = 0x777;
	msg_put_req(&req, 1, mad);
	net_inject(9, 1, mad);
	net_pass(10 * MS);
	assert_int_equal(p.b->conn->state, CONN_ESTABLISHED);
	assert_int_equal(p.a->conn->state, CONN_ESTABLISHED);
	assert_int_equal(net_count(1, MSG_DREQ), 0);
}

static void a_reply_of_a_queue_pair_that_is_connected_is_rejected(void **state)
{
	struct pair p = established(), q;

	(void)state;
	q.a = net_connect(0, QPN_A + 1);
	net_pass(10 * MS);
	q.b = net_request();
	assert_ptr_not_equal(q.b, p.b);
	assert_int_equal(net_accept(q.b, QPN_B), 0);
	net_pass(10 * MS);
	expect_event(q.b, CONN_EVENT_REJECTED, MSG_REJ_STALE_CONN);
	expect_event(p.b, CONN_EVENT_DISCONNECTED, 0);
	/* The next try of the request finds out. */
	net_pass(REQ_NS);
	expect_event(q.a, CONN_EVENT_REJECTED, MSG_REJ_STALE_CONN);
}

/* ---- forged messages ---- */

/* A message of every kind with these ids. */
static void forge(enum msg_kind kind, uint32_t local, uint32_t remote, uint32_t qpn,
		  uint8_t mad[MSG_BYTES])
{
	struct msg_rtu rtu = { .local_comm_id = local, .remote_comm_id = remote };
	struct msg_rep rep = { .local_comm_id = local, .remote_comm_id = remote, .local_qpn = 9 };
	struct msg_mra mra = { .local_comm_id = local,
			       .remote_comm_id = remote,
			       .answered = 0,
			       .service_timeout = 31 };
	struct msg_rej rej = { .local_comm_id = local, .remote_comm_id = remote, .reason = 28 };
	struct msg_dreq dreq = { .local_comm_id = local,
				 .remote_comm_id = remote,
				 .remote_qpn = qpn };
	struct msg_lap lap = { .local_comm_id = local, .remote_comm_id = remote };

	switch (kind) {
	case MSG_REP:
		msg_put_rep(&rep, 1, mad);
		break;
	case MSG_MRA:
		msg_put_mra(&mra, 1, mad);
		break;
	case MSG_REJ:
		msg_put_rej(&rej, 1, mad);
		break;
	case MSG_DREQ:
		msg_put_dreq(&dreq, 1, mad);
		break;
	case MSG_LAP:
		msg_put_lap(&lap, 1, mad);
		break;
	default:
		msg_put_rtu(&rtu, kind, 1, mad);
		break;
	}
}

static const enum msg_kind answers[] = { MSG_MRA,  MSG_REJ,  MSG_REP, MSG_RTU,
					 MSG_DREQ, MSG_DREP, MSG_LAP };

static void messages_from_another_address_change_nothing_in_any_state(void **state)
{
	uint8_t mad[MSG_BYTES];

	(void)state;
	for (size_t i = 0; i < array_size(stages); i++) {
		struct pair p = stages[i].make();
		uint64_t timeout_a = p.a->conn->timeout_ns, timeout_b = p.b->conn->timeout_ns;

		for (size_t k = 0; k < array_size(answers); k++) {
			forge(answers[k], p.b->conn->local_id, p.a->conn->local_id, QPN_A, mad);
			net_inject(9, 0, mad);
			forge(answers[k], p.a->conn->local_id, p.b->conn->local_id, QPN_B, mad);
			net_inject(9, 1, mad);
		}
		assert_int_equal(p.a->conn->state, stages[i].a);
		assert_int_equal(p.b->conn->state, stages[i].b);
		assert_int_equal(p.a->conn->timeout_ns, timeout_a);
		assert_int_equal(p.b->conn->timeout_ns, timeout_b);
		expect_none(p.a);
		expect_none(p.b);
		assert_int_equal(end(NULL), 0);
		begin(NULL);
	}
}

/* From the peer's address, but another of its processes: it does not know this end's ids. */
static void messages_with_a_foreign_id_change_nothing_once_both_are_known(void **state)
{
	uint8_t mad[MSG_BYTES];

	(void)state;
	for (size_t i = 1; i < array_size(stages); i++) {
		struct pair p = stages[i].make();

		for (size_t k = 0; k < array_size(answers); k++) {
			if (answers[k] == MSG_MRA || answers[k] == MSG_REJ)
				continue; /* those of a REQ have no second id to compare */
			forge(answers[k], 0xbad00, p.a->conn->local_id, QPN_A, mad);
			net_inject(1, 0, mad);
			forge(answers[k], p.b->conn->local_id, 0xbad00, QPN_A, mad);
			net_inject(1, 0, mad);
			forge(answers[k], 0xbad00, p.b->conn->local_id, QPN_B, mad);
			net_inject(0, 1, mad);
		}
		assert_int_equal(p.a->conn->state, stages[i].a);
		assert_int_equal(p.b->conn->state, stages[i].b);
		expect_none(p.a);
		expect_none(p.b);
		assert_int_equal(end(NULL), 0);
		begin(NULL);
	}
}

static void a_disconnect_for_another_queue_pair_is_ignored(void **state)
{
	struct pair p = established();
	uint8_t mad[MSG_BYTES];

	(void)state;
	forge(MSG_DREQ, p.a->conn->local_id, p.b->conn->local_id, QPN_B + 1, mad);
	net_inject(0, 1, mad);
	assert_int_equal(p.b->conn->state, CONN_ESTABLISHED);
	assert_int_equal(net_count(1, MSG_DREP), 0);
}

static bool ends(int from, int to, uint32_t local, uint32_t remote, uint32_t qpn)
{
	struct conn_route back = net_route(to, from);
	uint8_t mad[MSG_BYTES];

	forge(MSG_DREQ, local, remote, qpn, mad);
	return conn_is_ended_by(&net.hosts[to].table, &back, mad);
}

static void only_the_peers_first_dreq_ends_a_connection(void **state)
{
	struct pair p = established();
	uint32_t a = p.a->conn->local_id, b = p.b->conn->local_id;
	uint8_t mad[MSG_BYTES];
	struct conn_route back = net_route(1, 0);

	(void)state;
	assert_false(ends(9, 1, a, b, QPN_B));
	assert_false(ends(0, 1, a + 1, b, QPN_B));
	assert_false(ends(0, 1, a, b + 1, QPN_B));
	assert_false(ends(0, 1, a, b, QPN_B + 1));
	assert_true(ends(0, 1, a, b, QPN_B));
	forge(MSG_DREP, a, b, QPN_B, mad);
	assert_false(conn_is_ended_by(&net.hosts[1].table, &back, mad));
	assert_int_equal(conn_disconnect(p.a->conn, net.now_ns), 0);
	net_pass(10 * MS);
	expect_event(p.b, CONN_EVENT_DISCONNECTED, 0);
	assert_false(ends(0, 1, a, b, QPN_B));
}

static void messages_without_a_connection_leave_none_behind(void **state)
{
	uint8_t mad[MSG_BYTES];

	(void)state;
	for (size_t k = 0; k < array_size(answers); k++) {
		forge(answers[k], 1, 2, 3, mad);
		net_inject(0, 1, mad);
		forge(answers[k], 0, 0, 0, mad);
		net_inject(0, 1, mad);
	}
	assert_true(LIST_EMPTY(&net.hosts[1].table.all));
	/* Only a REP, a LAP and a DREQ are answered. */
	assert_int_equal(net.sent_count, net_count(1, MSG_REJ) + net_count(1, MSG_DREP));
	assert_int_equal(net_count(1, MSG_DREP), 2);
	assert_int_equal(net_count(1, MSG_REJ), 2);
}

static void other_messages_are_left_to_others(void **state)
{
	struct conn_route from = net_route(1, 0);
	uint8_t mad[MSG_BYTES] = { 0 };

	(void)state;
	assert_false(conn_receive(&net.hosts[1].table, &from, mad, net.now_ns));
	forge(MSG_SIDR_REQ, 1, 2, 3, mad);
	assert_false(conn_receive(&net.hosts[1].table, &from, mad, net.now_ns));
}

static void a_request_without_an_id_is_dropped(void **state)
{
	struct msg_req req = { .local_qpn = 1 };
	uint8_t mad[MSG_BYTES];

	(void)state;
	msg_put_req(&req, 1, mad);
	net_inject(0, 1, mad);
	assert_null(net_request());
	assert_int_equal(net.sent_count, 0);
}

static void an_alternate_path_is_refused(void **state)
{
	struct pair p = established();
	uint8_t mad[MSG_BYTES];
	struct msg_apr apr;

	(void)state;
	forge(MSG_LAP, p.a->conn->local_id, p.b->conn->local_id, 0, mad);
	net_inject(0, 1, mad);
	assert_int_equal(net_count(1, MSG_APR), 1);
	msg_get_apr(net_nth(1, MSG_APR, 0)->mad, &apr);
	assert_int_equal(apr.local_comm_id, p.b->conn->local_id);
	assert_int_equal(apr.remote_comm_id, p.a->conn->local_id);
	assert_int_not_equal(apr.status, 0);
}

static void a_peer_that_rejects_a_connection_being_disconnected_ends_it(void **state)
{
	struct pair p = established();
	struct msg_rej rej = {
		.local_comm_id = p.b->conn->local_id,
		.remote_comm_id = p.a->conn->local_id,
		.answered = MSG_ANSWERED_OTHER,
		.reason = MSG_REJ_CONSUMER_DEFINED,
	};
	uint8_t mad[MSG_BYTES];

	(void)state;
	lose_everything();
	assert_int_equal(conn_disconnect(p.a->conn, net.now_ns), 0);
	msg_put_rej(&rej, 1, mad);
	net_inject(1, 0, mad);
	expect_event(p.a, CONN_EVENT_DISCONNECTED, 0);
	lose_nothing();
}

static void ids_that_are_still_used_are_not_given_again(void **state)
{
	struct net_id *first = net_id_create(0), *second;
	uint32_t id = first->conn->local_id;

	(void)state;
	net_rewind_ids();
	second = net_id_create(0);
	assert_int_not_equal(second->conn->local_id, id);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(duplicates_change_nothing_in_any_state),
		TEST(a_duplicate_is_answered_as_its_answer_may_be_lost),
		TEST(a_lost_rtu_is_made_up_for),
		TEST(a_disconnect_tells_an_end_whose_rtu_was_lost),
		TEST(a_disconnect_is_answered_even_after_timewait),
		TEST(both_ends_disconnect_at_once),
		TEST(a_request_of_a_queue_pair_that_is_connected_ends_the_old_connection),
		TEST(the_queue_pair_of_an_ended_connection_connects_again),
		TEST(a_stranger_ends_no_connection_by_naming_its_queue_pair),
		TEST(a_reply_of_a_queue_pair_that_is_connected_is_rejected),
		TEST(messages_from_another_address_change_nothing_in_any_state),
		TEST(messages_with_a_foreign_id_change_nothing_once_both_are_known),
		TEST(a_disconnect_for_another_queue_pair_is_ignored),
		TEST(only_the_peers_first_dreq_ends_a_connection),
		TEST(messages_without_a_connection_leave_none_behind),
		TEST(other_messages_are_left_to_others),
		TEST(a_request_without_an_id_is_dropped),
		TEST(an_alternate_path_is_refused),
		TEST(a_peer_that_rejects_a_connection_being_disconnected_ends_it),
		TEST(ids_that_are_still_used_are_not_given_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
