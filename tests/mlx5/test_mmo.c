/* SPDX-License-Identifier: BSD-2-Clause */
/* The memory-to-memory engine: copies, requests that are refused, and what each model has. */
#include <errno.h>

#include "mmo_rig.h"

static int open_none(void **state)
{
	return mmo_open("mlx5_2");
}

/* ---- copies ---- */

static void a_copy_tells_its_length_and_checksums(void **state)
{
	mmo_make_text(ROOM, 1);
	assert_int_equal(mmo_run(DMA, 0, mmo_mem(IN, 12345), mmo_mem(OUT + 1, ROOM - 1)), 12345);
	assert_memory_equal(mmo.rig.memory + IN, mmo.rig.memory + OUT + 1, 12345);
	mmo_assert_sums(mmo.rig.memory + IN, 12345);
}

static void a_copy_that_does_not_fit_writes_nothing(void **state)
{
	mmo_make_text(ROOM, 1);
	memset(mmo.rig.memory + OUT, 0, ROOM);
	mmo_run_badly(DMA, 0, mmo_mem(IN, 100), mmo_mem(OUT, 99), NO_SPACE);
	assert_int_equal(mmo.rig.memory[OUT], 0);
}

static void a_copy_needs_no_place_for_results(void **state)
{
	mmo_make_text(100, 2);
	memset(mmo.rig.memory + RESULTS, 0xee, 64);
	mmo_fill(mmo_next_entry(), mmo.qp.qpn, (uint16_t)mmo.qp.post, DMA, 0, mmo_mem(IN, 100),
		 mmo_mem(OUT, 100));
	memset(mmo_next_entry() + 16, 0, 16);
	mmo.qp.post++;
	rig_ring(&mmo.qp);
	assert_int_equal(rig_cq_wait(&mmo.cq)->op_own >> 4, MLX5_CQE_REQ);
	assert_memory_equal(mmo.rig.memory + IN, mmo.rig.memory + OUT, 100);
	assert_int_equal(mmo.rig.memory[RESULTS], 0xee);
}

static void a_source_key_that_does_not_exist_is_an_error(void **state)
{
	mmo_post(DMA, 0, mmo_by(mmo.rig.mr->lkey ^ 0x55, IN, 100), mmo_mem(OUT, 100));
	mmo_expect_dead(MLX5_CQE_SYNDROME_LOCAL_PROT_ERR);
}

static void a_destination_beyond_its_region_is_an_error(void **state)
{
	mmo_post(COMPRESS, DYNAMIC, mmo_mem(IN, 100), mmo_mem(RIG_MEMORY - 8, 100));
	mmo_expect_dead(MLX5_CQE_SYNDROME_LOCAL_PROT_ERR);
}

static void a_place_for_results_beyond_its_region_is_an_error(void **state)
{
	mmo_fill(mmo_next_entry(), mmo.qp.qpn, (uint16_t)mmo.qp.post, DMA, 0, mmo_mem(IN, 100),
		 mmo_mem(OUT, 100));
	*(__be64 *)(mmo_next_entry() + 24) = htobe64((uintptr_t)mmo.rig.memory + RIG_MEMORY - 63);
	mmo.qp.post++;
	rig_ring(&mmo.qp);
	mmo_expect_dead(MLX5_CQE_SYNDROME_LOCAL_PROT_ERR);
}

/* A length of 0 in a data segment stands for 2 GiB. */
static void a_request_longer_than_the_limit_is_an_error(void **state)
{
	mmo_post(DMA, 0, mmo_mem(IN, 0), mmo_mem(OUT, 0));
	mmo_expect_dead(MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR);
}

static void an_unknown_modifier_is_an_error(void **state)
{
	mmo_post(4, 0, mmo_mem(IN, 8), mmo_mem(OUT, 8));
	mmo_expect_dead(MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR);
}

static void a_blue_field_3_does_not_compress(void **state)
{
	mmo_post(COMPRESS, DYNAMIC, mmo_mem(IN, 8), mmo_mem(OUT, 100));
	mmo_expect_dead(MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR);
}

/* ---- capabilities ---- */

static void query(uint8_t *out)
{
	RIG_IN(in, ifc_len(query_hca_cap_in), QUERY_HCA_CAP);

	ifc_set(in, cmd_in, op_mod, 1);
	assert_int_equal(mlx5dv_devx_general_cmd(mmo.rig.ctx, in, sizeof(in), out,
						 ifc_len(query_hca_cap_out)),
			 0);
}

static size_t most_copied(void)
{
	struct mlx5dv_context dv = { .comp_mask = MLX5DV_CONTEXT_MASK_WR_MEMCPY_LENGTH };

	assert_int_equal(mlx5dv_query_device(mmo.rig.ctx, &dv), 0);
	assert_true(dv.comp_mask & MLX5DV_CONTEXT_MASK_WR_MEMCPY_LENGTH);
	return dv.max_wr_memcpy_length;
}

#define CAP(field) ifc_get(ifc_ptr(out, query_hca_cap_out, capability), cmd_hca_cap, field)

static void a_blue_field_2_offers_copies_and_deflate(void **state)
{
	uint8_t out[ifc_len(query_hca_cap_out)];

	query(out);
	assert_true(CAP(dma_mmo_qp) && CAP(dma_mmo_sq));
	assert_true(CAP(compress_mmo_qp) && CAP(compress_mmo_sq) && CAP(decompress_mmo_sq));
	assert_true(CAP(decompress_deflate_v1) && !CAP(decompress_deflate_v2));
	assert_false(CAP(decompress_lz4_data_only_v2));
	assert_int_equal(CAP(compress_min_block_size), 4);
	assert_int_equal(most_copied(), 1u << CAP(log_dma_mmo_max_size));
	assert_true(CAP(log_compress_mmo_size) && CAP(log_decompress_mmo_size));
}

static void a_blue_field_3_offers_copies_and_decompression(void **state)
{
	uint8_t out[ifc_len(query_hca_cap_out)];

	query(out);
	assert_true(CAP(dma_mmo_qp) && CAP(decompress_deflate_v2) && !CAP(decompress_deflate_v1));
	assert_false(CAP(compress_mmo_qp) || CAP(compress_mmo_sq));
	assert_true(CAP(decompress_lz4_data_only_v2) && CAP(decompress_lz4_no_checksum_v2) &&
		    CAP(decompress_lz4_checksum_v2));
}

static void a_connectx_5_has_no_such_engine(void **state)
{
	uint8_t out[ifc_len(query_hca_cap_out)];
	struct ibv_cq *verbs_cq = ibv_create_cq(mmo.rig.ctx, 4, NULL, NULL, 0);
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_RC,
		.send_cq = verbs_cq,
		.recv_cq = verbs_cq,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = mmo.rig.pd,
	};
	struct mlx5dv_qp_init_attr extra = {
		.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS,
		.send_ops_flags = MLX5DV_QP_EX_WITH_MEMCPY,
	};

	query(out);
	assert_false(CAP(dma_mmo_qp) || CAP(dma_mmo_sq) || CAP(log_dma_mmo_max_size));
	assert_int_equal(most_copied(), 0);
	assert_null(mlx5dv_create_qp(mmo.rig.ctx, &attr, &extra));
	assert_int_equal(errno, EOPNOTSUPP);
	assert_int_equal(ibv_destroy_cq(verbs_cq), 0);
	mmo_post(DMA, 0, mmo_mem(IN, 8), mmo_mem(OUT, 8));
	mmo_expect_dead(MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_copy_tells_its_length_and_checksums, mmo_open_2,
						mmo_drop),
		cmocka_unit_test_setup_teardown(a_copy_that_does_not_fit_writes_nothing, mmo_open_2,
						mmo_drop),
		cmocka_unit_test_setup_teardown(a_copy_needs_no_place_for_results, mmo_open_2,
						mmo_drop),
		cmocka_unit_test_setup_teardown(a_source_key_that_does_not_exist_is_an_error,
						mmo_open_2, mmo_drop),
		cmocka_unit_test_setup_teardown(a_destination_beyond_its_region_is_an_error,
						mmo_open_2, mmo_drop),
		cmocka_unit_test_setup_teardown(a_place_for_results_beyond_its_region_is_an_error,
						mmo_open_2, mmo_drop),
		cmocka_unit_test_setup_teardown(a_request_longer_than_the_limit_is_an_error,
						mmo_open_2, mmo_drop),
		cmocka_unit_test_setup_teardown(an_unknown_modifier_is_an_error, mmo_open_2,
						mmo_drop),
		cmocka_unit_test_setup_teardown(a_blue_field_2_offers_copies_and_deflate,
						mmo_open_2, mmo_drop),
		cmocka_unit_test_setup_teardown(a_blue_field_3_does_not_compress, mmo_open_3,
						mmo_drop),
		cmocka_unit_test_setup_teardown(a_blue_field_3_offers_copies_and_decompression,
						mmo_open_3, mmo_drop),
		cmocka_unit_test_setup_teardown(a_connectx_5_has_no_such_engine, open_none,
						mmo_drop),
	};

	mmo_adapters();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
