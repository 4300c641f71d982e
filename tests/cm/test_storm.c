/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes, 100 times TRAFFIC_SCALE, connect to one listener at the same moment. When they have ended,
 * the listener has no descriptors of theirs any more.
 */
#include "cm_rig.h"

/* Of the library, up to 32 of them sockets to send from. A process that connects costs three while it lives. */
#define NEW_FDS 40u

static unsigned int processes(void)
{
	return 100 * scale();
}

static void passive(int fd)
{
	struct rdma_event_channel *channel = must(rdma_create_event_channel());
	struct rdma_cm_id *listener = listen_at(channel, 0);
	unsigned int before = holdings().fds;
	uint16_t port = port_of(listener);

	tell(fd, &port, sizeof(port));
	is_readable(channel->fd, -1); /* until all processes have started */
	serve(channel, processes());
	is_readable(fd, -1); /* until they have ended */
	hear_mark(fd, 'x');
	wait_for(holdings().fds <= before + NEW_FDS);
	destroy(listener);
	rdma_destroy_event_channel(channel);
}

static void active(int fd)
{
	struct rdma_event_channel *channel = must(rdma_create_event_channel());
	struct rdma_cm_id *id;
	uint16_t port;

	hear(fd, &port, sizeof(port));
	id = route_to(channel, port);
	make_small_qp(id);
	tell_mark(fd, 'r');
	is_readable(fd, -1); /* until all others have come as far */
	hear_mark(fd, 'g');
	check_ok(rdma_connect(id, NULL));
	expect_ack(channel, ESTABLISHED, 0);
	tell_mark(fd, 'c');
	is_readable(fd, -1);
	hear_mark(fd, 'e');
	check_ok(rdma_disconnect(id));
	expect_ack(channel, DISCONNECTED, 0);
	destroy(id);
	rdma_destroy_event_channel(channel);
}

static void many_processes_connect_to_one_listener_at_once(void)
{
	struct peer b = peer_start(passive), *a = must(calloc(processes(), sizeof(*a)));
	uint16_t port;

	hear(b.fd, &port, sizeof(port));
	for (unsigned int i = 0; i < processes(); i++) {
		a[i] = peer_start(active);
		tell(a[i].fd, &port, sizeof(port));
	}
	for (unsigned int i = 0; i < processes(); i++)
		hear_mark(a[i].fd, 'r');
	for (unsigned int i = 0; i < processes(); i++)
		tell_mark(a[i].fd, 'g');
	for (unsigned int i = 0; i < processes(); i++)
		hear_mark(a[i].fd, 'c');
	for (unsigned int i = 0; i < processes(); i++)
		tell_mark(a[i].fd, 'e');
	for (unsigned int i = 0; i < processes(); i++)
		peer_join(&a[i]);
	tell_mark(b.fd, 'x');
	peer_join(&b);
	free(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(many_processes_connect_to_one_listener_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
