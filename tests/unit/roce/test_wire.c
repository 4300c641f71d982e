/* SPDX-License-Identifier: BSD-2-Clause */
/* Between two hosts, with a look at the frames on the wire. */
#include "roce/group.h"
#include "cmocka_all.h"

#include "hosts.h"
#include "util/api.h"

static const struct {
	const char *a, *b;
} hosts[] = { { A4, B4 }, { A6, B6 }, { "fe80::a%va", "fe80::b%vb" } };

static void packets_cross_between_hosts(void **state)
{
	for (size_t v = 0; v < array_size(hosts); v++) {
		struct roce_pkt pkt = sample_packet(ROCE_PKT_SEND_FIRST, 1024);
		struct pair p;

		far_init(&p, hosts[v].a, hosts[v].b, NULL);
		for (unsigned int i = 0; i < 50; i++) {
			pkt.psn = i;
			assert_int_equal(pair_add(&p, &pkt, i), 0);
		}
		assert_int_equal(roce_tx_flush(p.tx), 0);
		pair_receive(&p, 50);
		for (unsigned int i = 0; i < 50; i++) {
			assert_int_equal(p.in.at[i].pkt.psn, i);
			assert_memory_equal(p.in.at[i].data, pattern() + i, 1024);
		}
		pair_fini(&p);
	}
}

static void a_response_goes_to_the_source_of_its_request(void **state)
{
	for (size_t v = 0; v < array_size(hosts); v++) {
		struct roce_pkt pkt = sample_packet(ROCE_PKT_SEND_ONLY, 10);
		struct roce_pkt ack = sample_packet(ROCE_PKT_ACK, 0);
		struct roce_dest dest = { .ttl = 0 };
		struct roce_path back;
		struct roce_tx *tx;
		struct pair p;

		far_init(&p, hosts[v].a, hosts[v].b, NULL);
		assert_int_equal(pair_add(&p, &pkt, 0), 0);
		assert_int_equal(roce_tx_flush(p.tx), 0);
		pair_receive(&p, 1);
		dest.addr = p.in.at[0].meta.src;
		assert_int_equal(roce_path_init(&back, p.b, &dest), 0);
		assert_int_equal(roce_tx_create(p.b, &tx), 0);
		assert_int_equal(roce_tx_add(tx, &back, &ack, NULL, 0), 0);
		assert_int_equal(roce_tx_flush(tx), 0);
		inbox_clear(&p.in);
		pair_receive_at(&p, p.a, 1);
		assert_memory_equal(&p.in.at[0].pkt, &ack, sizeof(ack));
		roce_tx_destroy(tx);
		pair_fini(&p);
	}
}

/* ---- seen from outside ---- */

static void check_ids(uint16_t sport)
{
	struct roce_pkt pkt = sample_packet(ROCE_PKT_SEND_FIRST, 1024);
	unsigned int highest = 0;
	struct pair p;
	int fd;

	far_init(&p, A4, B4, NULL);
	if (sport) {
		struct roce_dest dest = { .addr = p.path.dst, .sport = sport };

		assert_int_equal(roce_tx_socket_open(p.a, sport), 0);
		assert_int_equal(roce_path_init(&p.path, p.a, &dest), 0);
	}
	fd = sniff();
	for (unsigned int i = 0; i < 40; i++)
		assert_int_equal(pair_add(&p, &pkt, i), 0);
	pkt = sample_packet(ROCE_PKT_SEND_LAST, 3);
	assert_int_equal(pair_add(&p, &pkt, 0), 0);
	pkt = sample_packet(ROCE_PKT_SEND_ONLY, 3);
	assert_int_equal(pair_add(&p, &pkt, 0), 0);
	assert_int_equal(roce_tx_flush(p.tx), 0);
	pair_receive(&p, 42);
	for (unsigned int i = 0; i < 42; i++) {
		struct sight s;

		assert_true(sight_take(fd, 0, &s));
		assert_true(s.right && s.whole);
		highest = s.id > highest ? s.id : highest;
	}
	/* 41 segments of one send */
	assert_int_equal(highest, 40);
	close(fd);
	pair_fini(&p);
}

/* The interface is told not to take segments, so the kernel makes them, as for a real adapter. */
static void the_icrc_covers_the_ipv4_id_on_the_wire(void **state)
{
	go(ns_a);
	if (net_shell("ip link set va gso_max_segs 1"))
		skip();
	check_ids(0);
	check_ids(0xc123);
	net_shell("ip link set va gso_max_segs 65535");
}

/* ---- limits ---- */

static void packets_longer_than_the_mtu_are_counted_as_lost(void **state)
{
	struct roce_pkt big = sample_packet(ROCE_PKT_SEND_FIRST, 4096);
	struct roce_pkt small = sample_packet(ROCE_PKT_SEND_ONLY, 64);

	for (size_t v = 0; v < array_size(hosts); v++) {
		struct roce_counters count;
		struct pair p;

		far_init(&p, hosts[v].a, hosts[v].b, NULL);
		assert_int_equal(roce_endpoint_mtu(p.a), 1024);
		assert_int_equal(pair_add(&p, &big, 0), 0);
		assert_int_equal(pair_add(&p, &big, 0), 0);
		big.dqpn ^= 0x1000; /* a send of its own */
		assert_int_equal(pair_add(&p, &big, 0), 0);
		assert_int_equal(pair_add(&p, &small, 0), 0);
		assert_int_equal(roce_tx_flush(p.tx), 0);
		pair_receive(&p, 1);
		assert_int_equal(p.in.at[0].pkt.op, ROCE_PKT_SEND_ONLY);
		roce_endpoint_counters(p.a, &count);
		assert_int_equal(count.tx_lost, 3);
		pair_fini(&p);
	}
}

static void a_changed_mtu_is_seen(void **state)
{
	struct pair p;

	far_init(&p, A4, B4, NULL);
	assert_int_equal(roce_endpoint_mtu(p.a), 1024);
	assert_int_equal(net_shell("ip link set va mtu 9000"), 0);
	assert_int_equal(roce_endpoint_mtu(p.a), 4096);
	assert_int_equal(net_shell("ip link set va mtu 1500"), 0);
	pair_fini(&p);
}

static void packets_without_a_route_are_counted_as_lost(void **state)
{
	struct roce_dest dest = { .addr = addr("203.0.113.5") };
	struct roce_pkt pkt = sample_packet(ROCE_PKT_SEND_ONLY, 64);
	struct roce_counters count;
	struct pair p;

	far_init(&p, A4, B4, NULL);
	assert_int_equal(roce_path_init(&p.path, p.a, &dest), 0);
	assert_int_equal(pair_add(&p, &pkt, 0), 0);
	assert_int_equal(roce_tx_flush(p.tx), 0);
	roce_endpoint_counters(p.a, &count);
	assert_int_equal(count.tx_lost, 1);
	assert_int_equal(count.tx_packets, 0);
	pair_fini(&p);
}

/* Packets to a neighbour that does not answer wait in the kernel and fill the socket. */
static void a_full_socket_is_eagain_and_loses_nothing(void **state)
{
	struct roce_endpoint_opts opts = { .sndbuf = 1, .no_segment = true };
	struct roce_dest dest = { .addr = addr("10.8.0.77") };
	struct roce_pkt pkt = sample_packet(ROCE_PKT_SEND_FIRST, 1024);
	struct roce_counters count;
	unsigned int added = 0;
	struct pair p;
	int err;

	far_init(&p, A4, B4, &opts);
	assert_int_equal(roce_path_init(&p.path, p.a, &dest), 0);
	while (!(err = pair_add(&p, &pkt, 0)) && added < 10000)
		added++;
	assert_int_equal(err, -EAGAIN);
	assert_int_equal(roce_tx_flush(p.tx), -EAGAIN);
	roce_endpoint_counters(p.a, &count);
	assert_true(count.tx_full > 0);
	assert_true(count.tx_packets > 0);
	assert_int_equal(count.tx_packets + roce_tx_pending(p.tx), added);
	roce_tx_reset(p.tx);
	assert_int_equal(roce_tx_pending(p.tx), 0);
	assert_int_equal(roce_tx_flush(p.tx), 0);
	pair_fini(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packets_cross_between_hosts),
		cmocka_unit_test(a_response_goes_to_the_source_of_its_request),
		cmocka_unit_test(the_icrc_covers_the_ipv4_id_on_the_wire),
		cmocka_unit_test(packets_longer_than_the_mtu_are_counted_as_lost),
		cmocka_unit_test(a_changed_mtu_is_seen),
		cmocka_unit_test(packets_without_a_route_are_counted_as_lost),
		cmocka_unit_test(a_full_socket_is_eagain_and_loses_nothing),
	};

	if (!make_hosts()) {
		printf("SKIPPED: no veth between two namespaces can be made here\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
