/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmocka_all.h"

#include <linux/udp.h>

#include "net.h"
#include "pair.h"
#include "util/api.h"
#include "util/explain.h"

static const struct {
	const char *a, *b;
} hosts[] = { { "127.0.0.1", "127.0.0.2" }, { "fd00::1", "fd00::2" } };

static void send_all(struct pair *p)
{
	assert_int_equal(roce_tx_flush(p->tx), 0);
	assert_int_equal(roce_tx_pending(p->tx), 0);
}

static void every_opcode_arrives_as_it_was_sent(void **state)
{
	for (size_t v = 0; v < array_size(hosts); v++) {
		struct pair p;
		size_t n = 0;

		pair_init(&p, hosts[v].a, hosts[v].b, NULL);
		for (unsigned int op = 0; op < 256; op++) {
			struct roce_pkt pkt;

			if (!roce_opcode_find(op))
				continue;
			pkt = sample_packet(op, 1023);
			assert_int_equal(pair_add(&p, &pkt, op), 0);
			send_all(&p);
			pair_receive(&p, ++n);
			if ((op & ROCE_PKT_TRANSPORT_MASK) == ROCE_TR_UD)
				pkt.ud.roce_kind = v ? 1 : 2;
			assert_memory_equal(&p.in.at[n - 1].pkt, &pkt, sizeof(pkt));
			assert_memory_equal(p.in.at[n - 1].data, pattern() + (uint8_t)op, pkt.len);
			assert_int_equal(p.in.at[n - 1].pkey, ROCE_PKEY_DEFAULT);
		}
		pair_fini(&p);
	}
}

static void meta_says_where_a_packet_came_from_and_how(void **state)
{
	for (size_t v = 0; v < array_size(hosts); v++) {
		struct roce_addr from = addr(hosts[v].a), to = addr(hosts[v].b);
		struct roce_pkt pkt = sample_packet(ROCE_TR_UD | ROCE_PKT_SEND_ONLY, 5);
		const struct arrival *got;
		struct pair p;

		pair_init(&p, hosts[v].a, hosts[v].b, NULL);
		pair_path(&p, 0x68 | ROCE_ECN_CE, 17);
		assert_int_equal(pair_add(&p, &pkt, 0), 0);
		send_all(&p);
		pair_receive(&p, 1);
		got = p.in.at;
		assert_memory_equal(got->meta.src.gid, from.gid, 16);
		assert_memory_equal(got->meta.dst.gid, to.gid, 16);
		assert_int_equal(got->meta.dst.ifindex, 1);
		assert_int_equal(got->meta.sport, ROCE_UDP_PORT);
		assert_int_equal(got->meta.tclass, 0x6b);
		assert_int_equal(ROCE_ECN(got->meta.tclass), ROCE_ECN_CE);
		assert_int_equal(got->meta.ttl, 17);
		assert_int_equal(got->meta.ipv4, !v);
		assert_false(got->meta.multicast);
		pair_fini(&p);
	}
}

/* Many sends with one class and TTL change the socket's defaults; other packets must not be affected. */
static void every_packet_has_its_own_class_and_ttl_whatever_the_socket_defaults(void **state)
{
	static const struct {
		uint8_t tclass, ttl;
	} kinds[] = { { 0x68, 255 }, { 0, 64 }, { 0x20, 17 } };
	struct roce_pkt pkt = sample_packet(ROCE_PKT_SEND_ONLY, 5);

	for (size_t v = 0; v < array_size(hosts); v++) {
		struct roce_tx *other, *first;
		struct pair p;
		size_t n = 0;

		pair_init(&p, hosts[v].a, hosts[v].b, NULL);
		assert_int_equal(roce_tx_create(p.a, &other), 0);
		first = p.tx;
		for (unsigned int i = 0; i < 300; i++) {
			size_t k = i % 50 < 40 ? i / 100 : i % 3;

			/* the second batch of the endpoint, now and then */
			p.tx = i % 7 ? first : other;
			pair_path(&p, kinds[k].tclass, kinds[k].ttl);
			assert_int_equal(pair_add(&p, &pkt, 0), 0);
			send_all(&p);
			pair_receive(&p, ++n);
			assert_int_equal(p.in.at[n - 1].meta.tclass, kinds[k].tclass);
			assert_int_equal(p.in.at[n - 1].meta.ttl, kinds[k].ttl);
		}
		p.tx = first;
		roce_tx_destroy(other);
		pair_fini(&p);
	}
}

static int segment_of(const struct roce_endpoint *ep)
{
	int value = -1;
	socklen_t len = sizeof(value);

	assert_int_equal(getsockopt(roce_endpoint_fd(ep), IPPROTO_UDP, UDP_SEGMENT, &value, &len),
			 0);
	return value;
}

/* The default segment length must not affect longer sends, or sends with another one. */
static void every_send_is_cut_at_packet_ends_whatever_the_socket_defaults(void **state)
{
	static const uint32_t lengths[] = { 8, 100, 52, 1000 };
	struct roce_pkt ack = sample_packet(ROCE_PKT_ACK, 0);

	for (size_t v = 0; v < array_size(hosts); v++) {
		struct roce_endpoint_limits limits;
		struct roce_tx *other, *first;
		struct roce_counters count;
		bool tuned = false;
		struct pair p;
		size_t n = 0;

		pair_init(&p, hosts[v].a, hosts[v].b, NULL);
		roce_endpoint_limits(p.a, &limits);
		assert_int_equal(roce_tx_create(p.a, &other), 0);
		first = p.tx;
		for (unsigned int i = 0; i < 400; i++) {
			size_t k = i % 100 < 60 ? i / 100 : i % array_size(lengths);
			struct roce_pkt pkt = sample_packet(ROCE_PKT_SEND_ONLY, lengths[k]);
			bool single = i % 100 >= 60 && i % 3;

			pkt.psn = i;
			p.tx = i % 7 ? first : other;
			assert_int_equal(pair_add(&p, &pkt, i % 100), 0);
			if (!single)
				assert_int_equal(pair_add(&p, &ack, 0), 0);
			send_all(&p);
			pair_receive(&p, n + (single ? 1 : 2));
			assert_int_equal(p.in.at[n].pkt.psn, i);
			assert_int_equal(p.in.at[n].len, lengths[k]);
			assert_memory_equal(p.in.at[n].data, pattern() + i % 100, lengths[k]);
			n += single ? 1 : 2;
			assert_int_equal(p.in.at[n - 1].pkt.op, single ? pkt.op : ack.op);
			tuned |= segment_of(p.a) == ROCE_BTH_BYTES + 8 + ROCE_ICRC_BYTES;
		}
		assert_int_equal(tuned, limits.segment);
		roce_endpoint_counters(p.a, &count);
		assert_int_equal(count.tx_packets, n);
		assert_int_equal(count.tx_lost, 0);
		p.tx = first;
		roce_tx_destroy(other);
		pair_fini(&p);
	}
}

static void the_grh_of_a_datagram_is_its_ip_header(void **state)
{
	static const uint8_t v4[40] = {
		[20] = 0x45, 0x20, 0,    20 + 8 + 12 + 8 + 8 + 4,
		0,           0,    0x40, 0,
		33,          17,   0x5b, 0x8e,
		127,         0,    0,    1,
		127,         0,    0,    2,
	};
	static const uint8_t v6[40] = {
		0x62, 0, 0, 0, 0, 8 + 12 + 8 + 8 + 4, 17, 33, 0xfd, [23] = 1, 0xfd, [39] = 2,
	};
	struct roce_pkt pkt = sample_packet(ROCE_TR_UD | ROCE_PKT_SEND_ONLY, 5);

	for (size_t v = 0; v < array_size(hosts); v++) {
		struct pair p;

		pair_init(&p, hosts[v].a, hosts[v].b, NULL);
		pair_path(&p, 0x20, 33);
		assert_int_equal(pair_add(&p, &pkt, 0), 0);
		send_all(&p);
		pair_receive(&p, 1);
		assert_memory_equal(p.in.at[0].grh, v ? v6 : v4, 40);
		pair_fini(&p);
	}
}

/* A message of many packets: first (RETH), middles, a shorter last one. */
static unsigned int add_write(struct pair *p, unsigned int packets, uint32_t psn)
{
	for (unsigned int i = 0; i < packets; i++) {
		uint8_t op = !i                ? ROCE_PKT_WRITE_FIRST
			     : i < packets - 1 ? ROCE_PKT_WRITE_MIDDLE
					       : ROCE_PKT_WRITE_LAST;
		struct roce_pkt pkt = sample_packet(op, op == ROCE_PKT_WRITE_LAST ? 77 : 1024);

		pkt.psn = psn + i;
		assert_int_equal(pair_add(p, &pkt, i), 0);
	}
	return packets;
}

static void check_write(const struct inbox *in, size_t from, unsigned int packets, uint32_t psn)
{
	for (unsigned int i = 0; i < packets; i++) {
		assert_int_equal(in->at[from + i].pkt.psn, psn + i);
		assert_memory_equal(in->at[from + i].data, pattern() + i, in->at[from + i].len);
	}
}

static void a_long_message_leaves_in_one_system_call(void **state)
{
	for (size_t v = 0; v < array_size(hosts); v++) {
		struct roce_counters a, b;
		struct pair p;

		pair_init(&p, hosts[v].a, hosts[v].b, NULL);
		add_write(&p, 65, 1000);
		assert_int_equal(roce_tx_pending(p.tx), 65);
		send_all(&p);
		pair_receive(&p, 65);
		check_write(&p.in, 0, 65, 1000);
		roce_endpoint_counters(p.a, &a);
		roce_endpoint_counters(p.b, &b);
		assert_int_equal(a.tx_packets, 65);
		assert_int_equal(a.tx_calls, 1);
		assert_int_equal(b.rx_packets, 65);
		assert_int_equal(b.rx_bytes, a.tx_bytes);
		assert_in_range(b.rx_calls, 1, 2);
		pair_fini(&p);
	}
}

static void without_segments_and_gro_the_same_arrives(void **state)
{
	struct roce_endpoint_opts opts = { .no_segment = true, .no_gro = true };
	struct pair p;

	pair_init(&p, "127.0.0.1", "127.0.0.2", &opts);
	add_write(&p, 40, 7);
	send_all(&p);
	pair_receive(&p, 40);
	check_write(&p.in, 0, 40, 7);
	pair_fini(&p);
}

static void a_receiver_without_gro_takes_what_a_sender_segments(void **state)
{
	struct roce_endpoint_opts opts = { .no_gro = true };
	struct pair p;

	pair_init(&p, "127.0.0.1", "127.0.0.2", &opts);
	add_write(&p, 40, 7);
	send_all(&p);
	pair_receive(&p, 40);
	check_write(&p.in, 0, 40, 7);
	pair_fini(&p);
}

/* SO_NO_CHECK makes this kernel refuse UDP_SEGMENT, and nothing else. */
static void refused_segments_leave_one_by_one(void **state)
{
	struct roce_endpoint_limits limits;
	struct roce_counters count;
	struct pair p;
	int one = 1;

	pair_init(&p, "127.0.0.1", "127.0.0.2", NULL);
	roce_endpoint_limits(p.a, &limits);
	assert_true(limits.segment);
	assert_int_equal(setsockopt(roce_endpoint_fd(p.a), SOL_SOCKET, SO_NO_CHECK, &one, 4), 0);
	add_write(&p, 20, 3);
	send_all(&p);
	pair_receive(&p, 20);
	check_write(&p.in, 0, 20, 3);
	roce_endpoint_limits(p.a, &limits);
	assert_false(limits.segment);
	add_write(&p, 20, 23);
	send_all(&p);
	pair_receive(&p, 40);
	check_write(&p.in, 20, 20, 23);
	roce_endpoint_counters(p.a, &count);
	assert_int_equal(count.tx_lost, 0);
	pair_fini(&p);
}

static void packets_of_other_qp_blocks_do_not_share_a_send(void **state)
{
	struct roce_pkt pkt = sample_packet(ROCE_PKT_SEND_ONLY, 64);
	struct pair p;
	int n, datagrams = 0;

	pair_init(&p, "127.0.0.1", "127.0.0.2", NULL);
	for (unsigned int i = 0; i < 8; i++) {
		pkt.dqpn = 0x100 + (i / 2) * 0x100 + i;
		assert_int_equal(pair_add(&p, &pkt, 0), 0);
	}
	send_all(&p);
	/* Two packets each; with GRO a send is a datagram. */
	while ((n = roce_rx_poll(p.rx, p.b, 64, inbox_put, &p.in)) > 0)
		datagrams += n;
	assert_int_equal(n, 0);
	assert_int_equal(datagrams, 4);
	assert_int_equal(p.in.count, 8);
	pair_fini(&p);
}

static void a_batch_flushes_itself_when_it_is_full(void **state)
{
	struct pair p;
	size_t sent = 0;

	pair_init(&p, "127.0.0.1", "127.0.0.2", NULL);
	for (unsigned int round = 0; round < 5; round++) {
		sent += add_write(&p, 100, round * 100);
		pair_drain(&p);
	}
	send_all(&p);
	pair_receive(&p, sent);
	for (unsigned int round = 0; round < 5; round++)
		check_write(&p.in, round * 100, 100, round * 100);
	pair_fini(&p);
}

static void ttl_is_reported_once_enabled(void **state)
{
	struct roce_pkt pkt = sample_packet(ROCE_PKT_SEND_ONLY, 16);

	for (size_t v = 0; v < array_size(hosts); v++) {
		struct pair p;

		pair_open(&p, hosts[v].a, hosts[v].b, NULL);
		pair_path(&p, 0, 5);
		assert_int_equal(pair_add(&p, &pkt, 0), 0);
		send_all(&p);
		pair_receive(&p, 1);
		assert_int_equal(p.in.at[0].meta.ttl, 64);
		/* Also for packets that arrived before. */
		assert_int_equal(pair_add(&p, &pkt, 0), 0);
		send_all(&p);
		roce_endpoint_enable_ttl(p.b);
		pair_receive(&p, 2);
		assert_int_equal(p.in.at[1].meta.ttl, 5);
		pair_fini(&p);
	}
}

/* ---- bad packets ---- */

static void send_raw(const struct pair *p, const void *data, size_t len)
{
	union roce_sockaddr to;
	socklen_t to_len = roce_addr_to_sockaddr(roce_endpoint_addr(p->b), ROCE_UDP_PORT, &to);
	int fd = roce_endpoint_fd(p->a);

	assert_int_equal(sendto(fd, data, len, 0, &to.any, to_len), len);
}

static void bad_packets_are_dropped_and_counted_by_reason(void **state)
{
	struct roce_pkt pkt = sample_packet(ROCE_PKT_SEND_ONLY, 64);
	uint8_t bytes[8192];
	struct roce_counters c;
	struct pair p;
	uint32_t icrc;
	size_t len;

	pair_init(&p, "127.0.0.1", "127.0.0.2", NULL);
	len = sample_bytes(&pkt, 0xffff, bytes);
	icrc = htole32(roce_icrc_compute(&p.path.icrc, bytes, len, 0));
	memcpy(bytes + len, &icrc, 4);
	len += 4;

	send_raw(&p, bytes, len); /* good */
	send_raw(&p, bytes, 0);
	send_raw(&p, bytes, 15);
	send_raw(&p, bytes, len - 1);
	send_raw(&p, bytes, 8000);
	bytes[1] ^= 1;
	send_raw(&p, bytes, len);
	bytes[1] ^= 1;
	bytes[0] = 0x18;
	send_raw(&p, bytes, len);
	bytes[0] = ROCE_PKT_CMP_SWAP;
	send_raw(&p, bytes, 16);
	bytes[0] = ROCE_PKT_ACK;
	send_raw(&p, bytes, len);
	bytes[0] = ROCE_PKT_SEND_ONLY;
	bytes[1] |= 0x10;
	send_raw(&p, bytes, 16);
	bytes[1] &= ~0x10;
	bytes[20] ^= 1;
	send_raw(&p, bytes, len);
	pair_drain(&p);

	assert_int_equal(p.in.count, 1);
	roce_endpoint_counters(p.b, &c);
	assert_int_equal(c.rx_packets, 1);
	assert_int_equal(c.rx_drop[ROCE_DROP_PROBE], 1);
	assert_int_equal(c.rx_drop[ROCE_DROP_SHORT], 1);
	assert_int_equal(c.rx_drop[ROCE_DROP_LENGTH], 2);
	assert_int_equal(c.rx_drop[ROCE_DROP_VERSION], 1);
	assert_int_equal(c.rx_drop[ROCE_DROP_OPCODE], 1);
	assert_int_equal(c.rx_drop[ROCE_DROP_HEADER], 1);
	assert_int_equal(c.rx_drop[ROCE_DROP_PAYLOAD], 1);
	assert_int_equal(c.rx_drop[ROCE_DROP_PAD], 1);
	assert_int_equal(c.rx_drop[ROCE_DROP_ICRC], 1);
	pair_fini(&p);
}

/* A receiver finds the IPv4 id by the ICRC alone, so the test may choose any. */
static void send_with_id(const struct pair *p, uint32_t psn, uint16_t id, bool corrupt)
{
	struct roce_pkt pkt = sample_packet(ROCE_PKT_SEND_ONLY, 8 * (psn % 5));
	uint8_t bytes[256];
	uint32_t icrc;
	size_t len;

	pkt.psn = psn;
	len = sample_bytes(&pkt, 0xffff, bytes);
	icrc = htole32(roce_icrc_compute(&p->path.icrc, bytes, len, id));
	memcpy(bytes + len, &icrc, 4);
	bytes[7] ^= corrupt;
	send_raw(p, bytes, len + 4);
}

static void ids_are_found_however_they_follow_each_other(void **state)
{
	enum { FIXED, COUNTED, BY_THREE, WILD, ORDERS, EACH = 60 };
	uint16_t want[ORDERS * EACH];
	uint64_t seed = 11;
	struct pair p, q;
	struct roce_counters c;

	pair_init(&p, "127.0.0.1", "127.0.0.2", NULL);
	pair_init(&q, "127.0.0.3", "127.0.0.4", NULL);
	/* one after the other, and with another flow in between to the same receiver */
	for (unsigned int mixed = 0; mixed < 2; mixed++) {
		struct roce_rx *rx = q.rx;

		inbox_clear(&p.in);
		for (uint32_t i = 0; i < ORDERS * EACH; i++) {
			want[i] = i / EACH == FIXED      ? 0
				  : i / EACH == COUNTED  ? 65530 + i % EACH
				  : i / EACH == BY_THREE ? i * 3
							 : sample_random(&seed);
			send_with_id(&p, i, want[i], false);
			if (i % 13 == 5)
				send_with_id(&p, i, want[i], true);
			pair_drain(&p);
			if (!mixed)
				continue;
			send_with_id(&q, i, i, false);
			q.rx = p.rx;
			pair_receive(&q, i + 1);
			q.rx = rx;
			assert_int_equal(q.in.at[i].meta.ip_id, i);
		}
		pair_receive(&p, ORDERS * EACH);
		for (uint32_t i = 0; i < ORDERS * EACH; i++) {
			assert_int_equal(p.in.at[i].pkt.psn, i);
			assert_int_equal(p.in.at[i].meta.ip_id, want[i]);
		}
	}
	roce_endpoint_counters(p.b, &c);
	assert_int_equal(c.rx_drop[ROCE_DROP_ICRC], 2 * ((ORDERS * EACH - 6) / 13 + 1));
	pair_fini(&q);
	pair_fini(&p);
}

static void packets_that_a_full_socket_lost_are_counted(void **state)
{
	struct roce_endpoint_opts opts = { .rcvbuf = 16384 };
	struct roce_pkt pkt = sample_packet(ROCE_PKT_SEND_ONLY, 512);
	const uint64_t sent = 200;
	struct roce_counters c;
	struct pair p;

	pair_init(&p, "127.0.0.1", "127.0.0.2", &opts);
	for (uint64_t i = 0; i < sent; i++) {
		assert_int_equal(pair_add(&p, &pkt, 0), 0);
		assert_int_equal(roce_tx_flush(p.tx), 0);
	}
	/* Nothing was read so far: each packet is queued or dropped, perhaps a little later. */
	do {
		pair_drain(&p);
		roce_endpoint_counters(p.b, &c);
	} while (p.in.count + c.rx_full < sent);
	assert_int_equal(p.in.count + c.rx_full, sent);
	assert_true(c.rx_full > 0 && p.in.count > 0);
	pair_fini(&p);
}

static void only_the_corrupted_segment_of_a_send_is_dropped(void **state)
{
	struct roce_pkt pkt = sample_packet(ROCE_PKT_SEND_ONLY, 64);
	struct roce_meta meta = { .ipv4 = true };
	struct inbox in = { .count = 0 };
	uint64_t drops[ROCE_DROP_COUNT] = { 0 };
	struct roce_addr from = addr("10.0.0.1"), to = addr("10.0.0.2");
	struct roce_icrc_flow flow;
	uint8_t bytes[5 * 128];
	size_t len = 0, segment = 0;

	roce_icrc_flow_init(&flow, &from, &to, 1, 2);
	for (unsigned int i = 0; i < 5; i++) {
		uint8_t *at = bytes + len;
		size_t n = sample_bytes(&pkt, 0xffff, at);
		uint32_t icrc = htole32(roce_icrc_compute(&flow, at, n, 500 + i));

		memcpy(at + n, &icrc, 4);
		segment = n + 4;
		len += segment;
	}
	bytes[2 * segment + 30] ^= 4;
	assert_int_equal(roce_rx_datagram(bytes, len, segment, &meta, &flow, drops, inbox_put, &in),
			 4);
	assert_int_equal(drops[ROCE_DROP_ICRC], 1);
	assert_int_equal(in.at[0].meta.ip_id, 500);
	assert_int_equal(in.at[3].meta.ip_id, 504);
	inbox_fini(&in);
}

/* ---- opening ---- */

static void a_port_that_is_taken_names_its_owner(void **state)
{
	struct roce_addr a = addr("127.0.0.9");
	struct roce_endpoint_opts lonely = { .exclusive = true };
	struct roce_endpoint *first, *second = (void *)1;
	char want[64];

	assert_int_equal(roce_endpoint_open(&a, &lonely, &first), 0);
	assert_int_equal(roce_endpoint_open(&a, NULL, &second), -EADDRINUSE);
	assert_ptr_equal(second, (void *)1);
	assert_non_null(strstr(explain_last(), "4791"));
	assert_non_null(strstr(explain_last(), "127.0.0.9"));
	snprintf(want, sizeof(want), "process %d (", getpid());
	assert_non_null(strstr(explain_last(), want));
	roce_endpoint_close(first);
	assert_int_equal(roce_endpoint_open(&a, NULL, &second), 0);
	roce_endpoint_close(second);
}

static void a_port_taken_at_ipv6_names_its_owner_too(void **state)
{
	struct roce_addr a = addr("::1");
	struct roce_endpoint_opts lonely = { .exclusive = true };
	struct roce_endpoint *first, *second;
	char want[64];

	assert_int_equal(roce_endpoint_open(&a, &lonely, &first), 0);
	assert_int_equal(roce_endpoint_open(&a, NULL, &second), -EADDRINUSE);
	snprintf(want, sizeof(want), "process %d (", getpid());
	assert_non_null(strstr(explain_last(), want));
	roce_endpoint_close(first);
}

static void addresses_of_other_hosts_are_refused(void **state)
{
	struct roce_addr stranger = addr("192.0.2.9"), group = addr("239.0.0.1");
	struct roce_endpoint *ep;

	assert_int_equal(roce_endpoint_open(&stranger, NULL, &ep), -EADDRNOTAVAIL);
	assert_int_equal(roce_endpoint_open(&group, NULL, &ep), -EINVAL);
}

static void a_path_needs_one_ip_version(void **state)
{
	struct roce_dest dest = { .addr = addr("fd00::1") };
	struct roce_path path;
	struct pair p;

	pair_init(&p, "127.0.0.1", "127.0.0.2", NULL);
	assert_int_equal(roce_path_init(&path, p.a, &dest), -EINVAL);
	pair_fini(&p);
}

static void loopback_has_the_largest_mtu(void **state)
{
	struct pair p;

	pair_init(&p, "127.0.0.1", "127.0.0.2", NULL);
	assert_int_equal(roce_endpoint_mtu(p.a), 4096);
	pair_fini(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_opcode_arrives_as_it_was_sent),
		cmocka_unit_test(meta_says_where_a_packet_came_from_and_how),
		cmocka_unit_test(
			every_packet_has_its_own_class_and_ttl_whatever_the_socket_defaults),
		cmocka_unit_test(every_send_is_cut_at_packet_ends_whatever_the_socket_defaults),
		cmocka_unit_test(the_grh_of_a_datagram_is_its_ip_header),
		cmocka_unit_test(a_long_message_leaves_in_one_system_call),
		cmocka_unit_test(without_segments_and_gro_the_same_arrives),
		cmocka_unit_test(a_receiver_without_gro_takes_what_a_sender_segments),
		cmocka_unit_test(refused_segments_leave_one_by_one),
		cmocka_unit_test(packets_of_other_qp_blocks_do_not_share_a_send),
		cmocka_unit_test(a_batch_flushes_itself_when_it_is_full),
		cmocka_unit_test(ttl_is_reported_once_enabled),
		cmocka_unit_test(bad_packets_are_dropped_and_counted_by_reason),
		cmocka_unit_test(ids_are_found_however_they_follow_each_other),
		cmocka_unit_test(packets_that_a_full_socket_lost_are_counted),
		cmocka_unit_test(only_the_corrupted_segment_of_a_send_is_dropped),
		cmocka_unit_test(a_port_that_is_taken_names_its_owner),
		cmocka_unit_test(a_port_taken_at_ipv6_names_its_owner_too),
		cmocka_unit_test(addresses_of_other_hosts_are_refused),
		cmocka_unit_test(a_path_needs_one_ip_version),
		cmocka_unit_test(loopback_has_the_largest_mtu),
	};

	net_enter();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
