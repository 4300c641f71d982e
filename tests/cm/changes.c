/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RDMA_CM_EVENT_ADDR_CHANGE, in a network namespace where the test changes the hardware address of va,
 * the interface behind mlx5_0 with 10.66.0.1/24.
 */
#include "cm_rig.h"

#include <pthread.h>

#include "netns.h"

#define MAC_FIRST  "02:00:00:00:66:01"
#define MAC_SECOND "02:00:00:00:66:02"
#define MAC_THIRD  "02:00:00:00:66:03"

static void set_mac(const char *mac)
{
	netns_ip("link set dev va address %s", mac);
}

/* Every test is a process of its own, and begins with this address. */
static struct rdma_event_channel *begin(void)
{
	set_mac(MAC_FIRST);
	return must(rdma_create_event_channel());
}

static void expect_change(struct rdma_event_channel *channel, struct rdma_cm_id *id)
{
	const struct rdma_conn_param none = { 0 };
	struct rdma_cm_event *event = expect(channel, ADDR_CHANGE, 0);

	check(event->id == id && !event->listen_id);
	check(!memcmp(&event->param.conn, &none, sizeof(none)));
	check_ok(rdma_ack_cm_event(event));
}

/* Waits until the library has seen all changes so far: an id that is bound now hears of the next. */
static void settle(void)
{
	struct rdma_event_channel *channel = must(rdma_create_event_channel());
	struct sockaddr_in addr = own_address(0);
	struct rdma_cm_id *id;

	check_ok(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	check_ok(rdma_bind_addr(id, (struct sockaddr *)&addr));
	set_mac(MAC_THIRD);
	expect_change(channel, id);
	destroy(id);
	rdma_destroy_event_channel(channel);
}

static void both_ends_of_a_connection_hear_of_each_change(void)
{
	struct cm_pair p;

	set_mac(MAC_FIRST);
	p = pair_connected();
	set_mac(MAC_SECOND);
	expect_change(p.channel, p.active);
	for (int i = 0; i < 2; i++) { /* in either order */
		struct rdma_cm_event *event = expect(p.listen_channel, ADDR_CHANGE, 0);

		check(event->id == p.passive || event->id == p.listener);
		check_ok(rdma_ack_cm_event(event));
	}
	check_equal(qp_state(p.active), IBV_QPS_RTS);
	check_equal(qp_state(p.passive), IBV_QPS_RTS);
	/* The address of the time of binding is no change. */
	set_mac(MAC_FIRST);
	settle();
	expect_change(p.channel, p.active);
	check_quiet(p.channel);
	/* The connection goes on, and ends as any other. */
	check_ok(rdma_disconnect(p.active));
	for (int i = 0; i < 2; i++)
		expect_ack(p.listen_channel, ADDR_CHANGE, 0);
	expect_ack(p.listen_channel, DISCONNECTED, 0);
	check_ok(rdma_disconnect(p.passive));
	expect_ack(p.channel, DISCONNECTED, 0);
	pair_end(&p);
}

static void an_id_hears_of_it_once_it_has_an_interface(void)
{
	struct rdma_event_channel *channel = begin();
	struct sockaddr_in addr = own_address(0), any = { .sin_family = AF_INET };
	struct rdma_cm_id *idle, *wild, *bound, *routed;

	check_ok(rdma_create_id(channel, &idle, NULL, RDMA_PS_TCP));
	check_ok(rdma_create_id(channel, &wild, NULL, RDMA_PS_TCP));
	check_ok(rdma_bind_addr(wild, (struct sockaddr *)&any));
	check_ok(rdma_listen(wild, 0));
	routed = route_to(channel, 7471);
	set_mac(MAC_SECOND);
	expect_change(channel, routed);
	check_ok(rdma_create_id(channel, &bound, NULL, RDMA_PS_UDP));
	check_ok(rdma_bind_addr(bound, (struct sockaddr *)&addr));
	destroy(routed);
	set_mac(MAC_FIRST);
	expect_change(channel, bound);
	check_quiet(channel);
	destroy(idle);
	destroy(wild);
	destroy(bound);
	rdma_destroy_event_channel(channel);
}

static void a_request_hears_of_nothing_before_it_is_accepted(void)
{
	struct cm_pair p;

	set_mac(MAC_FIRST);
	p = pair_requested();
	set_mac(MAC_SECOND);
	expect_change(p.channel, p.active);
	expect_change(p.listen_channel, p.listener);
	check_quiet(p.listen_channel);
	check_ok(rdma_accept(p.passive, NULL));
	expect_ack(p.channel, ESTABLISHED, 0);
	expect_ack(p.listen_channel, ESTABLISHED, 0);
	pair_end(&p);
}

static void *destroy_in_thread(void *arg)
{
	destroy(arg);
	return NULL;
}

static void an_id_is_not_freed_before_the_event_is_acknowledged(void)
{
	struct rdma_event_channel *channel = begin();
	struct rdma_cm_id *id = route_to(channel, 7471);
	struct rdma_cm_event *event;
	pthread_t thread;

	set_mac(MAC_SECOND);
	event = expect(channel, ADDR_CHANGE, 0);
	check_ok(pthread_create(&thread, NULL, destroy_in_thread, id));
	wait_for(rdma_get_src_port(id) == 0);
	/* An id that is being destroyed hears of nothing. */
	set_mac(MAC_FIRST);
	settle();
	check_quiet(channel);
	check(event->id == id);
	check_ok(rdma_ack_cm_event(event));
	check_ok(pthread_join(thread, NULL));
	rdma_destroy_event_channel(channel);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(both_ends_of_a_connection_hear_of_each_change),
		TEST(an_id_hears_of_it_once_it_has_an_interface),
		TEST(a_request_hears_of_nothing_before_it_is_accepted),
		TEST(an_id_is_not_freed_before_the_event_is_acknowledged),
	};

	(void)argc;
	netns_enter(argv);
	netns_ip("link set lo up");
	netns_ip("link add va address " MAC_FIRST " type veth peer name vb");
	netns_ip("link set va up");
	netns_ip("link set vb up");
	netns_ip("addr add 10.66.0.1/24 dev va");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
