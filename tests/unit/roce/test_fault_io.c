/* SPDX-License-Identifier: BSD-2-Clause */
/* Fault injection in packets that are sent and received. */
#include "cmocka_all.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#include "net.h"
#include "pair.h"
#include "roce/inspect.h"
#include "util/api.h"

struct faulty {
	struct pair p;
	struct roce_inspect inspect;
};

static void faulty_init(struct faulty *s, const char *script)
{
	struct roce_endpoint_opts opts = { .inspect = &s->inspect };

	memset(s, 0, sizeof(*s));
	assert_int_equal(roce_fault_create(&s->inspect.fault), 0);
	pair_init(&s->p, "127.0.0.1", "127.0.0.2", &opts);
	assert_int_equal(roce_fault_load(s->inspect.fault, script, 1, 0), 0);
}

static void faulty_fini(struct faulty *s)
{
	pair_fini(&s->p);
	roce_fault_destroy(s->inspect.fault);
}

static void send_many(struct faulty *s, uint32_t n)
{
	struct roce_pkt pkt = sample_packet(ROCE_PKT_SEND_FIRST, 256);

	for (uint32_t i = 0; i < n; i++) {
		pkt.psn = i;
		assert_int_equal(pair_add(&s->p, &pkt, i), 0);
	}
	assert_int_equal(roce_tx_flush(s->p.tx), 0);
}

/* Sends `n` packets and expects exactly these to arrive, with their data. */
static void expect(struct faulty *s, uint32_t n, const uint32_t *psns, size_t count)
{
	send_many(s, n);
	pair_receive(&s->p, count);
	pair_drain(&s->p);
	assert_int_equal(s->p.in.count, count);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(s->p.in.at[i].pkt.psn, psns[i]);
		assert_memory_equal(s->p.in.at[i].data, pattern() + psns[i], 256);
	}
}

#define EXPECT(script, n, ...)                                                                     \
	do {                                                                                       \
		static const uint32_t psns_[] = { __VA_ARGS__ };                                   \
		struct faulty s_;                                                                  \
                                                                                                   \
		faulty_init(&s_, script);                                                          \
		expect(&s_, n, psns_, array_size(psns_));                                          \
		faulty_fini(&s_);                                                                  \
	} while (0)

static void dropped_packets_do_not_arrive(void **state)
{
	EXPECT("drop dir=out every=3", 7, 0, 1, 3, 4, 6);
	EXPECT("drop dir=in every=3", 7, 0, 1, 3, 4, 6);
}

static void duplicates_arrive_twice(void **state)
{
	EXPECT("dup dir=out psn=2", 4, 0, 1, 2, 2, 3);
	EXPECT("dup dir=in psn=2", 4, 0, 1, 2, 2, 3);
}

static void reordered_packets_are_swapped_with_the_next(void **state)
{
	EXPECT("reorder dir=out psn=1", 4, 0, 2, 1, 3);
	EXPECT("reorder dir=in psn=1", 4, 0, 2, 1, 3);
}

static void corrupted_packets_fail_their_icrc(void **state)
{
	static const char *const scripts[] = { "corrupt dir=out psn=2 bit=200",
					       "corrupt dir=in psn=2 bit=200" };

	for (size_t i = 0; i < array_size(scripts); i++) {
		static const uint32_t psns[] = { 0, 1, 3 };
		struct roce_counters count;
		struct faulty s;

		faulty_init(&s, scripts[i]);
		expect(&s, 4, psns, 3);
		roce_endpoint_counters(s.p.b, &count);
		assert_int_equal(count.rx_drop[ROCE_DROP_ICRC], 1);
		faulty_fini(&s);
	}
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static void wait_until(uint64_t due_ns)
{
	struct timespec t = { .tv_sec = due_ns / 1000000000, .tv_nsec = due_ns % 1000000000 };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL))
		;
}

/* On a busy machine, tries again with more time. */
static const unsigned int delays_ms[] = { 20, 1000, 9000 };

static void faulty_init_delay(struct faulty *s, const char *dir, unsigned int ms)
{
	char script[64];

	snprintf(script, sizeof(script), "delay ms=%u dir=%s psn=0", ms, dir);
	faulty_init(s, script);
}

static void a_delayed_packet_leaves_when_it_is_due(void **state)
{
	uint64_t start = 0, due = UINT64_MAX, delay = 0;
	struct faulty s;

	for (unsigned int i = 0; i < array_size(delays_ms) && due == UINT64_MAX; i++) {
		if (i)
			faulty_fini(&s);
		start = now_ns();
		delay = delays_ms[i] * 1000000ull;
		faulty_init_delay(&s, "out", delays_ms[i]);
		assert_true(roce_tx_due(s.p.tx) == UINT64_MAX);
		send_many(&s, 3);
		pair_receive(&s.p, 2);
		due = roce_tx_due(s.p.tx);
	}
	assert_int_equal(s.p.in.at[0].pkt.psn, 1);
	assert_true(due >= start + delay && due <= now_ns() + delay);
	wait_until(due);
	assert_int_equal(roce_tx_flush(s.p.tx), 0);
	pair_receive(&s.p, 3);
	assert_int_equal(s.p.in.at[2].pkt.psn, 0);
	assert_memory_equal(s.p.in.at[2].data, pattern(), 256);
	assert_true(roce_tx_due(s.p.tx) == UINT64_MAX);
	faulty_fini(&s);
}

static void a_delayed_packet_is_delivered_when_it_is_due(void **state)
{
	uint64_t due = UINT64_MAX;
	struct faulty s;

	for (unsigned int i = 0; i < array_size(delays_ms) && due == UINT64_MAX; i++) {
		if (i)
			faulty_fini(&s);
		faulty_init_delay(&s, "in", delays_ms[i]);
		send_many(&s, 3);
		pair_receive(&s.p, 2);
		due = roce_rx_due(s.p.rx);
	}
	assert_true(due != UINT64_MAX);
	/* The packet belongs to endpoint b; another one must not get it. */
	wait_until(due);
	assert_int_equal(roce_rx_poll(s.p.rx, s.p.a, 8, inbox_put, &s.p.in), 0);
	assert_int_equal(s.p.in.count, 2);
	pair_drain(&s.p);
	assert_int_equal(s.p.in.count, 3);
	assert_int_equal(s.p.in.at[2].pkt.psn, 0);
	assert_int_equal(s.p.in.at[2].meta.sport, ROCE_UDP_PORT);
	assert_memory_equal(s.p.in.at[2].data, pattern(), 256);
	faulty_fini(&s);
}

static void a_reordered_packet_without_a_follower_is_late_only(void **state)
{
	struct faulty s;

	/* It is delayed for a millisecond; a busy machine may take that long from add to flush. */
	for (int tries = 0;; tries++) {
		faulty_init(&s, "reorder dir=out");
		send_many(&s, 1);
		pair_drain(&s.p);
		if (!s.p.in.count)
			break;
		faulty_fini(&s);
		assert_true(tries < 1000);
	}
	wait_until(roce_tx_due(s.p.tx));
	assert_int_equal(roce_tx_flush(s.p.tx), 0);
	pair_receive(&s.p, 1);
	faulty_fini(&s);
}

static void many_faults_at_once_lose_nothing_but_what_they_drop(void **state)
{
	const char *text;
	struct faulty s;
	uint64_t dropped, doubled;
	uint32_t sent = 0;

	faulty_init(&s, "drop p=0.1 dir=out again=yes; dup p=0.1 dir=in again=yes; "
			"reorder p=0.1 again=yes; delay us=1 p=0.1 again=yes");
	for (unsigned int round = 0; round < 40; round++) {
		send_many(&s, 50);
		sent += 50;
		pair_drain(&s.p);
	}
	while (roce_tx_due(s.p.tx) != UINT64_MAX || roce_rx_due(s.p.rx) != UINT64_MAX) {
		roce_tx_flush(s.p.tx);
		pair_drain(&s.p);
		/* drain ends at the first empty read; due packets come with the next call */
		roce_rx_poll(s.p.rx, s.p.b, 64, inbox_put, &s.p.in);
	}
	assert_true(roce_fault_rule(s.inspect.fault, 0, &text, &dropped));
	assert_true(roce_fault_rule(s.inspect.fault, 1, &text, &doubled));
	assert_true(dropped > 100 && doubled > 100);
	assert_int_equal(s.p.in.count, sent - dropped + doubled);
	faulty_fini(&s);
}

struct sender {
	struct faulty *s;
	uint32_t qpn;
	pthread_t thread;
	atomic_uint *arrived; /* of all of them */
};

enum { SENDERS = 3, EACH = 3000 };

static void *send_on_thread(void *arg)
{
	struct sender *me = arg;
	struct roce_pkt pkt = sample_packet(ROCE_PKT_SEND_ONLY, 40);
	struct iovec piece = { (void *)pattern(), 40 };
	struct roce_tx *tx;

	pkt.dqpn = me->qpn;
	if (roce_tx_create(me->s->p.a, &tx))
		return "no batch";
	for (uint32_t i = 0; i < EACH; i++) {
		/* A receive buffer without privilege holds a few hundred packets. */
		while (i * SENDERS > atomic_load(me->arrived) + 200) {
			if (roce_tx_flush(tx))
				return "not sent";
			sched_yield();
		}
		pkt.psn = i;
		if (roce_tx_add(tx, &me->s->p.path, &pkt, &piece, 1))
			return "not added";
		if (i % 10 == 0 && roce_tx_flush(tx))
			return "not sent";
	}
	if (roce_tx_flush(tx))
		return "not sent";
	roce_tx_destroy(tx);
	return NULL;
}

/* One endpoint, several threads, with capture and faults switched on and off meanwhile. */
static void several_threads_may_feed_one_endpoint(void **state)
{
	struct sender senders[SENDERS];
	uint32_t next[SENDERS] = { 0 };
	atomic_uint arrived = 0;
	struct faulty s;

	faulty_init(&s, "");
	assert_int_equal(roce_capture_create(&s.inspect.capture), 0);
	for (uint32_t i = 0; i < SENDERS; i++) {
		senders[i] = (struct sender){ .s = &s, .qpn = i << 8, .arrived = &arrived };
		assert_int_equal(
			pthread_create(&senders[i].thread, NULL, send_on_thread, &senders[i]), 0);
	}
	for (uint32_t turn = 0; s.p.in.count < SENDERS * EACH; turn++) {
		if (turn % 16 == 0)
			roce_fault_load(s.inspect.fault, turn & 16 ? "" : "dup psn=0xffffff", 1, 0);
		if (turn % 32 == 0)
			roce_capture_start(s.inspect.capture, "/dev/null");
		if (turn % 32 == 16)
			roce_capture_stop(s.inspect.capture);
		pair_receive(&s.p, s.p.in.count + 1);
		atomic_store(&arrived, s.p.in.count);
	}
	for (uint32_t i = 0; i < SENDERS; i++) {
		void *failed;

		pthread_join(senders[i].thread, &failed);
		assert_null(failed);
	}
	/* each thread's own packets in their order */
	for (size_t i = 0; i < s.p.in.count; i++) {
		const struct roce_pkt *pkt = &s.p.in.at[i].pkt;

		assert_in_range(pkt->dqpn >> 8, 0, SENDERS - 1);
		assert_int_equal(pkt->psn, next[pkt->dqpn >> 8]++);
	}
	pair_fini(&s.p);
	roce_capture_destroy(s.inspect.capture);
	roce_fault_destroy(s.inspect.fault);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dropped_packets_do_not_arrive),
		cmocka_unit_test(duplicates_arrive_twice),
		cmocka_unit_test(reordered_packets_are_swapped_with_the_next),
		cmocka_unit_test(corrupted_packets_fail_their_icrc),
		cmocka_unit_test(a_delayed_packet_leaves_when_it_is_due),
		cmocka_unit_test(a_delayed_packet_is_delivered_when_it_is_due),
		cmocka_unit_test(a_reordered_packet_without_a_follower_is_late_only),
		cmocka_unit_test(several_threads_may_feed_one_endpoint),
		cmocka_unit_test(many_faults_at_once_lose_nothing_but_what_they_drop),
	};

	net_enter();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
