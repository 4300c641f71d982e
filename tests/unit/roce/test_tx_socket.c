/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Send sockets, seen from the wire: which source port a packet has, and that its ICRC covers the IPv4 id
 * that the kernel gave it. The interface takes no segments, so that the kernel makes them, as for a
 * real adapter.
 */
#include "cmocka_all.h"

#include <linux/udp.h>
#include <pthread.h>
#include <stdatomic.h>

#include "hosts.h"
#include "roce/inspect.h"
#include "roce/endpoint_types.h"
#include "util/api.h"

static const struct {
	const char *a, *b, *other;
} hosts[] = {
	{ A4, B4, "10.8.0.3" },
	{ A6, B6, "fd08::3" },
};

enum { BLOCK = 1 << ROCE_QPN_BLOCK_BITS };

/* A pair whose first end sends by the socket of the other's host. */
struct sender {
	struct pair p;
	int wire;
	uint32_t added, seen; /* PSNs */
	uint32_t dqpn;
};

static struct roce_path path_to(struct roce_endpoint *ep, const char *to)
{
	struct roce_dest dest = { .addr = addr(to) };
	struct roce_path path;

	dest.sport = roce_tx_socket_for_host(ep, &dest.addr);
	assert_int_equal(roce_path_init(&path, ep, &dest), 0);
	assert_int_equal(path.sport, dest.sport ? dest.sport : ROCE_UDP_PORT);
	return path;
}

static void sender_init(struct sender *s, size_t v, const struct roce_endpoint_opts *opts)
{
	memset(s, 0, sizeof(*s));
	far_init(&s->p, hosts[v].a, hosts[v].b, opts);
	s->p.path = path_to(s->p.a, hosts[v].b);
	assert_true(s->p.path.sport >= 0xc000);
	s->wire = sniff();
	s->dqpn = BLOCK;
}

static void sender_fini(struct sender *s)
{
	close(s->wire);
	pair_fini(&s->p);
}

static struct roce_tx_socket *socket_of(const struct sender *s)
{
	return &s->p.a->tx_socket[s->p.path.route.socket];
}

static void add_one(struct sender *s, uint32_t len)
{
	struct roce_pkt pkt = sample_packet(ROCE_PKT_SEND_ONLY, len);

	pkt.dqpn = s->dqpn;
	pkt.psn = s->added;
	assert_int_equal(pair_add(&s->p, &pkt, s->added), 0);
	s->added++;
}

/* These packets leave as segments of one send, apart from those added before and after. */
static void add_row(struct sender *s, unsigned int packets, uint32_t len)
{
	s->dqpn += BLOCK;
	for (unsigned int i = 0; i < packets; i++)
		add_one(s, len);
}

static void flush(struct sender *s)
{
	assert_int_equal(roce_tx_flush(s->p.tx), 0);
	assert_int_equal(roce_tx_pending(s->p.tx), 0);
}

static void see_one(struct sender *s)
{
	struct sight at;

	assert_true(sight_take(s->wire, 0, &at));
	assert_int_equal(at.psn, s->seen);
	assert_int_equal(at.sport, s->p.path.sport);
	assert_true(at.right && at.whole);
	s->seen++;
}

/* All packets that were added are on the wire, once each and in order. */
static void see_all(struct sender *s)
{
	struct sight at;

	while (s->seen < s->added)
		see_one(s);
	assert_false(sight_take(s->wire, MSG_DONTWAIT, &at));
}

static uint64_t lost(const struct sender *s)
{
	struct roce_counters count;

	roce_endpoint_counters(s->p.a, &count);
	return count.tx_lost;
}

/* ---- ports ---- */

static void packets_to_one_host_have_one_source_port(void **state)
{
	for (size_t v = 0; v < array_size(hosts); v++) {
		struct roce_path path;
		struct sender s;

		sender_init(&s, v, NULL);
		path = path_to(s.p.a, hosts[v].b);
		assert_memory_equal(&path, &s.p.path, sizeof(path));
		path = path_to(s.p.a, hosts[v].other);
		assert_int_not_equal(path.sport, s.p.path.sport);
		assert_true(path.sport >= 0xc000);
		for (unsigned int i = 0; i < 40; i++)
			add_row(&s, 1 + i % 5, 64);
		flush(&s);
		see_all(&s);
		sender_fini(&s);
	}
}

static void hosts_share_ports_when_there_are_many(void **state)
{
	struct roce_addr here = addr("127.0.0.1");
	struct roce_endpoint *ep;
	char text[32];

	assert_int_equal(roce_endpoint_open(&here, NULL, &ep), 0);
	for (unsigned int i = 0; i < 1000; i++) {
		snprintf(text, sizeof(text), "127.0.%u.%u", i / 256, i % 256);
		assert_true(path_to(ep, text).sport >= 0xc000);
	}
	assert_in_range(atomic_load(&ep->tx_sockets), 2, 1 + ROCE_HOST_TX_SOCKETS);
	/* There is room for ports that a program chooses, up to a limit. */
	for (unsigned int i = 0; i < ROCE_MAX_TX_SOCKETS - ROCE_HOST_TX_SOCKETS; i++)
		assert_int_equal(roce_tx_socket_open(ep, 20000 + i), 0);
	for (unsigned int i = 0; atomic_load(&ep->tx_sockets) <= ROCE_MAX_TX_SOCKETS; i++)
		assert_int_equal(roce_tx_socket_open(ep, 21000 + i), 0);
	assert_int_equal(roce_tx_socket_open(ep, 30000), -ENOSPC);
	assert_int_equal(roce_tx_socket_open(ep, 20000), 0);
	roce_endpoint_close(ep);
}

static void flows_share_ports_when_there_are_many(void **state)
{
	struct roce_addr here = addr("127.0.0.1");
	struct roce_endpoint *ep;
	uint16_t port;

	assert_int_equal(roce_endpoint_open(&here, NULL, &ep), 0);
	for (port = 50000; port < 50000 + ROCE_FLOW_TX_SOCKETS; port++)
		assert_int_equal(roce_tx_socket_for_flow(ep, port), port);
	for (; port < 50500; port++)
		assert_in_range(roce_tx_socket_for_flow(ep, port), 50000,
				50000 + ROCE_FLOW_TX_SOCKETS - 1);
	assert_int_equal(atomic_load(&ep->tx_sockets), 1 + ROCE_FLOW_TX_SOCKETS);
	/* A port that a program chose is a flow's, too. */
	assert_int_equal(roce_tx_socket_open(ep, 51000), 0);
	assert_int_equal(roce_tx_socket_for_flow(ep, 51000), 51000);
	roce_endpoint_close(ep);
}

struct opener {
	struct roce_endpoint *ep;
	atomic_bool done;
};

static void *open_sockets(void *arg)
{
	struct opener *o = arg;
	char text[32];

	for (unsigned int i = 0; !atomic_load(&o->done); i++) {
		struct roce_addr to;

		snprintf(text, sizeof(text), "10.8.0.%u", 100 + i % 20);
		if (roce_addr_parse(text, &to) || !roce_tx_socket_for_host(o->ep, &to))
			return "no port";
		sched_yield();
	}
	return NULL;
}

static void sockets_are_opened_while_others_are_in_use(void **state)
{
	static struct sender s; /* these outlive a test that fails, as its thread does */
	static struct opener o;
	pthread_t thread;
	void *failed;

	sender_init(&s, 0, NULL);
	o.ep = s.p.a;
	atomic_init(&o.done, false);
	assert_int_equal(pthread_create(&thread, NULL, open_sockets, &o), 0);
	for (unsigned int i = 0; i < 200; i++) {
		add_row(&s, 1 + i % 5, 64);
		add_row(&s, 1, 64);
		flush(&s);
		see_all(&s);
	}
	atomic_store(&o.done, true);
	pthread_join(thread, &failed);
	assert_null(failed);
	sender_fini(&s);
}

/* ---- refusals ---- */

/* The kernel makes no segments without check sums, and takes everything else. */
static void refuse_segments(const struct sender *s)
{
	int fd = socket_of(s)->fd, one = 1;

	if (s->p.a->ipv4)
		assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_NO_CHECK, &one, 4), 0);
	else
		assert_int_equal(setsockopt(fd, IPPROTO_UDP, UDP_NO_CHECK6_TX, &one, 4), 0);
}

static void segments_that_are_refused_leave_one_by_one(void **state)
{
	for (size_t v = 0; v < array_size(hosts); v++) {
		struct roce_endpoint_limits limits;
		struct sender s;

		sender_init(&s, v, NULL);
		add_row(&s, 5, 64);
		flush(&s);
		see_all(&s);
		refuse_segments(&s);
		add_row(&s, 1, 64);
		add_row(&s, 5, 64);
		add_row(&s, 1, 64);
		add_row(&s, 40, 512);
		add_one(&s, 3);
		add_row(&s, 2, 64);
		flush(&s);
		see_all(&s);
		roce_endpoint_limits(s.p.a, &limits);
		assert_false(limits.segment);
		add_row(&s, 9, 64);
		flush(&s);
		see_all(&s);
		pair_receive(&s.p, s.added);
		assert_int_equal(lost(&s), 0);
		sender_fini(&s);
	}
}

/* A length that many sends had becomes the socket's option, which then every send meets. */
static void segments_that_are_refused_once_they_are_set_leave_one_by_one(void **state)
{
	struct sender s;

	sender_init(&s, 0, NULL);
	for (unsigned int i = 0; i < 40; i++) {
		add_row(&s, 2, 64);
		flush(&s);
	}
	see_all(&s);
	assert_int_not_equal(socket_of(&s)->segment, 0);
	refuse_segments(&s);
	add_row(&s, 1, 32);
	add_row(&s, 2, 64);
	add_row(&s, 1, 64);
	add_row(&s, 3, 64);
	flush(&s);
	see_all(&s);
	assert_int_equal(lost(&s), 0);
	sender_fini(&s);
}

static void packets_that_are_too_long_are_lost_and_the_others_arrive(void **state)
{
	for (size_t v = 0; v < array_size(hosts); v++) {
		struct sender s;

		sender_init(&s, v, NULL);
		add_row(&s, 3, 1400);
		flush(&s);
		see_all(&s);
		assert_int_equal(net_shell("ip link set va mtu 1280"), 0);
		add_row(&s, 2, 64);
		add_row(&s, 3, 1400);
		add_one(&s, 3);
		add_row(&s, 1, 1400);
		add_row(&s, 2, 64);
		flush(&s);
		assert_int_equal(net_shell("ip link set va mtu 1500"), 0);
		see_one(&s);
		see_one(&s);
		s.seen += 3;
		see_one(&s);
		s.seen += 1;
		see_all(&s);
		add_row(&s, 3, 1400);
		flush(&s);
		see_all(&s);
		assert_int_equal(lost(&s), 4);
		sender_fini(&s);
	}
}

/* ---- faults ---- */

static void packets_that_faults_let_through_have_a_right_icrc(void **state)
{
	static const char script[] = "drop p=0.1 dir=out again=yes; dup p=0.1 dir=out again=yes; "
				     "reorder p=0.1 dir=out again=yes; "
				     "delay us=1 p=0.1 dir=out again=yes";

	for (size_t v = 0; v < array_size(hosts); v++) {
		struct roce_inspect inspect = { .fault = NULL };
		struct roce_endpoint_opts opts = { .inspect = &inspect };
		uint64_t dropped, doubled;
		const char *text;
		struct sight at;
		struct sender s;

		assert_int_equal(roce_fault_create(&inspect.fault), 0);
		sender_init(&s, v, &opts);
		assert_int_equal(roce_fault_load(inspect.fault, script, 1, 0), 0);
		for (unsigned int i = 0; i < 60; i++) {
			add_row(&s, 1 + i % 9, 64);
			if (i % 3 == 0)
				flush(&s);
		}
		roce_tx_send_delayed(s.p.tx);
		flush(&s);
		assert_true(roce_fault_rule(inspect.fault, 0, &text, &dropped));
		assert_true(roce_fault_rule(inspect.fault, 1, &text, &doubled));
		assert_true(dropped && doubled);
		for (uint64_t n = s.added - dropped + doubled; n; n--) {
			assert_true(sight_take(s.wire, 0, &at));
			assert_true(at.right);
			assert_int_equal(at.sport, s.p.path.sport);
		}
		assert_false(sight_take(s.wire, MSG_DONTWAIT, &at));
		sender_fini(&s);
		roce_fault_destroy(inspect.fault);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packets_to_one_host_have_one_source_port),
		cmocka_unit_test(hosts_share_ports_when_there_are_many),
		cmocka_unit_test(flows_share_ports_when_there_are_many),
		cmocka_unit_test(sockets_are_opened_while_others_are_in_use),
		cmocka_unit_test(segments_that_are_refused_leave_one_by_one),
		cmocka_unit_test(segments_that_are_refused_once_they_are_set_leave_one_by_one),
		cmocka_unit_test(packets_that_are_too_long_are_lost_and_the_others_arrive),
		cmocka_unit_test(packets_that_faults_let_through_have_a_right_icrc),
	};

	if (!make_hosts() || net_shell("ip link set va gso_max_segs 1")) {
		printf("SKIPPED: no veth between two namespaces can be made here\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
