/* SPDX-License-Identifier: BSD-2-Clause */
/* LZ4 by the memory-to-memory engine of a BlueField-3; liblz4 compresses. */
#include <lz4.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "mmo_rig.h"

#define LZ4_BLOCK  (2u << 8)
#define LZ4_BLOCKS (LZ4_BLOCK | 1u << 20)
#define LZ4_SUMS   (LZ4_BLOCK | 2u << 20)
#define LZ4_ALONE  (1u << 22)

static void an_lz4_block_is_expanded(void **state)
{
	int made;

	mmo_make_text(19000, 8);
	made = LZ4_compress_default((const char *)mmo.rig.memory + IN, (char *)mmo.rig.memory + OUT,
				    19000, ROOM);
	assert_true(made > 0);
	assert_int_equal(
		mmo_run(DECOMPRESS, LZ4_BLOCK, mmo_mem(OUT, (uint32_t)made), mmo_mem(BACK, ROOM)),
		19000);
	assert_memory_equal(mmo.rig.memory + IN, mmo.rig.memory + BACK, 19000);
	assert_int_equal(mmo_result(6), XXH32(mmo.rig.memory + IN, 19000, 0));
	mmo_run_badly(DECOMPRESS, LZ4_BLOCK, mmo_mem(OUT, (uint32_t)made), mmo_mem(BACK, 18999),
		      NO_SPACE);
	mmo_run_badly(DECOMPRESS, LZ4_BLOCK, mmo_mem(OUT, (uint32_t)made - 1), mmo_mem(BACK, ROOM),
		      0);
}

static uint8_t *put_le32(uint8_t *at, uint32_t value)
{
	value = htole32(value);
	memcpy(at, &value, sizeof(value));
	return at + sizeof(value);
}

/* Blocks of 5000 bytes as a frame has them, the second one stored; the bytes that they take. */
static uint32_t put_blocks(bool sums, bool linked)
{
	uint8_t *at = mmo.rig.memory + OUT, *data;
	LZ4_stream_t *stream = LZ4_createStream();

	for (uint32_t i = 0; i < 3; i++) {
		const char *from = (const char *)mmo.rig.memory + IN + (size_t)5000 * i;
		int len = 5000;

		data = at + 4;
		if (!linked)
			LZ4_resetStream_fast(stream);
		if (i == 1)
			memcpy(data, from, 5000);
		else
			len = LZ4_compress_fast_continue(stream, from, (char *)data, 5000, ROOM, 1);
		assert_true(len > 0);
		put_le32(at, (uint32_t)len | (i == 1 ? 0x80000000u : 0));
		at = data + len;
		if (sums)
			at = put_le32(at, XXH32(data, (size_t)len, 0));
	}
	LZ4_freeStream(stream);
	return (uint32_t)(at - (mmo.rig.memory + OUT));
}

static void lz4_blocks_are_expanded(void **state)
{
	for (int sums = 0; sums < 2; sums++)
		for (int linked = 0; linked < 2; linked++) {
			uint32_t control =
				(sums ? LZ4_SUMS : LZ4_BLOCKS) | (linked ? 0 : LZ4_ALONE);
			uint32_t len;

			mmo_make_text(5000, 9);
			memcpy(mmo.rig.memory + IN + 5000, mmo.rig.memory + IN, 5000);
			memcpy(mmo.rig.memory + IN + 10000, mmo.rig.memory + IN, 5000);
			len = put_blocks(sums, linked);
			assert_int_equal(mmo_run(DECOMPRESS, control, mmo_mem(OUT, len),
						 mmo_mem(BACK, ROOM)),
					 15000);
			assert_memory_equal(mmo.rig.memory + IN, mmo.rig.memory + BACK, 15000);
			/* The end mark of a frame is no more data. */
			put_le32(mmo.rig.memory + OUT + len, 0);
			assert_int_equal(mmo_run(DECOMPRESS, control, mmo_mem(OUT, len + 9),
						 mmo_mem(BACK, ROOM)),
					 15000);
			mmo_run_badly(DECOMPRESS, control, mmo_mem(OUT, len - 1),
				      mmo_mem(BACK, ROOM), TRUNCATED);
			mmo_run_badly(DECOMPRESS, control, mmo_mem(OUT, len), mmo_mem(BACK, 9999),
				      NO_SPACE);
		}
}

static void a_wrong_checksum_of_an_lz4_block_is_told(void **state)
{
	uint32_t len;

	mmo_make_text(15000, 10);
	len = put_blocks(true, false);
	mmo.rig.memory[OUT + len - 1] ^= 1;
	mmo_run_badly(DECOMPRESS, LZ4_SUMS | LZ4_ALONE, mmo_mem(OUT, len), mmo_mem(BACK, ROOM), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(an_lz4_block_is_expanded, mmo_open_3, mmo_drop),
		cmocka_unit_test_setup_teardown(lz4_blocks_are_expanded, mmo_open_3, mmo_drop),
		cmocka_unit_test_setup_teardown(a_wrong_checksum_of_an_lz4_block_is_told,
						mmo_open_3, mmo_drop),
	};

	mmo_adapters();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
