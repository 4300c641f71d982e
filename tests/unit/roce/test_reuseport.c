/* SPDX-License-Identifier: BSD-2-Clause */
/* Several sockets at one address: reuseport programs, probes, multicast. */
#include "roce/reuseport.h"
#include "roce/group.h"
#include "cmocka_all.h"

#include <netinet/in.h>

#include "net.h"
#include "pair.h"
#include "util/api.h"
#include "util/explain.h"

#define HERE "127.0.0.5"

struct crowd {
	struct pair p; /* b is at HERE and has index 0 */
	struct roce_endpoint *ep[8];
	size_t count;
};

static void crowd_init(struct crowd *c, size_t count)
{
	struct roce_addr here = addr(HERE);

	pair_init(&c->p, "127.0.0.1", HERE, NULL);
	c->count = count;
	c->ep[0] = c->p.b;
	for (size_t i = 1; i < count; i++)
		assert_int_equal(roce_endpoint_open(&here, NULL, &c->ep[i]), 0);
}

static void crowd_fini(struct crowd *c)
{
	for (size_t i = 1; i < c->count; i++)
		roce_endpoint_close(c->ep[i]);
	pair_fini(&c->p);
}

static void send_to(struct crowd *c, uint32_t qpn)
{
	struct roce_pkt pkt = sample_packet(ROCE_PKT_SEND_ONLY, 32);

	pkt.dqpn = qpn;
	assert_int_equal(pair_add(&c->p, &pkt, 0), 0);
	assert_int_equal(roce_tx_flush(c->p.tx), 0);
}

/* One poll may take only one datagram of several. */
static void empty(struct crowd *c, size_t i)
{
	while (roce_rx_poll(c->p.rx, c->ep[i], 16, inbox_put, &c->p.in) > 0)
		;
}

/* Which of them has a packet to `qpn` in its socket; -1: none. */
static int find(struct crowd *c, uint32_t qpn)
{
	int who = -1;

	for (size_t i = 0; i < c->count; i++) {
		if (!c->ep[i])
			continue;
		inbox_clear(&c->p.in);
		empty(c, i);
		for (size_t k = 0; k < c->p.in.count; k++) {
			assert_int_equal(c->p.in.at[k].pkt.dqpn, qpn);
			assert_int_equal(who, -1);
			who = i;
		}
	}
	return who;
}

static int lands_at(struct crowd *c, uint32_t qpn)
{
	send_to(c, qpn);
	return find(c, qpn);
}

static void packets_go_to_the_socket_of_their_qp(void **state)
{
	struct roce_reuseport_range rows[] = {
		{ 0x300, 0x3ff, 2 }, { 0x100, 0x1ff, 0 },       { 0x200, 0x2ff, 1 },
		{ 1, 1, 3 },         { 0xfffe00, 0xfffeff, 2 },
	};
	struct crowd c;

	crowd_init(&c, 4);
	assert_int_equal(roce_reuseport_attach(c.ep[0], rows, array_size(rows), 3), 0);
	for (unsigned int i = 0; i < 3; i++) {
		assert_int_equal(lands_at(&c, 0x100), 0);
		assert_int_equal(lands_at(&c, 0x1ff), 0);
		assert_int_equal(lands_at(&c, 0x200), 1);
		assert_int_equal(lands_at(&c, 0x2ff), 1);
		assert_int_equal(lands_at(&c, 0x300), 2);
		assert_int_equal(lands_at(&c, 0x3ff), 2);
		assert_int_equal(lands_at(&c, 0x400), 3);
		assert_int_equal(lands_at(&c, 1), 3);
		assert_int_equal(lands_at(&c, 2), 3);
		assert_int_equal(lands_at(&c, 0xfffeff), 2);
		assert_int_equal(lands_at(&c, 0xfffdff), 3);
	}
	crowd_fini(&c);
}

/* Every second block has a range. The socket that a QP of block `block` goes to. */
static int want(uint32_t block, bool few)
{
	bool is_gap = !(block & 1) || block >= 2 * ROCE_REUSEPORT_RANGES;
	uint32_t row = (block - 1) / 2;

	if (is_gap && (!few || !block))
		return 4;
	return (row < ROCE_REUSEPORT_RANGES ? row : ROCE_REUSEPORT_RANGES - 1) % 4;
}

static void the_largest_table_is_accepted_and_right(void **state)
{
	struct roce_reuseport_range rows[ROCE_REUSEPORT_RANGES];
	struct crowd c;
	uint64_t seed = 9;
	bool few;

	crowd_init(&c, 5);
	for (uint32_t i = 0; i < ROCE_REUSEPORT_RANGES; i++)
		rows[i] = (struct roce_reuseport_range){ (2 * i + 1) << 8, ((2 * i + 1) << 8) + 255,
							 i % 4 };
	assert_int_equal(roce_reuseport_attach(c.ep[0], rows, ROCE_REUSEPORT_RANGES, 4), 0);
	/* Kernels before 6.7 refuse the longest program; gaps then go to the range before. */
	few = lands_at(&c, 2 << 8) != 4;
	for (unsigned int i = 0; i < 300; i++) {
		uint32_t block = sample_random(&seed) % (2 * ROCE_REUSEPORT_RANGES + 2);
		uint32_t low = i % 3 ? sample_random(&seed) & 0xff : (i & 1) * 0xff;

		assert_int_equal(lands_at(&c, block << 8 | low), want(block, few));
	}
	crowd_fini(&c);
}

static void overlapping_ranges_are_refused(void **state)
{
	struct roce_reuseport_range overlap[] = { { 0x100, 0x1ff, 0 }, { 0x1ff, 0x2ff, 1 } };
	struct roce_reuseport_range backwards[] = { { 0x200, 0x1ff, 0 } };
	struct roce_reuseport_range beyond[] = { { 0, 0x1000000, 0 } };
	struct crowd c;

	crowd_init(&c, 1);
	assert_int_equal(roce_reuseport_attach(c.ep[0], overlap, 2, 0), -EINVAL);
	assert_int_equal(roce_reuseport_attach(c.ep[0], backwards, 1, 0), -EINVAL);
	assert_int_equal(roce_reuseport_attach(c.ep[0], beyond, 1, 0), -EINVAL);
	assert_int_equal(roce_reuseport_attach(c.ep[0], overlap, ROCE_REUSEPORT_RANGES + 1, 0),
			 -ENOSPC);
	crowd_fini(&c);
}

static uint32_t index_of(struct crowd *c, size_t i)
{
	uint32_t index = 99;

	assert_int_equal(roce_reuseport_probe(c->ep[i], 8), 0);
	for (size_t k = 0; k < c->count; k++)
		if (c->ep[k])
			empty(c, k);
	assert_int_equal(roce_reuseport_index(c->ep[i], &index), 0);
	return index;
}

static void a_socket_finds_its_index_by_probes(void **state)
{
	struct roce_counters count;
	uint32_t index;
	struct crowd c;

	crowd_init(&c, 4);
	assert_int_equal(roce_reuseport_attach(c.ep[0], NULL, 0, UINT32_MAX), 0);
	assert_int_equal(roce_reuseport_index(c.ep[2], &index), -ENOENT);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(index_of(&c, i), i);
	/* Probes are counted apart from packets and from errors. */
	assert_int_equal(c.p.in.count, 0);
	roce_endpoint_counters(c.ep[1], &count);
	assert_true(count.rx_drop[ROCE_DROP_PROBE] > 0);
	assert_int_equal(count.rx_drop[ROCE_DROP_OPCODE], 0);

	/* The last socket takes the index of one that closes. */
	roce_endpoint_close(c.ep[1]);
	c.ep[1] = NULL;
	assert_int_equal(index_of(&c, 0), 0);
	assert_int_equal(index_of(&c, 2), 2);
	assert_int_equal(index_of(&c, 3), 1);
	crowd_fini(&c);
}

static void a_socket_finds_its_index_near_a_guess(void **state)
{
	uint32_t index = 99;
	struct crowd c;

	crowd_init(&c, 4);
	/* Without a program all probes lead to the same socket. */
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(roce_reuseport_find(c.ep[i], 2, 8, &index), -ENOENT);
	assert_int_equal(roce_reuseport_attach(c.ep[0], NULL, 0, UINT32_MAX), 0);
	/* The kernel's hash leads all indexes past the last socket to one of them, for which no
	 * answer is certain. */
	for (uint32_t i = 0, found = 0; i < 4; i++) {
		for (uint32_t guess = 0; guess < 8; guess++) {
			if (roce_reuseport_find(c.ep[i], guess, 8, &index))
				continue;
			assert_int_equal(index, i);
			found++;
		}
		if (i == 3)
			assert_true(found >= 3 * 8);
	}
	assert_int_equal(roce_reuseport_find(c.ep[0], 3, 2, &index), -ENOENT);
	crowd_fini(&c);
}

static void an_index_past_the_end_reaches_some_socket(void **state)
{
	struct roce_reuseport_range rows[] = { { 0x100, 0x1ff, 7 } };
	struct crowd c;

	crowd_init(&c, 2);
	assert_int_equal(roce_reuseport_attach(c.ep[0], rows, 1, UINT32_MAX), 0);
	assert_in_range(lands_at(&c, 0x100), 0, 1);
	assert_in_range(lands_at(&c, 0x200), 0, 1);
	crowd_fini(&c);
}

/* ---- multicast ---- */

static void send_group(struct pair *p, const struct roce_addr *group)
{
	struct roce_dest dest = { .addr = *group, .ttl = 3 };
	struct roce_pkt pkt = sample_packet(ROCE_TR_UD | ROCE_PKT_SEND_ONLY, 100);

	pkt.dqpn = 0xffffff;
	assert_int_equal(roce_path_init(&p->path, p->a, &dest), 0);
	assert_int_equal(pair_add(p, &pkt, 5), 0);
	assert_int_equal(roce_tx_flush(p->tx), 0);
	assert_int_equal(roce_tx_pending(p->tx), 0);
}

static void check_group(const char *from, const char *to, const char *group, const char *other)
{
	struct roce_addr g = addr(group), o = addr(other);
	struct roce_counters count;
	struct pair p;

	pair_init(&p, from, to, NULL);
	assert_int_equal(roce_group_join(p.b, &g), 0);
	assert_int_equal(roce_group_join(p.b, &g), 0);
	send_group(&p, &o);
	send_group(&p, &g);
	pair_receive(&p, 1);
	pair_drain(&p);
	assert_int_equal(p.in.count, 1);
	assert_true(p.in.at[0].meta.multicast);
	assert_true(p.in.at[0].pkt.flags & ROCE_PKT_MCAST);
	assert_memory_equal(p.in.at[0].meta.dst.gid, g.gid, 16);
	assert_int_equal(p.in.at[0].meta.ttl, 3);
	assert_int_equal(p.in.at[0].pkt.dqpn, 0xffffff);
	assert_memory_equal(p.in.at[0].data, pattern() + 5, 100);

	/* Joined twice, left once: still in. */
	assert_int_equal(roce_group_leave(p.b, &g), 0);
	send_group(&p, &g);
	pair_receive(&p, 2);
	assert_int_equal(roce_group_leave(p.b, &g), 0);
	assert_int_equal(roce_group_leave(p.b, &g), -ENOENT);
	send_group(&p, &g);
	pair_drain(&p);
	assert_int_equal(p.in.count, 2);
	roce_endpoint_counters(p.a, &count);
	assert_int_equal(count.tx_lost, 0);
	pair_fini(&p);
}

static void a_group_is_received_from_join_to_leave(void **state)
{
	check_group("10.9.0.1", "10.9.0.1", "239.1.2.3", "239.1.2.4");
}

static void an_ipv6_group_is_heard_from_join_to_leave(void **state)
{
	check_group("fd09::1", "fd09::1", "ff0e::123", "ff0e::124");
}

static void all_endpoints_that_joined_receive_a_group(void **state)
{
	struct roce_addr here = addr("10.9.0.1"), g = addr("239.1.2.3");
	struct roce_endpoint *second;
	struct pair p;

	pair_init(&p, "10.9.0.1", "10.9.0.1", NULL);
	assert_int_equal(roce_endpoint_open(&here, NULL, &second), 0);
	assert_int_equal(roce_group_join(p.b, &g), 0);
	assert_int_equal(roce_group_join(second, &g), 0);
	send_group(&p, &g);
	pair_receive(&p, 1);
	pair_receive_at(&p, second, 2);
	roce_endpoint_close(second);
	pair_fini(&p);
}

static uint64_t full_of(const struct roce_endpoint *ep)
{
	struct roce_counters c;

	roce_endpoint_counters(ep, &c);
	return c.rx_full;
}

static void drops_of_a_group_are_counted_after_it_was_left(void **state)
{
	struct roce_addr g = addr("239.1.2.3");
	uint64_t full;
	struct pair p;

	pair_init(&p, "10.9.0.1", "10.9.0.1", NULL);
	assert_int_equal(roce_group_join(p.b, &g), 0);
	/* not read, so that the socket fills up */
	for (unsigned int i = 0; !full_of(p.b); i++) {
		assert_true(i < 1000000);
		send_group(&p, &g);
	}
	full = full_of(p.b);
	assert_int_equal(full_of(p.a), 0);
	assert_int_equal(roce_group_leave(p.b, &g), 0);
	assert_true(full_of(p.b) >= full);
	pair_fini(&p);
}

static void only_groups_of_the_endpoints_ip_version_can_be_joined(void **state)
{
	struct roce_addr v6 = addr("ff0e::1"), host = addr("10.9.0.1");
	struct pair p;

	pair_init(&p, "10.9.0.1", "10.9.0.1", NULL);
	assert_int_equal(roce_group_join(p.b, &v6), -EINVAL);
	assert_int_equal(roce_group_join(p.b, &host), -EINVAL);
	pair_fini(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packets_go_to_the_socket_of_their_qp),
		cmocka_unit_test(the_largest_table_is_accepted_and_right),
		cmocka_unit_test(overlapping_ranges_are_refused),
		cmocka_unit_test(a_socket_finds_its_index_by_probes),
		cmocka_unit_test(a_socket_finds_its_index_near_a_guess),
		cmocka_unit_test(an_index_past_the_end_reaches_some_socket),
		cmocka_unit_test(a_group_is_received_from_join_to_leave),
		cmocka_unit_test(an_ipv6_group_is_heard_from_join_to_leave),
		cmocka_unit_test(all_endpoints_that_joined_receive_a_group),
		cmocka_unit_test(drops_of_a_group_are_counted_after_it_was_left),
		cmocka_unit_test(only_groups_of_the_endpoints_ip_version_can_be_joined),
	};

	net_enter();
	if (net_shell("ip link add dummy9 type dummy && ip addr add 10.9.0.1/24 dev dummy9 && "
		      "ip addr add fd09::1/64 dev dummy9 nodad && ip link set dummy9 up")) {
		/* without the dummy module a veth pair will do */
		if (net_shell("ip link add v9 type veth peer name w9 && ip link set w9 up && "
			      "ip addr add 10.9.0.1/24 dev v9 && "
			      "ip addr add fd09::1/64 dev v9 nodad && ip link set v9 up")) {
			printf("SKIPPED: no interface can be made here (package iproute2?)\n");
			return 77;
		}
	}
	net_wait_for_groups(if_nametoindex("dummy9") ? "dummy9" : "v9");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
