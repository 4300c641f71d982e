/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A lane, seen from the wire: a packet's ICRC has to be that of the IPv4 id that the kernel gave it, which
 * a receiver of ours does not see, but others do. The interface takes no segments, so that the kernel
 * makes them, as for a real adapter.
 */
#ifndef TESTS_ROCE_LANE_H
#define TESTS_ROCE_LANE_H

#include "cmocka_all.h"

#include "hosts.h"
#include "roce/udp_priv.h"
#include "util/api.h"

static const struct {
	const char *a, *b, *to, *other;
} hosts[] = {
	{ A4, B4, B4, "10.8.0.3" },
	{ A6, B6, B6, "fd08::3" },
};

#define MAC_B "02:00:00:00:00:0b"

enum { BLOCK = 1 << ROCE_QPN_BLOCK_BITS };

/* A pair with a lane, and somebody who looks on. */
struct lane {
	struct pair p;
	int wire;
	uint32_t added, seen; /* PSNs */
	uint32_t dqpn;
};

static inline struct roce_source *source_of(const struct lane *l)
{
	return &l->p.a->source[l->p.path.route.socket];
}

static inline struct roce_path path_to(struct roce_endpoint *ep, const char *to)
{
	struct roce_dest dest = { .addr = addr(to) };
	struct roce_path path;

	roce_endpoint_lane(ep, &dest);
	assert_int_equal(roce_path_init(&path, ep, &dest), 0);
	assert_int_equal(path.sport, dest.sport ? dest.sport : ROCE_UDP_PORT);
	return path;
}

static inline void lane_init_to(struct lane *l, size_t v, const char *to,
				const struct roce_endpoint_opts *opts)
{
	memset(l, 0, sizeof(*l));
	far_init(&l->p, hosts[v].a, hosts[v].b, opts);
	l->p.path = path_to(l->p.a, to);
	assert_true(l->p.path.sport >= 0xc000);
	assert_true(source_of(l)->lane && source_of(l)->connected);
	l->wire = sniff();
	l->dqpn = BLOCK;
}

static inline void lane_init(struct lane *l, size_t v, const struct roce_endpoint_opts *opts)
{
	lane_init_to(l, v, hosts[v].to, opts);
}

static inline void lane_fini(struct lane *l)
{
	close(l->wire);
	pair_fini(&l->p);
}

static inline int add_one(struct lane *l, uint32_t len)
{
	struct roce_pkt pkt = sample_packet(ROCE_PKT_SEND_ONLY, len);
	int err;

	pkt.dqpn = l->dqpn;
	pkt.psn = l->added;
	err = pair_add(&l->p, &pkt, l->added);
	l->added += !err;
	return err;
}

/* They leave as segments of one send, apart from what is added before and behind. */
static inline void add_row(struct lane *l, unsigned int packets, uint32_t len)
{
	l->dqpn += BLOCK;
	for (unsigned int i = 0; i < packets; i++)
		assert_int_equal(add_one(l, len), 0);
}

static inline void flush(struct lane *l)
{
	assert_int_equal(roce_tx_flush(l->p.tx), 0);
	assert_int_equal(roce_tx_pending(l->p.tx), 0);
}

/* The next one that was added. */
static inline struct sight see_one(struct lane *l)
{
	struct sight s;

	assert_true(sight_take(l->wire, 0, &s));
	assert_int_equal(s.psn, l->seen);
	l->seen++;
	assert_true(s.whole);
	return s;
}

/* All that were added are on the wire, with ICRCs that fit their ids. */
static inline void see_all(struct lane *l)
{
	struct sight s;

	while (l->seen < l->added) {
		s = see_one(l);
		assert_int_equal(s.sport, l->p.path.sport);
		assert_true(s.right);
	}
	assert_false(sight_take(l->wire, MSG_DONTWAIT, &s));
}

static inline struct roce_counters count_of(const struct lane *l)
{
	struct roce_counters count;

	roce_endpoint_counters(l->p.a, &count);
	return count;
}

/* The host at b has a second address, and tells of every packet that it has no use for. */
static inline bool lane_hosts(void)
{
	if (!make_hosts() || net_shell("ip link set va gso_max_segs 1") ||
	    setns(ns_b, CLONE_NEWNET) ||
	    net_shell("ip link set vb address " MAC_B " && ip addr add 10.8.0.3/24 dev vb && "
		      "ip addr add fd08::3/64 dev vb nodad")) {
		printf("SKIPPED: no veth between two namespaces can be made here\n");
		return false;
	}
	net_write_file("/proc/sys/net/ipv4/icmp_ratelimit", "0");
	net_write_file("/proc/sys/net/ipv6/icmp/ratelimit", "0");
	return !setns(ns_a, CLONE_NEWNET);
}

#endif
