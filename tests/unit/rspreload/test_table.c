/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmocka_all.h"

#include <errno.h>
#include <stdlib.h>

#include "rspreload/table.h"

static int setup(void **state)
{
	*state = calloc(1, sizeof(struct rsp_table));
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	struct rsp_table *table = *state;

	for (int i = 0; i < RSP_CHUNKS; i++)
		free(table->chunks[i]);
	free(table);
	return 0;
}

static void put(struct rsp_table *table, int number, enum rsp_kind kind, int rs)
{
	assert_int_equal(rsp_table_reserve(table, number), 0);
	assert_int_equal(rsp_table_reserve(table, rs), 0);
	rsp_table_set(table, number, kind, rs);
}

static void a_number_that_was_not_set_is_the_kernels(void **state)
{
	static const int numbers[] = { -1, 0, 5, 1023, 1024, RSP_MAX_NUMBER - 1, RSP_MAX_NUMBER };
	int rs;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		assert_int_equal(rsp_table_get(*state, numbers[i], &rs), RSP_NONE);
}

static void a_number_finds_its_rsocket(void **state)
{
	int rs;

	put(*state, 5, RSP_RSOCKET, 70000);
	assert_int_equal(rsp_table_get(*state, 5, &rs), RSP_RSOCKET);
	assert_int_equal(rs, 70000);
	assert_int_equal(rsp_table_get(*state, 6, &rs), RSP_NONE);
	assert_int_equal(rsp_table_get(*state, 70000, &rs), RSP_NONE);
}

static void the_last_of_several_numbers_gives_the_rsocket_back(void **state)
{
	int rs;

	put(*state, 5, RSP_RSOCKET, 7);
	put(*state, 2000, RSP_RSOCKET, 7);
	put(*state, 9, RSP_RSOCKET, 8);
	assert_int_equal(rsp_table_clear(*state, 5), -1);
	assert_int_equal(rsp_table_get(*state, 5, &rs), RSP_NONE);
	assert_int_equal(rsp_table_get(*state, 2000, &rs), RSP_RSOCKET);
	assert_int_equal(rsp_table_clear(*state, 2000), 7);
	assert_int_equal(rsp_table_clear(*state, 2000), -1);
	assert_int_equal(rsp_table_clear(*state, 9), 8);
}

static void other_kinds_have_no_rsocket_to_give_back(void **state)
{
	int rs;

	put(*state, 5, RSP_LATE_LISTEN, 7);
	assert_int_equal(rsp_table_get(*state, 5, &rs), RSP_LATE_LISTEN);
	assert_int_equal(rsp_table_clear(*state, 5), -1);
	assert_int_equal(rsp_table_clear(*state, 123456), -1);
}

static void numbers_beyond_the_table_are_refused(void **state)
{
	assert_int_equal(rsp_table_reserve(*state, RSP_MAX_NUMBER), -EMFILE);
	assert_int_equal(rsp_table_reserve(*state, -1), -EMFILE);
}

static void count(struct rsp_table *table, int number, enum rsp_kind kind, int rs)
{
	function_called();
	check_expected(number);
}

static void a_walk_meets_every_number_once_in_order(void **state)
{
	static const int numbers[] = { 0, 1023, 1024, 500000, RSP_MAX_NUMBER - 1 };

	expect_function_calls(count, 5);
	for (int i = 0; i < 5; i++) {
		put(*state, numbers[i], RSP_RSOCKET, 3);
		expect_value(count, number, numbers[i]);
	}
	rsp_table_walk(*state, count);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_number_that_was_not_set_is_the_kernels),
		TEST(a_number_finds_its_rsocket),
		TEST(the_last_of_several_numbers_gives_the_rsocket_back),
		TEST(other_kinds_have_no_rsocket_to_give_back),
		TEST(numbers_beyond_the_table_are_refused),
		TEST(a_walk_meets_every_number_once_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
