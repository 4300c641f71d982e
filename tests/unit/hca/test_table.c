/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmocka_all.h"

#include <errno.h>
#include <stdlib.h>

#include "hca/device/table.h"

static void numbers_start_at_the_first_and_end_at_the_limit(void **state)
{
	struct hca_numbers n = { .first = 5, .limit = 8 };
	uint32_t got;

	for (uint32_t want = 5; want < 8; want++) {
		assert_int_equal(hca_number_get(&n, &got), 0);
		assert_int_equal(got, want);
	}
	assert_int_equal(hca_number_get(&n, &got), -ENOSPC);
	hca_number_put(&n, 6);
	assert_int_equal(hca_number_get(&n, &got), 0);
	assert_int_equal(got, 6);
	assert_int_equal(hca_number_get(&n, &got), -ENOSPC);
	free(n.queue);
}

static void numbers_may_start_anywhere_and_go_around(void **state)
{
	struct hca_numbers n = { .first = 5, .limit = 8, .start = 2 };
	const uint32_t want[] = { 7, 5, 6 };
	uint32_t got;

	for (int i = 0; i < 3; i++) {
		assert_int_equal(hca_number_get(&n, &got), 0);
		assert_int_equal(got, want[i]);
	}
	assert_int_equal(hca_number_get(&n, &got), -ENOSPC);
}

static void a_number_given_back_waits_behind_fresh_ones(void **state)
{
	struct hca_numbers n = { .first = 1, .limit = 1 << 20 };
	uint32_t got;

	assert_int_equal(hca_number_get(&n, &got), 0);
	hca_number_put(&n, got);
	for (int i = 0; i < 60; i++) {
		assert_int_equal(hca_number_get(&n, &got), 0);
		assert_int_not_equal(got, 1);
	}
	free(n.queue);
}

static void numbers_are_never_out_twice(void **state)
{
	struct hca_numbers n = { .first = 0, .limit = 500 };
	bool out[500] = { false };
	uint32_t got, held[500];
	int count = 0;

	srand(1);
	for (int i = 0; i < 20000; i++) {
		if (count && (rand() & 1)) {
			int k = rand() % count;

			out[held[k]] = false;
			hca_number_put(&n, held[k]);
			held[k] = held[--count];
		} else if (!hca_number_get(&n, &got)) {
			assert_true(got < 500);
			assert_false(out[got]);
			out[got] = true;
			held[count++] = got;
		} else {
			assert_int_equal(count, 500);
		}
	}
	free(n.queue);
}

static void the_table_finds_what_was_set_and_nothing_else(void **state)
{
	static struct hca_table t;
	int a, b;

	assert_null(hca_table_find(&t, 0));
	assert_null(hca_table_find(&t, 0xffffff));
	assert_null(hca_table_find(&t, 0x1000000));
	assert_int_equal(hca_table_set(&t, 0xffffff, &a), 0);
	assert_int_equal(hca_table_set(&t, 7, &b), 0);
	assert_ptr_equal(hca_table_find(&t, 0xffffff), &a);
	assert_ptr_equal(hca_table_find(&t, 7), &b);
	assert_null(hca_table_find(&t, 8));
	assert_int_equal(hca_table_set(&t, 7, NULL), 0);
	assert_null(hca_table_find(&t, 7));
	assert_int_equal(hca_table_set(&t, 0x800000, NULL), 0);
	free((void *)t.top[0]);
	free((void *)t.top[0xfff]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_start_at_the_first_and_end_at_the_limit),
		cmocka_unit_test(numbers_may_start_anywhere_and_go_around),
		cmocka_unit_test(a_number_given_back_waits_behind_fresh_ones),
		cmocka_unit_test(numbers_are_never_out_twice),
		cmocka_unit_test(the_table_finds_what_was_set_and_nothing_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
