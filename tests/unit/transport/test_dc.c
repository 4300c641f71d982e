/* SPDX-License-Identifier: BSD-2-Clause */
/* Dynamically connected transport: initiators, targets, their sessions, over the network in memory. */
#include "cmocka_all.h"

#include <stdlib.h>
#include <string.h>

#include "transport/end.h"

#include "hca/transport/dci_stream.h"

#define TARGETS 3

struct dc {
	struct end *initiator, *target[TARGETS];
};

static struct end_options initiator_options(void)
{
	struct end_options o = END_DEFAULTS;

	o.type = HCA_QP_DCI;
	o.timeout = 10;
	o.retry_cnt = 7;
	o.rnr_retry = 7;
	return o;
}

static struct end *make_target(void)
{
	struct end_options o = END_DEFAULTS;
	struct end *t;

	o.type = HCA_QP_DCT;
	o.srq = true;
	t = end_create(1, &o);
	end_advance(t, HCA_QPS_RTR, 0, &o);
	return t;
}

static void begin(struct dc *d, const struct end_options *o)
{
	net_reset();
	d->initiator = end_create(0, o);
	end_connect(d->initiator, 0, o);
	for (int i = 0; i < TARGETS; i++) {
		d->target[i] = make_target();
		for (uint32_t k = 0; k < END_SLOTS - 1; k++)
			end_post_recv(d->target[i], 65536 + k * 2048, 2048);
	}
}

static void finish(struct dc *d)
{
	end_destroy(d->initiator);
	for (int i = 0; i < TARGETS; i++)
		end_destroy(d->target[i]);
}

static void requests_reach_the_target_that_each_names(void **state)
{
	struct end_options o = initiator_options();
	struct dc d;

	begin(&d, &o);
	for (unsigned int i = 0; i < 30; i++) {
		struct hca_send *s = end_post(d.initiator, HCA_OP_SEND, i, 100 + i);

		end_address(s, d.initiator, d.target[i % TARGETS]);
	}
	end_ring(d.initiator);
	for (unsigned int i = 0; i < 30; i++) {
		const struct hca_cqe *c = end_await(d.initiator);

		assert_int_equal(c->status, HCA_SUCCESS);
		assert_int_equal(c->counter, i);
	}
	for (unsigned int i = 0; i < 30; i++)
		assert_int_equal(end_completion(d.target[i % TARGETS])->byte_len, 100 + i);
	finish(&d);
}

static void a_wrong_key_is_not_answered_and_retries_run_out(void **state)
{
	struct end_options o = initiator_options();
	struct hca_send *s;
	struct dc d;

	begin(&d, &o);
	s = end_post(d.initiator, HCA_OP_SEND, 0, 10);
	end_address(s, d.initiator, d.target[0]);
	s->dc_key ^= 1;
	end_ring(d.initiator);
	assert_int_equal(end_await(d.initiator)->status, HCA_RETRY_EXC_ERR);
	assert_null(end_completion(d.target[0]));
	finish(&d);
}

static void one_sided_work_and_atomics_are_done_once_through_faults(void **state)
{
	for (uint64_t seed = 1; seed <= 30; seed++) {
		struct end_options o = initiator_options();
		uint64_t value, want[TARGETS] = { 0 };
		struct dc d;

		begin(&d, &o);
		net_set_faults(&(struct net_faults){ .delay_ns = 3000,
						     .seed = seed,
						     .loss = 20000,
						     .duplicate = 20000,
						     .reorder = 10000,
						     .corrupt = 10000 });
		for (unsigned int i = 0; i < 40; i++) {
			struct end *t = d.target[(i / 4) % TARGETS];
			struct hca_send *s;

			if (i % 2) {
				s = end_post_to(d.initiator, HCA_OP_FETCH_ADD, 0, 8, t, 0);
				s->compare = i;
				want[(i / 4) % TARGETS] += i;
			} else {
				memset(d.initiator->mem + 4096 * (1 + i % 8), (int)i, 4096);
				s = end_post_to(d.initiator, HCA_OP_WRITE, 4096 * (1 + i % 8), 4096,
						t, 4096 * (1 + i % 8));
			}
			end_address(s, d.initiator, t);
		}
		end_ring(d.initiator);
		for (unsigned int i = 0; i < 40; i++)
			if (end_await(d.initiator)->status != HCA_SUCCESS)
				fail_msg("seed %u: request %u failed", (unsigned int)seed, i);
		for (int i = 0; i < TARGETS; i++) {
			memcpy(&value, d.target[i]->mem, 8);
			if (value != want[i])
				fail_msg("seed %u: target %d has %lu instead of %lu",
					 (unsigned int)seed, i, (unsigned long)value,
					 (unsigned long)want[i]);
		}
		finish(&d);
	}
}

static void a_refusal_ends_the_initiator_and_not_the_target(void **state)
{
	struct end_options o = initiator_options();
	struct end *second;
	struct hca_send *s;
	struct dc d;

	begin(&d, &o);
	s = end_post_to(d.initiator, HCA_OP_WRITE, 0, 8, d.target[0], 0);
	end_address(s, d.initiator, d.target[0]);
	s->rkey ^= 1;
	end_ring(d.initiator);
	assert_int_equal(end_await(d.initiator)->status, HCA_REM_ACCESS_ERR);
	assert_int_equal(d.initiator->qp->state, HCA_QPS_ERR);
	assert_int_equal(d.target[0]->qp->state, HCA_QPS_RTR);
	second = end_create(0, &o);
	end_connect(second, 0, &o);
	end_address(end_post(second, HCA_OP_SEND, 0, 10), second, d.target[0]);
	end_ring(second);
	assert_int_equal(end_await(second)->status, HCA_SUCCESS);
	end_destroy(second);
	finish(&d);
}

static void a_stream_that_fails_leaves_the_others_alone(void **state)
{
	struct end_options o = initiator_options();
	struct hca_send *s;
	struct dc d;

	o.dci_streams = true;
	o.dci_log_errored = 2;
	begin(&d, &o);
	s = end_post_to(d.initiator, HCA_OP_WRITE, 0, 8, d.target[0], 0);
	end_address(s, d.initiator, d.target[0]);
	s->dc_stream = 1;
	s->rkey ^= 1;
	s = end_post(d.initiator, HCA_OP_SEND, 0, 8);
	end_address(s, d.initiator, d.target[1]);
	s->dc_stream = 2;
	s = end_post(d.initiator, HCA_OP_SEND, 0, 8);
	end_address(s, d.initiator, d.target[0]);
	s->dc_stream = 1;
	end_ring(d.initiator);
	assert_int_equal(end_await(d.initiator)->status, HCA_REM_ACCESS_ERR);
	assert_int_equal(end_await(d.initiator)->status, HCA_SUCCESS);
	assert_int_equal(end_await(d.initiator)->status,
			 HCA_WR_FLUSH_ERR); /* of the failed stream */
	assert_int_equal(d.initiator->qp->state, HCA_QPS_RTS);
	assert_int_equal(hca_dci_reset_stream(d.initiator->qp, 1), 0);
	s = end_post(d.initiator, HCA_OP_SEND, 0, 8);
	end_address(s, d.initiator, d.target[0]);
	s->dc_stream = 1;
	end_ring(d.initiator);
	assert_int_equal(end_await(d.initiator)->status, HCA_SUCCESS);
	finish(&d);
}

static uint32_t psn_of_a_request(struct dc *d)
{
	const struct net_sent *sent;

	end_address(end_post(d->initiator, HCA_OP_READ, 0, 8), d->initiator, d->target[0]);
	end_ring(d->initiator);
	sent = net_await_packet(1000000);
	assert_non_null(sent);
	return sent->pkt.psn;
}

/* Packets on the way may be older than the last reset, which takes no time here. */
static void packet_numbers_after_a_reset_are_far_from_those_before_it(void **state)
{
	struct end_options o = initiator_options();
	uint32_t before, after;
	struct dc d;

	begin(&d, &o);
	net.held = true;
	before = psn_of_a_request(&d);
	for (int i = 0; i < 100; i++) {
		assert_int_equal(end_set_state(d.initiator, HCA_QPS_RESET), 0);
		d.initiator->posted = 0;
		end_connect(d.initiator, 0, &o);
		after = psn_of_a_request(&d);
		assert_true(((after - before) & PSN_MASK) >= 1u << 20);
		assert_true(((before - after) & PSN_MASK) >= 1u << 20);
		before = after;
	}
	net.held = false;
	finish(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_reach_the_target_that_each_names),
		cmocka_unit_test(a_wrong_key_is_not_answered_and_retries_run_out),
		cmocka_unit_test(one_sided_work_and_atomics_are_done_once_through_faults),
		cmocka_unit_test(a_refusal_ends_the_initiator_and_not_the_target),
		cmocka_unit_test(a_stream_that_fails_leaves_the_others_alone),
		cmocka_unit_test(packet_numbers_after_a_reset_are_far_from_those_before_it),
	};

	return cmocka_run_group_tests(tests, end_group_begin, end_group_end);
}
