/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Many connections between two processes, 1,000 times TRAFFIC_SCALE: all come about, are there at the
 * same time, and end.
 */
#include "cm_rig.h"

#define WINDOW 64u /* connections that come about at a time: fewer than a backlog */

static void passive(int fd)
{
	struct rdma_event_channel *channel = must(rdma_create_event_channel());
	struct rdma_cm_id *listener = listen_at(channel, 0);
	uint16_t port = port_of(listener);

	tell(fd, &port, sizeof(port));
	serve(channel, 1000 * scale());
	destroy(listener);
	rdma_destroy_event_channel(channel);
}

static void expect_some(struct rdma_event_channel *channel, enum rdma_cm_event_type type,
			unsigned int count)
{
	while (count--)
		check_ok(rdma_ack_cm_event(expect_at(__FILE__, __LINE__, channel, type, 0)));
}

static void many_connections_are_there_at_the_same_time(void)
{
	unsigned int count = 1000 * scale(), waiting = 0;
	struct rdma_cm_id **ids = must(calloc(count, sizeof(void *)));
	struct rdma_event_channel *channel, *connects;
	struct peer b = peer_start(passive);
	uint16_t port;

	hear(b.fd, &port, sizeof(port));
	channel = must(rdma_create_event_channel());
	connects = must(rdma_create_event_channel());
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
	for (unsigned int i = 0; i < count; i++)
		check_equal(qp_state(ids[i]), IBV_QPS_RTS);
	check_quiet(connects);
	for (unsigned int i = 0; i < count; i++)
		check_ok(rdma_disconnect(ids[i]));
	for (unsigned int i = 0; i < count; i++) {
		struct rdma_cm_event *event;
		enum rdma_cm_event_type type;

		do { /* TIMEWAIT_EXIT of the first ones comes in between */
			check(is_readable(connects->fd, WAIT_MS));
			check_ok(rdma_get_cm_event(connects, &event));
			check_equal(event->status, 0);
			type = event->event;
			check_ok(rdma_ack_cm_event(event));
		} while (type == RDMA_CM_EVENT_TIMEWAIT_EXIT);
		check_equal(type, RDMA_CM_EVENT_DISCONNECTED);
	}
	for (unsigned int i = 0; i < count; i++)
		destroy(ids[i]);
	rdma_destroy_event_channel(channel);
	rdma_destroy_event_channel(connects);
	free(ids);
	peer_join(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(many_connections_are_there_at_the_same_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
