/* SPDX-License-Identifier: BSD-2-Clause */
/* Indirect keys, copies of memory and raw entries: mlx5dv_wr_*. */
#include "pair.h"

#include <errno.h>
#include <stdlib.h>

#define HALF (PAIR_BUF / 2)
#define OPS                                                                                        \
	(IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_READ |              \
	 IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_LOCAL_INV)
#define DV_OPS                                                                                     \
	(MLX5DV_QP_EX_WITH_MR_LIST | MLX5DV_QP_EX_WITH_MR_INTERLEAVED |                            \
	 MLX5DV_QP_EX_WITH_MKEY_CONFIGURE | MLX5DV_QP_EX_WITH_RAW_WQE | MLX5DV_QP_EX_WITH_MEMCPY)
#define ALL_RIGHTS                                                                                 \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC)

static struct pair p;
static struct ibv_qp_ex *ex;
static struct mlx5dv_qp_ex *dv;
static struct mlx5dv_mkey *mkey;

static struct ibv_qp *make_qp(int side)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_RC,
		.send_cq = p.cq[side],
		.recv_cq = p.cq[side],
		.cap = { .max_send_wr = 16,
			 .max_recv_wr = 16,
			 .max_send_sge = 2,
			 .max_recv_sge = 1,
			 .max_inline_data = 300 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = p.pd,
		.send_ops_flags = OPS,
	};
	struct mlx5dv_qp_init_attr extra = {
		.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS,
		.send_ops_flags = DV_OPS,
	};
	struct ibv_qp *qp = mlx5dv_create_qp(p.ctx, &attr, &extra);

	assert_non_null(qp);
	return qp;
}

static struct mlx5dv_mkey *make_mkey(uint16_t entries)
{
	struct mlx5dv_mkey_init_attr attr = {
		.pd = p.pd,
		.create_flags = MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT |
				MLX5DV_MKEY_INIT_ATTR_FLAGS_REMOTE_INVALIDATE,
		.max_entries = entries,
	};
	struct mlx5dv_mkey *made = mlx5dv_create_mkey(&attr);

	assert_non_null(made);
	assert_true(attr.max_entries >= entries);
	return made;
}

static int make(void **state)
{
	pair_make(&p, &(struct pair_wish){ .type = IBV_QPT_RC, .unconnected = true });
	for (int side = 0; side < 2; side++) {
		assert_int_equal(ibv_destroy_qp(p.qp[side]), 0);
		p.qp[side] = make_qp(side);
	}
	pair_connect(&p);
	ex = ibv_qp_to_qp_ex(p.qp[0]);
	dv = mlx5dv_qp_ex_from_ibv_qp_ex(ex);
	mkey = make_mkey(8);
	return 0;
}

static int drop(void **state)
{
	assert_int_equal(mlx5dv_destroy_mkey(mkey), 0);
	pair_drop(&p);
	return 0;
}

static void begin(uint64_t wr_id)
{
	ibv_wr_start(ex);
	ex->wr_id = wr_id;
	ex->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
}

static void end(uint32_t opcode, uint64_t wr_id)
{
	assert_int_equal(ibv_wr_complete(ex), 0);
	pair_expect(p.cq[0], (enum ibv_wc_opcode)opcode, wr_id);
}

/* Three pieces of the lower half: 100 bytes at 0, 50 at 1000, 30 at 500. */
static const struct {
	uint32_t at, len;
} pieces[] = { { 0, 100 }, { 1000, 50 }, { 500, 30 } };

static void build_list(uint32_t access)
{
	struct ibv_sge sge[3];

	for (int i = 0; i < 3; i++)
		sge[i] = pair_sge(&p, pieces[i].at, pieces[i].len);
	begin(1);
	mlx5dv_wr_mr_list(dv, mkey, access, 3, sge);
	end(MLX5DV_WC_UMR, 1);
}

static uint8_t list_byte(uint32_t i)
{
	for (int k = 0; k < 3; i -= pieces[k++].len)
		if (i < pieces[k].len)
			return p.buf[pieces[k].at + i];
	return 0;
}

static void a_list_is_sent_as_one_message(void **state)
{
	pair_pattern(p.buf, 2000, 3);
	for (int lap = 0; lap < 40; lap++) {
		build_list(IBV_ACCESS_LOCAL_WRITE);
		memset(p.buf + HALF, 0, 200);
		pair_post_recv(&p, 1, 7, HALF, 200);
		begin(2);
		ex->wr_flags = IBV_SEND_SIGNALED;
		ibv_wr_send(ex);
		ibv_wr_set_sge(ex, mkey->lkey, 0, 180);
		end(IBV_WC_SEND, 2);
		assert_int_equal(pair_expect(p.cq[1], IBV_WC_RECV, 7).byte_len, 180);
		for (uint32_t i = 0; i < 180; i++)
			assert_int_equal(p.buf[HALF + i], list_byte(i));
	}
}

/* Round by round, 10 bytes of every 16 at 0, then 5 of every 32 at 4096. */
static void lanes_are_taken_in_turns(void **state)
{
	struct mlx5dv_mr_interleaved lane[2] = {
		{ (uintptr_t)p.buf, 10, 6, p.mr->lkey },
		{ (uintptr_t)p.buf + 4096, 5, 27, p.mr->lkey },
	};
	struct mlx5dv_mkey_conf_attr conf = { 0 };

	pair_pattern(p.buf, 8192, 5);
	begin(1);
	mlx5dv_wr_mkey_configure(dv, mkey, 2, &conf);
	mlx5dv_wr_set_mkey_access_flags(dv, ALL_RIGHTS);
	mlx5dv_wr_set_mkey_layout_interleaved(dv, 60, 2, lane);
	end(MLX5DV_WC_UMR, 1);

	/* The peer reads the middle of it by RDMA, and writes it all. */
	begin(2);
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_read(ex, mkey->rkey, 7);
	ibv_wr_set_sge(ex, p.mr->lkey, (uintptr_t)p.buf + HALF, 800);
	end(IBV_WC_RDMA_READ, 2);
	for (uint32_t i = 0; i < 800; i++) {
		uint32_t at = i + 7, round = at / 15, within = at % 15;

		assert_int_equal(p.buf[HALF + i], within < 10
							  ? p.buf[round * 16 + within]
							  : p.buf[4096 + round * 32 + within - 10]);
	}
	memset(p.buf, 0xee, 8192);
	pair_pattern(p.buf + HALF, 900, 9);
	begin(3);
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(ex, mkey->rkey, 0);
	ibv_wr_set_sge(ex, p.mr->lkey, (uintptr_t)p.buf + HALF, 900);
	end(IBV_WC_RDMA_WRITE, 3);
	for (uint32_t i = 0; i < 900; i++) {
		uint32_t round = i / 15, within = i % 15;

		assert_int_equal(p.buf[HALF + i], within < 10
							  ? p.buf[round * 16 + within]
							  : p.buf[4096 + round * 32 + within - 10]);
	}
	for (uint32_t round = 0; round < 60; round++)
		for (uint32_t i = 10; i < 16; i++)
			assert_int_equal(p.buf[round * 16 + i], 0xee);
}

static void an_atomic_finds_its_word_behind_an_indirect_key(void **state)
{
	struct ibv_sge sge[2] = { pair_sge(&p, 64, 16), pair_sge(&p, 256, 16) };
	uint64_t *word = (uint64_t *)(p.buf + 256 + 8);

	*word = 40;
	begin(1);
	mlx5dv_wr_mr_list(dv, mkey, ALL_RIGHTS, 2, sge);
	end(MLX5DV_WC_UMR, 1);
	begin(2);
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_atomic_fetch_add(ex, mkey->rkey, 24, 2);
	ibv_wr_set_sge(ex, p.mr->lkey, (uintptr_t)p.buf + HALF, 8);
	end(IBV_WC_FETCH_ADD, 2);
	assert_int_equal(*word, 42);
	assert_int_equal(*(uint64_t *)(p.buf + HALF), 40);
}

static enum ibv_wc_status write_to_key(uint64_t at, uint32_t length)
{
	ibv_wr_start(ex);
	ex->wr_id = 9;
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(ex, mkey->rkey, at);
	ibv_wr_set_sge(ex, p.mr->lkey, (uintptr_t)p.buf + HALF, length);
	assert_int_equal(ibv_wr_complete(ex), 0);
	return pair_wait(p.cq[0]).status;
}

static void rights_of_a_key_are_its_own(void **state)
{
	build_list(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
	assert_int_equal(write_to_key(0, 8), IBV_WC_REM_ACCESS_ERR);
}

static void a_key_ends_where_its_pieces_end(void **state)
{
	build_list(ALL_RIGHTS);
	assert_int_equal(write_to_key(0, 180), IBV_WC_SUCCESS);
	assert_int_equal(write_to_key(100, 81), IBV_WC_REM_ACCESS_ERR);
}

static void a_key_that_was_never_built_is_none(void **state)
{
	assert_int_equal(write_to_key(0, 1), IBV_WC_REM_ACCESS_ERR);
}

static void an_invalidated_key_is_none(void **state)
{
	build_list(ALL_RIGHTS);
	assert_int_equal(write_to_key(0, 8), IBV_WC_SUCCESS);
	begin(4);
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_local_inv(ex, mkey->rkey);
	end(IBV_WC_LOCAL_INV, 4);
	assert_int_equal(write_to_key(0, 8), IBV_WC_REM_ACCESS_ERR);
}

/* A piece without memory behind it is found out when it is touched. */
static void a_piece_of_another_domain_is_refused(void **state)
{
	struct ibv_pd *pd = ibv_alloc_pd(p.ctx);
	struct ibv_mr *mr = ibv_reg_mr(pd, p.buf, 4096, ALL_RIGHTS);
	struct ibv_sge sge[2] = { pair_sge(&p, 0, 64), pair_sge(&p, 64, 64) };

	assert_non_null(mr);
	sge[1].lkey = mr->lkey;
	begin(1);
	mlx5dv_wr_mr_list(dv, mkey, ALL_RIGHTS, 2, sge);
	end(MLX5DV_WC_UMR, 1);
	assert_int_equal(write_to_key(0, 64), IBV_WC_SUCCESS);
	assert_int_equal(write_to_key(0, 65), IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
}

static void impossible_configurations_of_a_key_are_refused(void **state)
{
	struct ibv_sge sge[16];
	struct mlx5dv_mkey_init_attr attr = { .pd = p.pd, .max_entries = 4 };

	for (int i = 0; i < 16; i++)
		sge[i] = pair_sge(&p, 64 * i, 64);
	begin(1);
	mlx5dv_wr_mr_list(dv, mkey, ALL_RIGHTS, 9, sge);
	assert_int_equal(ibv_wr_complete(ex), ENOMEM);
	begin(1);
	mlx5dv_wr_mr_list(dv, mkey, IBV_ACCESS_HUGETLB, 1, sge);
	assert_int_equal(ibv_wr_complete(ex), EINVAL);
	begin(1);
	mlx5dv_wr_set_mkey_access_flags(dv, 0);
	assert_int_equal(ibv_wr_complete(ex), EINVAL);
	begin(1);
	ex->wr_flags = 0;
	mlx5dv_wr_mr_list(dv, mkey, ALL_RIGHTS, 1, sge);
	assert_int_equal(ibv_wr_complete(ex), EOPNOTSUPP);

	assert_null(mlx5dv_create_mkey(&attr));
	assert_int_equal(errno, EOPNOTSUPP);
	attr.create_flags = 1u << 20; /* none there has been */
	assert_null(mlx5dv_create_mkey(&attr));
	assert_int_equal(errno, EOPNOTSUPP);
	build_list(ALL_RIGHTS); /* the queue pair is none the worse */
}

static void memory_is_copied_by_request(void **state)
{
	pair_pattern(p.buf, 100000, 1);
	begin(1);
	mlx5dv_wr_memcpy(dv, p.mr->lkey, (uintptr_t)p.buf + HALF, p.mr->lkey, (uintptr_t)p.buf,
			 100000);
	end(MLX5DV_WC_MEMCPY, 1);
	assert_true(pair_is_pattern(p.buf + HALF, 100000, 1));
	begin(2);
	mlx5dv_wr_memcpy(dv, p.mr->lkey ^ 0x77, (uintptr_t)p.buf, p.mr->lkey, (uintptr_t)p.buf, 8);
	assert_int_equal(ibv_wr_complete(ex), 0);
	assert_int_equal(pair_wait(p.cq[0]).status, IBV_WC_LOC_PROT_ERR);
}

static void raw_entries_are_posted_over_many_laps(void **state)
{
	struct {
		struct mlx5_wqe_ctrl_seg ctrl;
		struct mlx5_wqe_data_seg data[4];
	} wqe;

	pair_pattern(p.buf, 400, 8);
	for (int lap = 0; lap < 100; lap++) {
		memset(&wqe, 0, sizeof(wqe));
		mlx5dv_set_ctrl_seg(&wqe.ctrl, 0xffff, MLX5_OPCODE_SEND, 0, p.qp[0]->qp_num,
				    MLX5_WQE_CTRL_CQ_UPDATE, 5, 0, 0);
		for (int i = 0; i < 4; i++)
			mlx5dv_set_data_seg(&wqe.data[i], 100, p.mr->lkey,
					    (uintptr_t)p.buf + 100 * i);
		memset(p.buf + HALF, 0, 400);
		pair_post_recv(&p, 1, lap, HALF, 400);
		begin(lap);
		mlx5dv_wr_raw_wqe(dv, &wqe);
		end(MLX5DV_WC_RAW_WQE, lap);
		assert_int_equal(pair_expect(p.cq[1], IBV_WC_RECV, lap).byte_len, 400);
		assert_true(pair_is_pattern(p.buf + HALF, 400, 8));
	}
	memset(&wqe, 0, sizeof(wqe));
	begin(1);
	mlx5dv_wr_raw_wqe(dv, &wqe);
	assert_int_equal(ibv_wr_complete(ex), EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_list_is_sent_as_one_message, make, drop),
		cmocka_unit_test_setup_teardown(lanes_are_taken_in_turns, make, drop),
		cmocka_unit_test_setup_teardown(an_atomic_finds_its_word_behind_an_indirect_key,
						make, drop),
		cmocka_unit_test_setup_teardown(rights_of_a_key_are_its_own, make, drop),
		cmocka_unit_test_setup_teardown(a_key_ends_where_its_pieces_end, make, drop),
		cmocka_unit_test_setup_teardown(a_key_that_was_never_built_is_none, make, drop),
		cmocka_unit_test_setup_teardown(an_invalidated_key_is_none, make, drop),
		cmocka_unit_test_setup_teardown(a_piece_of_another_domain_is_refused, make, drop),
		cmocka_unit_test_setup_teardown(impossible_configurations_of_a_key_are_refused,
						make, drop),
		cmocka_unit_test_setup_teardown(memory_is_copied_by_request, make, drop),
		cmocka_unit_test_setup_teardown(raw_entries_are_posted_over_many_laps, make, drop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
