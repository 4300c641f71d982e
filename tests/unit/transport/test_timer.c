/* SPDX-License-Identifier: BSD-2-Clause */
/* Timers of queue pairs: order, the next deadline, and queue pairs that end. */
#include "cmocka_all.h"

#include <stdlib.h>

#include "transport/end.h"

#include "hca/transport/timer.h"

static struct qp *expired[64];
static unsigned int count;

static void expire(struct qp *qp, uint64_t now_ns)
{
	expired[count++ % array_size(expired)] = qp;
	qp->comp.timeout_at = 0;
}

static void set(struct end *e, uint64_t at_ns)
{
	fabric_lock(&e->qp->lock);
	timer_start(e->in, at_ns);
	fabric_unlock(&e->qp->lock);
}

static void timers_expire_in_the_order_of_their_times_and_not_before(void **state)
{
	static const uint64_t after[] = { 50, 10, 40, 20, 30 };
	struct end *e[5];
	uint64_t now = net.now_ns;

	net_reset();
	count = 0;
	for (unsigned int i = 0; i < 5; i++) {
		e[i] = end_create(0, &END_DEFAULTS);
		set(e[i], now + after[i]);
	}
	assert_int_equal(net.woken_ns, now + 10);
	assert_int_equal(timer_run(now + 9, expire), now + 10);
	assert_int_equal(count, 0);
	for (uint64_t t = 10; t <= 50; t += 10) {
		uint64_t next = timer_run(now + t, expire);

		assert_int_equal(count, t / 10);
		assert_int_equal(next, t < 50 ? now + t + 10 : UINT64_MAX);
	}
	assert_ptr_equal(expired[0], e[1]->in);
	assert_ptr_equal(expired[1], e[3]->in);
	assert_ptr_equal(expired[2], e[4]->in);
	assert_ptr_equal(expired[3], e[2]->in);
	assert_ptr_equal(expired[4], e[0]->in);
	for (unsigned int i = 0; i < 5; i++)
		end_destroy(e[i]);
}

static void a_queue_pair_that_ends_has_no_timer(void **state)
{
	struct end *e = end_create(0, &END_DEFAULTS);
	uint64_t now = net.now_ns;

	count = 0;
	set(e, now + 5);
	end_destroy(e);
	assert_int_equal(timer_run(now + 100, expire), UINT64_MAX);
	assert_int_equal(count, 0);
}

static void the_earliest_of_several_times_counts(void **state)
{
	struct end *e = end_create(0, &END_DEFAULTS);
	uint64_t now = net.now_ns;

	count = 0;
	set(e, now + 50);
	e->in->comp.rnr_until = now + 20;
	set(e, now + 20);
	assert_int_equal(timer_run(now + 10, expire), now + 20);
	timer_run(now + 20, expire);
	assert_int_equal(count, 1);
	e->in->comp.rnr_until = 0;
	end_destroy(e);
}

static void timeouts_and_rnr_delays_are_those_of_the_specification(void **state)
{
	assert_int_equal(timer_ack_ns(0), 0);
	assert_int_equal(timer_ack_ns(1), 8192);
	assert_int_equal(timer_ack_ns(14), 67108864);
	assert_int_equal(timer_ack_ns(31), 8796093022208ull);
	/* IBTA volume 1, table 45, in ns. */
	assert_int_equal(timer_rnr_ns(0), 655360000);
	assert_int_equal(timer_rnr_ns(1), 10000);
	assert_int_equal(timer_rnr_ns(12), 640000);
	assert_int_equal(timer_rnr_ns(31), 491520000);
}

static void many_timers_wait_for_their_own_time(void **state)
{
	static struct end *e[200];
	uint64_t now = net.now_ns, next = 0;
	unsigned int seed = 3;

	count = 0;
	for (unsigned int i = 0; i < array_size(e); i++) {
		e[i] = end_create(i % 2, &END_DEFAULTS);
		set(e[i], now + 1 + rand_r(&seed) % 1000);
	}
	for (uint64_t t = now; next != UINT64_MAX; t = next > t ? next : t + 1)
		next = timer_run(t, expire);
	assert_int_equal(count, array_size(e));
	for (unsigned int i = 0; i < array_size(e); i++)
		end_destroy(e[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(timers_expire_in_the_order_of_their_times_and_not_before),
		cmocka_unit_test(a_queue_pair_that_ends_has_no_timer),
		cmocka_unit_test(the_earliest_of_several_times_counts),
		cmocka_unit_test(timeouts_and_rnr_delays_are_those_of_the_specification),
		cmocka_unit_test(many_timers_wait_for_their_own_time),
	};

	return cmocka_run_group_tests(tests, end_group_begin, end_group_end);
}
