/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ports and GIDs follow the host's interfaces, in a network namespace where the test makes them.
 *
 * bound0 is tied to the interface va, wide0 follows every interface, ib0 none. va is one end of a
 * veth pair; every test makes the pair and takes it away.
 */
#include "verbs_test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "netns.h"

#define WAIT_MS    20000 /* limit for an event that takes milliseconds */
#define MAC        "02:11:22:33:44:55"
#define LINK_LOCAL "fe80::11:22ff:fe33:4455"

static struct ibv_context *bound, *wide, *ib;

static int open_all(void **state)
{
	bound = test_open("bound0");
	wide = test_open("wide0");
	ib = test_open("ib0");
	return 0;
}

static int close_all(void **state)
{
	test_close(bound);
	test_close(wide);
	test_close(ib);
	return 0;
}

static int remove_pair(void **state)
{
	netns_try_ip("link del va");
	return 0;
}

static enum ibv_port_state port_state(struct ibv_context *context)
{
	struct ibv_port_attr attr;

	assert_int_equal(ibv_query_port(context, 1, &attr), 0);
	return attr.state;
}

/* A carrier comes and goes by a worker of the kernel, a moment after the command. */
static void await_port_state(struct ibv_context *context, enum ibv_port_state state)
{
	const struct timespec pause = { .tv_nsec = 1000000 };

	for (int i = 0; i < WAIT_MS && port_state(context) != state; i++)
		nanosleep(&pause, NULL);
	assert_int_equal(port_state(context), state);
}

/* The pair, up, with no address that the kernel would make by itself. */
static void make_pair(void)
{
	netns_ip("link add va address " MAC " type veth peer name vb");
	netns_try_ip("link set va addrgenmode none");
	netns_try_ip("link set vb addrgenmode none");
	netns_ip("link set va up");
	netns_ip("link set vb up");
	await_port_state(bound, IBV_PORT_ACTIVE);
}

/* Takes what has come so far. */
static void drain(struct ibv_context *context)
{
	struct ibv_async_event event;

	while (test_readable(context->async_fd, 0)) {
		assert_int_equal(ibv_get_async_event(context, &event), 0);
		ibv_ack_async_event(&event);
	}
}

/* The next event of this type; others in between are let pass. */
static void await_event(struct ibv_context *context, enum ibv_event_type type)
{
	struct ibv_async_event event;

	do {
		if (!test_readable(context->async_fd, WAIT_MS))
			fail_msg("no event '%s'", ibv_event_type_str(type));
		assert_int_equal(ibv_get_async_event(context, &event), 0);
		ibv_ack_async_event(&event);
	} while (event.event_type != type);
	assert_int_equal(event.element.port_num, 1);
}

static void parse_gid(const char *text, union ibv_gid *gid)
{
	memset(gid, 0, sizeof(*gid));
	if (inet_pton(AF_INET, text, gid->raw + 12) == 1)
		gid->raw[10] = gid->raw[11] = 0xff;
	else
		assert_int_equal(inet_pton(AF_INET6, text, gid->raw), 1);
}

/* Entries 2k and 2k+1 hold this address of this interface as RoCE v1 and v2; NULL: are empty. */
static void expect_pair(struct ibv_context *context, unsigned int k, const char *address,
			const char *interface)
{
	for (unsigned int i = 0; i < 2; i++) {
		struct ibv_gid_entry entry;
		union ibv_gid gid;
		int err = ibv_query_gid_ex(context, 1, 2 * k + i, &entry, 0);

		if (!address) {
			assert_int_equal(err, ENODATA);
			continue;
		}
		if (err)
			fail_msg("GID %u is empty, not %s", 2 * k + i, address);
		parse_gid(address, &gid);
		assert_memory_equal(&entry.gid, &gid, sizeof(gid));
		assert_int_equal(entry.gid_type, i ? IBV_GID_TYPE_ROCE_V2 : IBV_GID_TYPE_ROCE_V1);
		assert_int_equal(entry.ndev_ifindex, if_nametoindex(interface));
	}
}

static void expect_count(struct ibv_context *context, ssize_t count)
{
	struct ibv_gid_entry entries[255];

	assert_int_equal(ibv_query_gid_table(context, entries, 255, 0), count);
}

/* The kernel reports IPv6 addresses a moment later than IPv4 ones. */
static void await_count(struct ibv_context *context, ssize_t count)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	struct ibv_gid_entry entries[255];

	for (int i = 0; i < WAIT_MS; i++) {
		if (ibv_query_gid_table(context, entries, 255, 0) == count)
			return;
		nanosleep(&pause, NULL);
	}
	expect_count(context, count);
}

/* Runs first: the namespace is new, and even its loopback is down. */
static void without_an_interface_that_is_up_the_port_is_down_and_has_no_gid(void **state)
{
	struct ibv_port_attr attr;
	union ibv_gid gid, zero = { 0 };

	assert_int_equal(ibv_query_port(wide, 1, &attr), 0);
	assert_int_equal(attr.state, IBV_PORT_DOWN);
	assert_int_equal(attr.phys_state, 3);
	expect_count(wide, 0);
	assert_int_equal(ibv_query_gid(wide, 1, 0, &gid), 0);
	assert_memory_equal(&gid, &zero, sizeof(gid));
	assert_int_equal(port_state(bound), IBV_PORT_DOWN);
	assert_int_equal(port_state(ib), IBV_PORT_ACTIVE);
}

static void loopback_is_used_without_any_other_interface(void **state)
{
	netns_ip("link set lo up");
	await_event(wide, IBV_EVENT_PORT_ACTIVE);
	await_event(wide, IBV_EVENT_GID_CHANGE);
	assert_int_equal(port_state(wide), IBV_PORT_ACTIVE);
	expect_pair(wide, 1, "127.0.0.1", "lo");
	assert_int_equal(port_state(bound), IBV_PORT_DOWN);
	assert_false(test_readable(bound->async_fd, 0));
}

static void the_table_starts_with_the_link_local_pair_then_ipv4_then_ipv6(void **state)
{
	bool ipv6;

	make_pair();
	netns_ip("addr add 10.1.0.1/24 dev va");
	ipv6 = netns_try_ip("addr add fd00::1/64 dev va nodad");
	await_count(bound, 4 + 2 * ipv6);
	expect_pair(bound, 0, LINK_LOCAL, "va");
	expect_pair(bound, 1, "10.1.0.1", "va");
	if (ipv6)
		expect_pair(bound, 2, "fd00::1", "va");
	expect_pair(bound, 2 + ipv6, NULL, NULL);
	/* Loopback was a makeshift. */
	expect_pair(wide, 1, "10.1.0.1", "va");
}

static void the_link_local_address_of_the_kernel_is_no_second_entry(void **state)
{
	make_pair();
	if (!netns_try_ip("addr add " LINK_LOCAL "/64 dev va nodad"))
		return;
	netns_ip("addr add 10.1.0.1/24 dev va");
	expect_pair(bound, 0, LINK_LOCAL, "va");
	expect_pair(bound, 1, "10.1.0.1", "va");
	expect_count(bound, 4);
}

static void entries_stay_where_they_are_when_others_go(void **state)
{
	make_pair();
	netns_ip("addr add 10.1.0.1/24 dev va");
	netns_ip("addr add 10.2.0.1/24 dev va");
	netns_ip("addr add 10.3.0.1/24 dev va");
	expect_pair(bound, 2, "10.2.0.1", "va");
	netns_ip("addr del 10.2.0.1/24 dev va");
	expect_pair(bound, 1, "10.1.0.1", "va");
	expect_pair(bound, 2, NULL, NULL);
	expect_pair(bound, 3, "10.3.0.1", "va");
	netns_ip("addr add 10.4.0.1/24 dev va");
	expect_pair(bound, 2, "10.4.0.1", "va");
	expect_pair(bound, 3, "10.3.0.1", "va");
	expect_pair(bound, 4, NULL, NULL);
}

static void added_and_removed_addresses_raise_gid_change_events(void **state)
{
	make_pair();
	drain(bound);
	netns_ip("addr add 10.1.0.1/24 dev va");
	await_event(bound, IBV_EVENT_GID_CHANGE);
	expect_pair(bound, 1, "10.1.0.1", "va");
	netns_ip("addr del 10.1.0.1/24 dev va");
	await_event(bound, IBV_EVENT_GID_CHANGE);
	expect_pair(bound, 1, NULL, NULL);
	assert_false(test_readable(bound->async_fd, 0)); /* one change, one event */
}

static void *get_event(void *arg)
{
	struct ibv_async_event event;

	if (ibv_get_async_event(arg, &event))
		return (void *)-1;
	ibv_ack_async_event(&event);
	return (void *)(intptr_t)event.event_type;
}

static void a_program_blocked_in_get_async_event_gets_gid_changes(void **state)
{
	struct ibv_context *own;
	pthread_t thread;
	void *result;

	make_pair();
	own = test_open("bound0");
	assert_int_equal(pthread_create(&thread, NULL, get_event, own), 0);
	netns_ip("addr add 10.1.0.1/24 dev va");
	assert_int_equal(pthread_join(thread, &result), 0);
	assert_int_equal((intptr_t)result, IBV_EVENT_GID_CHANGE);
	test_close(own);
}

static void every_open_context_of_the_adapter_gets_the_event_and_no_other(void **state)
{
	struct ibv_context *second;

	make_pair();
	second = test_open("bound0");
	drain(bound);
	drain(wide);
	drain(ib);
	netns_ip("addr add 10.1.0.1/24 dev va");
	await_event(bound, IBV_EVENT_GID_CHANGE);
	await_event(second, IBV_EVENT_GID_CHANGE);
	await_event(wide, IBV_EVENT_GID_CHANGE);
	assert_false(test_readable(ib->async_fd, 0));
	test_close(second);
}

static void a_link_that_goes_down_and_up_raises_port_events(void **state)
{
	struct ibv_port_attr attr;

	make_pair();
	drain(bound);
	netns_ip("link set va down");
	await_event(bound, IBV_EVENT_PORT_ERR);
	assert_int_equal(ibv_query_port(bound, 1, &attr), 0);
	assert_int_equal(attr.state, IBV_PORT_DOWN);
	assert_int_equal(attr.phys_state, 3);
	netns_ip("link set va up");
	await_event(bound, IBV_EVENT_PORT_ACTIVE);
	assert_int_equal(ibv_query_port(bound, 1, &attr), 0);
	assert_int_equal(attr.state, IBV_PORT_ACTIVE);
	assert_int_equal(attr.phys_state, 5);
}

static void losing_the_last_link_raises_port_err_although_loopback_is_used(void **state)
{
	make_pair();
	await_count(wide, 2);
	drain(wide);
	netns_ip("link set va down");
	await_event(wide, IBV_EVENT_PORT_ERR);
	await_event(wide, IBV_EVENT_PORT_ACTIVE);
	await_event(wide, IBV_EVENT_GID_CHANGE);
	assert_int_equal(port_state(wide), IBV_PORT_ACTIVE);
	expect_pair(wide, 1, "127.0.0.1", "lo");
	drain(wide);
	netns_ip("link set va up");
	await_event(wide, IBV_EVENT_PORT_ACTIVE);
	await_event(wide, IBV_EVENT_GID_CHANGE);
	await_count(wide, 2);
}

static void a_link_whose_other_end_goes_down_has_no_carrier(void **state)
{
	make_pair();
	drain(bound);
	netns_ip("link set vb down");
	await_event(bound, IBV_EVENT_PORT_ERR);
	assert_int_equal(port_state(bound), IBV_PORT_DOWN);
	netns_ip("link set vb up");
	await_event(bound, IBV_EVENT_PORT_ACTIVE);
}

static void removing_an_interface_removes_its_gids(void **state)
{
	make_pair();
	netns_ip("addr add 10.1.0.1/24 dev va");
	expect_count(bound, 4);
	drain(bound);
	netns_ip("link del va");
	await_event(bound, IBV_EVENT_PORT_ERR);
	await_event(bound, IBV_EVENT_GID_CHANGE);
	expect_count(bound, 0);
	/* And one that comes back brings them again. */
	make_pair();
	await_event(bound, IBV_EVENT_PORT_ACTIVE);
	expect_pair(bound, 0, LINK_LOCAL, "va");
}

static void a_new_hardware_address_makes_a_new_link_local_pair(void **state)
{
	make_pair();
	netns_ip("addr add 10.1.0.1/24 dev va");
	expect_pair(bound, 1, "10.1.0.1", "va");
	drain(bound);
	netns_ip("link set va address 02:11:22:33:44:66");
	await_event(bound, IBV_EVENT_GID_CHANGE);
	expect_pair(bound, 0, "fe80::11:22ff:fe33:4466", "va");
	expect_pair(bound, 1, "10.1.0.1", "va");
}

static void the_path_mtu_follows_the_interface(void **state)
{
	static const struct {
		int interface;
		enum ibv_mtu path;
	} mtus[] = {
		{ 9000, IBV_MTU_4096 }, { 4200, IBV_MTU_4096 }, { 4191, IBV_MTU_2048 },
		{ 1500, IBV_MTU_1024 }, { 1000, IBV_MTU_512 },  { 400, IBV_MTU_256 },
	};
	struct ibv_port_attr attr;

	make_pair();
	for (size_t i = 0; i < sizeof(mtus) / sizeof(mtus[0]); i++) {
		netns_ip("link set va mtu %d", mtus[i].interface);
		assert_int_equal(ibv_query_port(bound, 1, &attr), 0);
		assert_int_equal(attr.active_mtu, mtus[i].path);
		assert_int_equal(attr.max_mtu, IBV_MTU_4096);
	}
}

static void a_vlan_of_the_bound_interface_adds_its_addresses(void **state)
{
	make_pair();
	if (!netns_try_ip("link add link va name va.7 type vlan id 7"))
		skip(); /* the kernel has no VLANs */
	netns_try_ip("link set va.7 addrgenmode none");
	netns_ip("link set va.7 up");
	netns_ip("addr add 10.7.0.1/24 dev va.7");
	expect_pair(bound, 1, "10.7.0.1", "va.7");
	netns_ip("link del va.7");
	expect_pair(bound, 1, NULL, NULL);
}

/* What stands in the Ethernet header of frames from GID index `from` to the address. */
static int resolve(uint8_t from, const char *to, uint8_t mac[6], uint16_t *vid)
{
	struct ibv_ah_attr attr = { .port_num = 1, .is_global = 1 };

	parse_gid(to, &attr.grh.dgid);
	attr.grh.sgid_index = from;
	return ibv_resolve_eth_l2_from_gid(bound, &attr, mac, vid);
}

static void neighbours_are_those_of_the_kernel(void **state)
{
	static const uint8_t near[6] = { 2, 0, 0, 0, 0, 9 };
	uint8_t mac[6] = { 0 };
	uint16_t vid = 5;

	make_pair();
	netns_ip("addr add 10.1.0.1/24 dev va");
	netns_ip("neigh add 10.1.0.9 lladdr 02:00:00:00:00:09 dev va nud permanent");
	netns_ip("route add 10.2.0.0/16 via 10.1.0.9");
	expect_pair(bound, 1, "10.1.0.1", "va");
	assert_int_equal(resolve(2, "10.1.0.9", mac, &vid), 0);
	assert_memory_equal(mac, near, 6);
	assert_int_equal(vid, 0xffff);
	/* Far hosts are reached through a near one, and some not at all. */
	memset(mac, 0, 6);
	assert_int_equal(resolve(2, "10.2.3.4", mac, NULL), 0);
	assert_memory_equal(mac, near, 6);
	assert_int_equal(resolve(2, "10.3.0.1", mac, &vid), -EHOSTUNREACH);
	assert_memory_equal(mac, near, 6);
}

static void frames_of_a_vlan_have_its_tag(void **state)
{
	uint8_t mac[6];
	uint16_t vid = 5;

	make_pair();
	if (!netns_try_ip("link add link va name va.7 type vlan id 7"))
		skip(); /* the kernel has no VLANs */
	netns_try_ip("link set va.7 addrgenmode none");
	netns_ip("link set va.7 up");
	netns_ip("addr add 10.1.7.1/24 dev va.7");
	netns_ip("neigh add 10.1.7.9 lladdr 02:00:00:00:00:09 dev va.7 nud permanent");
	expect_pair(bound, 1, "10.1.7.1", "va.7");
	assert_int_equal(resolve(2, "10.1.7.9", mac, &vid), 0);
	assert_int_equal(mac[5], 9);
	assert_int_equal(vid, 7);
}

static void a_bound_adapter_ignores_other_interfaces(void **state)
{
	make_pair();
	drain(bound);
	drain(wide);
	netns_ip("addr add 10.9.0.1/24 dev vb");
	await_event(wide, IBV_EVENT_GID_CHANGE);
	assert_false(test_readable(bound->async_fd, 0));
	expect_count(bound, 2);
}

static void a_table_that_is_full_drops_the_rest_and_keeps_its_order(void **state)
{
	make_pair();
	for (int i = 1; i < 131; i++)
		netns_ip("addr add 10.1.%d.1/24 dev va", i);
	expect_pair(bound, 1, "10.1.1.1", "va");
	expect_pair(bound, 126, "10.1.126.1", "va");
	expect_count(bound, 254); /* of 255: there is no half a pair */
	netns_ip("addr del 10.1.1.1/24 dev va");
	expect_pair(bound, 1, "10.1.127.1", "va"); /* the first that had found no place */
	expect_pair(bound, 2, "10.1.2.1", "va");
	expect_pair(bound, 126, "10.1.126.1", "va");
}

static int child_hears(void *arg)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *own = list ? ibv_open_device(list[0]) : NULL;
	struct ibv_async_event event;

	if (!own)
		return 1;
	if (!netns_try_ip("addr add 10.1.0.1/24 dev va"))
		return 2;
	if (!test_readable(own->async_fd, WAIT_MS))
		return 3;
	if (ibv_get_async_event(own, &event) || event.event_type != IBV_EVENT_GID_CHANGE)
		return 4;
	ibv_ack_async_event(&event);
	return ibv_close_device(own) ? 5 : 0;
}

static void parent_and_child_each_get_the_event_once(void **state)
{
	make_pair();
	drain(bound);
	assert_int_equal(test_in_child(child_hears, NULL), 0);
	await_event(bound, IBV_EVENT_GID_CHANGE);
	expect_pair(bound, 1, "10.1.0.1", "va");
	assert_false(test_readable(bound->async_fd, 0));
}

#define in_the_net(test) cmocka_unit_test_teardown(test, remove_pair)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		in_the_net(without_an_interface_that_is_up_the_port_is_down_and_has_no_gid),
		in_the_net(loopback_is_used_without_any_other_interface),
		in_the_net(the_table_starts_with_the_link_local_pair_then_ipv4_then_ipv6),
		in_the_net(the_link_local_address_of_the_kernel_is_no_second_entry),
		in_the_net(entries_stay_where_they_are_when_others_go),
		in_the_net(added_and_removed_addresses_raise_gid_change_events),
		in_the_net(a_program_blocked_in_get_async_event_gets_gid_changes),
		in_the_net(every_open_context_of_the_adapter_gets_the_event_and_no_other),
		in_the_net(a_link_that_goes_down_and_up_raises_port_events),
		in_the_net(losing_the_last_link_raises_port_err_although_loopback_is_used),
		in_the_net(a_link_whose_other_end_goes_down_has_no_carrier),
		in_the_net(removing_an_interface_removes_its_gids),
		in_the_net(a_new_hardware_address_makes_a_new_link_local_pair),
		in_the_net(the_path_mtu_follows_the_interface),
		in_the_net(a_vlan_of_the_bound_interface_adds_its_addresses),
		in_the_net(neighbours_are_those_of_the_kernel),
		in_the_net(frames_of_a_vlan_have_its_tag),
		in_the_net(a_bound_adapter_ignores_other_interfaces),
		in_the_net(a_table_that_is_full_drops_the_rest_and_keeps_its_order),
		in_the_net(parent_and_child_each_get_the_event_once),
	};

	netns_enter(argv);
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	setenv("VERBENA_ADAPTERS", "bound0,interface=va;wide0;ib0,model=ConnectX-3", 1);
	return cmocka_run_group_tests(tests, open_all, close_all);
}
