/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Entries that a program has written wrongly into a ring of its own: each ends in the error of the
 * real adapter, and the sentence says which field of which entry it was.
 */
#include "pair.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static struct pair p;
static struct mlx5dv_qp ring;
static char sentences[] = "/tmp/verbena-malformed-XXXXXX";

/* An entry of four units: control, remote address, two pieces of data. */
struct entry {
	struct mlx5_wqe_ctrl_seg ctrl;
	struct mlx5_wqe_raddr_seg remote;
	struct mlx5_wqe_data_seg data[2];
};

static int make(void **state)
{
	struct mlx5dv_obj obj = { .qp = { .out = &ring } };

	pair_make(&p, &(struct pair_wish){ .type = IBV_QPT_RC });
	memset(&ring, 0, sizeof(ring));
	obj.qp.in = p.qp[0];
	assert_int_equal(mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP), 0);
	assert_int_equal(truncate(sentences, 0), 0);
	return 0;
}

static int drop(void **state)
{
	pair_drop(&p);
	return 0;
}

static struct entry *fill(uint16_t index)
{
	struct entry *e = (void *)((char *)ring.sq.buf +
				   (size_t)(index & (ring.sq.wqe_cnt - 1)) * ring.sq.stride);

	memset(e, 0, sizeof(*e));
	mlx5dv_set_ctrl_seg(&e->ctrl, index, MLX5_OPCODE_RDMA_WRITE, 0, p.qp[0]->qp_num,
			    MLX5_WQE_CTRL_CQ_UPDATE, sizeof(*e) / 16, 0, 0);
	e->remote.raddr = htobe64((uintptr_t)p.buf + PAIR_BUF / 2);
	e->remote.rkey = htobe32(p.mr->rkey);
	for (int i = 0; i < 2; i++)
		mlx5dv_set_data_seg(&e->data[i], 8, p.mr->lkey, (uintptr_t)p.buf);
	return e;
}

static void ring_for(uint16_t producer, const struct entry *e)
{
	__atomic_store_n(&ring.dbrec[MLX5_SND_DBR], htobe32(producer), __ATOMIC_RELEASE);
	__atomic_store_n((uint64_t *)ring.bf.reg, *(const uint64_t *)e, __ATOMIC_RELEASE);
}

static bool was_said(const char *words)
{
	char text[4096];
	FILE *f = fopen(sentences, "r");
	size_t n;

	assert_non_null(f);
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = 0;
	fclose(f);
	if (!strstr(text, words))
		printf("wanted: %s\nsaid: %s\n", words, text);
	return strstr(text, words);
}

/* Good ones before it complete; it does not, and nothing after it is executed. */
static void expect_refused(uint16_t index, const char *field)
{
	char words[128];
	struct ibv_wc wc;

	for (uint16_t i = 0; i < index; i++)
		assert_int_equal(pair_wait(p.cq[0]).status, IBV_WC_SUCCESS);
	wc = pair_wait(p.cq[0]);
	assert_int_equal(wc.status, IBV_WC_LOC_QP_OP_ERR);
	assert_int_not_equal(wc.vendor_err, 0);
	snprintf(words, sizeof(words), "QP 0x%06x: send entry %u (block %u of %u) has %s",
		 p.qp[0]->qp_num, index, index & (ring.sq.wqe_cnt - 1), ring.sq.wqe_cnt, field);
	assert_true(was_said(words));
}

static void try(void (*spoil)(struct entry *e), const char *field)
{
	struct entry *e = NULL;

	for (uint16_t i = 0; i <= 2; i++)
		e = fill(i);
	spoil(e);
	ring_for(3, e);
	expect_refused(2, field);
}

static void set_opcode(struct entry *e, uint8_t opcode)
{
	e->ctrl.opmod_idx_opcode = htobe32((be32toh(e->ctrl.opmod_idx_opcode) & 0xffff00) | opcode);
}

static void set_length(struct entry *e, uint8_t ds)
{
	e->ctrl.qpn_ds = htobe32(p.qp[0]->qp_num << 8 | ds);
}

static void spoil_opcode(struct entry *e)
{
	set_opcode(e, 0x3e);
}

static void an_unknown_opcode(void **state)
{
	try(spoil_opcode, "opcode 0x3e");
}

static void spoil_transport(struct entry *e)
{
	set_opcode(e, MLX5_OPCODE_TSO);
}

static void an_opcode_of_another_transport(void **state)
{
	try(spoil_transport, "opcode 0xe");
}

static void spoil_size(struct entry *e)
{
	set_length(e, 0);
}

static void a_size_of_nothing(void **state)
{
	try(spoil_size, "length (16-byte units) 0x0");
}

static void spoil_end(struct entry *e)
{
	set_length(e, 1);
}

static void an_end_before_its_segments(void **state)
{
	try(spoil_end, "too few 16-byte units");
}

static void spoil_index(struct entry *e)
{
	e->ctrl.opmod_idx_opcode = htobe32(0x77 << 8 | MLX5_OPCODE_RDMA_WRITE);
}

static void an_index_of_another_place(void **state)
{
	try(spoil_index, "index 0x77; expected 0x2");
}

static void spoil_number(struct entry *e)
{
	e->ctrl.qpn_ds = htobe32((p.qp[0]->qp_num ^ 1) << 8 | 4);
}

static void the_number_of_another_queue_pair(void **state)
{
	try(spoil_number, "QP number");
}

static void spoil_inline(struct entry *e)
{
	*(uint32_t *)&e->data[0] = htobe32(MLX5_INLINE_SEG | 900);
}

static void inline_data_beyond_its_end(void **state)
{
	try(spoil_inline, "too few 16-byte units");
}

static void spoil_key_update(struct entry *e)
{
	set_opcode(e, MLX5_OPCODE_UMR);
}

static void an_update_of_a_key_that_is_none(void **state)
{
	try(spoil_key_update, "key update of length");
}

static void spoil_copy(struct entry *e)
{
	set_opcode(e, MLX5_OPCODE_MMO);
}

static void a_copy_without_its_modifier(void **state)
{
	try(spoil_copy, "a memory-to-memory operation that the model does not have");
}

/* A doorbell without an entry behind it: what lies there is from the lap before. */
static void an_entry_of_the_lap_before(void **state)
{
	uint16_t laps = ring.sq.wqe_cnt;
	struct entry *e;

	for (uint16_t i = 0; i < laps; i++) {
		e = fill(i);
		ring_for(i + 1, e);
		assert_int_equal(pair_wait(p.cq[0]).status, IBV_WC_SUCCESS);
	}
	ring_for(laps + 1, fill(0));
	assert_int_equal(pair_wait(p.cq[0]).status, IBV_WC_LOC_QP_OP_ERR);
	assert_true(was_said("has index 0x0; expected"));
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, make, drop)
	const struct CMUnitTest tests[] = {
		T(an_unknown_opcode),           T(an_opcode_of_another_transport),
		T(a_size_of_nothing),           T(an_end_before_its_segments),
		T(an_index_of_another_place),   T(the_number_of_another_queue_pair),
		T(inline_data_beyond_its_end),  T(an_update_of_a_key_that_is_none),
		T(a_copy_without_its_modifier), T(an_entry_of_the_lap_before),
	};
	int fd = mkstemp(sentences), failed = 0, status;

	if (fd < 0)
		return 1;
	close(fd);
	setenv("VERBENA_EXPLAIN", sentences, 1);
	/* A process says one kind of sentence so often and no more: each test has one of its own. */
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		pid_t pid = fork();

		if (!pid) {
			cmocka_set_test_filter(tests[i].name);
			exit(cmocka_run_group_tests(tests, NULL, NULL));
		}
		failed |= pid < 0 || waitpid(pid, &status, 0) != pid || status;
	}
	unlink(sentences);
	return failed;
}
