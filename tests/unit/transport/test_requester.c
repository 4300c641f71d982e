/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests of a reliable connection become packets, are answered, sent again, and completed in order. */
#include "cmocka_all.h"

#include <string.h>

#include "transport/end.h"

#include "hca/transport/timer.h"

/* ---- what leaves ---- */

static void a_send_of_one_packet_asks_for_an_acknowledgement(void **state)
{
	struct end *e = end_alone(&END_DEFAULTS);
	const struct net_sent *s;

	memcpy(e->mem, "hello", 5);
	end_post(e, HCA_OP_SEND, 0, 5);
	end_ring(e);
	s = net_take();
	assert_non_null(s);
	assert_int_equal(s->pkt.op, ROCE_TR_RC | ROCE_PKT_SEND_ONLY);
	assert_true(s->pkt.flags & ROCE_PKT_ACK_REQ);
	assert_int_equal(s->pkt.dqpn, END_PEER_QPN);
	assert_int_equal(s->pkt.psn, 100);
	assert_int_equal(s->len, 5);
	assert_memory_equal(s->payload, "hello", 5);
	assert_null(net_take());
	assert_null(end_completion(e));
	end_destroy(e);
}

static void a_message_is_cut_at_the_path_mtu(void **state)
{
	static const uint8_t ops[] = { ROCE_PKT_WRITE_FIRST, ROCE_PKT_WRITE_MIDDLE,
				       ROCE_PKT_WRITE_LAST_IMM };
	struct end *e = end_alone(&END_DEFAULTS);
	struct hca_send *w = end_post(e, HCA_OP_WRITE_IMM, 0, 2500);

	w->raddr = 0x1000;
	w->rkey = 0x77;
	w->imm = 42;
	end_ring(e);
	for (unsigned int i = 0; i < 3; i++) {
		const struct net_sent *s = net_take();

		assert_non_null(s);
		assert_int_equal(s->pkt.op, ROCE_TR_RC | ops[i]);
		assert_int_equal(s->pkt.psn, 100 + i);
		assert_int_equal(s->len, i < 2 ? 1024 : 452);
		if (!i) {
			assert_int_equal(s->pkt.rdma.va, 0x1000);
			assert_int_equal(s->pkt.rdma.rkey, 0x77);
			assert_int_equal(s->pkt.rdma.dma_len, 2500);
		}
	}
	assert_null(net_take());
	end_destroy(e);
}

static void packet_numbers_wrap_around(void **state)
{
	struct end_options o = END_DEFAULTS;
	struct end *e;

	o.psn = PSN_MASK;
	e = end_alone(&o);
	end_post(e, HCA_OP_SEND, 0, 1024);
	end_post(e, HCA_OP_SEND, 0, 2048);
	end_ring(e);
	assert_int_equal(net_take()->pkt.psn, PSN_MASK);
	assert_int_equal(net_take()->pkt.psn, 0);
	assert_int_equal(net_take()->pkt.psn, 1);
	end_destroy(e);
}

/* ---- answers ---- */

static void answer(struct end *e, uint8_t syndrome, uint32_t psn)
{
	const struct roce_pkt ack = {
		.op = ROCE_TR_RC | ROCE_PKT_ACK,
		.dqpn = e->qp->qpn,
		.psn = psn,
		.ack = { .syndrome = syndrome },
	};

	net_inject(e->qp, &ack, NULL);
}

static void one_acknowledgement_completes_all_before_it(void **state)
{
	struct end *e = end_alone(&END_DEFAULTS);

	for (int i = 0; i < 3; i++)
		end_post(e, HCA_OP_SEND, 0, 10);
	end_ring(e);
	answer(e, ROCE_SYN_ACK, 101);
	assert_int_equal(end_completion(e)->counter, 0);
	assert_int_equal(end_completion(e)->counter, 1);
	assert_null(end_completion(e));
	answer(e, ROCE_SYN_ACK, 102);
	assert_int_equal(end_completion(e)->status, HCA_SUCCESS);
	end_destroy(e);
}

static void an_acknowledgement_of_what_was_never_sent_is_dropped(void **state)
{
	struct end *e = end_alone(&END_DEFAULTS);

	end_post(e, HCA_OP_SEND, 0, 10);
	end_ring(e);
	answer(e, ROCE_SYN_ACK, 101);
	answer(e, ROCE_SYN_ACK, 99);
	assert_null(end_completion(e));
	assert_int_equal(e->qp->state, HCA_QPS_RTS);
	end_destroy(e);
}

static void each_fatal_nak_has_its_status_and_ends_the_queue_pair(void **state)
{
	static const struct {
		uint8_t syndrome;
		enum hca_status status;
	} rows[] = {
		{ ROCE_SYN_NAK_INVALID, HCA_REM_INV_REQ_ERR },
		{ ROCE_SYN_NAK_ACCESS, HCA_REM_ACCESS_ERR },
		{ ROCE_SYN_NAK_OP, HCA_REM_OP_ERR },
	};

	for (unsigned int i = 0; i < array_size(rows); i++) {
		struct end *e = end_alone(&END_DEFAULTS);

		for (int k = 0; k < 3; k++)
			end_post(e, HCA_OP_SEND, 0, 10);
		end_post_recv(e, 0, 64);
		end_ring(e);
		/* It names the second; the first is acknowledged by that. */
		answer(e, rows[i].syndrome, 101);
		assert_int_equal(end_completion(e)->status, HCA_SUCCESS);
		assert_int_equal(end_completion(e)->status, rows[i].status);
		assert_int_equal(end_completion(e)->status, HCA_WR_FLUSH_ERR);
		assert_int_equal(end_completion(e)->status, HCA_WR_FLUSH_ERR); /* the receive */
		assert_null(end_completion(e));
		assert_int_equal(e->qp->state, HCA_QPS_ERR);
		end_destroy(e);
	}
}

static void reserved_syndromes_are_dropped(void **state)
{
	struct end *e = end_alone(&END_DEFAULTS);

	end_post(e, HCA_OP_SEND, 0, 10);
	end_ring(e);
	for (unsigned int s = 0x64; s <= 0xff; s++) {
		answer(e, (uint8_t)s, 100);
		assert_null(end_completion(e));
		assert_int_equal(e->qp->state, HCA_QPS_RTS);
	}
	end_destroy(e);
}

static void a_sequence_nak_has_all_from_there_on_sent_again(void **state)
{
	struct end *e = end_alone(&END_DEFAULTS);

	for (int i = 0; i < 3; i++)
		end_post(e, HCA_OP_SEND, 0, 10 + i);
	end_ring(e);
	while (net_take())
		;
	answer(e, ROCE_SYN_NAK_SEQ, 101);
	assert_int_equal(end_completion(e)->counter, 0);
	assert_int_equal(net_take()->pkt.psn, 101);
	assert_int_equal(net_take()->pkt.psn, 102);
	assert_null(net_take());
	end_destroy(e);
}

/* ---- time ---- */

static void silence_is_followed_by_as_many_retries_as_were_set_and_an_error(void **state)
{
	struct end_options o = END_DEFAULTS;
	struct end *e;
	uint64_t began;

	for (o.retry_cnt = 0; o.retry_cnt <= 7; o.retry_cnt++) {
		unsigned int sent = 0;

		e = end_alone(&o);
		began = net.now_ns;
		end_post(e, HCA_OP_SEND, 0, 10);
		end_ring(e);
		assert_int_equal(end_await(e)->status, HCA_RETRY_EXC_ERR);
		while (net_take())
			sent++;
		assert_int_equal(sent, 1 + o.retry_cnt);
		/* Each attempt has one timeout; nothing is answered, so none is stretched. */
		assert_int_equal(net.now_ns - began, (1 + o.retry_cnt) * timer_ack_ns(o.timeout));
		assert_int_equal(e->qp->state, HCA_QPS_ERR);
		end_destroy(e);
	}
}

static void timeout_zero_waits_forever(void **state)
{
	struct end_options o = END_DEFAULTS;
	struct end *e;

	o.timeout = 0;
	e = end_alone(&o);
	end_post(e, HCA_OP_SEND, 0, 10);
	end_ring(e);
	assert_false(net_step()); /* there is no timer at all */
	assert_null(end_completion(e));
	end_destroy(e);
}

static void an_rnr_nak_is_waited_out_to_the_nanosecond(void **state)
{
	for (unsigned int code = 0; code < 32; code++) {
		struct end_options o = END_DEFAULTS;
		const struct net_sent *s;
		struct end *e;
		uint64_t refused;

		o.timeout = 31; /* does not come before */
		e = end_alone(&o);
		end_post(e, HCA_OP_SEND, 0, 10);
		end_ring(e);
		net_take();
		refused = net.now_ns;
		answer(e, (uint8_t)(ROCE_SYN_RNR | code), 100);
		s = net_await_packet(10000000000ull);
		assert_non_null(s);
		assert_int_equal(s->pkt.psn, 100);
		assert_int_equal(s->at_ns - refused, timer_rnr_ns((uint8_t)code));
		end_destroy(e);
	}
}

static void rnr_retries_are_counted_and_seven_is_endless(void **state)
{
	struct end_options o = END_DEFAULTS;
	struct end *e;

	for (o.rnr_retry = 0; o.rnr_retry <= 7; o.rnr_retry++) {
		unsigned int most = o.rnr_retry == 7 ? 100 : o.rnr_retry;

		e = end_alone(&o);
		end_post(e, HCA_OP_SEND, 0, 10);
		end_ring(e);
		net_take();
		for (unsigned int i = 0; i < most; i++) {
			answer(e, ROCE_SYN_RNR | 1, 100);
			assert_null(end_completion(e));
			assert_non_null(net_await_packet(1000000));
		}
		answer(e, ROCE_SYN_RNR | 1, 100);
		if (o.rnr_retry == 7)
			assert_null(end_completion(e));
		else
			assert_int_equal(end_completion(e)->status, HCA_RNR_RETRY_EXC_ERR);
		end_destroy(e);
	}
}

static void progress_starts_the_rnr_retries_anew(void **state)
{
	struct end *e = end_alone(&END_DEFAULTS);

	for (uint32_t psn = 100; psn < 110; psn++) {
		end_post(e, HCA_OP_SEND, 0, 10);
		end_ring(e);
		assert_int_equal(net_take()->pkt.psn, psn);
		for (unsigned int i = 0; i < END_DEFAULTS.rnr_retry; i++) {
			answer(e, ROCE_SYN_RNR | 1, psn);
			assert_int_equal(net_await_packet(1000000)->pkt.psn, psn);
		}
		answer(e, ROCE_SYN_ACK, psn);
		assert_int_equal(end_completion(e)->status, HCA_SUCCESS);
	}
	end_destroy(e);
}

/* ---- room ---- */

static void a_full_carrier_is_tried_again_when_it_has_room(void **state)
{
	struct end *e = end_alone(&END_DEFAULTS);

	net.full = true;
	end_post(e, HCA_OP_SEND, 0, 10);
	end_post(e, HCA_OP_SEND, 0, 3000);
	end_ring(e);
	assert_null(net_take());
	net_room();
	for (uint32_t psn = 100; psn <= 103; psn++)
		assert_int_equal(net_take()->pkt.psn, psn);
	assert_null(net_take());
	end_destroy(e);
}

static void a_queue_pair_that_is_reset_while_it_waits_for_room_waits_once(void **state)
{
	struct end *e = end_alone(&END_DEFAULTS);

	net.full = true;
	end_post(e, HCA_OP_SEND, 0, 10);
	end_ring(e);
	assert_int_equal(end_set_state(e, HCA_QPS_RESET), 0);
	e->posted = 0;
	end_connect(e, END_PEER_QPN, &END_DEFAULTS);
	end_post(e, HCA_OP_SEND, 0, 20);
	end_ring(e);
	assert_ptr_equal(net.blocked, e->in);
	assert_null(e->in->blocked_next);
	net_room();
	assert_int_equal(net_take()->len, 20);
	assert_null(net_take());
	end_destroy(e);
}

/* ---- order ---- */

static void a_fenced_request_waits_for_reads_before_it(void **state)
{
	struct end *e = end_alone(&END_DEFAULTS);
	const struct roce_pkt data = {
		.op = ROCE_TR_RC | ROCE_PKT_READ_RESP_ONLY,
		.psn = 100,
		.len = 8,
		.ack = { .syndrome = ROCE_SYN_ACK },
	};

	end_post(e, HCA_OP_READ, 0, 8);
	end_post(e, HCA_OP_SEND, 64, 8)->fence = true;
	end_ring(e);
	assert_int_equal(net_take()->pkt.op & ROCE_PKT_OPCODE_MASK, ROCE_PKT_READ_REQUEST);
	assert_null(net_take());
	net_inject(e->qp, &data, "12345678");
	assert_int_equal(end_completion(e)->op, HCA_OP_READ);
	assert_memory_equal(e->mem, "12345678", 8);
	assert_int_equal(net_take()->pkt.op & ROCE_PKT_OPCODE_MASK, ROCE_PKT_SEND_ONLY);
	end_destroy(e);
}

static void flushed_requests_complete_in_the_order_of_the_queue(void **state)
{
	struct end *e = end_alone(&END_DEFAULTS);

	for (int i = 0; i < 20; i++)
		end_post(e, i % 3 ? HCA_OP_SEND : HCA_OP_READ, 0, 4000);
	end_ring(e);
	assert_int_equal(end_set_state(e, HCA_QPS_ERR), 0);
	for (int i = 0; i < 20; i++) {
		const struct hca_cqe *c = end_completion(e);

		assert_non_null(c);
		assert_int_equal(c->counter, i);
		assert_int_equal(c->status, HCA_WR_FLUSH_ERR);
	}
	assert_null(end_completion(e));
	end_destroy(e);
}

static void a_fence_does_not_wait_for_its_own_read(void **state)
{
	struct end *e = end_alone(&END_DEFAULTS);
	const struct roce_pkt ack = { .op = ROCE_TR_RC | ROCE_PKT_ACK,
				      .dqpn = e->qp->qpn,
				      .psn = 100,
				      .ack = { .syndrome = ROCE_SYN_ACK } };

	end_post(e, HCA_OP_WRITE, 0, 8);
	/* more than the congestion window takes while the write is not acknowledged */
	end_post(e, HCA_OP_READ, 4096, QP_CWND_FIRST * 1024 + 1)->fence = true;
	end_ring(e);
	assert_int_equal(net_take()->pkt.psn, 100);
	assert_null(net_take());
	net_inject(e->qp, &ack, NULL);
	assert_int_equal(net_take()->pkt.psn, 101);
	end_destroy(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_send_of_one_packet_asks_for_an_acknowledgement),
		cmocka_unit_test(a_message_is_cut_at_the_path_mtu),
		cmocka_unit_test(packet_numbers_wrap_around),
		cmocka_unit_test(one_acknowledgement_completes_all_before_it),
		cmocka_unit_test(an_acknowledgement_of_what_was_never_sent_is_dropped),
		cmocka_unit_test(each_fatal_nak_has_its_status_and_ends_the_queue_pair),
		cmocka_unit_test(reserved_syndromes_are_dropped),
		cmocka_unit_test(a_sequence_nak_has_all_from_there_on_sent_again),
		cmocka_unit_test(silence_is_followed_by_as_many_retries_as_were_set_and_an_error),
		cmocka_unit_test(timeout_zero_waits_forever),
		cmocka_unit_test(an_rnr_nak_is_waited_out_to_the_nanosecond),
		cmocka_unit_test(rnr_retries_are_counted_and_seven_is_endless),
		cmocka_unit_test(progress_starts_the_rnr_retries_anew),
		cmocka_unit_test(a_full_carrier_is_tried_again_when_it_has_room),
		cmocka_unit_test(a_queue_pair_that_is_reset_while_it_waits_for_room_waits_once),
		cmocka_unit_test(a_fenced_request_waits_for_reads_before_it),
		cmocka_unit_test(flushed_requests_complete_in_the_order_of_the_queue),
		cmocka_unit_test(a_fence_does_not_wait_for_its_own_read),
	};

	return cmocka_run_group_tests(tests, end_group_begin, end_group_end);
}
