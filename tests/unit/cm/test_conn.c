/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The protocol of connections between two hosts, in virtual time: what each end sends and is told,
 * when, and that nothing is left. Host 0 connects, host 1 listens.
 */
#include "cmocka_all.h"

#include <errno.h>
#include <string.h>

#include "cm/conn_recv.h"
#include "cm/net.h"
#include "util/array.h"

#define QPN_A 0x11
#define QPN_B 0x22

#define REQ_NS  (6144 * MS) /* 4096 ms for the answer and twice 1024 ms on the way */
#define REP_NS  (4096 * MS)
#define MRA_NS  (67584 * MS) /* 65536 ms and the ACK timeout of 2048 ms */
#define WAIT_NS (2048 * MS)  /* TIMEWAIT */
#define TRIES   16

static int begin(void **state)
{
	(void)state;
	net_begin(NULL);
	return 0;
}

/* Every test ends with all ids destroyed: then all connections end by themselves. */
static int end(void **state)
{
	struct net_id *id;

	(void)state;
	while ((id = LIST_FIRST(&net.ids)))
		net_destroy(id);
	net_settle(3600000 * MS);
	if (net.broken)
		print_error("%s\n", net.broken);
	return net_end() && !net.broken ? 0 : -1;
}

static void expect_event(struct net_id *id, enum conn_event_kind kind, int status)
{
	const struct net_event *e = net_take(id);

	assert_non_null(e);
	assert_int_equal(e->event.kind, kind);
	assert_int_equal(e->event.status, status);
}

static void expect_none(struct net_id *id)
{
	assert_null(net_take(id));
}

static void lose_everything(void)
{
	net.faults.loss = 1000000;
}

static void lose_nothing(void)
{
	net.faults.loss = 0;
}

/* ---- a pair of ids in a state ---- */

struct pair {
	struct net_id *a, *b; /* active, passive */
};

static struct pair requested(void)
{
	struct pair p = { .a = net_connect(0, QPN_A) };

	net_pass(10 * MS);
	p.b = net_request();
	assert_non_null(p.b);
	return p;
}

static struct pair replied(void)
{
	struct pair p = requested();

	assert_int_equal(net_accept(p.b, QPN_B), 0);
	net_pass(10 * MS);
	expect_event(p.a, CONN_EVENT_REP, 0);
	return p;
}

static struct pair established(void)
{
	struct pair p = replied();

	assert_int_equal(conn_establish(p.a->conn, NULL, 0), 0);
	net_pass(10 * MS);
	expect_event(p.b, CONN_EVENT_ESTABLISHED, 0);
	return p;
}

static struct pair disconnecting(void)
{
	struct pair p = established();

	assert_int_equal(conn_disconnect(p.a->conn, net.now_ns), 0);
	net_pass(10 * MS);
	expect_event(p.b, CONN_EVENT_DISCONNECTED, 0);
	return p;
}

static struct pair in_timewait(void)
{
	struct pair p = disconnecting();

	assert_int_equal(conn_disconnect(p.b->conn, net.now_ns), 0);
	net_pass(10 * MS);
	expect_event(p.a, CONN_EVENT_DISCONNECTED, 0);
	return p;
}

/* Each with the states of its two ends. */
static const struct {
	struct pair (*make)(void);
	enum conn_state a, b;
} stages[] = {
	{ requested, CONN_REQ_SENT, CONN_REQ_RCVD },
	{ replied, CONN_REP_RCVD, CONN_REP_SENT },
	{ established, CONN_ESTABLISHED, CONN_ESTABLISHED },
	{ disconnecting, CONN_DREQ_SENT, CONN_DREQ_RCVD },
	{ in_timewait, CONN_TIMEWAIT, CONN_TIMEWAIT },
};

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

static void a_reply_that_nobody_has_read_is_waited_for(void **state)
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
	/* Only a REP and a DREQ are answered. */
	assert_int_equal(net.sent_count, net_count(1, MSG_REJ) + net_count(1, MSG_DREP));
	assert_int_equal(net_count(1, MSG_DREP), 2);
	assert_int_equal(net_count(1, MSG_REJ), 1);
}

static void other_messages_are_left_to_others(void **state)
{
	struct conn_route from = net_route(1, 0);
	uint8_t mad[MSG_BYTES] = { 0 };

	(void)state;
	assert_false(conn_receive(&net.hosts[1].table, &from, mad, net.now_ns));
	forge(MSG_SIDR_REQ, 1, 2, 3, mad);
	assert_false(conn_receive(&net.hosts[1].table, &from, mad, net.now_ns));
	forge(MSG_APR, 1, 2, 3, mad);
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

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, begin, end)

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
		TEST(a_reply_that_nobody_has_read_is_waited_for),
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
		TEST(the_other_end_hears_of_an_end_that_lets_go_in_any_state),
		TEST(the_other_end_hears_of_a_process_that_died_in_any_state),
		TEST(a_request_is_sent_again_when_a_process_has_died),
		TEST(a_process_that_exits_tells_the_other_end_in_any_state),
		TEST(an_idle_connection_is_abandoned_without_a_word),
		TEST(a_reply_to_an_end_that_has_given_up_is_rejected),
		TEST(a_reply_after_the_last_try_is_rejected),
		TEST(messages_from_another_address_change_nothing_in_any_state),
		TEST(messages_with_a_foreign_id_change_nothing_once_both_are_known),
		TEST(a_disconnect_for_another_queue_pair_is_ignored),
		TEST(messages_without_a_connection_leave_none_behind),
		TEST(other_messages_are_left_to_others),
		TEST(a_request_without_an_id_is_dropped),
		TEST(an_alternate_path_is_refused),
		TEST(a_peer_that_rejects_a_connection_being_disconnected_ends_it),
		TEST(ids_that_are_still_used_are_not_given_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
