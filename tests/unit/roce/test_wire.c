/* SPDX-License-Identifier: BSD-2-Clause */
/* Two hosts, that is, network namespaces joined by a veth: what is really on the wire. */
#include "cmocka_all.h"

#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <netinet/in.h>
#include <time.h>

#include "net.h"
#include "pair.h"
#include "util/api.h"

static int ns_a, ns_b;

#define A4 "10.8.0.1"
#define B4 "10.8.0.2"
#define A6 "fd08::1"
#define B6 "fd08::2"

static const struct {
	const char *a, *b;
} hosts[] = { { A4, B4 }, { A6, B6 }, { "fe80::a%va", "fe80::b%vb" } };

static void go(int ns)
{
	assert_int_equal(setns(ns, CLONE_NEWNET), 0);
}

/* The pair's a is on one host, its b on the other; the test goes on at a. */
static void far_init(struct pair *p, const char *a, const char *b,
		     const struct roce_endpoint_opts *opts)
{
	struct roce_addr from, to;
	struct roce_dest dest = { .ttl = 0 };

	memset(p, 0, sizeof(*p));
	go(ns_b);
	to = addr(b);
	assert_int_equal(roce_endpoint_open(&to, opts, &p->b), 0);
	go(ns_a);
	from = addr(a);
	assert_int_equal(roce_endpoint_open(&from, opts, &p->a), 0);
	assert_int_equal(roce_tx_create(p->a, &p->tx), 0);
	assert_int_equal(roce_rx_create(&p->rx), 0);
	dest.addr = to;
	dest.addr.ifindex = 0; /* that of the other host means nothing here */
	assert_int_equal(roce_path_init(&p->path, p->a, &dest), 0);
}

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

static void an_answer_finds_its_way_by_the_source_of_a_request(void **state)
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

static int sniff(void)
{
	struct sockaddr_ll at = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_IP) };
	int fd, big = 4 << 20;

	go(ns_b);
	at.sll_ifindex = if_nametoindex("vb");
	fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, htons(ETH_P_IP));
	assert_true(fd >= 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &big, sizeof(big));
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	go(ns_a);
	return fd;
}

/* Every byte as the ICRC's definition wants it, the id as it came. */
static uint32_t icrc_of(const uint8_t *ip, size_t len)
{
	uint8_t all[8 + 20 + 8 + ROCE_MAX_PACKET];
	uint32_t crc = 0xffffffff;

	memset(all, 0xff, 8);
	memcpy(all + 8, ip, len);
	all[8 + 1] = all[8 + 8] = all[8 + 10] = all[8 + 11] = 0xff;
	all[8 + 26] = all[8 + 27] = all[8 + 32] = 0xff;
	for (size_t i = 0; i < len + 8; i++) {
		crc ^= all[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc & 1 ? crc >> 1 ^ 0xedb88320 : crc >> 1;
	}
	return ~crc;
}

static void check_ids(uint16_t sport)
{
	struct roce_pkt pkt = sample_packet(ROCE_PKT_SEND_FIRST, 1024);
	unsigned int seen = 0, highest = 0;
	uint8_t frame[65536];
	struct pair p;
	int fd;

	far_init(&p, A4, B4, NULL);
	if (sport) {
		struct roce_dest dest = { .addr = p.path.dst, .sport = sport };

		assert_int_equal(roce_endpoint_source(p.a, sport), 0);
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
	while (seen < 42) {
		ssize_t n = recv(fd, frame, sizeof(frame), MSG_DONTWAIT);
		unsigned int id;
		uint32_t icrc;

		assert_true(n > 0);
		if (frame[9] != IPPROTO_UDP)
			continue;
		seen++;
		id = frame[4] << 8 | frame[5];
		highest = id > highest ? id : highest;
		memcpy(&icrc, frame + n - 4, 4);
		assert_int_equal(frame[6], 0x40);
		assert_int_equal(le32toh(icrc), icrc_of(frame, n - 4));
	}
	/* so they did leave as segments of one send */
	assert_int_equal(highest, 40);
	close(fd);
	pair_fini(&p);
}

/* The interface is told not to take segments, so the kernel makes them, as for a real adapter. */
static void packets_on_the_wire_have_the_ids_that_their_icrc_counts_on(void **state)
{
	go(ns_a);
	if (net_shell("ip link set va gso_max_segs 1"))
		skip();
	check_ids(0);
	check_ids(0xc123);
	net_shell("ip link set va gso_max_segs 65535");
}

/* ---- limits ---- */

static void what_is_longer_than_the_mtu_is_counted_as_lost(void **state)
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

static void no_route_is_a_loss_and_no_error(void **state)
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
static void a_full_socket_says_so_and_keeps_what_it_did_not_take(void **state)
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

static bool make_hosts(void)
{
	net_enter();
	ns_b = net_current();
	net_enter();
	ns_a = net_current();
	return !net_shell("ip link add va type veth peer name vb netns /proc/%d/fd/%d && "
			  "ip addr add " A4 "/24 dev va && ip addr add " A6 "/64 dev va nodad && "
			  "ip addr add fe80::a/64 dev va nodad && ip link set va up",
			  getpid(), ns_b) &&
	       !setns(ns_b, CLONE_NEWNET) &&
	       !net_shell("ip addr add " B4 "/24 dev vb && ip addr add " B6 "/64 dev vb nodad && "
			  "ip addr add fe80::b/64 dev vb nodad && ip link set vb up") &&
	       !setns(ns_a, CLONE_NEWNET);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packets_cross_between_hosts),
		cmocka_unit_test(an_answer_finds_its_way_by_the_source_of_a_request),
		cmocka_unit_test(packets_on_the_wire_have_the_ids_that_their_icrc_counts_on),
		cmocka_unit_test(what_is_longer_than_the_mtu_is_counted_as_lost),
		cmocka_unit_test(a_changed_mtu_is_seen),
		cmocka_unit_test(no_route_is_a_loss_and_no_error),
		cmocka_unit_test(a_full_socket_says_so_and_keeps_what_it_did_not_take),
	};

	if (!make_hosts()) {
		printf("SKIPPED: no veth between two namespaces can be made here\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
