/* SPDX-License-Identifier: BSD-2-Clause */
/* Masked atomics as packets: what the responder does, and what the requester. */
#include "cmocka_all.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "hca/memory/atomic.h"
#include "transport/end.h"

#define FIRST_PSN 500u /* that END_DEFAULTS expects of the peer */
#define AT        4096 /* where end_request() aims */

struct operands {
	uint64_t swap, compare, swap_mask, compare_mask;
};

static struct roce_pkt request(struct end *e, uint32_t size, bool add)
{
	struct roce_pkt p = end_request(e, ROCE_PKT_MASKED_ATOMIC, FIRST_PSN);

	p.rdma.dma_len = size;
	p.len = add ? ROCE_MASKED_ADD_BYTES : ROCE_MASKED_SWAP_BYTES;
	return p;
}

static void inject(struct end *e, const struct roce_pkt *p, const struct operands *o)
{
	const uint64_t words[] = { htobe64(o->swap), htobe64(o->compare), htobe64(o->swap_mask),
				   htobe64(o->compare_mask) };

	net_inject(e->qp, p, words);
}

static void expect_old(uint32_t psn, uint64_t old)
{
	const struct net_sent *s = net_take();

	assert_non_null(s);
	assert_int_equal(s->pkt.op, ROCE_PKT_ATOMIC_ACK);
	assert_int_equal(s->pkt.psn, psn);
	assert_int_equal(s->pkt.ack.syndrome, ROCE_SYN_ACK);
	assert_int_equal(s->pkt.ack.orig, old);
}

static void expect_nak(struct end *e, uint8_t syndrome)
{
	const struct net_sent *s = net_take();

	assert_non_null(s);
	assert_int_equal(s->pkt.op, ROCE_PKT_ACK);
	assert_int_equal(s->pkt.ack.syndrome, syndrome);
	assert_int_equal(e->qp->state, HCA_QPS_ERR);
	for (int i = 0; i < 64; i++)
		assert_int_equal(e->mem[AT - 32 + i], 0);
	end_destroy(e);
}

static uint64_t *word(struct end *e)
{
	return (uint64_t *)(void *)(e->mem + AT);
}

/* ---- the responder ---- */

static void eight_bytes_are_added_in_fields(void **state)
{
	struct end *e = end_alone(&END_DEFAULTS);
	struct roce_pkt p = request(e, 8, true);

	*word(e) = 0xffffffff000000ff;
	inject(e, &p, &(struct operands){ .swap = 0x0000000100000001, .compare = 0x80 });
	expect_old(FIRST_PSN, 0xffffffff000000ff);
	assert_int_equal(*word(e), 0x0000000000000000);
	end_destroy(e);
}

static void four_bytes_leave_their_neighbours_alone(void **state)
{
	struct end *e = end_alone(&END_DEFAULTS);
	struct roce_pkt p = request(e, 4, true);

	memset(e->mem + AT, 0xff, 16);
	p.rdma.va += 4;
	inject(e, &p, &(struct operands){ .swap = 2 });
	expect_old(FIRST_PSN, UINT32_MAX);
	assert_int_equal(*word(e), 0x00000001ffffffff);
	p = request(e, 4, false);
	p.psn++;
	/* Upper halves of 4-byte operands do not count. */
	inject(e, &p,
	       &(struct operands){ 0xaaaaaaaa12345678, 0xbbbbbbbb000000ff, UINT64_MAX,
				   0xffffffff000000ff });
	expect_old(FIRST_PSN + 1, UINT32_MAX);
	assert_int_equal(*word(e), 0x0000000112345678);
	assert_int_equal(e->mem[AT + 8], 0xff);
	end_destroy(e);
}

static void bits_outside_the_masks_are_neither_compared_nor_swapped(void **state)
{
	struct end *e = end_alone(&END_DEFAULTS);
	struct roce_pkt p = request(e, 8, false);

	*word(e) = 0x1122334455667788;
	inject(e, &p,
	       &(struct operands){ 0xaaaaaaaaaaaaaaaa, 0x1122000000000000, 0xff,
				   0xffff000000000000 });
	expect_old(FIRST_PSN, 0x1122334455667788);
	assert_int_equal(*word(e), 0x11223344556677aa);
	p.psn++;
	inject(e, &p, &(struct operands){ 0, 0x1122334455667788, UINT64_MAX, UINT64_MAX });
	expect_old(FIRST_PSN + 1, 0x11223344556677aa);
	assert_int_equal(*word(e), 0x11223344556677aa); /* was not equal */
	end_destroy(e);
}

static void a_duplicate_is_answered_and_not_executed(void **state)
{
	for (int add = 0; add < 2; add++) {
		struct end *e = end_alone(&END_DEFAULTS);
		struct roce_pkt p = request(e, 8, add);

		for (int i = 0; i < 4; i++) {
			inject(e, &p, &(struct operands){ .swap = 5, .swap_mask = UINT64_MAX });
			expect_old(FIRST_PSN, 0);
			assert_int_equal(*word(e), i ? 77 : 5);
			*word(e) = 77; /* another's value, which stays */
		}
		assert_int_equal(e->in->resp.epsn, FIRST_PSN + 1);
		end_destroy(e);
	}
}

static void a_target_must_be_aligned_to_the_operands(void **state)
{
	static const struct {
		uint32_t size, off;
	} bad[] = { { 8, 4 }, { 8, 1 }, { 4, 2 }, { 4, 1 } };

	for (unsigned int i = 0; i < array_size(bad); i++) {
		struct end *e = end_alone(&END_DEFAULTS);
		struct roce_pkt p = request(e, bad[i].size, true);

		p.rdma.va += bad[i].off;
		inject(e, &p, &(struct operands){ .swap = 1 });
		expect_nak(e, ROCE_SYN_NAK_INVALID);
	}
}

static void operands_have_four_or_eight_bytes(void **state)
{
	static const uint32_t sizes[] = { 0, 1, 2, 3, 5, 6, 7, 9, 12, 16, UINT32_MAX };
	static const uint32_t lengths[] = { 0, 8, 15, 17, 24, 31 };

	for (unsigned int i = 0; i < array_size(sizes); i++) {
		struct end *e = end_alone(&END_DEFAULTS);
		struct roce_pkt p = request(e, sizes[i], true);

		inject(e, &p, &(struct operands){ .swap = 1 });
		expect_nak(e, ROCE_SYN_NAK_INVALID);
	}
	for (unsigned int i = 0; i < array_size(lengths); i++) {
		struct end *e = end_alone(&END_DEFAULTS);
		struct roce_pkt p = request(e, 8, true);

		p.len = lengths[i];
		inject(e, &p, &(struct operands){ .swap = 1 });
		expect_nak(e, ROCE_SYN_NAK_INVALID);
	}
}

static void rights_are_those_of_atomics(void **state)
{
	struct end_options o = END_DEFAULTS;
	struct end *e;
	struct roce_pkt p;

	o.access = HCA_ACCESS_REMOTE_READ | HCA_ACCESS_REMOTE_WRITE;
	e = end_alone(&o);
	p = request(e, 4, true);
	inject(e, &p, &(struct operands){ .swap = 1 });
	expect_nak(e, ROCE_SYN_NAK_INVALID);
	o = END_DEFAULTS;
	o.rd_atomic = 0;
	e = end_alone(&o);
	p = request(e, 4, true);
	inject(e, &p, &(struct operands){ .swap = 1 });
	expect_nak(e, ROCE_SYN_NAK_INVALID);
	e = end_alone(&END_DEFAULTS);
	p = request(e, 4, true);
	p.rdma.rkey ^= 1;
	inject(e, &p, &(struct operands){ .swap = 1 });
	expect_nak(e, ROCE_SYN_NAK_ACCESS);
	e = end_alone(&END_DEFAULTS);
	p = request(e, 4, true);
	p.rdma.va = (uintptr_t)e->mem + END_BYTES;
	inject(e, &p, &(struct operands){ .swap = 1 });
	expect_nak(e, ROCE_SYN_NAK_ACCESS);
}

/* ---- the requester ---- */

static void respond(struct end *e, uint8_t op, uint32_t psn, uint64_t old)
{
	const struct roce_pkt p = {
		.op = op,
		.psn = psn,
		.sqpn = END_PEER_QPN,
		.ack = { .syndrome = ROCE_SYN_ACK, .orig = old },
	};

	net_inject(e->qp, &p, NULL);
}

static void requests_carry_their_operands_as_payload(void **state)
{
	static const struct hca_atomic swap = {
		.size = 8, .swap = 1, .compare = 2, .swap_mask = 3, .compare_mask = 4
	};
	static const struct hca_atomic add = { .add = true, .size = 4, .swap = 5, .compare = 6 };
	struct end *e = end_alone(&END_DEFAULTS);
	const struct net_sent *s;

	end_post(e, HCA_OP_MASKED_CMP_SWAP, 64, 8)->masked = swap;
	end_post(e, HCA_OP_MASKED_FETCH_ADD, 72, 4)->masked = add;
	end_ring(e);
	s = net_take();
	assert_int_equal(s->pkt.op, ROCE_PKT_MASKED_ATOMIC);
	assert_int_equal(s->pkt.rdma.dma_len, 8);
	assert_int_equal(s->len, ROCE_MASKED_SWAP_BYTES);
	for (int i = 0; i < 4; i++)
		assert_int_equal(s->payload[8 * i + 7], i + 1);
	s = net_take();
	assert_int_equal(s->pkt.op, ROCE_PKT_MASKED_ATOMIC);
	assert_int_equal(s->pkt.rdma.dma_len, 4);
	assert_int_equal(s->len, ROCE_MASKED_ADD_BYTES);
	assert_int_equal(s->payload[7], 5);
	assert_int_equal(s->payload[15], 6);

	memset(e->mem + 64, 0xee, 16);
	respond(e, ROCE_PKT_ATOMIC_ACK, 100, 0x1122334455667788);
	assert_int_equal(end_completion(e)->op, HCA_OP_MASKED_CMP_SWAP);
	respond(e, ROCE_PKT_ATOMIC_ACK, 101, 0x99aabbcc);
	assert_int_equal(end_completion(e)->op, HCA_OP_MASKED_FETCH_ADD);
	/* 8 bytes in the host's order, 4 in network order, and none behind them */
	assert_int_equal(*(uint64_t *)(void *)(e->mem + 64), 0x1122334455667788);
	assert_int_equal(be32toh(*(uint32_t *)(void *)(e->mem + 72)), 0x99aabbcc);
	assert_int_equal(e->mem[76], 0xee);
	end_destroy(e);
}

static void the_answer_needs_as_many_bytes_as_the_operands(void **state)
{
	static const uint32_t lengths[] = { 0, 2, 8, 4, 16 }, sizes[] = { 4, 4, 4, 8, 8 };

	for (unsigned int i = 0; i < array_size(lengths); i++) {
		struct end *e = end_alone(&END_DEFAULTS);

		end_post(e, HCA_OP_MASKED_FETCH_ADD, 0, lengths[i])->masked =
			(struct hca_atomic){ .add = true, .size = (uint8_t)sizes[i] };
		end_ring(e);
		assert_int_equal(end_completion(e)->status, HCA_LOC_LEN_ERR);
		assert_null(net_take());
		end_destroy(e);
	}
}

static void an_answer_of_a_read_is_a_bad_response(void **state)
{
	struct end *e = end_alone(&END_DEFAULTS);

	end_post(e, HCA_OP_MASKED_FETCH_ADD, 0, 4)->masked =
		(struct hca_atomic){ .add = true, .size = 4 };
	end_ring(e);
	respond(e, ROCE_PKT_READ_RESP_ONLY, 100, 0);
	assert_int_equal(end_completion(e)->status, HCA_BAD_RESP_ERR);
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
		for (uint32_t i = 1; i <= 16; i++) {
			end_post_to(ends[0], HCA_OP_MASKED_FETCH_ADD, 0, 4, ends[1], AT)->masked =
				(struct hca_atomic){ .add = true, .size = 4, .swap = 3 };
			end_post_to(ends[0], HCA_OP_MASKED_CMP_SWAP, 8, 8, ends[1], AT + 8)
				->masked =
				(struct hca_atomic){ .size = 8, .swap = i, .swap_mask = 0xff };
			end_ring(ends[0]);
			assert_int_equal(end_await(ends[0])->op, HCA_OP_MASKED_FETCH_ADD);
			assert_int_equal(end_await(ends[0])->op, HCA_OP_MASKED_CMP_SWAP);
			assert_int_equal(be32toh(*(uint32_t *)(void *)ends[0]->mem), 3 * (i - 1));
			assert_int_equal(*(uint64_t *)(void *)(ends[0]->mem + 8), i - 1);
			assert_int_equal(*word(ends[1]), 3 * i);
		}
		end_destroy(ends[0]);
		end_destroy(ends[1]);
	}
}

/* ---- the operations ---- */

/* Bit by bit, as an adder is drawn. */
static uint64_t added_by_bits(uint64_t a, uint64_t b, uint64_t last_bits)
{
	uint64_t sum = 0;
	unsigned int carry = 0;

	for (int i = 0; i < 64; i++) {
		unsigned int n = (a >> i & 1) + (b >> i & 1) + carry;

		sum |= (uint64_t)(n & 1) << i;
		carry = last_bits >> i & 1 ? 0 : n >> 1;
	}
	return sum;
}

static uint64_t random_bits(unsigned int *seed)
{
	uint64_t v = 0;

	for (int i = 0; i < 5; i++)
		v = v << 15 | (unsigned int)rand_r(seed);
	return v;
}

static void sums_are_those_of_an_adder_without_carries_at_the_boundaries(void **state)
{
	unsigned int seed = 1;

	for (int i = 0; i < 100000; i++) {
		uint64_t value = random_bits(&seed), before = value;
		struct hca_atomic a = { .add = true,
					.size = 8,
					.swap = random_bits(&seed),
					.compare = random_bits(&seed) };
		uint32_t half = (uint32_t)before;

		/* from no boundary to one behind each bit */
		if (i % 4 < 3)
			a.compare = i % 4 == 0 ? 0 : i % 4 == 1 ? UINT64_MAX : 1ull << i % 64;
		assert_int_equal(hca_atomic_run(&a, &value), before);
		assert_int_equal(value, added_by_bits(before, a.swap, a.compare));
		a.size = 4;
		assert_int_equal(hca_atomic_run(&a, &half), (uint32_t)before);
		assert_int_equal(half, (uint32_t)added_by_bits(before, a.swap, a.compare));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(eight_bytes_are_added_in_fields),
		cmocka_unit_test(four_bytes_leave_their_neighbours_alone),
		cmocka_unit_test(bits_outside_the_masks_are_neither_compared_nor_swapped),
		cmocka_unit_test(a_duplicate_is_answered_and_not_executed),
		cmocka_unit_test(a_target_must_be_aligned_to_the_operands),
		cmocka_unit_test(operands_have_four_or_eight_bytes),
		cmocka_unit_test(rights_are_those_of_atomics),
		cmocka_unit_test(requests_carry_their_operands_as_payload),
		cmocka_unit_test(the_answer_needs_as_many_bytes_as_the_operands),
		cmocka_unit_test(an_answer_of_a_read_is_a_bad_response),
		cmocka_unit_test(loss_and_duplicates_change_nothing),
		cmocka_unit_test(sums_are_those_of_an_adder_without_carries_at_the_boundaries),
	};

	return cmocka_run_group_tests(tests, end_group_begin, end_group_end);
}
