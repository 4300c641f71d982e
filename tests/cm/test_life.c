/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ids that end while something happens to them, forks of a process that has connections, and exits in
 * the middle of it.
 */
#include "cm_rig.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- destroying ---- */

static void *destroy_in_thread(void *arg)
{
	check_ok(rdma_destroy_id(arg));
	return NULL;
}

/* Waits until the thread is inside rdma_destroy_id(): then no call finds the id any more. */
static void wait_until_destroying(struct rdma_cm_id *id)
{
	wait_for(rdma_listen(id, 1) == -1 && rdma_get_src_port(id) == 0);
}

static void a_listener_is_not_freed_before_its_events_are_acknowledged(void)
{
	struct rdma_event_channel *listen_channel = must(rdma_create_event_channel());
	struct rdma_event_channel *channel = must(rdma_create_event_channel());
	struct rdma_cm_id *listener = listen_at(listen_channel, 8), *first, *second, *passive;
	uint16_t port = port_of(listener);
	struct rdma_cm_event *event;
	pthread_t thread;

	first = route_to(channel, port);
	second = route_to(channel, port);
	make_qp(first);
	make_qp(second);
	check_ok(rdma_connect(first, NULL));
	event = expect(listen_channel, CONNECT_REQUEST, 0);
	passive = event->id;
	check_ok(pthread_create(&thread, NULL, destroy_in_thread, listener));
	wait_until_destroying(listener);
	/* A request that comes now finds no listener. */
	check_ok(rdma_connect(second, NULL));
	expect_ack(channel, REJECTED, 8);
	check(event->listen_id == listener && listener->ps == RDMA_PS_TCP);
	check_ok(rdma_ack_cm_event(event));
	check_ok(pthread_join(thread, NULL));
	check_quiet(listen_channel);
	destroy(passive);
	expect_ack(channel, REJECTED, 28);
	destroy(first);
	destroy(second);
	rdma_destroy_event_channel(listen_channel);
	rdma_destroy_event_channel(channel);
}

static void an_id_with_a_reported_event_hears_no_more(void)
{
	struct cm_pair p = pair_accepted();
	struct rdma_cm_event *event = expect(p.channel, ESTABLISHED, 0);
	pthread_t thread;

	expect_ack(p.listen_channel, ESTABLISHED, 0);
	rdma_destroy_qp(p.active);
	check_ok(pthread_create(&thread, NULL, destroy_in_thread, p.active));
	expect_ack(p.listen_channel, DISCONNECTED, 0);
	check_ok(rdma_disconnect(p.passive));
	expect_ack(p.listen_channel, TIMEWAIT_EXIT, 0);
	check(event->id == p.active);
	check_ok(rdma_ack_cm_event(event));
	check_ok(pthread_join(thread, NULL));
	p.active = NULL;
	check_quiet(p.channel);
	pair_end(&p);
}

static void both_ends_are_destroyed_at_the_same_time(void)
{
	for (int i = 0; i < 100; i++) {
		struct cm_pair p = i % 2 ? pair_connected() : pair_accepted();
		pthread_t thread;

		if (i % 4 < 2)
			check_ok(rdma_disconnect(i % 2 ? p.active : p.passive));
		rdma_destroy_qp(p.active);
		rdma_destroy_qp(p.passive);
		check_ok(pthread_create(&thread, NULL, destroy_in_thread, p.active));
		check_ok(rdma_destroy_id(p.passive));
		check_ok(pthread_join(thread, NULL));
		p.active = p.passive = NULL;
		check_quiet(p.channel);
		check_quiet(p.listen_channel);
		pair_end(&p);
	}
}

/* ---- forks ---- */

/* A child has memory of its parent's threads, which nothing in it points to: no leak of its own. */
static bool is_child;
__attribute__((visibility("default"))) int __lsan_is_turned_off(void);

int __lsan_is_turned_off(void)
{
	return is_child;
}

static void run_child(void (*fn)(void))
{
	struct peer child = { .pid = fork(), .fd = -1 };

	check(child.pid >= 0);
	if (!child.pid) {
		is_child = true;
		rig_forget();
		fn();
		exit(0); /* with the library's destructors */
	}
	peer_join(&child);
}

static struct cm_pair of_parent;

static void destroy_the_parents_ids(void)
{
	destroy(of_parent.active);
	destroy(of_parent.passive);
	destroy(of_parent.listener);
}

static void do_nothing(void)
{
}

static void connect_in_child(void)
{
	struct cm_pair p = pair_connected();

	pair_end(&p);
}

static void a_childs_end_says_nothing_to_the_parents_peers(void)
{
	of_parent = pair_connected();
	run_child(do_nothing);
	run_child(destroy_the_parents_ids);
	check_quiet(of_parent.channel);
	check_quiet(of_parent.listen_channel);
	check_equal(qp_state(of_parent.active), IBV_QPS_RTS);
	check_ok(rdma_disconnect(of_parent.active));
	expect_ack(of_parent.listen_channel, DISCONNECTED, 0);
	check_ok(rdma_disconnect(of_parent.passive));
	expect_ack(of_parent.channel, DISCONNECTED, 0);
	pair_end(&of_parent);
}

static void a_child_connects_by_itself(void)
{
	of_parent = pair_connected();
	run_child(connect_in_child);
	check_quiet(of_parent.channel);
	check_quiet(of_parent.listen_channel);
	pair_end(&of_parent);
}

static atomic_bool is_over;

static void *connect_again_and_again(void *arg)
{
	(void)arg;
	while (!is_over) {
		struct cm_pair p = pair_connected();

		pair_end(&p);
	}
	return NULL;
}

static void make_an_id(void)
{
	struct rdma_event_channel *channel = must(rdma_create_event_channel());
	struct rdma_cm_id *id;

	check_ok(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	check_ok(rdma_destroy_id(id));
	rdma_destroy_event_channel(channel);
}

static void a_fork_in_the_middle_of_connecting_leaves_no_lock_behind(void)
{
	struct sockaddr_in addr =
		own_address(0); /* the device is opened before the thread uses it */
	pthread_t thread;

	(void)addr;
	if (*VB_SANITIZE)
		rig_skip("the locks of a sanitizer's allocator stay locked in the child");
	check_ok(pthread_create(&thread, NULL, connect_again_and_again, NULL));
	for (int i = 0; i < 50; i++)
		run_child(make_an_id);
	is_over = true;
	check_ok(pthread_join(thread, NULL));
}

/* ---- exits ---- */

static void exit_amid_requests(int fd)
{
	struct rdma_event_channel *channel = must(rdma_create_event_channel());
	struct rdma_cm_id *listener = listen_at(channel, 0);
	uint16_t port = port_of(listener);

	tell(fd, &port, sizeof(port));
	for (int i = 0; i < 4; i++) {
		struct rdma_cm_id *id = expect_request(channel);

		make_qp(id);
		check_ok(rdma_accept(id, NULL));
	}
	/* More are on their way; nothing is destroyed. */
}

static void every_connection_to_a_process_that_exits_ends(void)
{
	struct peer peers[5];
	uint16_t ports[5];

	for (size_t i = 0; i < array_size(peers); i++) {
		peers[i] = peer_start(exit_amid_requests);
		hear(peers[i].fd, &ports[i], sizeof(ports[i]));
	}
	for (size_t round = 0; round < array_size(peers); round++) {
		struct rdma_event_channel *channel = must(rdma_create_event_channel());
		struct rdma_cm_id *ids[12];
		bool ended[12] = { false };

		for (size_t i = 0; i < array_size(ids); i++) {
			ids[i] = route_to(channel, ports[round]);
			check_ok(rdma_migrate_id(ids[i], channel));
			make_small_qp(ids[i]);
		}
		for (size_t i = 0; i < array_size(ids); i++)
			check_ok(rdma_connect(ids[i], NULL));
		for (size_t left = array_size(ids); left;) {
			struct rdma_cm_event *event;

			check(is_readable(channel->fd, WAIT_MS));
			check_ok(rdma_get_cm_event(channel, &event));
			for (size_t i = 0; i < array_size(ids); i++)
				if (ids[i] == event->id &&
				    event->event != RDMA_CM_EVENT_ESTABLISHED && !ended[i]) {
					ended[i] = true;
					left--;
				}
			check_ok(rdma_ack_cm_event(event));
		}
		for (size_t i = 0; i < array_size(ids); i++)
			destroy(ids[i]);
		rdma_destroy_event_channel(channel);
		peer_join(&peers[round]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_listener_is_not_freed_before_its_events_are_acknowledged),
		TEST(an_id_with_a_reported_event_hears_no_more),
		TEST(both_ends_are_destroyed_at_the_same_time),
		TEST(a_childs_end_says_nothing_to_the_parents_peers),
		TEST(a_child_connects_by_itself),
		TEST(a_fork_in_the_middle_of_connecting_leaves_no_lock_behind),
		TEST(every_connection_to_a_process_that_exits_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
