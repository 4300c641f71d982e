/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Times that a queue pair's attributes promise: never shorter, and not twice as long. Another process may delay
 * an attempt, but not every one; the best one counts. Labelled `timed`: ctest runs nothing beside it.
 */
#include "rig.h"

#define ATTEMPTS 20

static void send_byte(struct end *e, uint64_t id)
{
	post(e,
	     &(struct work){ .id = id, .op = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED, .len = 1 });
}

/* Until the request ends like this. */
static uint64_t time_of(struct end *e, enum ibv_wc_status status)
{
	uint64_t begin = now_ns();

	send_byte(e, 1);
	expect_wc(e->scq, 1, status);
	return now_ns() - begin;
}

static void check_times(uint64_t want, uint64_t (*measure)(const struct options *o),
			const struct options *o)
{
	uint64_t took = 0;

	for (int i = 0; i < ATTEMPTS; i++) {
		took = measure(o);
		if (took < want)
			rig_fail(__FILE__, __LINE__, "%llu ns instead of %llu",
				 (unsigned long long)took, (unsigned long long)want);
		if (took <= 2 * want)
			break;
	}
	printf("%.2f of %.1f ms\n", (double)took / (double)want, (double)want / 1e6);
	check(took <= 2 * want);
}

/* ---- silence ---- */

/* The other end exists, and is not ready to receive. */
static uint64_t silence(const struct options *o)
{
	struct end *a = end_open(o), *b = end_open(o);
	struct address to_b = end_address(b);
	uint64_t took;

	end_connect(a, &to_b);
	took = time_of(a, IBV_WC_RETRY_EXC_ERR);
	end_close(a);
	end_close(b);
	return took;
}

/* 4.096 us * 2^timeout for the first attempt and for each that the count allows. */
static void check_silence(uint64_t (*measure)(const struct options *o))
{
	static const struct {
		uint8_t timeout, count;
	} promise[] = { { 12, 7 }, { 13, 4 }, { 14, 0 }, { 15, 1 }, { 16, 0 } };
	struct options o = options_of(IBV_QPT_RC);

	for (size_t i = 0; i < array_size(promise); i++) {
		o.timeout = promise[i].timeout;
		o.retry_cnt = promise[i].count;
		check_times((o.retry_cnt + 1) * (4096ull << o.timeout), measure, &o);
	}
}

static void a_silent_peer_fails_a_request_after_timeout_times_retries(void)
{
	check_silence(silence);
}

static uint64_t silence_of_the_wire(const struct options *o)
{
	struct pair p = pair_open(o);
	uint64_t took = time_of(p.a, IBV_WC_RETRY_EXC_ERR);

	pair_close(&p);
	return took;
}

static void a_wire_that_loses_everything_is_silent_for_the_same_time(void)
{
	setenv("VERBENA_FAULT", "drop dir=out", 1); /* read when the first device is opened */
	if (!rig_on_wire())
		rig_skip("only packets can be lost");
	check_silence(silence_of_the_wire);
}

static void a_timeout_of_zero_never_expires(void)
{
	struct options o = options_of(IBV_QPT_RC);
	struct end *a, *b;
	struct address to_a, to_b;

	o.timeout = 0;
	o.retry_cnt = 0;
	a = end_open(&o);
	b = end_open(&o);
	to_a = end_address(a);
	to_b = end_address(b);
	end_connect(a, &to_b);
	send_byte(a, 1);
	for (uint64_t end = now_ns() + 300000000; now_ns() < end;)
		check_empty(a->scq);
	/* A lost datagram stays lost, although the peer is there now. */
	check_equal(end_state(a), IBV_QPS_RTS);
	end_connect(b, &to_a);
	post_recv(b, 2, 0, 8);
	for (uint64_t end = now_ns() + 20000000; now_ns() < end;)
		check_empty(b->rcq);
	check_empty(a->scq);
	end_to_error(a);
	expect_wc(a->scq, 1, IBV_WC_WR_FLUSH_ERR);
	end_close(a);
	end_close(b);
}

/* ---- receiver not ready ---- */

static uint64_t refusals(const struct options *o)
{
	struct pair p = pair_open(o);
	uint64_t took = time_of(p.a, IBV_WC_RNR_RETRY_EXC_ERR);

	pair_close(&p);
	return took;
}

/* Code 0 is the longest of all. */
static void every_try_waits_as_long_as_the_receiver_asked(void)
{
	static const struct {
		uint8_t timer, count;
		uint64_t us;
	} promise[] = { { 20, 4, 10240 }, { 24, 2, 40960 }, { 28, 1, 163840 }, { 0, 1, 655360 } };
	struct options o = options_of(IBV_QPT_RC);

	for (size_t i = 0; i < array_size(promise); i++) {
		o.min_rnr_timer = promise[i].timer;
		o.rnr_retry = promise[i].count;
		check_times(o.rnr_retry * promise[i].us * 1000, refusals, &o);
	}
}

static uint64_t refusals_by_another_timer(const struct options *o)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS, .min_rnr_timer = 22 };
	struct pair p = pair_open(o);
	uint64_t took;

	check_ok(ibv_modify_qp(p.b->qp, &attr, IBV_QP_STATE | IBV_QP_MIN_RNR_TIMER));
	took = time_of(p.a, IBV_WC_RNR_RETRY_EXC_ERR);
	pair_close(&p);
	return took;
}

static void a_timer_that_is_changed_counts_at_once(void)
{
	struct options o = options_of(IBV_QPT_RC);

	o.min_rnr_timer = 0;
	o.rnr_retry = 3;
	check_times(3 * 20480000ull, refusals_by_another_timer, &o);
}

/* The message goes through with the first try after the receive, and no try is early. */
static void a_receive_in_time_is_used_at_the_next_try(void)
{
	struct options o = options_of(IBV_QPT_RC);
	struct pair p;
	uint64_t begin;

	o.min_rnr_timer = 28; /* 164 ms */
	o.rnr_retry = 7;
	p = pair_open(&o);
	begin = now_ns();
	send_byte(p.a, 1);
	/* The refusal has come when something behind it would have: a round trip the other way. */
	post_recv(p.a, 2, 0, 8);
	send_byte(p.b, 3);
	expect_ok(p.a->rcq, 2);
	expect_ok(p.b->scq, 3);
	post_recv(p.b, 4, 0, 8);
	expect_ok(p.a->scq, 1);
	check(now_ns() - begin >= 163840000ull);
	expect_ok(p.b->rcq, 4);
	pair_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_silent_peer_fails_a_request_after_timeout_times_retries),
		TEST(a_wire_that_loses_everything_is_silent_for_the_same_time),
		TEST(a_timeout_of_zero_never_expires),
		TEST(every_try_waits_as_long_as_the_receiver_asked),
		TEST(a_timer_that_is_changed_counts_at_once),
		TEST(a_receive_in_time_is_used_at_the_next_try),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
