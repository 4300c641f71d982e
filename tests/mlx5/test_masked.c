/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Masked atomics, which no verb has: the entries are written into the ring by hand, as UCX does.
 * Those of DC are in test_dc.c.
 */
#include "pair.h"

#include <stdlib.h>

enum { BYTES_4 = 8, BYTES_8 = 9 }; /* modifiers */

static struct pair p;
static struct mlx5dv_qp ring;
static uint16_t producer;

/* What an entry has; results go to the buffer's beginning. */
struct work {
	uint8_t opcode;
	uint8_t modifier;
	uint8_t units;   /* 0: as many as belong there */
	uint32_t length; /* of the result; 0: that of the operands */
	uint64_t target; /* 0: the middle of the buffer */
	uint32_t rkey;   /* 0: that of the buffer */
	uint64_t swap, compare, swap_mask, compare_mask;
};

static int make(void **state)
{
	struct mlx5dv_obj obj = { .qp = { .out = &ring } };

	pair_make(&p, &(struct pair_wish){ .type = IBV_QPT_RC });
	memset(&ring, 0, sizeof(ring));
	obj.qp.in = p.qp[0];
	assert_int_equal(mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP), 0);
	producer = 0;
	return 0;
}

static int drop(void **state)
{
	pair_drop(&p);
	return 0;
}

/* A unit of the entry at the producer's index; units wrap around the end of the ring. */
static void *unit(uint32_t n)
{
	size_t bytes = (size_t)ring.sq.wqe_cnt * ring.sq.stride;

	return (char *)ring.sq.buf + ((size_t)producer * ring.sq.stride + 16 * n) % bytes;
}

/* Returns the number of units. */
static uint32_t put_operands(const struct work *w, uint32_t n)
{
	uint32_t *four = unit(n);
	uint64_t *eight = unit(n);

	if (w->modifier == BYTES_4) {
		four[0] = htobe32((uint32_t)w->swap);
		four[1] = htobe32((uint32_t)w->compare);
		four[2] = htobe32((uint32_t)w->swap_mask);
		four[3] = htobe32((uint32_t)w->compare_mask);
		return 1;
	}
	eight[0] = htobe64(w->swap);
	eight[1] = htobe64(w->compare);
	if (w->opcode == MLX5_OPCODE_ATOMIC_MASKED_FA)
		return 1;
	eight = unit(n + 1);
	eight[0] = htobe64(w->swap_mask);
	eight[1] = htobe64(w->compare_mask);
	return 2;
}

static void post(const struct work *w)
{
	uint32_t size = w->modifier == BYTES_4 ? 4 : 8, n = 2, units;
	struct mlx5_wqe_raddr_seg *remote = unit(1);
	uint64_t *head = unit(0);

	remote->raddr = htobe64(w->target ? w->target : (uintptr_t)p.buf + PAIR_BUF / 2);
	remote->rkey = htobe32(w->rkey ? w->rkey : p.mr->rkey);
	remote->reserved = 0;
	n += put_operands(w, n);
	mlx5dv_set_data_seg(unit(n), w->length ? w->length : size, p.mr->lkey, (uintptr_t)p.buf);
	units = w->units ? w->units : n + 1;
	mlx5dv_set_ctrl_seg(unit(0), producer, w->opcode, w->modifier, p.qp[0]->qp_num,
			    MLX5_WQE_CTRL_CQ_UPDATE, units, 0, 0);
	producer += (n + 1 + 3) / 4;
	__atomic_store_n(&ring.dbrec[MLX5_SND_DBR], htobe32(producer), __ATOMIC_RELEASE);
	__atomic_store_n((uint64_t *)ring.bf.reg, *head, __ATOMIC_RELEASE);
}

static uint64_t *target(void)
{
	return (uint64_t *)(void *)(p.buf + PAIR_BUF / 2);
}

/*
 * The result: 8 bytes in the host's order, which is the driver's choice; 4 bytes in network order.
 */
static uint64_t result(const struct work *w)
{
	return w->modifier == BYTES_4 ? be32toh(*(uint32_t *)(void *)p.buf)
				      : *(uint64_t *)(void *)p.buf;
}

static void expect_done(const struct work *w)
{
	bool adds = w->opcode == MLX5_OPCODE_ATOMIC_MASKED_FA;
	struct ibv_wc wc = pair_wait(p.cq[0]);

	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, adds ? IBV_WC_FETCH_ADD : IBV_WC_COMP_SWAP);
	assert_int_equal(wc.byte_len, w->modifier == BYTES_4 ? 4 : 8);
}

/* What an operation makes of a value, bit by bit. */
static uint64_t model(const struct work *w, uint64_t old)
{
	uint64_t sum = 0;
	unsigned int carry = 0;

	if (w->opcode == MLX5_OPCODE_ATOMIC_MASKED_CS)
		return (old & w->compare_mask) != (w->compare & w->compare_mask)
			       ? old
			       : (old & ~w->swap_mask) | (w->swap & w->swap_mask);
	for (int i = 0; i < 64; i++) {
		unsigned int n = (old >> i & 1) + (w->swap >> i & 1) + carry;

		sum |= (uint64_t)(n & 1) << i;
		carry = w->compare >> i & 1 ? 0 : n >> 1;
	}
	return sum;
}

/* Executes the entry on a value, and checks the new one, the answer and both neighbours. */
static void check(const struct work *w, uint64_t old)
{
	bool four = w->modifier == BYTES_4;
	uint64_t expected = model(w, old);

	target()[-1] = target()[1] = 0x5555555555555555;
	*target() = old;
	memset(p.buf, 0xee, 16);
	post(w);
	expect_done(w);
	if (four)
		expected = (old & ~(uint64_t)UINT32_MAX) | (uint32_t)expected;
	assert_int_equal(*target(), expected);
	assert_int_equal(target()[-1], 0x5555555555555555);
	assert_int_equal(target()[1], 0x5555555555555555);
	assert_int_equal(result(w), four ? (uint32_t)old : old);
	assert_int_equal(p.buf[four ? 4 : 8], 0xee);
}

static uint64_t random_bits(unsigned int *seed)
{
	uint64_t v = 0;

	for (int i = 0; i < 5; i++)
		v = v << 15 | (unsigned int)rand_r(seed);
	return v;
}

/* Entries of one and of two blocks alternate, so that the latter wrap around the ring, too. */
static void operations_are_those_of_the_model(void **state)
{
	static const uint64_t masks[] = { 0,          UINT64_MAX, 1,
					  1ull << 63, 0x80000000, 0x8080808080808080 };
	unsigned int seed = 1;

	for (int i = 0; i < 1000; i++) {
		struct work w = {
			.opcode =
				i % 2 ? MLX5_OPCODE_ATOMIC_MASKED_CS : MLX5_OPCODE_ATOMIC_MASKED_FA,
			.modifier = i / 2 % 3 ? BYTES_8 : BYTES_4,
			.swap = random_bits(&seed),
			.compare = random_bits(&seed),
			.swap_mask = random_bits(&seed),
			.compare_mask = random_bits(&seed),
		};
		uint64_t old = random_bits(&seed);

		if (i % 5)
			w.compare_mask = masks[i % 6];
		if (i % 7)
			w.swap_mask = masks[i / 6 % 6];
		if (w.opcode == MLX5_OPCODE_ATOMIC_MASKED_FA && i % 3)
			w.compare = masks[i % 6];
		if (i % 4 == 1)
			w.compare = old; /* equal, whatever the mask */
		if (w.modifier == BYTES_4) {
			w.compare = (uint32_t)w.compare;
			w.compare_mask = (uint32_t)w.compare_mask;
			w.swap_mask = (uint32_t)w.swap_mask;
		}
		check(&w, old);
	}
}

static void carries_stop_at_the_boundaries(void **state)
{
	struct work w = { .opcode = MLX5_OPCODE_ATOMIC_MASKED_FA, .modifier = BYTES_8 };

	w.swap = 0x0101010101010101;
	w.compare = 0x8080808080808080;
	check(&w, 0xff00ff00ff00ffff);
	assert_int_equal(*target(), 0x0001000100010000);
	w.compare = 0;
	check(&w, 0xff00ff00ff00ffff);
	assert_int_equal(*target(), 0x0002000200020100);
	w.compare = UINT64_MAX; /* every bit a field: exclusive or */
	check(&w, 0xff00ff00ff00ffff);
	assert_int_equal(*target(), 0xfe01fe01fe01fefe);
	w.modifier = BYTES_4;
	w.swap = 1;
	w.compare = 0;
	check(&w, 0x12345678ffffffff);
	assert_int_equal(*target(), 0x1234567800000000);
}

static void a_swap_compares_nothing(void **state)
{
	struct work w = { .opcode = MLX5_OPCODE_ATOMIC_MASKED_CS,
			  .modifier = BYTES_8,
			  .swap = 0x1122334455667788,
			  .swap_mask = UINT64_MAX };

	check(&w, 0x99aabbccddeeff00);
	assert_int_equal(*target(), 0x1122334455667788);
	w.modifier = BYTES_4;
	check(&w, 0x99aabbccddeeff00);
	assert_int_equal(*target(), 0x99aabbcc55667788);
}

static void four_bytes_need_no_more_alignment_than_their_own(void **state)
{
	struct work w = { .opcode = MLX5_OPCODE_ATOMIC_MASKED_FA,
			  .modifier = BYTES_4,
			  .target = (uintptr_t)target() + 4,
			  .swap = 1 };

	*target() = 0xffffffffffffffff;
	post(&w);
	expect_done(&w);
	assert_int_equal(*target(), 0x00000000ffffffff);
	assert_int_equal(result(&w), UINT32_MAX);
}

static void expect_error(const struct work *w, enum ibv_wc_status status)
{
	*target() = target()[1] = 0x77;
	memset(p.buf, 0xee, 16);
	post(w);
	assert_int_equal(pair_wait(p.cq[0]).status, status);
	assert_int_equal(*target(), 0x77);
	assert_int_equal(target()[1], 0x77);
	assert_int_equal(p.buf[0], 0xee);
	drop(NULL);
	make(NULL);
}

static const uint8_t opcodes[] = { MLX5_OPCODE_ATOMIC_MASKED_CS, MLX5_OPCODE_ATOMIC_MASKED_FA };

static void a_misaligned_target_is_an_invalid_request(void **state)
{
	static const struct {
		uint8_t modifier, off;
	} bad[] = { { BYTES_4, 1 }, { BYTES_4, 2 }, { BYTES_8, 1 }, { BYTES_8, 4 } };

	for (int i = 0; i < 8; i++) {
		struct work w = { .opcode = opcodes[i % 2],
				  .modifier = bad[i / 2].modifier,
				  .swap = 1,
				  .swap_mask = UINT64_MAX };

		w.target = (uintptr_t)target() + bad[i / 2].off;
		expect_error(&w, IBV_WC_REM_INV_REQ_ERR);
	}
}

static void a_region_needs_the_right(void **state)
{
	const int access =
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

	for (int i = 0; i < 4; i++) {
		struct work w = { .opcode = opcodes[i % 2],
				  .modifier = i / 2 ? BYTES_4 : BYTES_8,
				  .swap = 1,
				  .swap_mask = UINT64_MAX };
		struct ibv_mr *mr = ibv_reg_mr(p.pd, p.buf, PAIR_BUF, access);

		assert_non_null(mr);
		w.rkey = mr->rkey;
		*target() = 0x77;
		post(&w);
		assert_int_equal(pair_wait(p.cq[0]).status, IBV_WC_REM_ACCESS_ERR);
		assert_int_equal(*target(), 0x77);
		assert_int_equal(ibv_dereg_mr(mr), 0);
		drop(NULL);
		make(NULL);
	}
}

static void a_result_of_another_length_is_a_local_length_error(void **state)
{
	for (int i = 0; i < 4; i++) {
		struct work w = { .opcode = opcodes[i % 2],
				  .modifier = i / 2 ? BYTES_4 : BYTES_8,
				  .length = i / 2 ? 8 : 4,
				  .swap = 1,
				  .swap_mask = UINT64_MAX };

		expect_error(&w, IBV_WC_LOC_LEN_ERR);
	}
}

static void other_modifiers_and_missing_units_are_refused(void **state)
{
	static const uint8_t modifiers[] = { 0, 1, 3, 7, 10, 15, 0x80, 0xff };
	struct work w = { .swap = 1, .swap_mask = UINT64_MAX };

	for (unsigned int i = 0; i < sizeof(modifiers); i++) {
		w.opcode = opcodes[i % 2];
		w.modifier = modifiers[i];
		expect_error(&w, IBV_WC_LOC_QP_OP_ERR);
	}
	w.opcode = MLX5_OPCODE_ATOMIC_MASKED_CS;
	w.modifier = BYTES_8;
	for (w.units = 1; w.units < 4; w.units++)
		expect_error(&w, IBV_WC_LOC_QP_OP_ERR);
	w.units = 4; /* without a place for the result */
	expect_error(&w, IBV_WC_LOC_LEN_ERR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(operations_are_those_of_the_model, make, drop),
		cmocka_unit_test_setup_teardown(carries_stop_at_the_boundaries, make, drop),
		cmocka_unit_test_setup_teardown(a_swap_compares_nothing, make, drop),
		cmocka_unit_test_setup_teardown(four_bytes_need_no_more_alignment_than_their_own,
						make, drop),
		cmocka_unit_test_setup_teardown(a_misaligned_target_is_an_invalid_request, make,
						drop),
		cmocka_unit_test_setup_teardown(a_region_needs_the_right, make, drop),
		cmocka_unit_test_setup_teardown(a_result_of_another_length_is_a_local_length_error,
						make, drop),
		cmocka_unit_test_setup_teardown(other_modifiers_and_missing_units_are_refused, make,
						drop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
