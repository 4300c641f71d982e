/* SPDX-License-Identifier: BSD-2-Clause */
/* Completions that stand for several: their layout, and that a consumer gets what was written. */
#include "cmocka_all.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "driver/cq.h"
#include "hca/queue/cq.h"
#include "mlx5/cqe.h"
#include "mlx5/cqe_comp.h"
#include "mlx5/cqe_owner.h"
#include "mlx5/wqe.h"

#define ENTRIES 64u

#define WIDEST 128u

static _Alignas(64) uint8_t ring[ENTRIES * WIDEST], plain_ring[ENTRIES * WIDEST];
static struct hca_cq cq, plain;
static struct drv_cq consumer;

/* CQEs are the last 64 bytes of entries; what is before them must stay as it is. */
static void make_wide(enum hca_mini_cqe mini, uint32_t width)
{
	memset(ring, 0xee, sizeof(ring));
	for (uint32_t i = 1; i <= ENTRIES; i++)
		ring[width * i - 1] = plain_ring[width * i - 1] = MLX5_CQE_INVALID << 4 | 1;
	cq = (struct hca_cq){ .buf = ring, .size = ENTRIES, .entry_size = width, .mini = mini };
	plain = cq;
	plain.buf = plain_ring;
	plain.mini = HCA_MINI_NONE;
	consumer = (struct drv_cq){ .entries = ring + width - 64,
				    .entry_shift = width == 64 ? 6 : 7,
				    .mask = ENTRIES - 1 };
	consumer.vb.hca = &cq;
}

static void make(enum hca_mini_cqe mini)
{
	make_wide(mini, 64);
}

static struct hca_cqe frame(uint16_t counter, uint32_t len, uint32_t hash)
{
	return (struct hca_cqe){ .is_recv = true,
				 .raw = true,
				 .user_index = 5,
				 .qpn = 9,
				 .counter = counter,
				 .byte_len = len,
				 .frame = { .check = 7, .rss_hash = hash, .tag = 0x1234 } };
}

static const uint8_t *entry(uint32_t index)
{
	return ring + cq.entry_size * (size_t)(index % ENTRIES + 1) - 64;
}

static uint32_t word(const uint8_t *at)
{
	uint32_t w;

	memcpy(&w, at, 4);
	return be32toh(w);
}

static void share_a_title(uint32_t width)
{
	const uint32_t pi = ENTRIES + 3;
	const struct mlx5_cqe64 *title;
	struct hca_cqe c[20];

	make_wide(HCA_MINI_HASH, width);
	for (uint32_t i = 0; i < 20; i++)
		c[i] = frame(97 + i, 60 + i, 0xabc0 + i);
	assert_int_equal(mlx5_cqe_compress(&cq, pi, c, 20), 15);
	title = (const void *)entry(pi);
	assert_int_equal(title->op_own, MLX5_CQE_RESP_SEND << 4 | MLX5_CQE_COMPRESSED | 1);
	assert_int_equal(be32toh(title->byte_cnt), 15);
	assert_int_equal(be16toh(title->wqe_counter), 97);
	assert_int_equal(be32toh(title->sop_drop_qpn), 0x1234);
	for (uint32_t i = 0; i < 15; i++) {
		const uint8_t *mini = entry(pi + (i < 8 ? 1 : i & ~7u)) + 8 * (i & 7);

		assert_int_equal(word(mini), 0xabc0 + i);
		assert_int_equal(word(mini + 4), 60 + i);
	}
}

static void frames_share_a_title_and_have_eight_bytes_each(void **state)
{
	share_a_title(64);
}

static void in_entries_of_128_bytes_arrays_are_the_second_half(void **state)
{
	share_a_title(128);
	for (size_t i = 0; i < ENTRIES; i++)
		for (size_t k = 0; k < 64; k++)
			assert_int_equal(ring[128 * i + k], 0xee);
}

/* Programs may go through what a title stands for without looking for the end of a ring. */
static void a_title_stands_for_nothing_beyond_the_end_of_a_ring(void **state)
{
	struct hca_cqe c[20];

	make(HCA_MINI_HASH);
	for (uint32_t i = 0; i < 20; i++)
		c[i] = frame(65 + i, 60, 1);
	assert_int_equal(mlx5_cqe_compress(&cq, ENTRIES - 3, c, 20), 3);
	assert_int_equal(mlx5_cqe_compress(&cq, ENTRIES - 1, c, 20), 0);
	for (uint32_t i = 0; i < 20; i++)
		c[i].counter = 250 + i; /* of a receive ring of 256 entries */
	assert_int_equal(mlx5_cqe_compress(&cq, 0, c, 20), 6);
}

static void stride_numbers_stand_in_their_format_only(void **state)
{
	struct hca_cqe c[3];

	for (uint32_t i = 0; i < 3; i++) {
		c[i] = frame(3 + 10 * i, 1000, 0);
		c[i].frame.strides = 2;
	}
	make(HCA_MINI_CSUM);
	assert_int_equal(mlx5_cqe_compress(&cq, 0, c, 3), 0); /* strides are missing between */
	make(HCA_MINI_CSUM_STRIDE);
	assert_int_equal(mlx5_cqe_compress(&cq, 0, c, 3), 3);
	assert_int_equal(word(entry(1) + 8), 13);
	assert_int_equal(word(entry(1) + 12), 2 << 16 | 1000);
}

static void completions_with_little_in_common_stay_whole(void **state)
{
	const struct hca_cqe first = frame(7, 60, 1);
	struct hca_cqe c[2] = { first, frame(8, 61, 2) };

	make(HCA_MINI_HASH);
	assert_int_equal(mlx5_cqe_compress(&cq, 0, c, 2), 2);
	c[1].frame.tag++;
	assert_int_equal(mlx5_cqe_compress(&cq, 0, c, 2), 0);
	c[1] = frame(9, 61, 2); /* an entry between */
	assert_int_equal(mlx5_cqe_compress(&cq, 0, c, 2), 0);
	c[1] = frame(8, 61, 2);
	c[1].status = HCA_LOC_LEN_ERR;
	assert_int_equal(mlx5_cqe_compress(&cq, 0, c, 2), 0);
	c[1] = frame(8, 61, 2);
	c[1].raw = c[0].raw = false;
	assert_int_equal(mlx5_cqe_compress(&cq, 0, c, 2), 0);
	c[0] = first;
	c[1] = frame(8, 61, 2);
	make(HCA_MINI_CSUM); /* which has no room for hashes */
	assert_int_equal(mlx5_cqe_compress(&cq, 0, c, 2), 0);
}

/* As hca_cq_add_many(). */
static void write_some(uint32_t *pi, const struct hca_cqe *c, unsigned int count,
		       unsigned int *shorts)
{
	for (unsigned int i = 0, n; i < count; i += n) {
		n = mlx5_cqe_compress(&cq, *pi, &c[i], count - i);
		*shorts += n > 0;
		if (!n) {
			mlx5_cqe_write(&cq, *pi, &c[i]);
			n = 1;
		}
		for (unsigned int k = 0; k < n; k++)
			mlx5_cqe_write(&plain, *pi + k, &c[i + k]);
		*pi += n;
	}
}

/* The next frame of a queue: mostly like the last one. */
static struct hca_cqe next(const struct hca_cqe *last, unsigned int *seed)
{
	uint16_t step = last->frame.strides ? last->frame.strides : 1;
	struct hca_cqe c = *last;

	c.counter += step;
	c.byte_len = 60 + rand_r(seed) % 1400;
	if (c.frame.strides)
		c.frame.strides = 1 + rand_r(seed) % 3;
	switch (rand_r(seed) % 12) {
	case 0:
		c.frame.rss_hash = (uint32_t)rand_r(seed);
		break;
	case 1:
		c.counter += 3;
		break;
	case 2:
		c.frame.tag ^= 1;
		break;
	case 3:
		c.status = c.status ? HCA_SUCCESS : HCA_LOC_LEN_ERR;
		break;
	default:
		break;
	}
	return c;
}

static void a_consumer_reads_what_whole_completions_would_say(void **state)
{
	unsigned int shorts = 0;

	for (unsigned int seed = 1; seed <= 60; seed++) {
		unsigned int random = seed;
		struct hca_cqe last = frame(0, 60, 1), c[16];
		uint32_t pi = 0, ci = 0;

		make_wide(1 + seed % 3, seed % 4 < 2 ? 64 : 128);
		if (seed % 2)
			last.frame.strides = 1;
		for (int round = 0; round < 40; round++) {
			unsigned int count = 1 + rand_r(&random) % 16;

			for (unsigned int i = 0; i < count; i++)
				c[i] = last = next(&last, &random);
			write_some(&pi, c, count, &shorts);
			for (; ci != pi; ci++) {
				assert_true(mlx5_cqe_written(&consumer, ci));
				assert_memory_equal(entry(ci), plain_ring + (entry(ci) - ring), 64);
			}
			assert_false(mlx5_cqe_written(&consumer, ci));
		}
	}
	assert_true(shorts > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_share_a_title_and_have_eight_bytes_each),
		cmocka_unit_test(in_entries_of_128_bytes_arrays_are_the_second_half),
		cmocka_unit_test(a_title_stands_for_nothing_beyond_the_end_of_a_ring),
		cmocka_unit_test(stride_numbers_stand_in_their_format_only),
		cmocka_unit_test(completions_with_little_in_common_stay_whole),
		cmocka_unit_test(a_consumer_reads_what_whole_completions_would_say),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
