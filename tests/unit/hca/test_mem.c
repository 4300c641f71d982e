/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmocka_all.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "hca/memory/mem.h"

static void cut(struct hca_list *list, char *buf, size_t len, unsigned int seed)
{
	list->count = 0;
	list->total = len;
	while (len) {
		size_t n = list->count == 40 ? len : 1 + rand_r(&seed) % (len > 50 ? 50 : len);

		list->seg[list->count++] =
			(struct hca_seg){ .ptr = buf, .len = n, .kind = HCA_SEG_PLAIN };
		buf += n;
		len -= n;
	}
}

static void lists_of_any_cut_copy_like_plain_memory(void **state)
{
	char from[700], to[700], want[700];
	struct hca_list lf, lt;

	for (unsigned int seed = 0; seed < 500; seed++) {
		unsigned int s = seed;
		size_t off_f = rand_r(&s) % 300, off_t = rand_r(&s) % 300, n = rand_r(&s) % 400;

		for (size_t i = 0; i < sizeof(from); i++)
			from[i] = rand_r(&s);
		memset(to, 0x55, sizeof(to));
		memcpy(want, to, sizeof(to));
		memcpy(want + off_t, from + off_f, n);
		cut(&lf, from, sizeof(from), seed * 3 + 1);
		cut(&lt, to, sizeof(to), seed * 7 + 2);
		assert_true(hca_mem_copy(&lt, off_t, &lf, off_f, n));
		assert_memory_equal(to, want, sizeof(to));

		memset(to, 0x55, sizeof(to));
		assert_true(hca_mem_copy_in(&lt, off_t, from + off_f, n));
		assert_memory_equal(to, want, sizeof(to));
		memset(to, 0x55, sizeof(to));
		assert_true(hca_mem_copy_out(&lf, off_f, to + off_t, n));
		assert_memory_equal(to, want, sizeof(to));
	}
}

static void a_null_piece_reads_as_zeros_and_swallows_writes(void **state)
{
	char buf[16];
	struct hca_list null = { .count = 1, .total = 16 }, plain = { .count = 1, .total = 16 };

	null.seg[0] = (struct hca_seg){ .len = 16, .kind = HCA_SEG_NULL };
	plain.seg[0] = (struct hca_seg){ .ptr = buf, .len = 16, .kind = HCA_SEG_PLAIN };
	memset(buf, 1, sizeof(buf));
	assert_true(hca_mem_copy(&null, 0, &plain, 0, 16));
	assert_int_equal(buf[3], 1);
	assert_true(hca_mem_copy(&plain, 0, &null, 0, 16));
	for (int i = 0; i < 16; i++)
		assert_int_equal(buf[i], 0);
}

static void a_careful_piece_that_is_missing_fails_without_a_crash(void **state)
{
	char buf[64] = "x",
	     *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct hca_list careful = { .count = 1, .total = 64 }, plain = { .count = 1, .total = 64 };

	careful.seg[0] = (struct hca_seg){ .ptr = page, .len = 64, .kind = HCA_SEG_CAREFUL };
	plain.seg[0] = (struct hca_seg){ .ptr = buf, .len = 64, .kind = HCA_SEG_PLAIN };
	assert_true(hca_mem_copy(&careful, 0, &plain, 0, 64));
	assert_int_equal(page[0], 'x');
	munmap(page, 4096);
	assert_false(hca_mem_copy(&careful, 0, &plain, 0, 64));
	assert_false(hca_mem_copy(&plain, 0, &careful, 0, 64));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_of_any_cut_copy_like_plain_memory),
		cmocka_unit_test(a_null_piece_reads_as_zeros_and_swallows_writes),
		cmocka_unit_test(a_careful_piece_that_is_missing_fails_without_a_crash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
