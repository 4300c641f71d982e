/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One end of a connection is killed, or exits without destroying anything, at each stage: the other end
 * is told, and nothing waits for ever. Both ends are processes of their own.
 */
#include "cm_rig.h"

#include <signal.h>
#include <unistd.h>

enum stage {
	REQUESTED,     /* the listener has read the request */
	ACCEPTED,      /* the reply has arrived and is not read */
	CONNECTED,     /* both have been told */
	DISCONNECTING, /* the listener has been told, and has not answered */
};

enum side { ACTIVE, PASSIVE };

/* Set before the processes are started. */
static enum stage stage;
static enum side victim;
static bool kills; /* or the victim exits */

static void end_here(int fd)
{
	tell_mark(fd, 'r');
	if (kills)
		pause();
	hear_mark(fd, 'x');
	exit(0);
}

/* ---- the listener ---- */

static void wait_for_the_active_end(struct rdma_event_channel *channel, struct rdma_cm_id *id)
{
	switch (stage) {
	case REQUESTED:
		/* No event comes of a request that ends; it cannot be accepted, or is rejected then. */
		if (!rdma_accept(id, NULL)) {
			struct rdma_cm_event *event;

			check(is_readable(channel->fd, WAIT_MS));
			check_ok(rdma_get_cm_event(channel, &event));
			check_equal(event->event, RDMA_CM_EVENT_REJECTED);
			check_ok(rdma_ack_cm_event(event));
		}
		check_errno(rdma_reject(id, NULL, 0), EINVAL);
		break;
	case ACCEPTED:
		expect_ack(channel, REJECTED, 28);
		check_equal(qp_state(id), IBV_QPS_ERR);
		break;
	case CONNECTED:
		expect_ack(channel, DISCONNECTED, 0);
		check_ok(rdma_disconnect(id));
		expect_ack(channel, TIMEWAIT_EXIT, 0);
		break;
	case DISCONNECTING:
		check_ok(rdma_disconnect(id));
		expect_ack(channel, TIMEWAIT_EXIT, 0);
		break;
	}
}

static void passive(int fd)
{
	struct rdma_event_channel *channel = must(rdma_create_event_channel());
	struct rdma_cm_id *listener = listen_at(channel, 8), *id;
	uint16_t port = port_of(listener);

	tell(fd, &port, sizeof(port));
	id = expect_request(channel);
	make_qp(id);
	if (stage >= ACCEPTED)
		check_ok(rdma_accept(id, NULL));
	if (stage >= CONNECTED)
		expect_ack(channel, ESTABLISHED, 0);
	if (stage >= DISCONNECTING)
		expect_ack(channel, DISCONNECTED, 0);
	if (victim == PASSIVE)
		end_here(fd);
	tell_mark(fd, 'r');
	hear_mark(fd, 'k');
	wait_for_the_active_end(channel, id);
	destroy(id);
	destroy(listener);
	rdma_destroy_event_channel(channel);
}

/* ---- the end that connects ---- */

static void wait_for_the_passive_end(struct rdma_event_channel *channel)
{
	struct rdma_cm_event *event;

	check(is_readable(channel->fd, WAIT_MS));
	check_ok(rdma_get_cm_event(channel, &event));
	switch (stage) {
	case REQUESTED: /* by the end itself, or by the host that has no listener any more */
		check_equal(event->event, RDMA_CM_EVENT_REJECTED);
		check(event->status == 28 || event->status == 8);
		break;
	case ACCEPTED:
		/* The reply may be read before the death is noticed. */
		if (event->event == RDMA_CM_EVENT_ESTABLISHED) {
			check_ok(rdma_ack_cm_event(event));
			check(is_readable(channel->fd, WAIT_MS));
			check_ok(rdma_get_cm_event(channel, &event));
			check(event->event == RDMA_CM_EVENT_DISCONNECTED ||
			      event->event == RDMA_CM_EVENT_REJECTED);
			break;
		}
		check_equal(event->event, RDMA_CM_EVENT_CONNECT_ERROR);
		check_equal(event->status, -1);
		break;
	default:
		check_equal(event->event, RDMA_CM_EVENT_DISCONNECTED);
		check_equal(event->status, 0);
		break;
	}
	check_ok(rdma_ack_cm_event(event));
}

static void active(int fd)
{
	struct rdma_event_channel *channel = must(rdma_create_event_channel());
	struct rdma_cm_id *id;
	uint16_t port;

	hear(fd, &port, sizeof(port));
	id = route_to(channel, port);
	make_qp(id);
	check_ok(rdma_connect(id, NULL));
	if (stage == ACCEPTED)
		check(is_readable(channel->fd, WAIT_MS));
	if (stage >= CONNECTED)
		expect_ack(channel, ESTABLISHED, 0);
	if (stage >= DISCONNECTING)
		check_ok(rdma_disconnect(id));
	if (victim == ACTIVE)
		end_here(fd);
	tell_mark(fd, 'r');
	hear_mark(fd, 'k');
	wait_for_the_passive_end(channel);
	destroy(id);
	rdma_destroy_event_channel(channel);
}

/* ---- tests: this process opens no device ---- */

static void end_one(enum stage at, enum side who, bool by_kill)
{
	struct peer b, a;
	uint16_t port;

	stage = at;
	victim = who;
	kills = by_kill;
	b = peer_start(passive);
	a = peer_start(active);
	hear(b.fd, &port, sizeof(port));
	tell(a.fd, &port, sizeof(port));
	hear_mark(a.fd, 'r');
	hear_mark(b.fd, 'r');
	if (by_kill) {
		peer_kill(who == ACTIVE ? &a : &b);
	} else {
		tell_mark(who == ACTIVE ? a.fd : b.fd, 'x');
		peer_join(who == ACTIVE ? &a : &b);
	}
	tell_mark(who == ACTIVE ? b.fd : a.fd, 'k');
	peer_join(who == ACTIVE ? &b : &a);
}

static void an_active_process_killed_while_its_request_waits_is_noticed(void)
{
	end_one(REQUESTED, ACTIVE, true);
}

static void an_active_process_killed_with_the_reply_unread_is_noticed(void)
{
	end_one(ACCEPTED, ACTIVE, true);
}

static void an_active_process_killed_while_connected_is_noticed(void)
{
	end_one(CONNECTED, ACTIVE, true);
}

static void an_active_process_killed_while_disconnecting_is_noticed(void)
{
	end_one(DISCONNECTING, ACTIVE, true);
}

static void a_passive_process_killed_before_it_answers_is_noticed(void)
{
	end_one(REQUESTED, PASSIVE, true);
}

static void a_passive_process_killed_after_accepting_is_noticed(void)
{
	end_one(ACCEPTED, PASSIVE, true);
}

static void a_passive_process_killed_while_connected_is_noticed(void)
{
	end_one(CONNECTED, PASSIVE, true);
}

static void a_passive_process_killed_before_it_answers_a_disconnect_is_noticed(void)
{
	end_one(DISCONNECTING, PASSIVE, true);
}

static void an_active_process_that_exits_tells_its_peer_at_every_stage(void)
{
	for (enum stage at = REQUESTED; at <= DISCONNECTING; at++)
		end_one(at, ACTIVE, false);
}

static void a_passive_process_that_exits_tells_its_peer_at_every_stage(void)
{
	for (enum stage at = REQUESTED; at <= DISCONNECTING; at++)
		end_one(at, PASSIVE, false);
}

/* ---- at random moments ---- */

static uint16_t busy_port; /* of the server; set before clients are started */

/* Or it is rejected: a client that was killed had the QPN, and the server has not heard of it yet. */
static bool is_established(struct rdma_event_channel *channel)
{
	struct rdma_cm_event *event;
	bool is;

	check(is_readable(channel->fd, WAIT_MS));
	check_ok(rdma_get_cm_event(channel, &event));
	is = event->event == RDMA_CM_EVENT_ESTABLISHED;
	if (!is) {
		check_equal(event->event, RDMA_CM_EVENT_REJECTED);
		check_equal(event->status, 10);
	}
	check_ok(rdma_ack_cm_event(event));
	return is;
}

static void connect_again_and_again(int fd)
{
	struct rdma_event_channel *channel = must(rdma_create_event_channel());

	(void)fd;
	for (unsigned int i = 0;; i++) {
		struct rdma_cm_id *id = route_to(channel, busy_port);

		make_small_qp(id);
		check_ok(rdma_connect(id, NULL));
		if (is_established(channel) && i % 2) {
			check_ok(rdma_disconnect(id));
			expect_ack(channel, DISCONNECTED, 0);
		}
		destroy(id);
	}
}

/* Returns by how much the number of connections changes. */
static int serve_one(struct rdma_event_channel *channel)
{
	struct rdma_cm_event *event;
	enum rdma_cm_event_type type;
	struct rdma_cm_id *id;

	check_ok(rdma_get_cm_event(channel, &event));
	id = event->id;
	type = event->event;
	check_ok(rdma_ack_cm_event(event));
	if (type == RDMA_CM_EVENT_ESTABLISHED)
		return 0;
	if (type == RDMA_CM_EVENT_CONNECT_REQUEST) {
		make_small_qp(id);
		if (!rdma_accept(id, NULL))
			return 1;
		check_equal(errno, EINVAL); /* its sender is gone */
		destroy(id);
		return 0;
	}
	check(type == RDMA_CM_EVENT_DISCONNECTED || type == RDMA_CM_EVENT_REJECTED);
	destroy(id);
	return -1;
}

/* Serves until it is told that all clients are dead, and then until each connection has ended. */
static void busy_server(int fd)
{
	struct rdma_event_channel *channel = must(rdma_create_event_channel());
	struct rdma_cm_id *listener = listen_at(channel, 0);
	int live = 0;

	busy_port = port_of(listener);
	tell(fd, &busy_port, sizeof(busy_port));
	while (!is_readable(fd, 0))
		if (is_readable(channel->fd, 1))
			live += serve_one(channel);
	hear_mark(fd, 'q');
	while (live || is_readable(channel->fd, 0)) {
		if (!is_readable(channel->fd, WAIT_MS))
			rig_fail(__FILE__, __LINE__, "%d connections have not ended", live);
		live += serve_one(channel);
	}
	destroy(listener);
	rdma_destroy_event_channel(channel);
}

static void clients_killed_at_random_moments_leave_no_connection_behind(void)
{
	struct peer server = peer_start(busy_server);
	unsigned int seed = 1;

	hear(server.fd, &busy_port, sizeof(busy_port));
	for (int i = 0; i < 20; i++) {
		struct peer clients[2] = { peer_start(connect_again_and_again),
					   peer_start(connect_again_and_again) };

		/* not a wait for an event: the moment is random */
		usleep((unsigned int)rand_r(&seed) % 40000);
		peer_kill(&clients[0]);
		peer_kill(&clients[1]);
	}
	tell_mark(server.fd, 'q');
	peer_join(&server);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_active_process_killed_while_its_request_waits_is_noticed),
		TEST(an_active_process_killed_with_the_reply_unread_is_noticed),
		TEST(an_active_process_killed_while_connected_is_noticed),
		TEST(an_active_process_killed_while_disconnecting_is_noticed),
		TEST(a_passive_process_killed_before_it_answers_is_noticed),
		TEST(a_passive_process_killed_after_accepting_is_noticed),
		TEST(a_passive_process_killed_while_connected_is_noticed),
		TEST(a_passive_process_killed_before_it_answers_a_disconnect_is_noticed),
		TEST(an_active_process_that_exits_tells_its_peer_at_every_stage),
		TEST(a_passive_process_that_exits_tells_its_peer_at_every_stage),
		TEST(clients_killed_at_random_moments_leave_no_connection_behind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
