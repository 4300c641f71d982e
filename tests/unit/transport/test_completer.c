/* SPDX-License-Identifier: BSD-2-Clause */
/* Answers to requests and the lack of them: reads in part, late and double answers, probes, the window. */
#include "cmocka_all.h"

#include <string.h>

#include "transport/end.h"

#include "hca/transport/cwnd.h"
#include "hca/transport/probe.h"
#include "hca/transport/timer.h"

static const uint8_t data[4096] = "data that an answer brings";

static void respond(struct end *e, uint8_t op, uint32_t psn, uint32_t len)
{
	const struct roce_pkt p = {
		.op = ROCE_TR_RC | op,
		.dqpn = e->qp->qpn,
		.psn = psn & PSN_MASK,
		.len = len,
		.ack = { .syndrome = ROCE_SYN_ACK, .orig = 7 },
	};

	net_inject(e->qp, &p, data);
}

static void skip_sent(void)
{
	net.taken = net.sent_count;
}

/* ---- reads (IBTA volume 1, 9.7.5.2.8) ---- */

static void a_read_is_complete_with_its_last_byte(void **state)
{
	struct end *e = end_alone(&END_DEFAULTS);

	end_post(e, HCA_OP_READ, 0, 2500);
	end_ring(e);
	assert_int_equal(net_take()->pkt.rdma.dma_len, 2500);
	respond(e, ROCE_PKT_READ_RESP_FIRST, 100, 1024);
	respond(e, ROCE_PKT_READ_RESP_MIDDLE, 101, 1024);
	assert_null(end_completion(e));
	respond(e, ROCE_PKT_READ_RESP_LAST, 102, 452);
	assert_int_equal(end_completion(e)->byte_len, 2500);
	assert_memory_equal(e->mem, data, 1024);
	assert_memory_equal(e->mem + 2048, data, 452);
	end_destroy(e);
}

static void a_gap_in_the_data_has_the_rest_asked_for_again_once(void **state)
{
	struct end *e = end_alone(&END_DEFAULTS);
	const struct net_sent *s;

	end_post(e, HCA_OP_READ, 0, 4096);
	end_ring(e);
	skip_sent();
	respond(e, ROCE_PKT_READ_RESP_FIRST, 100, 1024);
	respond(e, ROCE_PKT_READ_RESP_MIDDLE, 102, 1024);
	s = net_take();
	assert_int_equal(s->pkt.psn, 101);
	assert_int_equal(s->pkt.rdma.dma_len, 3072);
	respond(e, ROCE_PKT_READ_RESP_LAST, 103, 1024);
	assert_null(net_take());
	for (uint32_t psn = 101; psn <= 103; psn++)
		respond(e,
			psn == 101   ? ROCE_PKT_READ_RESP_FIRST
			: psn == 102 ? ROCE_PKT_READ_RESP_MIDDLE
				     : ROCE_PKT_READ_RESP_LAST,
			psn, 1024);
	assert_int_equal(end_completion(e)->status, HCA_SUCCESS);
	end_destroy(e);
}

static void an_acknowledgement_of_what_follows_says_that_the_data_was_lost(void **state)
{
	struct end *e = end_alone(&END_DEFAULTS);

	end_post(e, HCA_OP_READ, 0, 8);
	end_post(e, HCA_OP_SEND, 64, 8);
	end_ring(e);
	skip_sent();
	respond(e, ROCE_PKT_ACK, 101, 0);
	assert_null(end_completion(e));
	assert_int_equal(net_take()->pkt.op & ROCE_PKT_OPCODE_MASK, ROCE_PKT_READ_REQUEST);
	respond(e, ROCE_PKT_READ_RESP_ONLY, 100, 8);
	assert_int_equal(end_completion(e)->op, HCA_OP_READ);
	assert_int_equal(end_completion(e)->op, HCA_OP_SEND); /* acknowledged before */
	end_destroy(e);
}

static void a_read_of_nothing_whose_answer_was_lost_lets_later_reads_go(void **state)
{
	struct end_options o = END_DEFAULTS;

	o.rd_atomic = 1;
	for (int lost = 0; lost < 2; lost++) {
		struct end *e = end_alone(&o);

		end_post(e, HCA_OP_READ, 0, 0);
		end_post(e, HCA_OP_WRITE, 64, 8);
		end_ring(e);
		if (!lost)
			respond(e, ROCE_PKT_READ_RESP_ONLY, 100, 0);
		respond(e, ROCE_PKT_ACK, 101, 0);
		assert_int_equal(end_completion(e)->op, HCA_OP_READ);
		assert_int_equal(end_completion(e)->op, HCA_OP_WRITE);
		skip_sent();
		end_post(e, HCA_OP_READ, 0, 8);
		end_post(e, HCA_OP_FETCH_ADD, 0, 8);
		end_ring(e);
		assert_int_equal(net_take()->pkt.psn, 102);
		assert_null(net_take()); /* no more than one */
		end_destroy(e);
	}
}

static void refuse(struct end *e, uint8_t syndrome, uint32_t psn)
{
	const struct roce_pkt p = {
		.op = ROCE_TR_RC | ROCE_PKT_ACK,
		.dqpn = e->qp->qpn,
		.psn = psn,
		.ack = { .syndrome = syndrome },
	};

	net_inject(e->qp, &p, data);
}

static void a_refusal_of_what_follows_is_not_the_refusal_of_a_read_whose_data_was_lost(void **state)
{
	static const uint8_t syndromes[] = { ROCE_SYN_NAK_INVALID, ROCE_SYN_NAK_ACCESS,
					     ROCE_SYN_NAK_OP };

	for (unsigned int i = 0; i < array_size(syndromes); i++) {
		struct end *e = end_alone(&END_DEFAULTS);

		end_post(e, HCA_OP_FETCH_ADD, 0, 8);
		end_post(e, HCA_OP_WRITE, 64, 8);
		end_ring(e);
		skip_sent();
		refuse(e, syndromes[i], 101);
		assert_null(end_completion(e));
		assert_int_equal(net_take()->pkt.op & ROCE_PKT_OPCODE_MASK, ROCE_PKT_FETCH_ADD);
		respond(e, ROCE_PKT_ATOMIC_ACK, 100, 0);
		assert_int_equal(end_completion(e)->status, HCA_SUCCESS);
		refuse(e, syndromes[i], 101);
		assert_int_equal(end_completion(e)->op, HCA_OP_WRITE);
		end_destroy(e);
	}
}

static void a_receiver_that_is_not_ready_fails_the_send_and_no_atomic_before_it(void **state)
{
	struct end_options o = END_DEFAULTS;
	const struct hca_cqe *c;
	struct end *e;

	o.rnr_retry = 0;
	e = end_alone(&o);
	end_post(e, HCA_OP_FETCH_ADD, 0, 8);
	end_post(e, HCA_OP_SEND, 64, 8);
	end_ring(e);
	skip_sent();
	refuse(e, ROCE_SYN_RNR | 1, 101);
	assert_null(end_completion(e));
	/* after the delay that the peer demands */
	assert_int_equal(net_await_packet(1000000000)->pkt.op & ROCE_PKT_OPCODE_MASK,
			 ROCE_PKT_FETCH_ADD);
	respond(e, ROCE_PKT_ATOMIC_ACK, 100, 0);
	refuse(e, ROCE_SYN_RNR | 1, 101);
	assert_int_equal(end_completion(e)->status, HCA_SUCCESS);
	c = end_completion(e);
	assert_int_equal(c->op, HCA_OP_SEND);
	assert_int_equal(c->status, HCA_RNR_RETRY_EXC_ERR);
	end_destroy(e);
}

static void a_refusal_is_not_of_a_request_that_is_being_sent_again_before_it(void **state)
{
	static const uint8_t syndromes[] = { ROCE_SYN_RNR | 1, ROCE_SYN_NAK_ACCESS };
	static const enum hca_status statuses[] = { HCA_RNR_RETRY_EXC_ERR, HCA_REM_ACCESS_ERR };
	struct end_options o = END_DEFAULTS;

	o.rnr_retry = 0;
	for (unsigned int i = 0; i < array_size(syndromes); i++) {
		struct end *e = end_alone(&o);
		const struct hca_cqe *c;

		end_post(e, HCA_OP_WRITE, 0, 2500);
		end_post(e, HCA_OP_SEND, 64, 8);
		end_ring(e);
		net.full = true; /* so that it stays in the middle */
		refuse(e, ROCE_SYN_NAK_SEQ, 101);
		refuse(e, syndromes[i], 103);
		skip_sent();
		net_room();
		assert_int_equal(net_await_packet(1000000000)->pkt.psn, 103);
		refuse(e, syndromes[i], 103);
		c = end_completion(e);
		assert_int_equal(c->op, HCA_OP_WRITE);
		assert_int_equal(c->status, HCA_SUCCESS);
		c = end_completion(e);
		assert_int_equal(c->op, HCA_OP_SEND);
		assert_int_equal(c->status, statuses[i]);
		end_destroy(e);
	}
}

/* A network that never lets the data through, such as one with a smaller MTU than was agreed. */
static void a_read_whose_answer_never_comes_before_refusals_fails(void **state)
{
	struct end_options o = END_DEFAULTS;
	struct end *e;
	const struct hca_cqe *c;
	unsigned int tries = 0;

	o.rnr_retry = 7;
	e = end_alone(&o);
	end_post(e, HCA_OP_READ, 0, 2000);
	end_post(e, HCA_OP_SEND, 64, 8);
	end_ring(e);
	while (e->qp->state == HCA_QPS_RTS && tries++ < 1000) {
		refuse(e, ROCE_SYN_RNR | 1, 102);
		skip_sent();
		net_pass(1000000);
	}
	/* As long as four timeouts of 67 ms. */
	assert_true(tries > 250 && tries < 1000);
	c = end_completion(e);
	assert_int_equal(c->op, HCA_OP_READ);
	assert_int_equal(c->status, HCA_RETRY_EXC_ERR);
	assert_int_equal(end_completion(e)->status, HCA_WR_FLUSH_ERR);
	end_destroy(e);
}

/* Its first packet came: the count begins anew with the next one. */
static void a_read_that_goes_on_between_refusals_is_asked_for_again(void **state)
{
	struct end_options o = END_DEFAULTS;
	struct end *e;

	o.rnr_retry = 7;
	e = end_alone(&o);
	end_post(e, HCA_OP_READ, 0, 2000);
	end_post(e, HCA_OP_SEND, 64, 8);
	end_ring(e);
	for (unsigned int i = 0; i < 400; i++) {
		refuse(e, ROCE_SYN_RNR | 1, 102);
		skip_sent();
		net_pass(1000000);
		if (i == 200)
			respond(e, ROCE_PKT_READ_RESP_FIRST, 100, 1024);
	}
	skip_sent();
	respond(e, ROCE_PKT_READ_RESP_ONLY, 101, 2000 - 1024);
	assert_int_equal(end_completion(e)->status, HCA_SUCCESS);
	assert_int_equal(e->qp->state, HCA_QPS_RTS);
	end_destroy(e);
}

static void data_of_a_wrong_length_is_a_bad_response(void **state)
{
	static const uint32_t lengths[] = { 0, 7, 9, 1024 };

	for (unsigned int i = 0; i < array_size(lengths); i++) {
		struct end *e = end_alone(&END_DEFAULTS);

		end_post(e, HCA_OP_READ, 0, 8);
		end_ring(e);
		respond(e, ROCE_PKT_READ_RESP_ONLY, 100, lengths[i]);
		assert_int_equal(end_completion(e)->status, HCA_BAD_RESP_ERR);
		assert_int_equal(e->qp->state, HCA_QPS_ERR);
		end_destroy(e);
	}
}

static void an_atomic_answer_to_a_read_is_a_bad_response(void **state)
{
	struct end *e = end_alone(&END_DEFAULTS);

	end_post(e, HCA_OP_READ, 0, 8);
	end_ring(e);
	respond(e, ROCE_PKT_ATOMIC_ACK, 100, 0);
	assert_int_equal(end_completion(e)->status, HCA_BAD_RESP_ERR);
	end_destroy(e);
}

static void an_atomic_returns_the_value_before(void **state)
{
	struct end *e = end_alone(&END_DEFAULTS);
	uint64_t before;

	end_post(e, HCA_OP_FETCH_ADD, 16, 8);
	end_ring(e);
	respond(e, ROCE_PKT_ATOMIC_ACK, 100, 0);
	assert_int_equal(end_completion(e)->byte_len, 8);
	memcpy(&before, e->mem + 16, 8);
	assert_int_equal(before, 7);
	end_destroy(e);
}

static void no_more_reads_are_out_than_the_peer_takes(void **state)
{
	struct end_options o = END_DEFAULTS;
	struct end *e;

	o.rd_atomic = 2;
	e = end_alone(&o);
	for (int i = 0; i < 5; i++)
		end_post(e, HCA_OP_READ, 0, 8);
	end_ring(e);
	assert_non_null(net_take());
	assert_non_null(net_take());
	assert_null(net_take());
	respond(e, ROCE_PKT_READ_RESP_ONLY, 100, 8);
	assert_int_equal(net_take()->pkt.psn, 102);
	assert_null(net_take());
	end_destroy(e);
}

/* ---- answers that are late, double, or of another ---- */

static void answers_change_nothing_in_states_that_do_not_send(void **state)
{
	static const enum hca_qp_state states[] = { HCA_QPS_RESET, HCA_QPS_INIT, HCA_QPS_RTR,
						    HCA_QPS_ERR };
	static const uint8_t ops[] = { ROCE_PKT_READ_RESP_FIRST,
				       ROCE_PKT_READ_RESP_MIDDLE,
				       ROCE_PKT_READ_RESP_LAST,
				       ROCE_PKT_READ_RESP_ONLY,
				       ROCE_PKT_ACK,
				       ROCE_PKT_ATOMIC_ACK };

	for (unsigned int i = 0; i < array_size(states); i++)
		for (unsigned int k = 0; k < array_size(ops); k++) {
			struct end *e;

			net_reset();
			net.held = true;
			e = end_create(0, &END_DEFAULTS);
			if (states[i] != HCA_QPS_RESET)
				end_advance(e, states[i], END_PEER_QPN, &END_DEFAULTS);
			respond(e, ops[k], 100, 8);
			assert_null(end_completion(e));
			assert_null(net_take());
			assert_int_equal(e->qp->state, states[i]);
			end_destroy(e);
		}
}

static void a_repeated_acknowledgement_changes_nothing(void **state)
{
	struct end *e = end_alone(&END_DEFAULTS);

	end_post(e, HCA_OP_SEND, 0, 8);
	end_post(e, HCA_OP_SEND, 0, 8);
	end_ring(e);
	for (int i = 0; i < 5; i++)
		respond(e, ROCE_PKT_ACK, 100, 0);
	assert_int_equal(e->completed, 1);
	end_destroy(e);
}

static void a_late_sequence_nak_changes_nothing(void **state)
{
	struct end *e = end_alone(&END_DEFAULTS);
	struct roce_pkt nak = { .op = ROCE_TR_RC | ROCE_PKT_ACK,
				.psn = 100,
				.ack = { .syndrome = ROCE_SYN_NAK_SEQ } };

	end_post(e, HCA_OP_SEND, 0, 8);
	end_post(e, HCA_OP_SEND, 0, 8);
	end_ring(e);
	skip_sent();
	respond(e, ROCE_PKT_ACK, 100, 0);
	net_inject(e->qp, &nak, NULL);
	assert_null(net_take());
	assert_int_equal(e->completed, 1);
	end_destroy(e);
}

/* ---- time ---- */

static void progress_starts_the_retries_anew(void **state)
{
	struct end_options o = END_DEFAULTS;
	struct end *e;

	o.retry_cnt = 1;
	e = end_alone(&o);
	for (int i = 0; i < 4; i++)
		end_post(e, HCA_OP_SEND, 0, 8);
	end_ring(e);
	skip_sent();
	for (uint32_t i = 0; i < 4; i++) {
		/* Silence for a timeout, then the request at the head is acknowledged. */
		assert_non_null(net_await_packet(10 * timer_ack_ns(o.timeout)));
		skip_sent();
		respond(e, ROCE_PKT_ACK, 100 + i, 0);
		assert_int_equal(end_completion(e)->status, HCA_SUCCESS);
	}
	end_destroy(e);
}

static void a_timeout_while_answers_lie_unread_is_no_retry(void **state)
{
	struct end_options o = END_DEFAULTS;
	struct end *e;

	o.retry_cnt = 0;
	e = end_alone(&o);
	end_post(e, HCA_OP_SEND, 0, 8);
	end_ring(e);
	net.unread = true;
	net_pass(timer_ack_ns(o.timeout));
	assert_null(end_completion(e)); /* it is looked for first */
	respond(e, ROCE_PKT_ACK, 100, 0);
	assert_int_equal(end_completion(e)->status, HCA_SUCCESS);
	end_destroy(e);
}

static void after_a_loss_silence_is_probed_long_before_the_timeout(void **state)
{
	struct end_options o = END_DEFAULTS;
	struct end *e;
	const struct net_sent *s;
	uint64_t began;

	o.timeout = 20; /* 4.3 s */
	e = end_alone(&o);
	end_post(e, HCA_OP_SEND, 0, 2048);
	end_ring(e);
	skip_sent();
	respond(e, ROCE_PKT_ACK, 99, 0); /* of nothing */
	net_inject(e->qp,
		   &(struct roce_pkt){ .op = ROCE_TR_RC | ROCE_PKT_ACK,
				       .psn = 100,
				       .ack = { .syndrome = ROCE_SYN_NAK_SEQ } },
		   NULL);
	skip_sent();
	began = net.now_ns;
	s = net_await_packet(timer_ack_ns(o.timeout));
	assert_non_null(s);
	assert_int_equal(s->pkt.psn, 100);
	assert_true(s->pkt.flags & ROCE_PKT_ACK_REQ);
	assert_true(s->at_ns - began < timer_ack_ns(o.timeout) / 100);
	assert_null(net_take());                  /* one packet, not all */
	assert_int_equal(e->in->comp.retries, 1); /* the NAK's; probes are no retries */
	end_destroy(e);
}

/* ---- the congestion window ---- */

static void the_window_doubles_per_round_trip_until_something_is_lost(void **state)
{
	struct completer c = { 0 };

	cwnd_start(&c);
	assert_int_equal(c.cwnd, QP_CWND_FIRST);
	for (unsigned int i = 0; i < QP_CWND_FIRST; i++)
		cwnd_grow(&c, 1);
	assert_int_equal(c.cwnd, 2 * QP_CWND_FIRST);
	cwnd_reduce(&c);
	assert_int_equal(c.cwnd, QP_CWND_FIRST);
	assert_int_equal(c.ssthresh, QP_CWND_FIRST);
	/* From the threshold on by one per round trip. */
	for (unsigned int i = 0; i < QP_CWND_FIRST; i++)
		cwnd_grow(&c, 1);
	assert_int_equal(c.cwnd, QP_CWND_FIRST + 1);
}

static void the_window_has_a_floor_and_a_ceiling(void **state)
{
	struct completer c = { 0 };

	cwnd_start(&c);
	for (int i = 0; i < 20; i++)
		cwnd_reduce(&c);
	assert_int_equal(c.cwnd, QP_CWND_LEAST);
	cwnd_start(&c);
	for (int i = 0; i < 100000; i++)
		cwnd_grow(&c, 1);
	assert_int_equal(c.cwnd, QP_CWND_MOST);
}

static void no_more_packets_are_out_than_the_window_allows(void **state)
{
	struct end *e = end_alone(&END_DEFAULTS);
	unsigned int sent = 0;

	end_post(e, HCA_OP_SEND, 0, 200 * 1024);
	end_ring(e);
	while (net_take())
		sent++;
	assert_int_equal(sent, QP_CWND_FIRST);
	/* One acknowledgement makes room for what it covers, and opens the window. */
	respond(e, ROCE_PKT_ACK, 107, 0);
	while (net_take())
		sent++;
	assert_int_equal(sent, QP_CWND_FIRST + 8 + 1);
	end_destroy(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_read_is_complete_with_its_last_byte),
		cmocka_unit_test(a_gap_in_the_data_has_the_rest_asked_for_again_once),
		cmocka_unit_test(an_acknowledgement_of_what_follows_says_that_the_data_was_lost),
		cmocka_unit_test(a_read_of_nothing_whose_answer_was_lost_lets_later_reads_go),
		cmocka_unit_test(
			a_refusal_of_what_follows_is_not_the_refusal_of_a_read_whose_data_was_lost),
		cmocka_unit_test(
			a_receiver_that_is_not_ready_fails_the_send_and_no_atomic_before_it),
		cmocka_unit_test(a_refusal_is_not_of_a_request_that_is_being_sent_again_before_it),
		cmocka_unit_test(a_read_whose_answer_never_comes_before_refusals_fails),
		cmocka_unit_test(a_read_that_goes_on_between_refusals_is_asked_for_again),
		cmocka_unit_test(data_of_a_wrong_length_is_a_bad_response),
		cmocka_unit_test(an_atomic_answer_to_a_read_is_a_bad_response),
		cmocka_unit_test(an_atomic_returns_the_value_before),
		cmocka_unit_test(no_more_reads_are_out_than_the_peer_takes),
		cmocka_unit_test(answers_change_nothing_in_states_that_do_not_send),
		cmocka_unit_test(a_repeated_acknowledgement_changes_nothing),
		cmocka_unit_test(a_late_sequence_nak_changes_nothing),
		cmocka_unit_test(progress_starts_the_retries_anew),
		cmocka_unit_test(a_timeout_while_answers_lie_unread_is_no_retry),
		cmocka_unit_test(after_a_loss_silence_is_probed_long_before_the_timeout),
		cmocka_unit_test(the_window_doubles_per_round_trip_until_something_is_lost),
		cmocka_unit_test(the_window_has_a_floor_and_a_ceiling),
		cmocka_unit_test(no_more_packets_are_out_than_the_window_allows),
	};

	return cmocka_run_group_tests(tests, end_group_begin, end_group_end);
}
