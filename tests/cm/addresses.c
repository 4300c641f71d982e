/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Addresses and routes, in a network namespace where the test decides which neighbours there are.
 * mlx5_0 is at va, 10.66.0.1/24 and fe80::66, whose other end vb is at mlx4_0, as IPoIB would have it, with
 * 10.68.0.1/24. 10.67.0.0/24 lies behind 10.66.0.2.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <infiniband/ib.h>
#include <net/if.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cmocka_all.h"
#include "netns.h"

#define WAIT_MS 20000 /* limit for an event that takes milliseconds */
#define MAC     "02:00:00:00:00:99"

union address {
	struct sockaddr any;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	struct sockaddr_ib ib;
};

static struct rdma_event_channel *channel;
static struct rdma_cm_id *id;

static int setup(void **state)
{
	channel = rdma_create_event_channel();
	return !channel || rdma_create_id(channel, &id, NULL, RDMA_PS_TCP);
}

static int teardown(void **state)
{
	rdma_destroy_id(id);
	rdma_destroy_event_channel(channel);
	netns_try_ip("neigh del 10.66.0.2 dev va 2>/dev/null");
	netns_try_ip("-6 neigh del fe80::99 dev va 2>/dev/null");
	return 0;
}

static union address address(const char *text, int port)
{
	union address a = { 0 };

	if (strchr(text, ':')) {
		a.in6.sin6_family = AF_INET6;
		a.in6.sin6_port = htons(port);
		assert_int_equal(inet_pton(AF_INET6, text, &a.in6.sin6_addr), 1);
	} else {
		a.in.sin_family = AF_INET;
		a.in.sin_port = htons(port);
		assert_int_equal(inet_pton(AF_INET, text, &a.in.sin_addr), 1);
	}
	return a;
}

static union address link_local(const char *text, int port)
{
	union address a = address(text, port);

	a.in6.sin6_scope_id = if_nametoindex("va");
	return a;
}

static int resolve(const char *text, int timeout_ms)
{
	union address dst = address(text, 7471);

	return rdma_resolve_addr(id, NULL, &dst.any, timeout_ms);
}

static void assert_errno(int result, int error)
{
	assert_int_equal(result, -1);
	assert_int_equal(errno, error);
}

static bool quiet(void)
{
	struct pollfd p = { .fd = channel->fd, .events = POLLIN };

	return poll(&p, 1, 0) == 0;
}

static struct rdma_cm_event *expect(enum rdma_cm_event_type type, int status)
{
	struct pollfd p = { .fd = channel->fd, .events = POLLIN };
	struct rdma_cm_event *event;

	assert_int_equal(poll(&p, 1, WAIT_MS), 1);
	assert_int_equal(rdma_get_cm_event(channel, &event), 0);
	if (event->event == type && event->status == status)
		return event;
	print_error("%s with status %d\n", rdma_event_str(event->event), event->status);
	rdma_ack_cm_event(event); /* or the id cannot be destroyed */
	fail_msg("not %s with status %d", rdma_event_str(type), status);
	return NULL;
}

static struct rdma_cm_id *expect_ack(enum rdma_cm_event_type type, int status)
{
	struct rdma_cm_event *event = expect(type, status);
	struct rdma_cm_id *of = event->id;

	assert_int_equal(rdma_ack_cm_event(event), 0);
	return of;
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* ---- neighbours ---- */

static void an_address_without_host_is_an_error_after_the_timeout(void **state)
{
	uint64_t start = now_ms();

	assert_int_equal(resolve("10.66.0.77", 300), 0);
	assert_true(quiet());
	expect_ack(RDMA_CM_EVENT_ADDR_ERROR, -ETIMEDOUT);
	assert_true(now_ms() - start >= 300);
	assert_null(id->verbs);
	/* no time is over at once */
	assert_int_equal(resolve("10.66.0.77", 0), 0);
	assert_false(quiet());
	expect_ack(RDMA_CM_EVENT_ADDR_ERROR, -ETIMEDOUT);
	/* the id can be used again */
	assert_int_equal(resolve("10.66.0.1", 300), 0);
	expect_ack(RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	assert_string_equal(id->verbs->device->name, "mlx5_0");
}

static void a_synchronous_id_waits_for_the_timeout(void **state)
{
	union address dst = address("10.66.0.77", 1);
	struct rdma_cm_id *sync;

	assert_int_equal(rdma_create_id(NULL, &sync, NULL, RDMA_PS_TCP), 0);
	assert_errno(rdma_resolve_addr(sync, NULL, &dst.any, 100), ETIMEDOUT);
	assert_int_equal(sync->event->event, RDMA_CM_EVENT_ADDR_ERROR);
	assert_int_equal(rdma_destroy_id(sync), 0);
}

static void a_known_neighbour_resolves_at_once(void **state)
{
	const struct sockaddr_in *src = (struct sockaddr_in *)rdma_get_local_addr(id);

	netns_ip("neigh replace 10.66.0.2 lladdr " MAC " dev va");
	assert_int_equal(resolve("10.66.0.2", 0), 0);
	expect_ack(RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	assert_string_equal(id->verbs->device->name, "mlx5_0");
	assert_int_equal(src->sin_addr.s_addr, inet_addr("10.66.0.1"));
	assert_int_equal(id->route.addr.addr.ibaddr.dgid.raw[15], 2);
}

static void a_neighbour_that_answers_late_resolves_the_address(void **state)
{
	assert_int_equal(resolve("10.66.0.2", WAIT_MS), 0);
	assert_errno(resolve("10.66.0.1", 0), EINVAL);
	assert_true(quiet());
	netns_ip("neigh replace 10.66.0.2 lladdr " MAC " dev va");
	expect_ack(RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	assert_non_null(id->verbs);
	assert_int_equal(rdma_resolve_route(id, 1000), 0);
	expect_ack(RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
}

static void the_gateway_is_asked_for_a_destination_behind_it(void **state)
{
	assert_int_equal(resolve("10.67.0.9", 0), 0);
	expect_ack(RDMA_CM_EVENT_ADDR_ERROR, -ETIMEDOUT);
	netns_ip("neigh replace 10.66.0.2 lladdr " MAC " dev va");
	assert_int_equal(resolve("10.67.0.9", 0), 0);
	expect_ack(RDMA_CM_EVENT_ADDR_RESOLVED, 0);
}

static void neighbours_of_ipv6_are_asked_for_too(void **state)
{
	union address dst = link_local("fe80::99", 7471);

	assert_int_equal(rdma_resolve_addr(id, NULL, &dst.any, 0), 0);
	expect_ack(RDMA_CM_EVENT_ADDR_ERROR, -ETIMEDOUT);
	netns_ip("-6 neigh replace fe80::99 lladdr " MAC " dev va");
	assert_int_equal(rdma_resolve_addr(id, NULL, &dst.any, 0), 0);
	expect_ack(RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	assert_string_equal(id->verbs->device->name, "mlx5_0");
}

static void a_destination_without_a_route_is_refused(void **state)
{
	assert_errno(resolve("192.0.2.1", 1000), ENETUNREACH);
	assert_int_equal(rdma_get_peer_addr(id)->sa_family, 0);
	assert_int_equal(rdma_get_src_port(id), 0);
	assert_true(quiet());
}

static void an_id_can_be_destroyed_while_it_resolves(void **state)
{
	assert_int_equal(resolve("10.66.0.77", 50), 0);
	assert_int_equal(rdma_destroy_id(id), 0);
	assert_int_equal(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(resolve("10.66.0.78", 200), 0);
	assert_ptr_equal(expect_ack(RDMA_CM_EVENT_ADDR_ERROR, -ETIMEDOUT), id);
	assert_true(quiet());
}

/* ---- connections ---- */

static void make_qp(struct rdma_cm_id *of)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	assert_int_equal(rdma_create_qp(of, NULL, &attr), 0);
}

/* id connects to a listener at the address; returns the accepted id. */
static struct rdma_cm_id *connect_to(union address *addr, struct rdma_cm_id **listener)
{
	struct rdma_cm_id *passive;
	struct rdma_cm_event *event;

	assert_int_equal(rdma_create_id(channel, listener, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(rdma_bind_addr(*listener, &addr->any), 0);
	assert_int_equal(rdma_listen(*listener, 1), 0);
	assert_int_equal(rdma_resolve_addr(id, NULL, &addr->any, 1000), 0);
	expect_ack(RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	assert_int_equal(rdma_resolve_route(id, 1000), 0);
	expect_ack(RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	make_qp(id);
	assert_int_equal(rdma_connect(id, NULL), 0);
	event = expect(RDMA_CM_EVENT_CONNECT_REQUEST, 0);
	passive = event->id;
	assert_int_equal(rdma_ack_cm_event(event), 0);
	make_qp(passive);
	assert_int_equal(rdma_accept(passive, NULL), 0);
	expect_ack(RDMA_CM_EVENT_ESTABLISHED, 0);
	expect_ack(RDMA_CM_EVENT_ESTABLISHED, 0);
	return passive;
}

static void end(struct rdma_cm_id *passive, struct rdma_cm_id *listener)
{
	rdma_destroy_qp(passive);
	assert_int_equal(rdma_destroy_id(passive), 0);
	assert_int_equal(rdma_destroy_id(listener), 0);
	rdma_destroy_qp(id);
}

static void loopback_addresses_connect_through_an_adapter(void **state)
{
	static const char *const texts[] = { "127.0.0.1", "::1" };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		union address addr = address(texts[i], 7471);
		struct rdma_cm_id *listener, *passive = connect_to(&addr, &listener);

		assert_string_equal(passive->verbs->device->name, "mlx5_0");
		assert_memory_equal(rdma_get_peer_addr(id), &addr, sizeof(addr.in));
		end(passive, listener);
		assert_int_equal(rdma_destroy_id(id), 0);
		assert_int_equal(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), 0);
	}
}

/* A path whose ends are of two kinds would give datagrams a header that names no address of the receiver. */
static void a_bound_id_goes_to_loopback_by_its_own_gid(void **state)
{
	union address own = address("10.66.0.1", 0), addr = address("127.0.0.1", 7471);
	const struct rdma_ib_addr *ends = &id->route.addr.addr.ibaddr;

	assert_int_equal(rdma_bind_addr(id, &own.any), 0);
	assert_int_equal(rdma_resolve_addr(id, NULL, &addr.any, 1000), 0);
	expect_ack(RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	assert_memory_equal(&ends->dgid, &ends->sgid, sizeof(ends->dgid));
	assert_int_equal(ends->dgid.raw[15], 1);
}

static void link_local_addresses_connect_within_their_scope(void **state)
{
	union address addr = link_local("fe80::66", 7471), unknown = addr;
	struct rdma_cm_id *listener, *passive;
	const struct sockaddr_in6 *own;

	unknown.in6.sin6_scope_id = 0;
	assert_errno(rdma_bind_addr(id, &unknown.any), EINVAL);
	unknown.in6.sin6_scope_id = 4711;
	assert_errno(rdma_bind_addr(id, &unknown.any), ENODEV);
	passive = connect_to(&addr, &listener);
	own = (struct sockaddr_in6 *)rdma_get_local_addr(listener);
	assert_int_equal(own->sin6_scope_id, if_nametoindex("va"));
	assert_string_equal(passive->verbs->device->name, "mlx5_0");
	end(passive, listener);
}

static void addresses_of_an_infiniband_port_connect_by_lids(void **state)
{
	union address addr = address("10.68.0.1", 7471);
	struct rdma_cm_id *listener, *passive = connect_to(&addr, &listener);
	struct ibv_port_attr port;

	assert_string_equal(id->verbs->device->name, "mlx4_0");
	assert_string_equal(passive->verbs->device->name, "mlx4_0");
	assert_int_equal(ibv_query_port(id->verbs, 1, &port), 0);
	assert_int_equal(id->route.path_rec->dlid, htobe16(port.lid));
	assert_int_equal(id->route.path_rec->slid, htobe16(port.lid));
	assert_int_equal(id->route.path_rec->hop_limit, 0);
	assert_int_equal(id->route.path_rec->flow_label, 0);
	assert_int_equal(id->route.addr.addr.ibaddr.dgid.raw[0], 0xfe);
	assert_memory_equal(rdma_get_local_addr(passive), &addr, sizeof(addr.in));
	end(passive, listener);
}

static void native_addresses_connect_by_gid_and_service(void **state)
{
	struct rdma_addrinfo hints = {
		.ai_flags = RAI_NUMERICHOST | RAI_FAMILY,
		.ai_family = AF_IB,
		.ai_port_space = RDMA_PS_TCP,
	};
	struct rdma_cm_id *listener, *passive;
	struct ibv_context **list = rdma_get_devices(NULL);
	struct rdma_addrinfo *info;
	char text[INET6_ADDRSTRLEN];
	union ibv_gid gid;
	union address addr;
	int i = 0;

	while (strcmp(list[i]->device->name, "mlx4_0") != 0)
		i++;
	assert_int_equal(ibv_query_gid(list[i], 1, 0, &gid), 0);
	rdma_free_devices(list);
	inet_ntop(AF_INET6, gid.raw, text, sizeof(text));
	assert_int_equal(rdma_getaddrinfo(text, "7471", &hints, &info), 0);
	assert_int_equal(info->ai_family, AF_IB);
	memcpy(&addr, info->ai_dst_addr, info->ai_dst_len);
	assert_true(addr.ib.sib_sid == htobe64(RDMA_IB_IP_PS_TCP | 7471));
	rdma_freeaddrinfo(info);
	passive = connect_to(&addr, &listener);
	assert_string_equal(passive->verbs->device->name, "mlx4_0");
	assert_int_equal(rdma_get_local_addr(passive)->sa_family, AF_IB);
	assert_memory_equal(&id->route.path_rec->dgid, &gid, sizeof(gid));
	end(passive, listener);
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		test(an_address_without_host_is_an_error_after_the_timeout),
		test(a_synchronous_id_waits_for_the_timeout),
		test(a_known_neighbour_resolves_at_once),
		test(a_neighbour_that_answers_late_resolves_the_address),
		test(the_gateway_is_asked_for_a_destination_behind_it),
		test(neighbours_of_ipv6_are_asked_for_too),
		test(a_destination_without_a_route_is_refused),
		test(an_id_can_be_destroyed_while_it_resolves),
		test(loopback_addresses_connect_through_an_adapter),
		test(a_bound_id_goes_to_loopback_by_its_own_gid),
		test(link_local_addresses_connect_within_their_scope),
		test(addresses_of_an_infiniband_port_connect_by_lids),
		test(native_addresses_connect_by_gid_and_service),
	};

	netns_enter(argv);
	netns_ip("link set lo up");
	netns_ip("link add va type veth peer name vb");
	netns_ip("link set va up");
	netns_ip("link set vb up");
	netns_ip("addr add 10.66.0.1/24 dev va");
	netns_ip("-6 addr add fe80::66/64 dev va nodad");
	netns_ip("addr add 10.68.0.1/24 dev vb");
	netns_ip("route add 10.67.0.0/24 via 10.66.0.2 dev va");
	setenv("VERBENA_ADAPTERS", "mlx5_0,interface=va;mlx4_0,interface=vb", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
