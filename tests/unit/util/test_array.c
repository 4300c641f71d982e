/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "util/array.h"

static void an_array_grows_and_keeps_its_elements(void **state)
{
	ARRAY_OF(int) array = { 0 };

	for (int i = 0; i < 1000; i++)
		assert_int_equal(array_push(&array, i), 0);
	assert_int_equal(array.count, 1000);
	assert_true(array.room >= 1000);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(array.data[i], i);
	array_fini(&array);
}

static void growing_at_least_doubles_the_room(void **state)
{
	ARRAY_OF(char) array = { 0 };
	size_t growths = 0, room = 0;

	for (int i = 0; i < 100000; i++) {
		assert_int_equal(array_push(&array, (char)i), 0);
		growths += array.room != room;
		room = array.room;
	}
	assert_true(growths < 20);
	array_fini(&array);
}

static void reserved_room_is_used_without_growing(void **state)
{
	ARRAY_OF(uint64_t) array = { 0 };
	uint64_t *data;

	assert_int_equal(array_reserve(&array, 0), 0);
	assert_null(array.data);
	assert_int_equal(array_reserve(&array, 77), 0);
	data = array.data;
	assert_non_null(data);
	for (uint64_t i = 0; i < 77; i++)
		array_push(&array, i);
	assert_ptr_equal(array.data, data);
	array_fini(&array);
}

static void without_memory_nothing_changes(void **state)
{
	volatile size_t too_much = SIZE_MAX / 16; /* volatile: the compiler would warn */
	ARRAY_OF(uint64_t) array = { 0 };
	uint64_t *data;

	if (*VB_SANITIZE)
		skip(); /* sanitizers end the program instead of refusing memory */
	array_push(&array, 5);
	data = array.data;
	assert_int_equal(array_reserve(&array, too_much), -ENOMEM);
	assert_ptr_equal(array.data, data);
	assert_int_equal(array.count, 1);
	assert_int_equal(array.data[0], 5);
	array_fini(&array);
}

static void the_last_element_takes_the_place_of_a_removed_one(void **state)
{
	ARRAY_OF(int) array = { 0 };

	for (int i = 0; i < 4; i++)
		array_push(&array, i);
	array_remove(&array, 1);
	assert_int_equal(array.count, 3);
	assert_int_equal(array.data[1], 3);
	array_remove(&array, 2);
	assert_int_equal(array.count, 2);
	assert_int_equal(array.data[0], 0);
	assert_int_equal(array.data[1], 3);
	array_fini(&array);
}

static void a_freed_array_is_empty_and_usable(void **state)
{
	ARRAY_OF(int) array = { 0 };

	array_push(&array, 1);
	array_fini(&array);
	assert_int_equal(array.count, 0);
	assert_int_equal(array_push(&array, 2), 0);
	assert_int_equal(array.data[0], 2);
	array_fini(&array);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_array_grows_and_keeps_its_elements),
		cmocka_unit_test(growing_at_least_doubles_the_room),
		cmocka_unit_test(reserved_room_is_used_without_growing),
		cmocka_unit_test(without_memory_nothing_changes),
		cmocka_unit_test(the_last_element_takes_the_place_of_a_removed_one),
		cmocka_unit_test(a_freed_array_is_empty_and_usable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
