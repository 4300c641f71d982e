/* SPDX-License-Identifier: BSD-2-Clause */
#include <infiniband/sa.h>

#include "cm/fake_verbs.h"
#include "cm/support.h"

static struct rdma_event_channel *channel;
static struct rdma_cm_id *id;

static int setup(void **state)
{
	channel = rdma_create_event_channel();
	return !channel || rdma_create_id(channel, &id, NULL, RDMA_PS_TCP);
}

static int teardown(void **state)
{
	int bad = rdma_destroy_id(id) || readable(channel->fd);

	rdma_destroy_event_channel(channel);
	return bad || fake_objects();
}

static int resolve(const char *src, const char *dst)
{
	struct address from, to;

	return rdma_resolve_addr(id, src ? ip(&from, src, 0) : NULL, ip(&to, dst, 18515), 1000);
}

static void a_local_destination_is_its_own_source(void **state)
{
	const struct sockaddr_in *src = (struct sockaddr_in *)rdma_get_local_addr(id);

	assert_int_equal(resolve(NULL, "127.0.0.1"), 0);
	expect_event(channel, id, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	assert_string_equal(id->verbs->device->name, "roce");
	assert_int_equal(id->port_num, 1);
	assert_int_equal(src->sin_addr.s_addr, htonl(INADDR_LOOPBACK));
	assert_int_not_equal(rdma_get_src_port(id), 0);
	assert_int_equal(rdma_get_dst_port(id), htons(18515));
	assert_memory_equal(&id->route.addr.addr.ibaddr.sgid, &id->route.addr.addr.ibaddr.dgid, 16);
	assert_false(readable(channel->fd));
}

static void a_given_source_is_kept(void **state)
{
	const struct sockaddr_in *src = (struct sockaddr_in *)rdma_get_local_addr(id);

	assert_int_equal(resolve("192.0.2.7", "127.0.0.1"), 0);
	expect_event(channel, id, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	assert_int_equal(ntohl(src->sin_addr.s_addr), 0xc0000207);
	assert_memory_equal(&id->route.addr.addr.ibaddr.dgid.raw[12], "\x7f\0\0\x01", 4);
}

static void an_id_bound_to_loopback_gets_its_adapter_and_keeps_its_address(void **state)
{
	const struct sockaddr_in *src = (struct sockaddr_in *)rdma_get_local_addr(id);

	assert_int_equal(resolve("127.0.0.9", "192.0.2.7"), 0);
	expect_event(channel, id, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	assert_string_equal(id->verbs->device->name, "roce");
	assert_int_equal(ntohl(src->sin_addr.s_addr), 0x7f000009);
	assert_memory_equal(&id->route.addr.addr.ibaddr.dgid.raw[12], "\xc0\0\x02\x07", 4);
}

static void a_loopback_destination_is_this_host(void **state)
{
	const struct sockaddr_in6 *src = (struct sockaddr_in6 *)rdma_get_local_addr(id);

	assert_int_equal(resolve(NULL, "::1"), 0);
	expect_event(channel, id, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	assert_string_equal(id->verbs->device->name, "roce");
	assert_true(IN6_IS_ADDR_LOOPBACK(&src->sin6_addr));
	/* no adapter has ::1, so another address of the adapter stands for it, at both ends */
	assert_int_equal(id->route.addr.addr.ibaddr.sgid.raw[0], 0xfe);
	assert_memory_equal(&id->route.addr.addr.ibaddr.sgid, &id->route.addr.addr.ibaddr.dgid, 16);
	assert_int_equal(rdma_resolve_route(id, 1000), 0);
	expect_event(channel, id, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
}

static void a_source_address_without_an_adapter_is_an_address_error(void **state)
{
	fake.no_host_gid = fake.ports_down = 1;
	assert_int_equal(resolve(NULL, "127.0.0.9"), 0);
	fake.no_host_gid = fake.ports_down = 0;
	expect_event(channel, id, RDMA_CM_EVENT_ADDR_ERROR, -ENODEV);
	assert_null(id->verbs);
	/* another try is possible */
	assert_int_equal(resolve(NULL, "127.0.0.9"), 0);
	expect_event(channel, id, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
}

static void only_an_address_that_must_be_of_this_host_makes_adapters_be_listed_again(void **state)
{
	struct address addr;
	int lists = fake.lists;

	assert_int_equal(rdma_bind_addr(id, ip(&addr, "192.0.2.7", 0)), 0);
	assert_int_equal(resolve(NULL, "198.51.100.1"), 0);
	expect_event(channel, id, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	assert_memory_equal(&id->route.addr.addr.ibaddr.dgid.raw[12], "\xc6\x33\x64\x01", 4);
	assert_int_equal(fake.lists, lists);
	assert_int_equal(rdma_destroy_id(id), 0);
	assert_int_equal(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(rdma_bind_addr(id, ip(&addr, "192.0.2.99", 0)), -1);
	assert_int_equal(fake.lists, lists + 1);
}

static void the_wildcard_destination_is_this_host(void **state)
{
	const struct sockaddr_in *src = (struct sockaddr_in *)rdma_get_local_addr(id);

	assert_int_equal(resolve(NULL, "0.0.0.0"), 0);
	expect_event(channel, id, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	assert_string_equal(id->verbs->device->name, "roce");
	assert_int_equal(src->sin_addr.s_addr, htonl(INADDR_LOOPBACK));
	assert_memory_equal(&id->route.addr.addr.ibaddr.sgid, &id->route.addr.addr.ibaddr.dgid, 16);
}

static void bad_destinations_change_nothing(void **state)
{
	struct sockaddr unix_addr = { .sa_family = AF_UNIX };
	struct rdma_cm_id stranger = { 0 };
	struct address addr;

	assert_refused(rdma_resolve_addr(id, NULL, NULL, 0), EINVAL);
	assert_refused(rdma_resolve_addr(id, NULL, &unix_addr, 0), EINVAL);
	assert_refused(rdma_resolve_addr(id, &unix_addr, ip(&addr, "127.0.0.1", 1), 0), EINVAL);
	assert_refused(rdma_resolve_addr(&stranger, NULL, &addr.any, 0), EINVAL);
	assert_refused(rdma_resolve_addr(NULL, NULL, &addr.any, 0), EINVAL);
	assert_refused(resolve("2001:db8::7", "127.0.0.1"), EINVAL);
	assert_refused(resolve(NULL, "fe80::77"), EINVAL);
	assert_refused(resolve("192.0.2.99", "127.0.0.1"), EADDRNOTAVAIL);
	assert_int_equal(rdma_get_local_addr(id)->sa_family, 0);
	assert_int_equal(rdma_get_src_port(id), 0);
	assert_false(readable(channel->fd));
	assert_int_equal(rdma_bind_addr(id, ip(&addr, "127.0.0.1", 1)), 0);
	/* an id that listens goes nowhere */
	assert_int_equal(rdma_listen(id, 1), 0);
	assert_refused(resolve(NULL, "127.0.0.1"), EINVAL);
}

static void a_host_without_a_route_refuses_at_once(void **state)
{
	/* 255.255.255.255 cannot be the peer of an ordinary datagram socket. */
	errno = 0;
	assert_int_equal(resolve(NULL, "255.255.255.255"), -1);
	assert_true(errno == EACCES || errno == ENETUNREACH);
	assert_int_equal(rdma_get_src_port(id), 0);
	assert_false(readable(channel->fd));
}

static void an_address_is_resolved_once(void **state)
{
	assert_int_equal(resolve(NULL, "127.0.0.1"), 0);
	assert_refused(resolve(NULL, "127.0.0.1"), EINVAL);
	expect_event(channel, id, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	assert_false(readable(channel->fd));
}

static void a_route_over_ethernet_has_a_path_without_lids(void **state)
{
	struct ibv_sa_path_rec *path;
	uint8_t tos = 0x20;

	assert_int_equal(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, 1), 0);
	assert_int_equal(resolve(NULL, "127.0.0.1"), 0);
	expect_event(channel, id, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	assert_int_equal(rdma_resolve_route(id, 1000), 0);
	expect_event(channel, id, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	assert_int_equal(id->route.num_paths, 1);
	path = id->route.path_rec;
	assert_non_null(path);
	assert_memory_equal(&path->dgid, &id->route.addr.addr.ibaddr.dgid, 16);
	assert_memory_equal(&path->sgid, &id->route.addr.addr.ibaddr.sgid, 16);
	assert_int_equal(path->dlid, 0);
	assert_int_equal(path->mtu, IBV_MTU_1024);
	assert_int_equal(path->mtu_selector, 2);
	assert_int_equal(path->traffic_class, 0x20);
	assert_int_equal(path->pkey, 0xffff);
	assert_int_equal(path->rate, IBV_RATE_100_GBPS);
	assert_int_equal(path->hop_limit, 64);
	assert_int_equal(path->packet_life_time, 18);
	/* a flow label by the ports: connections take different ways through a network */
	assert_int_equal(be32toh(path->flow_label),
			 (ntohs(rdma_get_src_port(id)) * 31 + 18515) & 0xfffff);
	assert_refused(rdma_resolve_route(id, 1000), EINVAL);
}

static void a_route_needs_an_address_first(void **state)
{
	assert_refused(rdma_resolve_route(id, 1000), EINVAL);
	assert_refused(rdma_resolve_route(NULL, 1000), EINVAL);
	assert_null(id->route.path_rec);
}

static struct sockaddr *gid(struct address *addr, const char *text)
{
	memset(addr, 0, sizeof(*addr));
	addr->ib.sib_family = AF_IB;
	addr->ib.sib_pkey = 0xffff;
	addr->ib.sib_sid = htobe64(RDMA_IB_IP_PS_TCP | 7);
	addr->ib.sib_sid_mask = htobe64(UINT64_MAX);
	inet_pton(AF_INET6, text, addr->ib.sib_addr.sib_raw);
	return &addr->any;
}

static void a_route_over_infiniband_has_lids(void **state)
{
	struct address to;

	assert_int_equal(rdma_resolve_addr(id, NULL, gid(&to, "fe80::2"), 0), 0);
	expect_event(channel, id, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	assert_string_equal(id->verbs->device->name, "ib");
	assert_int_equal(rdma_resolve_route(id, 0), 0);
	expect_event(channel, id, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	assert_int_equal(id->route.path_rec->dlid, htons(5));
	assert_int_equal(id->route.path_rec->slid, htons(5));
	assert_int_equal(id->route.path_rec->mtu, IBV_MTU_4096);
}

static void an_unknown_gid_is_a_route_error(void **state)
{
	struct address from, to;

	assert_int_equal(rdma_resolve_addr(id, gid(&from, "fe80::2"), gid(&to, "fe80::66"), 0), 0);
	expect_event(channel, id, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	assert_int_equal(rdma_resolve_route(id, 0), 0);
	expect_event(channel, id, RDMA_CM_EVENT_ROUTE_ERROR, -EHOSTUNREACH);
	assert_int_equal(id->route.num_paths, 0);
}

static void a_synchronous_id_returns_the_outcome(void **state)
{
	struct rdma_cm_id *sync;
	struct address to;

	assert_int_equal(rdma_create_id(NULL, &sync, NULL, RDMA_PS_TCP), 0);
	fake.no_host_gid = fake.ports_down = 1;
	assert_refused(rdma_resolve_addr(sync, NULL, ip(&to, "127.0.0.9", 1), 0), ENODEV);
	fake.no_host_gid = fake.ports_down = 0;
	assert_int_equal(sync->event->event, RDMA_CM_EVENT_ADDR_ERROR);
	assert_int_equal(rdma_resolve_addr(sync, NULL, &to.any, 0), 0);
	assert_int_equal(sync->event->event, RDMA_CM_EVENT_ADDR_RESOLVED);
	assert_int_equal(rdma_resolve_route(sync, 0), 0);
	assert_int_equal(sync->event->event, RDMA_CM_EVENT_ROUTE_RESOLVED);
	assert_int_equal(rdma_destroy_id(sync), 0);
}

static void set_path(struct ibv_path_data *data)
{
	memset(data, 0, sizeof(*data));
	data->flags = IBV_PATH_FLAG_GMP | IBV_PATH_FLAG_PRIMARY | IBV_PATH_FLAG_BIDIRECTIONAL;
	data->path.dlid = htons(3);
	data->path.flowlabel_hoplimit = htonl(0x12345 << 8 | 63);
	data->path.qosclass_sl = htons(0xfff4);
	data->path.mtu = 0x84;
	data->path.reversible_numpath = 0x81;
}

static void a_route_can_be_given_instead_of_found(void **state)
{
	struct ibv_path_data data[2];
	const struct ibv_sa_path_rec *path;

	set_path(&data[0]);
	set_path(&data[1]);
	data[0].flags = IBV_PATH_FLAG_ALTERNATE;
	assert_refused(rdma_set_option(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, data, sizeof(data)),
		       EINVAL);
	assert_int_equal(resolve(NULL, "127.0.0.1"), 0);
	expect_event(channel, id, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	assert_refused(rdma_set_option(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, data, 5), EINVAL);
	assert_refused(rdma_set_option(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, data, 0), EINVAL);
	assert_refused(
		rdma_set_option(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, data, sizeof(data[0])),
		EINVAL);
	assert_int_equal(
		rdma_set_option(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, data, sizeof(data)), 0);
	expect_event(channel, id, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	path = id->route.path_rec;
	assert_int_equal(path->dlid, htons(3));
	assert_int_equal(path->flow_label, htonl(0x12345));
	assert_int_equal(path->hop_limit, 63);
	assert_int_equal(path->sl, 4);
	assert_int_equal(path->mtu, 4);
	assert_int_equal(path->reversible, 1);
}

static void options_check_size_time_and_name(void **state)
{
	struct rdma_cm_id *udp;
	uint8_t byte = 14;
	int on = 1, off = 0;

	assert_refused(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &on, 4), EINVAL);
	assert_refused(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, NULL, 1), EINVAL);
	assert_refused(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &on, 1), EINVAL);
	assert_refused(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &on, 8),
		       EINVAL);
	assert_refused(rdma_set_option(id, RDMA_OPTION_ID, 4, &on, 4), ENOSYS);
	assert_refused(rdma_set_option(id, RDMA_OPTION_IB, 0, &on, 4), ENOSYS);
	assert_refused(rdma_set_option(id, 2, 0, &on, 4), ENOSYS);
	assert_refused(rdma_set_option(NULL, 0, 0, &byte, 1), EINVAL);

	assert_int_equal(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &byte, 1),
			 0);
	assert_int_equal(rdma_create_id(channel, &udp, NULL, RDMA_PS_UDP), 0);
	assert_refused(rdma_set_option(udp, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &byte, 1),
		       EINVAL);
	assert_int_equal(rdma_listen(udp, 1), 0);
	assert_refused(rdma_set_option(udp, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &on, 4),
		       EINVAL);
	assert_refused(rdma_set_option(udp, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &off, 4),
		       EINVAL);
	assert_refused(rdma_set_option(udp, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &on, 4), EINVAL);
	assert_int_equal(rdma_destroy_id(udp), 0);
}

static void migration_moves_queued_events(void **state)
{
	struct rdma_event_channel *other = rdma_create_event_channel();

	assert_int_equal(resolve(NULL, "127.0.0.1"), 0);
	assert_int_equal(rdma_migrate_id(id, other), 0);
	assert_ptr_equal(id->channel, other);
	assert_false(readable(channel->fd));
	expect_event(other, id, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	assert_int_equal(rdma_migrate_id(id, channel), 0);
	assert_int_equal(rdma_resolve_route(id, 0), 0);
	expect_event(channel, id, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	rdma_destroy_event_channel(other);
}

static void migration_makes_an_id_synchronous_and_back(void **state)
{
	int before = open_files();

	assert_int_equal(rdma_migrate_id(id, NULL), 0);
	assert_ptr_not_equal(id->channel, channel);
	assert_refused(rdma_migrate_id(id, NULL), EINVAL);
	assert_int_equal(resolve(NULL, "127.0.0.1"), 0);
	assert_int_equal(id->event->event, RDMA_CM_EVENT_ADDR_RESOLVED);
	assert_int_equal(rdma_migrate_id(id, channel), 0);
	assert_null(id->event);
	assert_int_equal(open_files(), before);
	assert_int_equal(rdma_resolve_route(id, 0), 0);
	expect_event(channel, id, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
}

static void migration_of_foreign_ids_or_channels_is_refused(void **state)
{
	struct rdma_event_channel stranger = { .fd = 0 };
	int before = open_files();

	assert_refused(rdma_migrate_id(id, &stranger), EINVAL);
	assert_refused(rdma_migrate_id(NULL, channel), EINVAL);
	assert_refused(rdma_migrate_id(NULL, NULL), EINVAL);
	assert_ptr_equal(id->channel, channel);
	assert_int_equal(open_files(), before);
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(a_local_destination_is_its_own_source),
		test(a_given_source_is_kept),
		test(an_id_bound_to_loopback_gets_its_adapter_and_keeps_its_address),
		test(a_loopback_destination_is_this_host),
		test(a_source_address_without_an_adapter_is_an_address_error),
		test(only_an_address_that_must_be_of_this_host_makes_adapters_be_listed_again),
		test(the_wildcard_destination_is_this_host),
		test(bad_destinations_change_nothing),
		test(a_host_without_a_route_refuses_at_once),
		test(an_address_is_resolved_once),
		test(a_route_over_ethernet_has_a_path_without_lids),
		test(a_route_needs_an_address_first),
		test(a_route_over_infiniband_has_lids),
		test(an_unknown_gid_is_a_route_error),
		test(a_synchronous_id_returns_the_outcome),
		test(a_route_can_be_given_instead_of_found),
		test(options_check_size_time_and_name),
		test(migration_moves_queued_events),
		test(migration_makes_an_id_synchronous_and_back),
		test(migration_of_foreign_ids_or_channels_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
