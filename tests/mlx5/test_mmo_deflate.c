/* SPDX-License-Identifier: BSD-2-Clause */
/* Deflate by the memory-to-memory engine, judged by zlib. */
#include <zlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "mmo_rig.h"

/* Inflates with a window of so many bits, so that a match that reaches too far fails. */
static void check_deflated(uint32_t made, uint32_t len, int bits)
{
	static uint8_t back[ROOM];
	z_stream z = { .next_in = mmo.rig.memory + OUT,
		       .avail_in = made,
		       .next_out = back,
		       .avail_out = sizeof(back) };

	assert_int_equal(inflateInit2(&z, -bits), Z_OK);
	assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
	assert_int_equal(z.total_out, len);
	assert_int_equal(z.avail_in, 0);
	assert_memory_equal(back, mmo.rig.memory + IN, len);
	inflateEnd(&z);
}

static void zlib_inflates_what_was_compressed(void **state)
{
	static const uint32_t lengths[] = { 1, 2, 3, 100, 4096, 19000 };

	for (size_t i = 0; i < array_size(lengths); i++)
		for (int dynamic = 0; dynamic < 2; dynamic++) {
			uint32_t made, len = lengths[i];

			mmo_make_text(len, i);
			made = mmo_run(COMPRESS, dynamic ? DYNAMIC : FIXED, mmo_mem(IN, len),
				       mmo_mem(OUT, ROOM));
			check_deflated(made, len, 15);
			mmo_assert_sums(mmo.rig.memory + IN, len);
			if (len > 1000)
				assert_true(made < len);
		}
}

/* Bits 1 and 2 of the first byte: the kind of the first block (RFC 1951, 3.2.3). */
static void codes_are_fixed_or_made_for_the_block(void **state)
{
	mmo_make_text(10000, 3);
	mmo_run(COMPRESS, FIXED, mmo_mem(IN, 10000), mmo_mem(OUT, ROOM));
	assert_int_equal(mmo.rig.memory[OUT] >> 1 & 3, 1);
	mmo_run(COMPRESS, DYNAMIC, mmo_mem(IN, 10000), mmo_mem(OUT, ROOM));
	assert_int_equal(mmo.rig.memory[OUT] >> 1 & 3, 2);
}

static void no_match_reaches_beyond_the_window(void **state)
{
	uint32_t wide, narrow;

	/* Twice the same noise: matches are 6000 bytes away. */
	for (uint32_t i = 0; i < 6000; i++)
		mmo.rig.memory[IN + i] = mmo.rig.memory[IN + 6000 + i] =
			(uint8_t)(i * i * 2654435761u >> 13);
	for (uint32_t window = 0; window <= 6; window++)
		for (int dynamic = 0; dynamic < 2; dynamic++) {
			uint32_t control = (dynamic ? DYNAMIC : FIXED) & ~(0xfu << 12);
			uint32_t made = mmo_run(COMPRESS, control | window << 12,
						mmo_mem(IN, 12000), mmo_mem(OUT, ROOM));

			check_deflated(made, 12000, 10 + (window < 5 ? (int)window : 5));
			if (window == 0)
				narrow = made;
			wide = made;
		}
	assert_true(wide + 3000 < narrow);
}

static void blocks_end_at_their_size(void **state)
{
	uint32_t small, large;

	mmo_make_text(19000, 4);
	small = mmo_run(COMPRESS, (DYNAMIC & ~(0xfu << 16)) | 4 << 16, mmo_mem(IN, 19000),
			mmo_mem(OUT, ROOM));
	check_deflated(small, 19000, 15);
	large = mmo_run(COMPRESS, DYNAMIC, mmo_mem(IN, 19000), mmo_mem(OUT, ROOM));
	check_deflated(large, 19000, 15);
	assert_int_not_equal(small, large);
}

static void output_that_does_not_fit_is_told(void **state)
{
	mmo_make_text(10000, 5);
	mmo_run_badly(COMPRESS, DYNAMIC, mmo_mem(IN, 10000), mmo_mem(OUT, 100), NO_SPACE);
	mmo_run_badly(COMPRESS, FIXED, mmo_mem(IN, 10000), mmo_mem(OUT, 100), NO_SPACE);
}

static uint32_t deflate_by_zlib(int level, uint32_t len)
{
	z_stream z = { .next_in = mmo.rig.memory + IN,
		       .avail_in = len,
		       .next_out = mmo.rig.memory + OUT,
		       .avail_out = ROOM };

	assert_int_equal(deflateInit2(&z, level, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY), Z_OK);
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	deflateEnd(&z);
	return (uint32_t)z.total_out;
}

/* Of results in the first layout, or the second. */
static void expand_zlibs(bool second)
{
	static const int levels[] = { 0, 1, 9 };

	for (size_t i = 0; i < array_size(levels); i++) {
		uint32_t made;

		mmo_make_text(19000, i);
		made = deflate_by_zlib(levels[i], 19000);
		assert_int_equal(mmo_run(DECOMPRESS, 0, mmo_mem(OUT, made), mmo_mem(BACK, ROOM)),
				 19000);
		assert_memory_equal(mmo.rig.memory + IN, mmo.rig.memory + BACK, 19000);
		assert_int_equal(mmo_result(second ? 3 : 8), crc32(0, mmo.rig.memory + IN, 19000));
		assert_int_equal(mmo_result(second ? 4 : 9),
				 adler32(1, mmo.rig.memory + IN, 19000));
	}
}

static void data_compressed_by_zlib_is_expanded(void **state)
{
	expand_zlibs(false);
}

static void deflated_data_that_cannot_be_expanded_is_told(void **state)
{
	uint32_t made;

	mmo_make_text(10000, 6);
	made = deflate_by_zlib(6, 10000);
	mmo_run_badly(DECOMPRESS, 0, mmo_mem(OUT, made - 1), mmo_mem(BACK, ROOM), TRUNCATED);
	mmo_run_badly(DECOMPRESS, 0, mmo_mem(OUT, made), mmo_mem(BACK, 9999), NO_SPACE);
	mmo.rig.memory[OUT] = 0x07; /* a last block of a kind that does not exist */
	mmo_run_badly(DECOMPRESS, 0, mmo_mem(OUT, made), mmo_mem(BACK, ROOM), 0);
}

/* Memory that is not in one piece: a null region reads as zeros. */
static void memory_that_is_no_plain_region_is_compressed(void **state)
{
	struct ibv_mr *zeros = ibv_alloc_null_mr(mmo.rig.pd);
	uint32_t made;

	assert_non_null(zeros);
	made = mmo_run(COMPRESS, DYNAMIC, mmo_by(zeros->lkey, IN, 15000), mmo_mem(OUT, ROOM));
	memset(mmo.rig.memory + IN, 0, 15000);
	check_deflated(made, 15000, 15);
	mmo_assert_sums(mmo.rig.memory + IN, 15000);
	assert_int_equal(mmo_run(DECOMPRESS, 0, mmo_mem(OUT, made), mmo_by(zeros->lkey, 0, 16000)),
			 15000);
	assert_int_equal(mmo_run(DMA, 0, mmo_by(zeros->lkey, IN, 15000), mmo_mem(BACK, ROOM)),
			 15000);
	mmo_assert_sums(mmo.rig.memory + IN, 15000);
	assert_int_equal(ibv_dereg_mr(zeros), 0);
}

static void requests_run_in_order_around_the_ring(void **state)
{
	for (uint32_t i = 0; i < 100; i++) {
		uint32_t made, len = 100 + i * 37;

		mmo_make_text(len, i);
		made = mmo_run(COMPRESS, DYNAMIC, mmo_mem(IN, len), mmo_mem(OUT, ROOM));
		assert_int_equal(mmo_run(DECOMPRESS, 0, mmo_mem(OUT, made), mmo_mem(BACK, ROOM)),
				 len);
		assert_memory_equal(mmo.rig.memory + IN, mmo.rig.memory + BACK, len);
	}
}

/* ---- a send queue made by commands ---- */

static void a_send_queue_runs_them_as_well(void **state)
{
	RIG_IN(in, ifc_len(create_sq_in), CREATE_SQ);
	uint8_t *ctx = ifc_ptr(in, create_sq_in, ctx), *wq = ifc_ptr(ctx, sqc, wq);
	uint8_t out[ifc_len(obj_out)], change[ifc_len(modify_sq_in)] = { 0 };
	struct rig_umem umem = rig_umem(&mmo.rig, 8192);
	struct mlx5dv_devx_obj *sq;
	uint32_t number;

	ifc_set(ctx, sqc, cqn, mmo.cq.cqn);
	ifc_set(wq, wq, wq_type, IFC_WQ_CYCLIC);
	ifc_set(wq, wq, pd, mmo.rig.pdn);
	ifc_set(wq, wq, uar_page, mmo.rig.uar->page_id);
	ifc_set(wq, wq, log_wq_stride, 6);
	ifc_set(wq, wq, log_wq_sz, 4);
	ifc_set(wq, wq, wq_umem_valid, 1);
	ifc_set(wq, wq, wq_umem_id, umem.umem->umem_id);
	ifc_set(wq, wq, dbr_umem_valid, 1);
	ifc_set(wq, wq, dbr_umem_id, umem.umem->umem_id);
	ifc_set(wq, wq, dbr_addr, 4096);
	sq = mlx5dv_devx_obj_create(mmo.rig.ctx, in, sizeof(in), out, sizeof(out));
	assert_non_null(sq);
	number = ifc_get(out, obj_out, number);
	ifc_set(change, cmd_in, opcode, IFC_OP_MODIFY_SQ);
	ifc_set(change, modify_sq_in, sqn, number);
	ifc_set(change, modify_sq_in, sq_state, IFC_WQ_RST);
	ifc_set(ifc_ptr(change, modify_sq_in, ctx), sqc, state, IFC_WQ_RDY);
	assert_int_equal(mlx5dv_devx_obj_modify(sq, change, sizeof(change), out, sizeof(out)), 0);

	mmo_make_text(5000, 7);
	mmo_fill(umem.addr, number, 0, COMPRESS, DYNAMIC, mmo_mem(IN, 5000), mmo_mem(OUT, ROOM));
	__atomic_store_n((uint32_t *)(umem.addr + 4096) + MLX5_SND_DBR, htobe32(1),
			 __ATOMIC_RELEASE);
	__atomic_store_n((uint64_t *)mmo.rig.uar->reg_addr, *(uint64_t *)umem.addr,
			 __ATOMIC_RELEASE);
	assert_int_equal(rig_cq_wait(&mmo.cq)->op_own >> 4, MLX5_CQE_REQ);
	check_deflated(be32toh(rig_cq_wait(&mmo.cq)->byte_cnt), 5000, 15);
	assert_int_equal(mlx5dv_devx_obj_destroy(sq), 0);
	rig_umem_drop(&umem);
}

/* ---- BlueField-3 ---- */

static void results_of_a_blue_field_3_have_four_checksums(void **state)
{
	expand_zlibs(true);
	/* RFC 3720, B.4: 32 bytes of zeros have the CRC32C 8a9136aa. */
	memset(mmo.rig.memory + IN, 0, 32);
	assert_int_equal(mmo_run(DMA, 0, mmo_mem(IN, 32), mmo_mem(OUT, 32)), 32);
	assert_int_equal(mmo_result(5), 0x8a9136aa);
	assert_int_equal(mmo_result(6), XXH32(mmo.rig.memory + IN, 32, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(zlib_inflates_what_was_compressed, mmo_open_2,
						mmo_drop),
		cmocka_unit_test_setup_teardown(codes_are_fixed_or_made_for_the_block, mmo_open_2,
						mmo_drop),
		cmocka_unit_test_setup_teardown(no_match_reaches_beyond_the_window, mmo_open_2,
						mmo_drop),
		cmocka_unit_test_setup_teardown(blocks_end_at_their_size, mmo_open_2, mmo_drop),
		cmocka_unit_test_setup_teardown(output_that_does_not_fit_is_told, mmo_open_2,
						mmo_drop),
		cmocka_unit_test_setup_teardown(data_compressed_by_zlib_is_expanded, mmo_open_2,
						mmo_drop),
		cmocka_unit_test_setup_teardown(deflated_data_that_cannot_be_expanded_is_told,
						mmo_open_2, mmo_drop),
		cmocka_unit_test_setup_teardown(memory_that_is_no_plain_region_is_compressed,
						mmo_open_2, mmo_drop),
		cmocka_unit_test_setup_teardown(requests_run_in_order_around_the_ring, mmo_open_2,
						mmo_drop),
		cmocka_unit_test_setup_teardown(a_send_queue_runs_them_as_well, mmo_open_2,
						mmo_drop),
		cmocka_unit_test_setup_teardown(results_of_a_blue_field_3_have_four_checksums,
						mmo_open_3, mmo_drop),
	};

	mmo_adapters();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
