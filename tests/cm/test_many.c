/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Many connections between two processes, 1,000 times TRAFFIC_SCALE: all come about, are there at the
 * same time, and end. They do so twice: the second time costs no more memory.
 */
#include "cm_rig.h"

#define WINDOW 64u /* connections that come about at a time: fewer than a backlog */

static void passive(int fd)
{
	struct rdma_event_channel *channel = must(rdma_create_event_channel());
	struct rdma_cm_id *listener = listen_at(channel, 0);
	uint16_t port = port_of(listener);
	struct holdings before;

	tell(fd, &port, sizeof(port));
	serve(channel, 1000 * scale());
	hear_mark(fd, 't'); /* TIMEWAIT is over */
	before = holdings();
	tell_mark(fd, 'a');
	serve(channel, 1000 * scale());
	hear_mark(fd, 't');
	check_given_back(&before);
	destroy(listener);
	rdma_destroy_event_channel(channel);
}

static void expect_some(struct rdma_event_channel *channel, enum rdma_cm_event_type type,
			unsigned int count)
{
	while (count--)
		check_ok(rdma_ack_cm_event(expect_at(__FILE__, __LINE__, channel, type, 0)));
}

static struct rdma_cm_id **connect_many(unsigned int count, uint16_t port,
					struct rdma_event_channel *channel,
					struct rdma_event_channel *connects)
{
	struct rdma_cm_id **ids = must(calloc(count, sizeof(void *)));
	unsigned int waiting = 0;

	for (unsigned int i = 0; i < count; i++) {
		ids[i] = route_to(channel, port);
		check_ok(rdma_migrate_id(ids[i], connects));
		make_small_qp(ids[i]);
		check_ok(rdma_connect(ids[i], NULL));
		if (++waiting == WINDOW) {
			expect_some(connects, RDMA_CM_EVENT_ESTABLISHED, waiting);
			waiting = 0;
		}
	}
	expect_some(connects, RDMA_CM_EVENT_ESTABLISHED, waiting);
	return ids;
}

/* Until TIMEWAIT is over: the first ones leave it before the last ones are disconnected. */
static void disconnect_many(struct rdma_cm_id **ids, unsigned int count,
			    struct rdma_event_channel *connects)
{
	unsigned int disconnected = 0, ended = 0;

	for (unsigned int i = 0; i < count; i++)
		check_ok(rdma_disconnect(ids[i]));
	while (disconnected < count || ended < count) {
		struct rdma_cm_event *event;

		check(is_readable(connects->fd, WAIT_MS));
		check_ok(rdma_get_cm_event(connects, &event));
		check_equal(event->status, 0);
		if (event->event == RDMA_CM_EVENT_TIMEWAIT_EXIT) {
			ended++;
		} else {
			check_equal(event->event, RDMA_CM_EVENT_DISCONNECTED);
			disconnected++;
		}
		check_ok(rdma_ack_cm_event(event));
	}
	for (unsigned int i = 0; i < count; i++)
		destroy(ids[i]);
	free(ids);
}

static void many_connections_are_there_at_the_same_time(void)
{
	struct rdma_event_channel *channel, *connects;
	struct peer b = peer_start(passive);
	unsigned int count = 1000 * scale();
	struct holdings before;
	uint16_t port;

	hear(b.fd, &port, sizeof(port));
	channel = must(rdma_create_event_channel());
	connects = must(rdma_create_event_channel());
	for (int round = 0; round < 2; round++) {
		struct rdma_cm_id **ids = connect_many(count, port, channel, connects);

		for (unsigned int i = 0; i < count; i++)
			check_equal(qp_state(ids[i]), IBV_QPS_RTS);
		check_quiet(connects);
		disconnect_many(ids, count, connects);
		if (round == 0)
			before = holdings();
		else
			check_given_back(&before);
		tell_mark(b.fd, 't');
		if (round == 0)
			hear_mark(b.fd, 'a');
	}
	rdma_destroy_event_channel(channel);
	rdma_destroy_event_channel(connects);
	peer_join(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(many_connections_are_there_at_the_same_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
