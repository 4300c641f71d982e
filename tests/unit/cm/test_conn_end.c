/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Connections of which one end is abandoned, killed, or has given up.
 */
#include "cm/conn_pair.h"

#include <errno.h>
#include <string.h>

#include "cm/conn_recv.h"

/* ---- the end of one side ---- */

/* The event at each end when the other end abandons the connection; -1: none. */
static void the_other_end_hears_of_an_end_that_lets_go_in_any_state(void **state)
{
	static const struct {
		struct pair (*make)(void);
		int when_a_goes, a_status, when_b_goes, b_status;
	} cases[] = {
		{ requested, -1, 0, CONN_EVENT_REJECTED, MSG_REJ_CONSUMER_DEFINED },
		{ replied, CONN_EVENT_REJECTED, MSG_REJ_CONSUMER_DEFINED, CONN_EVENT_REJECTED,
		  MSG_REJ_CONSUMER_DEFINED },
		{ established, CONN_EVENT_DISCONNECTED, 0, CONN_EVENT_DISCONNECTED, 0 },
		{ disconnecting, -1, 0, CONN_EVENT_DISCONNECTED, 0 },
	};

	(void)state;
	for (size_t i = 0; i < 2 * array_size(cases); i++) {
		struct pair p = cases[i / 2].make();
		struct net_id *other = i % 2 ? p.a : p.b;
		int kind = i % 2 ? cases[i / 2].when_b_goes : cases[i / 2].when_a_goes;

		net_destroy(i % 2 ? p.b : p.a);
		net_pass(10 * MS);
		if (kind >= 0)
			expect_event(other, kind,
				     i % 2 ? cases[i / 2].b_status : cases[i / 2].a_status);
		expect_none(other);
		assert_int_equal(net_accept(other, 1), -EINVAL);
		assert_int_equal(end(NULL), 0);
		begin(NULL);
	}
}

/* The end of the id is forgotten, and no message about it reaches the other end. */
static void die_unheard(struct net_id *id)
{
	lose_everything();
	net_destroy(id);
	net_settle(3600000 * MS);
	lose_nothing();
}

static void a_probe_finds_a_forgotten_connection(void **state)
{
	(void)state;
	for (int passive = 0; passive < 2; passive++) {
		struct pair p = established();
		struct net_id *left = passive ? p.b : p.a;

		die_unheard(passive ? p.a : p.b);
		expect_none(left);
		conn_probe(left->conn);
		net_pass(10 * MS);
		expect_event(left, CONN_EVENT_DISCONNECTED, 0);
		expect_none(left);
		assert_int_equal(conn_disconnect(left->conn, net.now_ns), 0);
	}
}

static void a_probe_changes_nothing_of_a_connection(void **state)
{
	struct pair p = established();

	(void)state;
	for (int i = 0; i < 3; i++) {
		conn_probe(p.a->conn);
		conn_probe(p.b->conn);
		net_pass(10 * MS);
	}
	assert_int_equal(net_count(0, MSG_LAP), 3);
	assert_int_equal(net_count(1, MSG_APR), 3);
	assert_int_equal(net_count(1, MSG_REP), 1 + 3);
	assert_int_equal(net_count(0, MSG_RTU), 1 + 3);
	expect_none(p.a);
	expect_none(p.b);
	assert_int_equal(p.a->conn->state, CONN_ESTABLISHED);
	assert_int_equal(p.b->conn->state, CONN_ESTABLISHED);
	assert_int_equal(p.a->conn->unanswered, 0);
	assert_int_equal(p.b->conn->unanswered, 0);
}

/* One end was told that the other had died, which is not so. */
static void a_probe_finds_a_connection_that_the_other_end_has_ended(void **state)
{
	(void)state;
	for (int passive = 0; passive < 2; passive++) {
		struct pair p = established();
		struct net_id *left = passive ? p.b : p.a, *other = passive ? p.a : p.b;

		conn_peer_died(other->conn, net.now_ns);
		expect_event(other, CONN_EVENT_DISCONNECTED, 0);
		assert_int_equal(conn_disconnect(other->conn, net.now_ns), 0); /* a DREP */
		net_pass(10 * MS);
		expect_none(left);
		conn_probe(left->conn);
		net_pass(10 * MS);
		expect_event(left, CONN_EVENT_DISCONNECTED, 0);
		net_destroy(p.a);
		net_destroy(p.b);
		net_settle(3600000 * MS);
	}
}

static void a_probe_without_answer_ends_nothing(void **state)
{
	struct pair p = established();

	(void)state;
	lose_everything();
	for (int i = 0; i < 1000; i++) {
		conn_probe(p.a->conn);
		conn_probe(p.b->conn);
		net_pass(2000 * MS);
	}
	lose_nothing();
	expect_none(p.a);
	expect_none(p.b);
	assert_int_equal(p.a->conn->unanswered, UINT8_MAX);
	assert_int_equal(p.b->conn->unanswered, UINT8_MAX);
	assert_int_equal(p.a->conn->state, CONN_ESTABLISHED);
	assert_int_equal(p.b->conn->state, CONN_ESTABLISHED);
}

/* A process that was killed sends no message; the host directory tells that it has died. */
static void the_other_end_hears_of_a_process_that_died_in_any_state(void **state)
{
	static const int told[][2] = {
		{ -1, -1 }, /* of REQ_RCVD; REQ_SENT does not know its peer yet */
		{ CONN_EVENT_REJECTED, CONN_EVENT_REJECTED },
		{ CONN_EVENT_DISCONNECTED, CONN_EVENT_DISCONNECTED },
		{ CONN_EVENT_DISCONNECTED, -1 },
		{ -1, -1 },
	};

	(void)state;
	for (size_t i = 0; i < 2 * array_size(stages); i++) {
		struct pair p = stages[i / 2].make();
		struct net_id *id = i % 2 ? p.b : p.a;
		int kind = told[i / 2][i % 2];

		net.hosts[1 - id->host].is_dead = true;
		if (i != 0)
			conn_peer_died(id->conn, net.now_ns);
		if (kind >= 0)
			expect_event(id, kind,
				     kind == CONN_EVENT_REJECTED ? MSG_REJ_CONSUMER_DEFINED : 0);
		expect_none(id);
		if (id->conn->state == CONN_DREQ_RCVD)
			assert_int_equal(conn_disconnect(id->conn, net.now_ns), 0);
		if (i != 0) {
			net_pass(WAIT_NS);
			assert_int_equal(id->conn->state, CONN_CLOSED);
		}
		assert_int_equal(end(NULL), 0);
		begin(NULL);
	}
}

static struct net_id *request_of(uint32_t process, uint32_t qpn)
{
	struct net_id *id;

	net.process = process;
	net_connect(0, qpn);
	net_pass(10 * MS);
	id = net_request();
	assert_int_equal(id->conn->state, CONN_REQ_RCVD);
	return id;
}

/* A process may take the slot of another in the directory before the end of that one is told. */
static void the_end_of_a_process_ends_no_connection_of_its_successor(void **state)
{
	const uint32_t first = 0x807, second = 0x1007; /* both of slot 7 */
	struct net_id *old, *successor;

	(void)state;
	old = request_of(first, QPN_A);
	successor = request_of(second, QPN_A + 1);
	assert_ptr_not_equal(old, successor);
	conn_process_gone(&net.hosts[1].table, first, net.now_ns);
	assert_int_equal(old->conn->state, CONN_CLOSED);
	assert_int_equal(successor->conn->state, CONN_REQ_RCVD);
	conn_process_gone(&net.hosts[1].table, second, net.now_ns);
	assert_int_equal(successor->conn->state, CONN_CLOSED);
}

static void the_end_of_a_process_ends_no_connection_with_another_host(void **state)
{
	struct pair p = established();
	struct net_id *a = net_connect(0, QPN_A + 1);

	(void)state;
	lose_everything();
	net_pass(MS);
	conn_process_gone(&net.hosts[0].table, 0x807, net.now_ns);
	assert_int_equal(net_count(0, MSG_REQ), 2);
	expect_none(p.a);
	/* A request to this host is sent again. */
	net.process = 0x807;
	conn_process_gone(&net.hosts[0].table, 0x807, net.now_ns);
	assert_int_equal(net_count(0, MSG_REQ), 3);
	expect_none(a);
}

/* A peer may ask for 2.3 hours between two of 16 tries. */
static void a_peer_with_long_timeouts_is_forgotten_a_minute_after_the_owner_let_go(void **state)
{
	(void)state;
	for (int asked_before = 0; asked_before < 2; asked_before++) {
		struct pair p = established();

		p.b->conn->resend_ns = conn_time_ns(31);
		lose_everything();
		net_destroy(p.a);
		if (asked_before)
			assert_int_equal(conn_disconnect(p.b->conn, net.now_ns), 0);
		net_destroy(p.b);
		net_pass(TRIES * REP_NS + WAIT_NS + MS);
		assert_true(LIST_EMPTY(&net.hosts[1].table.all));
		assert_int_equal(net_count(1, MSG_DREQ), (asked_before + 1) * TRIES);
		lose_nothing();
	}
}

static void a_request_is_sent_again_when_a_process_has_died(void **state)
{
	struct net_id *a = net_connect(0, QPN_A);

	(void)state;
	net.hosts[1].request_answer = MSG_REJ_INVALID_SERVICE_ID;
	lose_everything();
	net_pass(MS);
	lose_nothing();
	conn_repeat_req(a->conn);
	net_pass(10 * MS);
	expect_event(a, CONN_EVENT_REJECTED, MSG_REJ_INVALID_SERVICE_ID);
	conn_repeat_req(a->conn);
	assert_int_equal(net_count(0, MSG_REQ), 2);
}

/* A process that exits sends one message for each connection; what it holds is not looked at. */
static void a_process_that_exits_tells_the_other_end_in_any_state(void **state)
{
	static const int told[][2] = {
		{ -1, CONN_EVENT_REJECTED },
		{ CONN_EVENT_REJECTED, CONN_EVENT_REJECTED },
		{ CONN_EVENT_DISCONNECTED, CONN_EVENT_DISCONNECTED },
		{ -1, CONN_EVENT_DISCONNECTED },
		{ -1, -1 },
	};

	(void)state;
	for (size_t i = 0; i < 2 * array_size(stages); i++) {
		struct pair p = stages[i / 2].make();
		int host = i % 2, kind = told[i / 2][host];
		struct net_id *other = host ? p.a : p.b;

		conn_leave_all(&net.hosts[host].table);
		net.hosts[host].is_dead = true;
		net_pass(10 * MS);
		if (kind >= 0)
			expect_event(other, kind,
				     kind == CONN_EVENT_REJECTED ? MSG_REJ_CONSUMER_DEFINED : 0);
		expect_none(other);
		assert_int_equal(end(NULL), 0);
		begin(NULL);
	}
}

static void an_idle_connection_is_abandoned_without_a_word(void **state)
{
	(void)state;
	net_destroy(net_id_create(0));
	assert_int_equal(net.sent_count, 0);
	assert_true(LIST_EMPTY(&net.hosts[0].table.all));
}

static void a_reply_to_an_end_that_has_given_up_is_rejected(void **state)
{
	struct pair p = requested();

	(void)state;
	lose_everything();
	net_destroy(p.a);
	lose_nothing();
	assert_int_equal(net_accept(p.b, QPN_B), 0);
	net_pass(10 * MS);
	expect_event(p.b, CONN_EVENT_REJECTED, MSG_REJ_INVALID_COMM_ID);
}

static void a_reply_after_the_last_try_is_rejected(void **state)
{
	struct pair p = requested();

	(void)state;
	lose_everything();
	net_pass(TRIES * REQ_NS);
	expect_event(p.a, CONN_EVENT_UNREACHABLE, -ETIMEDOUT);
	lose_nothing();
	assert_int_equal(net_accept(p.b, QPN_B), 0);
	net_pass(10 * MS);
	expect_event(p.b, CONN_EVENT_REJECTED, MSG_REJ_INVALID_COMM_ID);
	expect_none(p.a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_other_end_hears_of_an_end_that_lets_go_in_any_state),
		TEST(the_other_end_hears_of_a_process_that_died_in_any_state),
		TEST(the_end_of_a_process_ends_no_connection_of_its_successor),
		TEST(the_end_of_a_process_ends_no_connection_with_another_host),
		TEST(a_peer_with_long_timeouts_is_forgotten_a_minute_after_the_owner_let_go),
		TEST(a_probe_finds_a_forgotten_connection),
		TEST(a_probe_changes_nothing_of_a_connection),
		TEST(a_probe_finds_a_connection_that_the_other_end_has_ended),
		TEST(a_probe_without_answer_ends_nothing),
		TEST(a_request_is_sent_again_when_a_process_has_died),
		TEST(a_process_that_exits_tells_the_other_end_in_any_state),
		TEST(an_idle_connection_is_abandoned_without_a_word),
		TEST(a_reply_to_an_end_that_has_given_up_is_rejected),
		TEST(a_reply_after_the_last_try_is_rejected),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
