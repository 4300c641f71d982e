/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests that arrive at a queue pair: every kind in every state, duplicates, gaps, faults, answers. */
#include "cmocka_all.h"

#include <string.h>

#include "transport/end.h"

#include "hca/transport/timer.h"
#include "roce/opcode.h"

#define FIRST_PSN 500u /* that END_DEFAULTS expects of the peer */

static uint64_t va(const struct end *e, uint32_t at)
{
	return (uintptr_t)e->mem + at;
}

static const uint8_t data[4096] = "data that a packet brings";

static void inject(struct end *e, uint8_t op, uint32_t psn)
{
	struct roce_pkt p = end_request(e, op, psn);

	net_inject(e->qp, &p, data);
}

static void expect_answer(uint8_t syndrome, uint32_t psn)
{
	const struct net_sent *s = net_take();

	assert_non_null(s);
	assert_int_equal(s->pkt.op & ROCE_PKT_OPCODE_MASK, ROCE_PKT_ACK);
	assert_int_equal(s->pkt.ack.syndrome, syndrome);
	assert_int_equal(s->pkt.psn, psn & PSN_MASK);
}

/* ---- every kind of packet in every state ---- */

/* What RC does with an opcode that begins nothing, or continues nothing (IBTA volume 1, 9.7.4.1.3). */
static bool may_begin(uint8_t op)
{
	switch (op) {
	case ROCE_PKT_SEND_FIRST:
	case ROCE_PKT_SEND_ONLY:
	case ROCE_PKT_SEND_ONLY_IMM:
	case ROCE_PKT_WRITE_FIRST:
	case ROCE_PKT_WRITE_ONLY:
	case ROCE_PKT_WRITE_ONLY_IMM:
	case ROCE_PKT_READ_REQUEST:
	case ROCE_PKT_CMP_SWAP:
	case ROCE_PKT_FETCH_ADD:
	case ROCE_PKT_MASKED_ATOMIC:
	case ROCE_PKT_FLUSH:
	case ROCE_PKT_ATOMIC_WRITE:
		return true;
	default:
		return false;
	}
}

static bool is_answer(uint8_t op)
{
	return op >= ROCE_PKT_READ_RESP_FIRST && op <= ROCE_PKT_ATOMIC_ACK;
}

static struct end *end_in(enum hca_qp_state to)
{
	struct end *e;

	net_reset();
	net.held = true;
	e = end_create(0, &END_DEFAULTS);
	for (int i = 0; i < 4; i++)
		end_post_recv(e, 8192 + i * 1024, 1024);
	if (to != HCA_QPS_RESET)
		end_advance(e, to, END_PEER_QPN, &END_DEFAULTS);
	e->taken = e->completed; /* receives that ERR has flushed */
	return e;
}

static void states_that_do_not_receive_drop_every_kind(void **state)
{
	static const enum hca_qp_state states[] = { HCA_QPS_RESET, HCA_QPS_INIT, HCA_QPS_ERR };

	for (unsigned int i = 0; i < array_size(states); i++)
		for (unsigned int op = 0; op < 256; op++) {
			struct end *e;

			if (!roce_opcode_find((uint8_t)op) || op == ROCE_OP_CNP)
				continue;
			e = end_in(states[i]);
			inject(e, (uint8_t)op, FIRST_PSN);
			assert_null(net_take());
			assert_null(end_completion(e));
			assert_int_equal(e->qp->state, states[i]);
			end_destroy(e);
		}
}

static void states_that_receive_take_what_begins_a_message_and_refuse_the_rest(void **state)
{
	static const enum hca_qp_state states[] = { HCA_QPS_RTR, HCA_QPS_RTS, HCA_QPS_SQD };

	for (unsigned int i = 0; i < array_size(states); i++)
		for (unsigned int op = 0; op <= ROCE_PKT_OPCODE_MASK; op++) {
			struct end *e;

			if (!roce_opcode_find((uint8_t)op))
				continue;
			e = end_in(states[i]);
			inject(e, (uint8_t)op, FIRST_PSN);
			if (is_answer((uint8_t)op)) {
				assert_null(net_take());
				assert_int_equal(e->qp->state, states[i]);
			} else if (op == ROCE_PKT_SEND_ONLY_INV) {
				/* There is no key 0 to be invalidated, and no NAK for that. */
				assert_null(net_take());
				assert_int_equal(end_completion(e)->status, HCA_LOC_ACCESS_ERR);
				assert_int_equal(e->qp->state, HCA_QPS_ERR);
			} else if (may_begin((uint8_t)op)) {
				assert_non_null(net_take()); /* answer or acknowledgement */
				assert_int_equal(e->qp->state, states[i]);
				assert_int_equal(e->in->resp.epsn, FIRST_PSN + 1);
			} else {
				expect_answer(ROCE_SYN_NAK_INVALID, FIRST_PSN);
				assert_int_equal(e->qp->state, HCA_QPS_ERR);
			}
			end_destroy(e);
		}
}

static void packets_of_another_transport_are_dropped(void **state)
{
	static const uint8_t transports[] = { ROCE_TR_UC, ROCE_TR_UD, ROCE_TR_XRC, ROCE_TR_DC };

	for (unsigned int i = 0; i < array_size(transports); i++)
		for (unsigned int op = 0; op <= ROCE_PKT_OPCODE_MASK; op++) {
			struct end *e;

			if (!roce_opcode_find(transports[i] | op) || is_answer((uint8_t)op))
				continue;
			e = end_in(HCA_QPS_RTS);
			inject(e, transports[i] | op, FIRST_PSN);
			assert_null(net_take());
			assert_null(end_completion(e));
			assert_int_equal(e->in->resp.epsn, FIRST_PSN);
			end_destroy(e);
		}
}

static void a_message_is_continued_by_its_own_kind_only(void **state)
{
	struct end *e = end_in(HCA_QPS_RTS);

	inject(e, ROCE_PKT_SEND_FIRST, FIRST_PSN);
	net.taken = net.sent_count;
	inject(e, ROCE_PKT_WRITE_MIDDLE, FIRST_PSN + 1);
	expect_answer(ROCE_SYN_NAK_INVALID, FIRST_PSN + 1);
	assert_int_equal(e->qp->state, HCA_QPS_ERR);
	end_destroy(e);
}

/* ---- order (IBTA volume 1, 9.7.5.1) ---- */

static void a_duplicate_send_is_acknowledged_and_not_delivered_again(void **state)
{
	struct end *e = end_in(HCA_QPS_RTS);

	inject(e, ROCE_PKT_SEND_ONLY, FIRST_PSN);
	inject(e, ROCE_PKT_SEND_ONLY, FIRST_PSN + 1);
	expect_answer(ROCE_SYN_ACK, FIRST_PSN);
	expect_answer(ROCE_SYN_ACK, FIRST_PSN + 1);
	inject(e, ROCE_PKT_SEND_ONLY, FIRST_PSN);
	/* The acknowledgement of a duplicate is the newest one. */
	expect_answer(ROCE_SYN_ACK, FIRST_PSN + 1);
	assert_int_equal(e->completed, 2);
	end_destroy(e);
}

static void a_gap_draws_one_nak(void **state)
{
	struct end *e = end_in(HCA_QPS_RTS);

	inject(e, ROCE_PKT_SEND_ONLY, FIRST_PSN + 2);
	expect_answer(ROCE_SYN_NAK_SEQ, FIRST_PSN);
	for (uint32_t i = 3; i < 20; i++)
		inject(e, ROCE_PKT_SEND_ONLY, FIRST_PSN + i);
	assert_null(net_take());
	assert_null(end_completion(e));
	inject(e, ROCE_PKT_SEND_ONLY, FIRST_PSN);
	expect_answer(ROCE_SYN_ACK, FIRST_PSN);
	/* The next gap has its own. */
	inject(e, ROCE_PKT_SEND_ONLY, FIRST_PSN + 5);
	expect_answer(ROCE_SYN_NAK_SEQ, FIRST_PSN + 1);
	end_destroy(e);
}

static void a_gap_that_shows_again_draws_two_more_naks_at_most(void **state)
{
	struct end *e = end_in(HCA_QPS_RTS);

	for (int i = 0; i < 6; i++)
		inject(e, ROCE_PKT_SEND_ONLY, FIRST_PSN + 1);
	for (int i = 0; i < 3; i++)
		expect_answer(ROCE_SYN_NAK_SEQ, FIRST_PSN);
	assert_null(net_take());
	end_destroy(e);
}

static void expected_numbers_wrap_around(void **state)
{
	struct end_options o = END_DEFAULTS;
	struct end *e;

	o.peer_psn = PSN_MASK - 1;
	e = end_alone(&o);
	for (uint32_t i = 0; i < 4; i++) {
		end_post_recv(e, 8192, 1024);
		inject(e, ROCE_PKT_SEND_ONLY, o.peer_psn + i);
		expect_answer(ROCE_SYN_ACK, o.peer_psn + i);
	}
	/* Before the wrap is before it. */
	inject(e, ROCE_PKT_SEND_ONLY, PSN_MASK);
	expect_answer(ROCE_SYN_ACK, 1);
	assert_int_equal(e->completed, 4);
	end_destroy(e);
}

static void acknowledgements_come_when_they_are_asked_for(void **state)
{
	struct end *e = end_in(HCA_QPS_RTS);
	struct roce_pkt p = end_request(e, ROCE_PKT_SEND_ONLY, FIRST_PSN);

	p.flags = 0;
	net_inject(e->qp, &p, data);
	assert_null(net_take());
	inject(e, ROCE_PKT_SEND_ONLY, FIRST_PSN + 1);
	expect_answer(ROCE_SYN_ACK, FIRST_PSN + 1);
	assert_int_equal(e->completed, 2);
	end_destroy(e);
}

/* ---- receives ---- */

static void without_a_receive_a_send_is_refused_for_now(void **state)
{
	struct end_options o = END_DEFAULTS;
	struct end *e;

	o.min_rnr_timer = 17;
	e = end_alone(&o);
	inject(e, ROCE_PKT_SEND_ONLY, FIRST_PSN);
	expect_answer(ROCE_SYN_RNR | 17, FIRST_PSN);
	/* Packets that were on their way behind it are dropped without a NAK. */
	inject(e, ROCE_PKT_SEND_ONLY, FIRST_PSN + 1);
	inject(e, ROCE_PKT_SEND_ONLY, FIRST_PSN + 2);
	assert_null(net_take());
	end_post_recv(e, 8192, 1024);
	inject(e, ROCE_PKT_SEND_ONLY, FIRST_PSN);
	expect_answer(ROCE_SYN_ACK, FIRST_PSN);
	assert_int_equal(end_completion(e)->status, HCA_SUCCESS);
	assert_memory_equal(e->mem + 8192, data, 8);
	end_destroy(e);
}

static void a_write_needs_no_receive_and_one_with_immediate_does(void **state)
{
	struct end *e = end_alone(&END_DEFAULTS);

	inject(e, ROCE_PKT_WRITE_ONLY, FIRST_PSN);
	expect_answer(ROCE_SYN_ACK, FIRST_PSN);
	assert_memory_equal(e->mem + 4096, data, 8);
	assert_null(end_completion(e));
	inject(e, ROCE_PKT_WRITE_ONLY_IMM, FIRST_PSN + 1);
	expect_answer(ROCE_SYN_RNR | 12, FIRST_PSN + 1);
	end_destroy(e);
}

static void a_message_longer_than_its_receive_is_an_error_at_both_ends(void **state)
{
	struct end *e = end_alone(&END_DEFAULTS);
	const struct hca_cqe *c;

	end_post_recv(e, 8192, 4);
	end_post_recv(e, 8192, 4);
	inject(e, ROCE_PKT_SEND_ONLY, FIRST_PSN);
	expect_answer(ROCE_SYN_NAK_INVALID, FIRST_PSN);
	c = end_completion(e);
	assert_int_equal(c->status, HCA_LOC_LEN_ERR);
	assert_int_equal(end_completion(e)->status, HCA_WR_FLUSH_ERR);
	assert_int_equal(e->qp->state, HCA_QPS_ERR);
	end_destroy(e);
}

static void a_receive_with_a_bad_key_is_a_local_and_a_remote_operation_error(void **state)
{
	struct end *e = end_alone(&END_DEFAULTS);

	end_post_recv(e, 8192, 64);
	e->recv[0].sge[0].key ^= 1;
	inject(e, ROCE_PKT_SEND_ONLY, FIRST_PSN);
	expect_answer(ROCE_SYN_NAK_OP, FIRST_PSN);
	assert_int_equal(end_completion(e)->status, HCA_LOC_PROT_ERR);
	end_destroy(e);
}

/* ---- rights ---- */

static void keys_ranges_and_rights_are_checked_before_a_byte_moves(void **state)
{
	static const uint8_t ops[] = { ROCE_PKT_WRITE_ONLY, ROCE_PKT_READ_REQUEST,
				       ROCE_PKT_FETCH_ADD };

	for (unsigned int i = 0; i < array_size(ops); i++)
		for (int how = 0; how < 4; how++) {
			struct end_options o = END_DEFAULTS;
			uint8_t syndrome = ROCE_SYN_NAK_ACCESS;
			struct roce_pkt p;
			struct end *e;
			bool atomic = ops[i] == ROCE_PKT_FETCH_ADD;

			o.no_access = how == 3;
			e = end_alone(&o);
			p = end_request(e, ops[i], FIRST_PSN);
			switch (how) {
			case 0:
				*(atomic ? &p.atomic.rkey : &p.rdma.rkey) ^= 1;
				break;
			case 1: /* before the region */
				*(atomic ? &p.atomic.va : &p.rdma.va) = va(e, 0) - 8;
				break;
			case 2: /* past its end */
				*(atomic ? &p.atomic.va : &p.rdma.va) = va(e, END_BYTES);
				break;
			case 3: /* the queue pair does not have the operation (9.7.4.1.2) */
				syndrome = ROCE_SYN_NAK_INVALID;
				break;
			}
			net_inject(e->qp, &p, data);
			expect_answer(syndrome, FIRST_PSN);
			assert_int_equal(e->qp->state, HCA_QPS_ERR);
			for (uint32_t k = 0; k < END_BYTES; k++)
				assert_int_equal(e->mem[k], 0);
			end_destroy(e);
		}
}

static void a_write_must_be_as_long_as_its_header_says(void **state)
{
	for (int d = -1; d <= 1; d += 2) {
		struct end *e = end_alone(&END_DEFAULTS);
		struct roce_pkt p = end_request(e, ROCE_PKT_WRITE_ONLY, FIRST_PSN);

		p.rdma.dma_len = 8 + d;
		net_inject(e->qp, &p, data);
		expect_answer(ROCE_SYN_NAK_INVALID, FIRST_PSN);
		end_destroy(e);
	}
}

static void a_packet_that_is_not_the_last_must_be_as_long_as_the_path_allows(void **state)
{
	struct end *e = end_in(HCA_QPS_RTS);
	struct roce_pkt p = end_request(e, ROCE_PKT_SEND_FIRST, FIRST_PSN);

	p.len = 1000;
	net_inject(e->qp, &p, data);
	expect_answer(ROCE_SYN_NAK_INVALID, FIRST_PSN);
	end_destroy(e);
}

/* ---- reads and atomics ---- */

static void a_read_is_answered_in_packets_of_the_path_mtu(void **state)
{
	static const uint8_t ops[] = { ROCE_PKT_READ_RESP_FIRST, ROCE_PKT_READ_RESP_MIDDLE,
				       ROCE_PKT_READ_RESP_LAST };
	struct end *e = end_alone(&END_DEFAULTS);
	struct roce_pkt p = end_request(e, ROCE_PKT_READ_REQUEST, FIRST_PSN);

	for (uint32_t i = 0; i < 3000; i++)
		e->mem[i] = (uint8_t)(i * 7);
	p.rdma.dma_len = 3000;
	net_inject(e->qp, &p, NULL);
	for (uint32_t i = 0; i < 3; i++) {
		const struct net_sent *s = net_take();

		assert_int_equal(s->pkt.op & ROCE_PKT_OPCODE_MASK, ops[i]);
		assert_int_equal(s->pkt.psn, FIRST_PSN + i);
		assert_memory_equal(s->payload, e->mem + i * 1024, s->len);
	}
	assert_null(net_take());
	/* The next request is expected behind the answer. */
	inject(e, ROCE_PKT_WRITE_ONLY, FIRST_PSN + 3);
	expect_answer(ROCE_SYN_ACK, FIRST_PSN + 3);
	end_destroy(e);
}

static void a_read_of_nothing_is_one_empty_packet_and_needs_no_key(void **state)
{
	struct end *e = end_alone(&END_DEFAULTS);
	struct roce_pkt p = end_request(e, ROCE_PKT_READ_REQUEST, FIRST_PSN);
	const struct net_sent *s;

	p.rdma.dma_len = 0;
	p.rdma.rkey = 0;
	net_inject(e->qp, &p, NULL);
	s = net_take();
	assert_int_equal(s->pkt.op & ROCE_PKT_OPCODE_MASK, ROCE_PKT_READ_RESP_ONLY);
	assert_int_equal(s->len, 0);
	end_destroy(e);
}

static void a_read_is_resumed_where_it_is_asked_for_again(void **state)
{
	struct end *e = end_alone(&END_DEFAULTS);
	struct roce_pkt p = end_request(e, ROCE_PKT_READ_REQUEST, FIRST_PSN);
	const struct net_sent *s;

	p.rdma.dma_len = 3000;
	net_inject(e->qp, &p, NULL);
	net.taken = net.sent_count;
	p.psn = FIRST_PSN + 1;
	p.rdma.va += 1024;
	p.rdma.dma_len -= 1024;
	net_inject(e->qp, &p, NULL);
	s = net_take();
	assert_int_equal(s->pkt.op & ROCE_PKT_OPCODE_MASK, ROCE_PKT_READ_RESP_FIRST);
	assert_int_equal(s->pkt.psn, FIRST_PSN + 1);
	s = net_take();
	assert_int_equal(s->pkt.op & ROCE_PKT_OPCODE_MASK, ROCE_PKT_READ_RESP_LAST);
	assert_null(net_take());
	/* Outside of what was asked for first it is not. */
	p.rdma.va += 1;
	net_inject(e->qp, &p, NULL);
	assert_null(net_take());
	assert_int_equal(e->qp->state, HCA_QPS_RTS);
	end_destroy(e);
}

static void an_atomic_is_done_once_and_answered_as_often_as_asked(void **state)
{
	struct end *e = end_alone(&END_DEFAULTS);
	uint64_t value = 41;

	memcpy(e->mem, &value, 8);
	for (int i = 0; i < 5; i++) {
		const struct net_sent *s;

		inject(e, ROCE_PKT_FETCH_ADD, FIRST_PSN);
		s = net_take();
		assert_int_equal(s->pkt.op & ROCE_PKT_OPCODE_MASK, ROCE_PKT_ATOMIC_ACK);
		assert_int_equal(s->pkt.ack.orig, 41);
	}
	memcpy(&value, e->mem, 8);
	assert_int_equal(value, 42);
	end_destroy(e);
}

static void an_atomic_must_be_aligned(void **state)
{
	struct end *e = end_alone(&END_DEFAULTS);
	struct roce_pkt p = end_request(e, ROCE_PKT_CMP_SWAP, FIRST_PSN);

	p.atomic.va += 4;
	net_inject(e->qp, &p, NULL);
	expect_answer(ROCE_SYN_NAK_INVALID, FIRST_PSN);
	end_destroy(e);
}

static void more_reads_at_once_than_were_promised_are_refused(void **state)
{
	struct end_options o = END_DEFAULTS;
	struct end *e;

	o.rd_atomic = 2;
	e = end_alone(&o);
	net.full = true; /* so that answers wait */
	for (uint32_t i = 0; i < 2; i++)
		inject(e, ROCE_PKT_READ_REQUEST, FIRST_PSN + i);
	assert_int_equal(e->qp->state, HCA_QPS_RTS);
	inject(e, ROCE_PKT_READ_REQUEST, FIRST_PSN + 2);
	net_room();
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(net_take()->pkt.psn, FIRST_PSN + i);
	expect_answer(ROCE_SYN_NAK_INVALID, FIRST_PSN + 2);
	assert_int_equal(e->qp->state, HCA_QPS_ERR);
	end_destroy(e);
}

static void requests_behind_a_read_are_not_acknowledged_before_its_answer(void **state)
{
	struct end *e = end_alone(&END_DEFAULTS);

	net.full = true;
	inject(e, ROCE_PKT_READ_REQUEST, FIRST_PSN);
	inject(e, ROCE_PKT_WRITE_ONLY, FIRST_PSN + 1);
	assert_null(net_take());
	net_room();
	assert_int_equal(net_take()->pkt.op & ROCE_PKT_OPCODE_MASK, ROCE_PKT_READ_RESP_ONLY);
	expect_answer(ROCE_SYN_ACK, FIRST_PSN + 1);
	end_destroy(e);
}

/* ---- unreliable connections ---- */

static void a_read_that_fails_late_flushes_the_receive_of_a_message_behind_it(void **state)
{
	struct end *e = end_in(HCA_QPS_RTS);
	struct roce_pkt read = end_request(e, ROCE_TR_RC | ROCE_PKT_READ_REQUEST, FIRST_PSN);
	const struct hca_cqe *c;
	struct hca_mr *mr;

	assert_int_equal(
		hca_mr_create(e->pd, e->mem, 4096, (uintptr_t)e->mem, HCA_ACCESS_REMOTE_READ, &mr),
		0);
	read.rdma.rkey = mr->key;
	net.full = true;
	net_inject(e->qp, &read, data);
	inject(e, ROCE_TR_RC | ROCE_PKT_SEND_FIRST, FIRST_PSN + 1);
	assert_int_equal(hca_mr_destroy(mr), 0);
	net_room();
	expect_answer(ROCE_SYN_NAK_ACCESS, FIRST_PSN);
	for (int i = 0; i < 4; i++) {
		c = end_completion(e);
		assert_int_equal(c->status, HCA_WR_FLUSH_ERR);
		assert_int_equal(c->counter, i);
	}
	end_destroy(e);
}

static void a_gap_ends_a_message_of_uc_and_the_next_one_is_delivered(void **state)
{
	struct end_options o = END_DEFAULTS;
	struct end *e;

	o.type = HCA_QP_UC;
	e = end_alone(&o);
	end_post_recv(e, 8192, 4096);
	end_post_recv(e, 16384, 4096);
	inject(e, ROCE_TR_UC | ROCE_PKT_SEND_FIRST, FIRST_PSN);
	inject(e, ROCE_TR_UC | ROCE_PKT_SEND_LAST, FIRST_PSN + 2);
	assert_null(end_completion(e));
	inject(e, ROCE_TR_UC | ROCE_PKT_SEND_ONLY, FIRST_PSN + 3);
	assert_int_equal(end_completion(e)->byte_len, 8);
	/* Late is lost. */
	inject(e, ROCE_TR_UC | ROCE_PKT_SEND_ONLY, FIRST_PSN + 1);
	assert_null(end_completion(e));
	assert_null(net_take());
	end_destroy(e);
}

static void uc_drops_what_rc_would_refuse(void **state)
{
	struct end_options o = END_DEFAULTS;
	struct roce_pkt p;
	struct end *e;

	o.type = HCA_QP_UC;
	e = end_alone(&o);
	inject(e, ROCE_TR_UC | ROCE_PKT_SEND_ONLY, FIRST_PSN);
	p = end_request(e, ROCE_TR_UC | ROCE_PKT_WRITE_ONLY, FIRST_PSN + 1);
	p.rdma.rkey ^= 1;
	net_inject(e->qp, &p, data);
	assert_null(net_take());
	assert_int_equal(e->qp->state, HCA_QPS_RTS);
	end_destroy(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(states_that_do_not_receive_drop_every_kind),
		cmocka_unit_test(
			states_that_receive_take_what_begins_a_message_and_refuse_the_rest),
		cmocka_unit_test(packets_of_another_transport_are_dropped),
		cmocka_unit_test(a_message_is_continued_by_its_own_kind_only),
		cmocka_unit_test(a_duplicate_send_is_acknowledged_and_not_delivered_again),
		cmocka_unit_test(a_gap_draws_one_nak),
		cmocka_unit_test(a_gap_that_shows_again_draws_two_more_naks_at_most),
		cmocka_unit_test(expected_numbers_wrap_around),
		cmocka_unit_test(acknowledgements_come_when_they_are_asked_for),
		cmocka_unit_test(without_a_receive_a_send_is_refused_for_now),
		cmocka_unit_test(a_write_needs_no_receive_and_one_with_immediate_does),
		cmocka_unit_test(a_message_longer_than_its_receive_is_an_error_at_both_ends),
		cmocka_unit_test(a_receive_with_a_bad_key_is_a_local_and_a_remote_operation_error),
		cmocka_unit_test(keys_ranges_and_rights_are_checked_before_a_byte_moves),
		cmocka_unit_test(a_write_must_be_as_long_as_its_header_says),
		cmocka_unit_test(a_packet_that_is_not_the_last_must_be_as_long_as_the_path_allows),
		cmocka_unit_test(a_read_is_answered_in_packets_of_the_path_mtu),
		cmocka_unit_test(a_read_of_nothing_is_one_empty_packet_and_needs_no_key),
		cmocka_unit_test(a_read_is_resumed_where_it_is_asked_for_again),
		cmocka_unit_test(an_atomic_is_done_once_and_answered_as_often_as_asked),
		cmocka_unit_test(an_atomic_must_be_aligned),
		cmocka_unit_test(more_reads_at_once_than_were_promised_are_refused),
		cmocka_unit_test(requests_behind_a_read_are_not_acknowledged_before_its_answer),
		cmocka_unit_test(a_read_that_fails_late_flushes_the_receive_of_a_message_behind_it),
		cmocka_unit_test(a_gap_ends_a_message_of_uc_and_the_next_one_is_delivered),
		cmocka_unit_test(uc_drops_what_rc_would_refuse),
	};

	return cmocka_run_group_tests(tests, end_group_begin, end_group_end);
}
