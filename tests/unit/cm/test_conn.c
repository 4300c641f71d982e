/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The protocol of connections between two hosts, in virtual time: the messages and events of each end,
 * their times, and that nothing is left.
 */
#include "cm/conn_pair.h"

#include <errno.h>
#include <string.h>

#include "cm/conn_recv.h"

static void every_stage_has_its_states(void **state)
{
	(void)state;
	for (size_t i = 0; i < array_size(stages); i++) {
		struct pair p = stages[i].make();

		assert_int_equal(p.a->conn->state, stages[i].a);
		assert_int_equal(p.b->conn->state, stages[i].b);
		assert_int_equal(end(NULL), 0);
		begin(NULL);
	}
}

/* ---- what both ends know ---- */

static void both_ends_have_the_same_numbers_mirrored(void **state)
{
	struct pair p = established();
	struct conn *a = p.a->conn, *b = p.b->conn;

	(void)state;
	assert_int_equal(a->remote_id, b->local_id);
	assert_int_equal(b->remote_id, a->local_id);
	assert_int_equal(a->params.remote_qpn, QPN_B);
	assert_int_equal(b->params.remote_qpn, QPN_A);
	assert_int_equal(a->params.remote_psn, b->params.local_psn);
	/* The REP decides: what one end initiates, the other one responds to. */
	assert_int_equal(b->params.responder_resources, 2);
	assert_int_equal(b->params.initiator_depth, 1);
	assert_int_equal(a->params.responder_resources, 1);
	assert_int_equal(a->params.initiator_depth, 2);
}

static void private_data_of_a_reply_arrives(void **state)
{
	struct pair p = replied();

	(void)state;
	assert_int_equal(p.a->events[0].event.private_len, MSG_REP_PRIVATE);
	assert_string_equal((char *)p.a->events[0].data, "reply");
}

/* ---- repetition ---- */

static void check_times(int host, enum msg_kind kind, uint64_t every_ns)
{
	uint64_t first = net_nth(host, kind, 0)->at_ns;

	assert_int_equal(net_count(host, kind), TRIES);
	for (unsigned int i = 0; i < TRIES; i++) {
		assert_int_equal(net_nth(host, kind, i)->at_ns, first + i * every_ns);
		assert_memory_equal(net_nth(host, kind, i)->mad, net_nth(host, kind, 0)->mad,
				    MSG_BYTES);
	}
}

static void a_request_is_repeated_and_given_up_at_its_times(void **state)
{
	uint64_t begin_ns = net.now_ns;
	struct net_id *a;
	struct msg_rej rej;

	(void)state;
	lose_everything();
	a = net_connect(0, QPN_A);
	net_settle(3600000 * MS);
	check_times(0, MSG_REQ, REQ_NS);
	assert_int_equal(net.now_ns, begin_ns + TRIES * REQ_NS);
	expect_event(a, CONN_EVENT_UNREACHABLE, -ETIMEDOUT);
	expect_none(a);
	assert_int_equal(a->conn->state, CONN_CLOSED);
	msg_get_rej(net_nth(0, MSG_REJ, 0)->mad, &rej);
	assert_int_equal(rej.reason, MSG_REJ_TIMEOUT);
	assert_int_equal(rej.info_len, 8);
}

static void a_reply_is_repeated_and_given_up_at_its_times(void **state)
{
	struct pair p = requested();

	(void)state;
	lose_everything();
	net.hosts[0].is_dead = true;
	assert_int_equal(net_accept(p.b, QPN_B), 0);
	net_pass(TRIES * REP_NS);
	check_times(1, MSG_REP, REP_NS);
	expect_event(p.b, CONN_EVENT_UNREACHABLE, -ETIMEDOUT);
	assert_int_equal(p.b->conn->state, CONN_TIMEWAIT);
	net_pass(WAIT_NS);
	expect_event(p.b, CONN_EVENT_TIMEWAIT_EXIT, 0);
	expect_none(p.b);
}

static void a_disconnect_is_repeated_and_given_up_at_its_times(void **state)
{
	(void)state;
	for (int host = 0; host < 2; host++) {
		struct pair p = established();
		struct net_id *id = host ? p.b : p.a;
		uint64_t every_ns = host ? REP_NS : REQ_NS;

		lose_everything();
		assert_int_equal(conn_disconnect(id->conn, net.now_ns), 0);
		net_pass(TRIES * every_ns);
		check_times(host, MSG_DREQ, every_ns);
		expect_event(id, CONN_EVENT_DISCONNECTED, -ETIMEDOUT);
		assert_int_equal(id->conn->state, CONN_TIMEWAIT);
		net_pass(WAIT_NS);
		expect_event(id, CONN_EVENT_TIMEWAIT_EXIT, 0);
		lose_nothing();
		assert_int_equal(end(NULL), 0);
		begin(NULL);
	}
}

static void times_of_the_request_are_kept(void **state)
{
	struct net_id *a = net_id_create(0);
	struct msg_req req = {
		.local_ca_guid = net.hosts[0].adapter.node_guid,
		.local_qpn = QPN_A,
		.remote_cm_timeout = 10,
		.local_cm_timeout = 12,
		.max_cm_retries = 3,
		.primary.local_ack_timeout = 14,
	};
	struct net_id *b;

	(void)state;
	a->conn->packet_life_time = 9;
	assert_int_equal(conn_send_req(a->conn, &req, net.now_ns), 0);
	assert_int_equal(a->conn->timeout_ns, 2 * 2 * MS + 4 * MS);
	net_pass(2 * MS);
	b = net_request();
	lose_everything();
	net_accept(b, QPN_B);
	net_pass(4 * 16 * MS - 1);
	assert_int_equal(net_count(1, MSG_REP), 4);
	expect_none(b);
	net_pass(1);
	expect_event(b, CONN_EVENT_UNREACHABLE, -ETIMEDOUT);
	net_pass(64 * MS - 1);
	expect_none(b);
	net_pass(1);
	expect_event(b, CONN_EVENT_TIMEWAIT_EXIT, 0);
}

static void timewait_ends_after_the_ack_timeout_at_both_ends(void **state)
{
	struct pair p = in_timewait();
	uint64_t late = net.now_ns + WAIT_NS;

	(void)state;
	net_settle(3600000 * MS);
	expect_event(p.a, CONN_EVENT_TIMEWAIT_EXIT, 0);
	expect_event(p.b, CONN_EVENT_TIMEWAIT_EXIT, 0);
	assert_true(net.now_ns <= late);
	assert_true(p.b->events[p.b->count - 1].at_ns + 10 * MS >= net.now_ns - 10 * MS);
	assert_int_equal(p.a->conn->state, CONN_CLOSED);
	assert_int_equal(p.b->conn->state, CONN_CLOSED);
}

/* ---- MRA ---- */

static void a_listener_that_takes_its_time_is_waited_for(void **state)
{
	struct pair p = requested();
	uint64_t first = net_nth(0, MSG_REQ, 0)->at_ns;

	(void)state;
	assert_int_equal(net_count(1, MSG_MRA), 0);
	net_pass(REQ_NS);
	assert_int_equal(net_count(1, MSG_MRA), 1);
	net_pass(3 * MRA_NS);
	/* The second try is answered by a MRA, and so is each that follows. */
	assert_int_equal(net_count(0, MSG_REQ), 5);
	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(net_nth(0, MSG_REQ, i + 1)->at_ns,
				 first + REQ_NS + i * (MRA_NS + 2 * MS));
	assert_int_equal(net_accept(p.b, QPN_B), 0);
	net_pass(10 * MS);
	expect_event(p.a, CONN_EVENT_REP, 0);
}

static void a_reply_that_was_not_read_is_waited_for(void **state)
{
	struct pair p = replied();

	(void)state;
	net_pass(REP_NS + MRA_NS / 2);
	assert_int_equal(net_count(1, MSG_REP), 2);
	assert_int_equal(net_count(0, MSG_MRA), 1);
	assert_int_equal(conn_establish(p.a->conn, NULL, 0), 0);
	net_pass(10 * MS);
	expect_event(p.b, CONN_EVENT_ESTABLISHED, 0);
}

static void an_mra_of_the_wrong_message_changes_nothing(void **state)
{
	struct pair p = requested();
	struct msg_mra mra = {
		.local_comm_id = p.b->conn->local_id,
		.remote_comm_id = p.a->conn->local_id,
		.answered = MSG_ANSWERED_REP,
		.service_timeout = 31,
	};
	uint8_t mad[MSG_BYTES];

	(void)state;
	msg_put_mra(&mra, 1, mad);
	net_inject(1, 0, mad);
	assert_int_equal(p.a->conn->timeout_ns, REQ_NS);
}

/* ---- REJ ---- */

static void a_rejection_arrives_with_its_reason_and_data(void **state)
{
	struct pair p;

	(void)state;
	for (int reason = 1; reason <= MSG_REJ_VENDOR_OPTION_UNSUPPORTED; reason++) {
		p = requested();
		assert_int_equal(conn_reject(p.b->conn, reason, "no", 3, net.now_ns), 0);
		assert_int_equal(conn_reject(p.b->conn, reason, "no", 3, net.now_ns), -EINVAL);
		net_pass(10 * MS);
		expect_event(p.a, CONN_EVENT_REJECTED, reason);
		assert_int_equal(p.a->events[0].event.private_len, MSG_REJ_PRIVATE);
		assert_string_equal((char *)p.a->events[0].data, "no");
		assert_int_equal(p.a->conn->state, CONN_CLOSED);
		expect_none(p.b);
		net_destroy(p.a);
		net_destroy(p.b);
	}
}

static void a_request_for_no_listener_is_rejected_with_the_given_reason(void **state)
{
	struct net_id *a;
	struct msg_rej rej;

	(void)state;
	net.hosts[1].request_answer = MSG_REJ_INVALID_SERVICE_ID;
	a = net_connect(0, QPN_A);
	net_pass(10 * MS);
	expect_event(a, CONN_EVENT_REJECTED, MSG_REJ_INVALID_SERVICE_ID);
	msg_get_rej(net_nth(1, MSG_REJ, 0)->mad, &rej);
	assert_int_equal(rej.local_comm_id, 0);
	assert_int_equal(rej.remote_comm_id, a->conn->local_id);
	assert_int_equal(rej.answered, MSG_ANSWERED_REQ);
}

static void a_request_that_does_not_fit_gets_another_chance(void **state)
{
	struct net_id *a;

	(void)state;
	net.hosts[1].request_answer = -1;
	a = net_connect(0, QPN_A);
	net_pass(10 * MS);
	assert_null(net_request());
	assert_true(LIST_EMPTY(&net.hosts[1].table.all));
	net.hosts[1].request_answer = 0;
	net_pass(REQ_NS);
	assert_non_null(net_request());
	expect_none(a);
}

static void a_lost_rejection_is_repeated(void **state)
{
	struct pair p = requested();

	(void)state;
	lose_everything();
	assert_int_equal(conn_reject(p.b->conn, MSG_REJ_CONSUMER_DEFINED, "no", 3, net.now_ns), 0);
	lose_nothing();
	net_pass(REQ_NS);
	expect_event(p.a, CONN_EVENT_REJECTED, MSG_REJ_CONSUMER_DEFINED);
	assert_string_equal((char *)p.a->events[0].data, "no");
}

static void a_lost_rejection_of_a_reply_is_repeated(void **state)
{
	struct pair p = replied();

	(void)state;
	lose_everything();
	assert_int_equal(conn_reject(p.a->conn, MSG_REJ_CONSUMER_DEFINED, "no", 3, net.now_ns), 0);
	lose_nothing();
	net_pass(REP_NS);
	expect_event(p.b, CONN_EVENT_REJECTED, MSG_REJ_CONSUMER_DEFINED);
	assert_string_equal((char *)p.b->events[0].data, "no");
	assert_int_equal(p.b->conn->state, CONN_CLOSED);
}

static void a_rejected_reply_ends_both(void **state)
{
	struct pair p = replied();

	(void)state;
	assert_int_equal(conn_reject(p.a->conn, MSG_REJ_CONSUMER_DEFINED, NULL, 0, net.now_ns), 0);
	net_pass(10 * MS);
	expect_event(p.b, CONN_EVENT_REJECTED, MSG_REJ_CONSUMER_DEFINED);
	net_pass(WAIT_NS);
	expect_event(p.a, CONN_EVENT_TIMEWAIT_EXIT, 0);
}

static void rejecting_is_refused_where_nothing_waits_for_an_answer(void **state)
{
	struct pair p = established();

	(void)state;
	assert_int_equal(conn_reject(p.a->conn, 1, NULL, 0, net.now_ns), -EINVAL);
	assert_int_equal(conn_reject(p.b->conn, 1, NULL, 0, net.now_ns), -EINVAL);
	assert_int_equal(net_count(0, MSG_REJ) + net_count(1, MSG_REJ), 0);
}

/* ---- calls in the wrong state ---- */

static void calls_in_the_wrong_state_are_refused_and_send_nothing(void **state)
{
	(void)state;
	for (size_t i = 0; i < array_size(stages); i++) {
		struct pair p = stages[i].make();
		unsigned int sent = net.sent_count;
		struct msg_req req = { 0 };

		assert_int_equal(conn_send_req(p.a->conn, &req, net.now_ns), -EINVAL);
		if (p.a->conn->state != CONN_REP_RCVD)
			assert_int_equal(conn_establish(p.a->conn, NULL, 0), -EINVAL);
		assert_int_equal(conn_establish(p.b->conn, NULL, 0), -EINVAL);
		assert_int_equal(net_accept(p.a, 1), -EINVAL);
		if (p.b->conn->state != CONN_REQ_RCVD)
			assert_int_equal(net_accept(p.b, 1), -EINVAL);
		if (p.b->conn->state < CONN_ESTABLISHED) {
			assert_int_equal(conn_disconnect(p.a->conn, net.now_ns), -EINVAL);
			assert_int_equal(conn_disconnect(p.b->conn, net.now_ns), -EINVAL);
		}
		assert_int_equal(net.sent_count, sent);
		assert_int_equal(p.a->conn->state, stages[i].a);
		assert_int_equal(p.b->conn->state, stages[i].b);
		assert_int_equal(end(NULL), 0);
		begin(NULL);
	}
}

static void a_received_message_establishes_and_the_rtu_comes_late(void **state)
{
	struct pair p = replied();

	(void)state;
	assert_int_equal(conn_notify_established(p.b->conn), 0);
	expect_event(p.b, CONN_EVENT_ESTABLISHED, 0);
	assert_int_equal(conn_notify_established(p.b->conn), -EISCONN);
	assert_int_equal(conn_establish(p.a->conn, NULL, 0), 0);
	net_pass(10 * MS);
	expect_none(p.b);
	assert_int_equal(p.b->conn->state, CONN_ESTABLISHED);
}

static void a_disconnect_reaches_an_end_that_has_not_read_the_reply(void **state)
{
	struct pair p = replied();

	(void)state;
	assert_int_equal(conn_notify_established(p.b->conn), 0);
	expect_event(p.b, CONN_EVENT_ESTABLISHED, 0);
	assert_int_equal(conn_disconnect(p.b->conn, net.now_ns), 0);
	net_pass(10 * MS);
	expect_event(p.a, CONN_EVENT_DISCONNECTED, 0);
	assert_int_equal(conn_establish(p.a->conn, NULL, 0), -EINVAL);
	assert_int_equal(conn_disconnect(p.a->conn, net.now_ns), 0);
	net_pass(10 * MS);
	expect_event(p.b, CONN_EVENT_DISCONNECTED, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_stage_has_its_states),
		TEST(both_ends_have_the_same_numbers_mirrored),
		TEST(private_data_of_a_reply_arrives),
		TEST(a_request_is_repeated_and_given_up_at_its_times),
		TEST(a_reply_is_repeated_and_given_up_at_its_times),
		TEST(a_disconnect_is_repeated_and_given_up_at_its_times),
		TEST(times_of_the_request_are_kept),
		TEST(timewait_ends_after_the_ack_timeout_at_both_ends),
		TEST(a_listener_that_takes_its_time_is_waited_for),
		TEST(a_reply_that_was_not_read_is_waited_for),
		TEST(an_mra_of_the_wrong_message_changes_nothing),
		TEST(a_rejection_arrives_with_its_reason_and_data),
		TEST(a_request_for_no_listener_is_rejected_with_the_given_reason),
		TEST(a_request_that_does_not_fit_gets_another_chance),
		TEST(a_lost_rejection_is_repeated),
		TEST(a_lost_rejection_of_a_reply_is_repeated),
		TEST(a_rejected_reply_ends_both),
		TEST(rejecting_is_refused_where_nothing_waits_for_an_answer),
		TEST(calls_in_the_wrong_state_are_refused_and_send_nothing),
		TEST(a_received_message_establishes_and_the_rtu_comes_late),
		TEST(a_disconnect_reaches_an_end_that_has_not_read_the_reply),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
