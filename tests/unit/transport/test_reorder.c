/* SPDX-License-Identifier: BSD-2-Clause */
/* Queue pairs that take packets out of order: nothing is refused, and everything happens in its turn. */
#include "cmocka_all.h"

#include <string.h>

#include "transport/end.h"

#include "hca/transport/reorder.h"

#define FIRST_PSN 500u /* that END_DEFAULTS expects of the peer */

static struct end_options loose(void)
{
	struct end_options o = END_DEFAULTS;

	o.out_of_order = true;
	return o;
}

static struct end *end_loose(void)
{
	struct end_options o = loose();
	struct end *e = end_alone(&o);

	for (uint32_t i = 0; i < 8; i++)
		end_post_recv(e, 8192 + i * 1024, 1024);
	return e;
}

/* A packet whose payload is its PSN. */
static void inject(struct end *e, uint8_t op, uint32_t psn)
{
	struct roce_pkt p = end_request(e, op, psn);
	uint8_t payload[4096];

	memset(payload, (uint8_t)psn, sizeof(payload));
	net_inject(e->qp, &p, payload);
}

static bool is_at(const struct end *e, uint32_t at, uint32_t psn)
{
	return e->mem[at] == (uint8_t)psn && e->mem[at + 7] == (uint8_t)psn;
}

static void early_messages_wait_for_those_before_them(void **state)
{
	struct end *e = end_loose();

	inject(e, ROCE_PKT_SEND_ONLY, FIRST_PSN + 2);
	inject(e, ROCE_PKT_SEND_ONLY, FIRST_PSN + 1);
	assert_null(end_completion(e));
	assert_null(net_take());
	inject(e, ROCE_PKT_SEND_ONLY, FIRST_PSN);
	for (uint32_t i = 0; i < 3; i++) {
		const struct hca_cqe *c = end_completion(e);

		assert_non_null(c);
		assert_int_equal(c->counter, i);
		assert_int_equal(c->status, HCA_SUCCESS);
		assert_true(is_at(e, 8192 + i * 1024, FIRST_PSN + i));
	}
	assert_int_equal(e->in->resp.epsn, FIRST_PSN + 3);
	end_destroy(e);
}

static void the_packets_of_one_message_come_in_any_order(void **state)
{
	static const uint32_t order[] = { 3, 1, 2, 0 };
	static const uint8_t ops[] = { ROCE_PKT_SEND_FIRST, ROCE_PKT_SEND_MIDDLE,
				       ROCE_PKT_SEND_MIDDLE, ROCE_PKT_SEND_LAST };
	struct end_options o = loose();
	struct end *e = end_alone(&o);

	end_post_recv(e, 8192, 8192);
	for (unsigned int i = 0; i < 4; i++) {
		assert_null(end_completion(e));
		inject(e, ops[order[i]], FIRST_PSN + order[i]);
	}
	assert_int_equal(end_completion(e)->byte_len, 3 * 1024 + 8);
	for (uint32_t i = 0; i < 4; i++)
		assert_true(is_at(e, 8192 + i * 1024, FIRST_PSN + i));
	end_destroy(e);
}

static void an_early_read_is_answered_in_its_turn(void **state)
{
	struct end *e = end_loose();

	inject(e, ROCE_PKT_FETCH_ADD, FIRST_PSN + 2);
	inject(e, ROCE_PKT_READ_REQUEST, FIRST_PSN + 1);
	assert_null(net_take());
	inject(e, ROCE_PKT_WRITE_ONLY, FIRST_PSN);
	assert_true(is_at(e, 4096, FIRST_PSN));
	assert_int_equal(e->in->resp.epsn, FIRST_PSN + 3);
	end_destroy(e);
}

static void a_gap_that_stays_is_refused_once(void **state)
{
	struct end *e = end_loose();
	const struct net_sent *s;

	for (uint32_t i = 1; i < REORDER_LOSS; i++)
		inject(e, ROCE_PKT_WRITE_ONLY, FIRST_PSN + i);
	assert_null(net_take());
	for (uint32_t i = REORDER_LOSS; i < REORDER_SLOTS + 10; i++)
		inject(e, ROCE_PKT_WRITE_ONLY, FIRST_PSN + i);
	s = net_take();
	assert_non_null(s);
	assert_int_equal(s->pkt.ack.syndrome, ROCE_SYN_NAK_SEQ);
	assert_int_equal(s->pkt.psn, FIRST_PSN);
	assert_null(net_take());
	/* Packets that were kept need not come again. */
	inject(e, ROCE_PKT_WRITE_ONLY, FIRST_PSN);
	assert_int_equal(e->in->resp.epsn, FIRST_PSN + REORDER_SLOTS);
	end_destroy(e);
}

static void a_packet_that_comes_again_behind_the_gap_shows_a_loss(void **state)
{
	struct end *e = end_loose();

	inject(e, ROCE_PKT_WRITE_ONLY, FIRST_PSN + 1);
	assert_null(net_take());
	inject(e, ROCE_PKT_WRITE_ONLY, FIRST_PSN + 1);
	assert_int_equal(net_take()->pkt.ack.syndrome, ROCE_SYN_NAK_SEQ);
	end_destroy(e);
}

static void a_reset_forgets_early_packets(void **state)
{
	struct end_options o = loose();
	struct end *e = end_loose();

	inject(e, ROCE_PKT_WRITE_ONLY, FIRST_PSN + 1);
	assert_int_equal(end_set_state(e, HCA_QPS_RESET), 0);
	end_connect(e, END_PEER_QPN, &o);
	inject(e, ROCE_PKT_WRITE_ONLY, FIRST_PSN);
	assert_int_equal(e->in->resp.epsn, FIRST_PSN + 1);
	end_destroy(e);
}

static void reordering_costs_no_retry(void **state)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct end_options o = loose();
		struct end *ends[2];

		o.retry_cnt = 0;
		end_pair(ends, &o);
		net_set_faults(
			&(struct net_faults){ .delay_ns = 2000, .seed = seed, .reorder = 100000 });
		/* Fewer packets than a loss takes. */
		for (uint32_t i = 0; i < REORDER_LOSS - 2; i++) {
			end_post_recv(ends[1], 16384, 4096);
			end_post(ends[0], HCA_OP_SEND, 0, 30 * i);
		}
		end_ring(ends[0]);
		for (uint32_t i = 0; i < REORDER_LOSS - 2; i++) {
			const struct hca_cqe *c = end_await(ends[1]);

			assert_int_equal(c->status, HCA_SUCCESS);
			assert_int_equal(c->byte_len, 30 * i);
			assert_int_equal(end_await(ends[0])->status, HCA_SUCCESS);
		}
		end_destroy(ends[0]);
		end_destroy(ends[1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(early_messages_wait_for_those_before_them),
		cmocka_unit_test(the_packets_of_one_message_come_in_any_order),
		cmocka_unit_test(an_early_read_is_answered_in_its_turn),
		cmocka_unit_test(a_gap_that_stays_is_refused_once),
		cmocka_unit_test(a_packet_that_comes_again_behind_the_gap_shows_a_loss),
		cmocka_unit_test(a_reset_forgets_early_packets),
		cmocka_unit_test(reordering_costs_no_retry),
	};

	return cmocka_run_group_tests(tests, end_group_begin, end_group_end);
}
