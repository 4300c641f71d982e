/* SPDX-License-Identifier: BSD-2-Clause */
/* FLUSH and ATOMIC WRITE (IBTA volume 1, Annex A19): what the responder does, and what the requester. */
#include "cmocka_all.h"

#include <string.h>

#include "transport/end.h"

#define FIRST_PSN 500u /* that END_DEFAULTS expects of the peer */

static const uint8_t value[8] = "8 bytes";

static void inject(struct end *e, const struct roce_pkt *p)
{
	net_inject(e->qp, p, value);
}

/* The answer to a FLUSH or ATOMIC WRITE is that of a read of nothing. */
static void expect_placed(uint32_t psn, uint32_t msn)
{
	const struct net_sent *s = net_take();

	assert_non_null(s);
	assert_int_equal(s->pkt.op, ROCE_PKT_READ_RESP_ONLY);
	assert_int_equal(s->pkt.len, 0);
	assert_int_equal(s->pkt.psn, psn);
	assert_int_equal(s->pkt.ack.syndrome, ROCE_SYN_ACK);
	assert_int_equal(s->pkt.ack.msn, msn);
}

static void expect_nak(struct end *e, uint8_t syndrome)
{
	const struct net_sent *s = net_take();

	assert_non_null(s);
	assert_int_equal(s->pkt.op, ROCE_PKT_ACK);
	assert_int_equal(s->pkt.ack.syndrome, syndrome);
	assert_int_equal(e->qp->state, HCA_QPS_ERR);
	end_destroy(e);
}

/* ---- the responder ---- */

static void an_atomic_write_places_eight_bytes_and_is_done_once(void **state)
{
	struct end *e = end_alone(&END_DEFAULTS);
	struct roce_pkt p = end_request(e, ROCE_PKT_ATOMIC_WRITE, FIRST_PSN);

	inject(e, &p);
	expect_placed(FIRST_PSN, 1);
	assert_memory_equal(e->mem + 4096, value, 8);
	memset(e->mem + 4096, 0, 8);
	for (int i = 0; i < 3; i++) {
		inject(e, &p);
		expect_placed(FIRST_PSN, 1);
	}
	assert_int_equal(e->mem[4096], 0); /* not written again */
	assert_int_equal(e->in->resp.epsn, FIRST_PSN + 1);
	end_destroy(e);
}

static void an_atomic_write_must_be_aligned_and_eight_bytes_long(void **state)
{
	struct end *e = end_alone(&END_DEFAULTS);
	struct roce_pkt p = end_request(e, ROCE_PKT_ATOMIC_WRITE, FIRST_PSN);

	p.rdma.va += 4;
	inject(e, &p);
	expect_nak(e, ROCE_SYN_NAK_INVALID);
	e = end_alone(&END_DEFAULTS);
	p = end_request(e, ROCE_PKT_ATOMIC_WRITE, FIRST_PSN);
	p.rdma.dma_len = 16;
	inject(e, &p);
	expect_nak(e, ROCE_SYN_NAK_INVALID);
}

static void an_atomic_write_needs_the_right_to_write(void **state)
{
	struct end_options o = END_DEFAULTS;
	struct end *e;
	struct roce_pkt p;

	o.access = HCA_ACCESS_REMOTE_READ | HCA_ACCESS_REMOTE_ATOMIC;
	e = end_alone(&o);
	p = end_request(e, ROCE_PKT_ATOMIC_WRITE, FIRST_PSN);
	inject(e, &p);
	expect_nak(e, ROCE_SYN_NAK_INVALID);
	e = end_alone(&END_DEFAULTS);
	p = end_request(e, ROCE_PKT_ATOMIC_WRITE, FIRST_PSN);
	p.rdma.rkey ^= 1;
	inject(e, &p);
	expect_nak(e, ROCE_SYN_NAK_ACCESS);
	e = end_alone(&END_DEFAULTS);
	p = end_request(e, ROCE_PKT_ATOMIC_WRITE, FIRST_PSN);
	p.rdma.va = (uintptr_t)e->mem + END_BYTES;
	inject(e, &p);
	expect_nak(e, ROCE_SYN_NAK_ACCESS);
}

static void without_resources_there_is_neither(void **state)
{
	static const uint8_t ops[] = { ROCE_PKT_ATOMIC_WRITE, ROCE_PKT_FLUSH };

	for (unsigned int i = 0; i < array_size(ops); i++) {
		struct end_options o = END_DEFAULTS;
		struct end *e;
		struct roce_pkt p;

		o.rd_atomic = 0;
		e = end_alone(&o);
		p = end_request(e, ops[i], FIRST_PSN);
		inject(e, &p);
		expect_nak(e, ROCE_SYN_NAK_INVALID);
	}
}

static void a_flush_is_answered_as_often_as_asked(void **state)
{
	struct end *e = end_alone(&END_DEFAULTS);
	struct roce_pkt p = end_request(e, ROCE_PKT_FLUSH, FIRST_PSN);

	for (int i = 0; i < 3; i++) {
		inject(e, &p);
		expect_placed(FIRST_PSN, 1);
	}
	p.psn++;
	p.rdma.feth |= ROCE_FETH_REGION; /* address and length do not count */
	p.rdma.va = 0;
	p.rdma.dma_len = UINT32_MAX;
	inject(e, &p);
	expect_placed(FIRST_PSN + 1, 2);
	assert_null(end_completion(e));
	end_destroy(e);
}

static void a_flush_needs_a_type_and_a_level_that_exist(void **state)
{
	static const uint32_t feths[] = { 0, ROCE_FETH_REGION, 4 | ROCE_FETH_GLOBAL, 8,
					  2 << ROCE_FETH_LEVEL_SHIFT | ROCE_FETH_GLOBAL };

	for (unsigned int i = 0; i < array_size(feths); i++) {
		struct end *e = end_alone(&END_DEFAULTS);
		struct roce_pkt p = end_request(e, ROCE_PKT_FLUSH, FIRST_PSN);

		p.rdma.feth = feths[i];
		inject(e, &p);
		expect_nak(e, ROCE_SYN_NAK_INVALID);
	}
}

static void a_flush_needs_rights_of_queue_pair_and_region(void **state)
{
	struct end_options o = END_DEFAULTS;
	struct end *e;
	struct roce_pkt p;

	o.access = HCA_ACCESS_REMOTE_WRITE | HCA_ACCESS_FLUSH_PERSISTENT;
	e = end_alone(&o);
	p = end_request(e, ROCE_PKT_FLUSH, FIRST_PSN);
	inject(e, &p);
	expect_nak(e, ROCE_SYN_NAK_INVALID);
	/* The region is not for flushes to storage. */
	e = end_alone(&END_DEFAULTS);
	p = end_request(e, ROCE_PKT_FLUSH, FIRST_PSN);
	p.rdma.feth |= ROCE_FETH_PERSISTENT;
	inject(e, &p);
	expect_nak(e, ROCE_SYN_NAK_ACCESS);
	e = end_alone(&END_DEFAULTS);
	p = end_request(e, ROCE_PKT_FLUSH, FIRST_PSN);
	p.rdma.dma_len = END_BYTES + 1;
	inject(e, &p);
	expect_nak(e, ROCE_SYN_NAK_ACCESS);
	e = end_alone(&END_DEFAULTS);
	p = end_request(e, ROCE_PKT_FLUSH, FIRST_PSN);
	p.rdma.feth |= ROCE_FETH_REGION;
	p.rdma.rkey ^= 1;
	inject(e, &p);
	expect_nak(e, ROCE_SYN_NAK_ACCESS);
}

static void requests_that_wait_for_room_are_answered_in_order(void **state)
{
	struct end *e = end_alone(&END_DEFAULTS);
	struct roce_pkt p = end_request(e, ROCE_PKT_ATOMIC_WRITE, FIRST_PSN);

	net.full = true;
	inject(e, &p);
	p = end_request(e, ROCE_PKT_FLUSH, FIRST_PSN + 1);
	inject(e, &p);
	p = end_request(e, ROCE_PKT_WRITE_ONLY, FIRST_PSN + 2);
	inject(e, &p);
	assert_null(net_take());
	net.full = false;
	net_room();
	assert_int_equal(net_take()->pkt.psn, FIRST_PSN);
	assert_int_equal(net_take()->pkt.psn, FIRST_PSN + 1);
	assert_int_equal(net_take()->pkt.op, ROCE_PKT_ACK);
	end_destroy(e);
}

static void more_at_once_than_were_promised_are_refused(void **state)
{
	struct end_options o = END_DEFAULTS;
	struct roce_pkt p;
	struct end *e;

	o.rd_atomic = 2;
	e = end_alone(&o);
	net.full = true;
	for (uint32_t i = 0; i < 3; i++) {
		p = end_request(e, i % 2 ? ROCE_PKT_FLUSH : ROCE_PKT_ATOMIC_WRITE, FIRST_PSN + i);
		inject(e, &p);
	}
	net.full = false;
	net_room();
	assert_int_equal(net_take()->pkt.op, ROCE_PKT_READ_RESP_ONLY);
	assert_int_equal(net_take()->pkt.op, ROCE_PKT_READ_RESP_ONLY);
	expect_nak(e, ROCE_SYN_NAK_INVALID);
}

/* ---- the requester ---- */

static struct hca_send *post_flush(struct end *e, uint32_t length)
{
	struct hca_send *s = end_post(e, HCA_OP_FLUSH, 0, 0);

	s->raddr = 0x1000;
	s->rkey = 0x77;
	s->length = length;
	s->sge_count = 0;
	s->feth = ROCE_FETH_GLOBAL;
	return s;
}

static void respond(struct end *e, uint8_t op, uint32_t psn, uint32_t len)
{
	struct roce_pkt p = end_request(e, op, psn);

	p.len = len;
	net_inject(e->qp, &p, value);
}

static void requests_are_packets_as_the_annex_has_them(void **state)
{
	struct end *e = end_alone(&END_DEFAULTS);
	const struct net_sent *s;

	post_flush(e, UINT32_MAX)->feth |= ROCE_FETH_REGION;
	end_post(e, HCA_OP_ATOMIC_WRITE, 64, 8)->raddr = 0x2000;
	memcpy(e->mem + 64, value, 8);
	end_ring(e);
	s = net_take();
	assert_int_equal(s->pkt.op, ROCE_PKT_FLUSH);
	assert_int_equal(s->pkt.len, 0);
	assert_int_equal(s->pkt.rdma.va, 0x1000);
	assert_int_equal(s->pkt.rdma.rkey, 0x77);
	assert_int_equal(s->pkt.rdma.dma_len, UINT32_MAX);
	assert_int_equal(s->pkt.rdma.feth, ROCE_FETH_GLOBAL | ROCE_FETH_REGION);
	s = net_take();
	assert_int_equal(s->pkt.op, ROCE_PKT_ATOMIC_WRITE);
	assert_int_equal(s->pkt.psn, 101);
	assert_int_equal(s->pkt.rdma.dma_len, 8);
	assert_int_equal(s->len, 8);
	assert_memory_equal(s->payload, value, 8);
	respond(e, ROCE_PKT_READ_RESP_ONLY, 100, 0);
	assert_int_equal(end_completion(e)->op, HCA_OP_FLUSH);
	respond(e, ROCE_PKT_READ_RESP_ONLY, 101, 0);
	assert_int_equal(end_completion(e)->op, HCA_OP_ATOMIC_WRITE);
	end_destroy(e);
}

static void an_atomic_write_of_another_length_is_a_local_length_error(void **state)
{
	static const uint32_t lengths[] = { 0, 4, 16 };

	for (unsigned int i = 0; i < array_size(lengths); i++) {
		struct end *e = end_alone(&END_DEFAULTS);

		end_post(e, HCA_OP_ATOMIC_WRITE, 0, lengths[i]);
		end_ring(e);
		assert_int_equal(end_completion(e)->status, HCA_LOC_LEN_ERR);
		assert_null(net_take());
		end_destroy(e);
	}
}

static void an_acknowledgement_is_no_answer(void **state)
{
	struct end *e = end_alone(&END_DEFAULTS);

	post_flush(e, 8);
	end_post(e, HCA_OP_WRITE, 0, 8);
	end_ring(e);
	assert_int_equal(net_take()->pkt.op, ROCE_PKT_FLUSH);
	assert_int_equal(net_take()->pkt.op, ROCE_PKT_WRITE_ONLY);
	respond(e, ROCE_PKT_ACK, 101, 0); /* of the write: the answer to the flush was lost */
	assert_null(end_completion(e));
	assert_int_equal(net_take()->pkt.op, ROCE_PKT_FLUSH);
	respond(e, ROCE_PKT_READ_RESP_ONLY, 100, 0);
	assert_int_equal(end_completion(e)->op, HCA_OP_FLUSH);
	assert_int_equal(end_completion(e)->op, HCA_OP_WRITE);
	end_destroy(e);
}

static void an_answer_with_data_or_of_an_atomic_is_a_bad_response(void **state)
{
	static const struct {
		uint8_t op;
		uint32_t len;
	} answers[] = { { ROCE_PKT_READ_RESP_ONLY, 8 }, { ROCE_PKT_ATOMIC_ACK, 0 } };

	for (unsigned int i = 0; i < array_size(answers); i++) {
		struct end *e = end_alone(&END_DEFAULTS);

		post_flush(e, 8);
		end_ring(e);
		respond(e, answers[i].op, 100, answers[i].len);
		assert_int_equal(end_completion(e)->status, HCA_BAD_RESP_ERR);
		end_destroy(e);
	}
}

static void flushes_and_atomic_writes_count_among_outstanding_reads(void **state)
{
	struct end_options o = END_DEFAULTS;
	struct end *e;

	o.rd_atomic = 1;
	e = end_alone(&o);
	post_flush(e, 8);
	end_post(e, HCA_OP_ATOMIC_WRITE, 0, 8);
	end_ring(e);
	assert_int_equal(net_take()->pkt.op, ROCE_PKT_FLUSH);
	assert_null(net_take());
	respond(e, ROCE_PKT_READ_RESP_ONLY, 100, 0);
	assert_int_equal(net_take()->pkt.op, ROCE_PKT_ATOMIC_WRITE);
	end_destroy(e);
}

static void a_fence_waits_for_them(void **state)
{
	struct end *e = end_alone(&END_DEFAULTS);

	post_flush(e, 8);
	end_post(e, HCA_OP_WRITE, 0, 8)->fence = true;
	end_ring(e);
	assert_int_equal(net_take()->pkt.op, ROCE_PKT_FLUSH);
	assert_null(net_take());
	respond(e, ROCE_PKT_READ_RESP_ONLY, 100, 0);
	assert_int_equal(net_take()->pkt.op, ROCE_PKT_WRITE_ONLY);
	end_destroy(e);
}

/* ---- both, over a network that loses packets ---- */

static void loss_and_duplicates_change_nothing(void **state)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		const struct net_faults faults = { .loss = 100000,
						   .duplicate = 50000,
						   .reorder = 50000,
						   .delay_ns = 1000,
						   .seed = seed };
		struct end_options o = END_DEFAULTS;
		struct end *ends[2];

		o.retry_cnt = 7;
		net_reset();
		end_pair(ends, &o);
		net_set_faults(&faults);
		for (uint64_t i = 1; i <= 16; i++) {
			struct hca_send *s;

			memcpy(ends[0]->mem + 8 * i, &i, 8);
			end_post_to(ends[0], HCA_OP_ATOMIC_WRITE, 8 * (uint32_t)i, 8, ends[1],
				    4096);
			s = end_post_to(ends[0], HCA_OP_FLUSH, 0, 0, ends[1], 4096);
			s->sge_count = 0;
			s->length = 8;
			s->feth = ROCE_FETH_GLOBAL;
			end_ring(ends[0]);
			assert_int_equal(end_await(ends[0])->op, HCA_OP_ATOMIC_WRITE);
			assert_int_equal(end_await(ends[0])->op, HCA_OP_FLUSH);
			assert_memory_equal(ends[1]->mem + 4096, &i, 8);
		}
		end_destroy(ends[0]);
		end_destroy(ends[1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_atomic_write_places_eight_bytes_and_is_done_once),
		cmocka_unit_test(an_atomic_write_must_be_aligned_and_eight_bytes_long),
		cmocka_unit_test(an_atomic_write_needs_the_right_to_write),
		cmocka_unit_test(without_resources_there_is_neither),
		cmocka_unit_test(a_flush_is_answered_as_often_as_asked),
		cmocka_unit_test(a_flush_needs_a_type_and_a_level_that_exist),
		cmocka_unit_test(a_flush_needs_rights_of_queue_pair_and_region),
		cmocka_unit_test(requests_that_wait_for_room_are_answered_in_order),
		cmocka_unit_test(more_at_once_than_were_promised_are_refused),
		cmocka_unit_test(requests_are_packets_as_the_annex_has_them),
		cmocka_unit_test(an_atomic_write_of_another_length_is_a_local_length_error),
		cmocka_unit_test(an_acknowledgement_is_no_answer),
		cmocka_unit_test(an_answer_with_data_or_of_an_atomic_is_a_bad_response),
		cmocka_unit_test(flushes_and_atomic_writes_count_among_outstanding_reads),
		cmocka_unit_test(a_fence_waits_for_them),
		cmocka_unit_test(loss_and_duplicates_change_nothing),
	};

	return cmocka_run_group_tests(tests, end_group_begin, end_group_end);
}
