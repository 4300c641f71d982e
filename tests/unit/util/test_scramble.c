/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmocka_all.h"

#include <stdlib.h>
#include <string.h>

#include "util/scramble.h"

static void each_number_comes_once(void **state)
{
	struct scramble s = { { 0 } };
	bool *seen = calloc(1u << 21, sizeof(*seen));

	assert_non_null(seen);
	for (int keyed = 0; keyed < 2; keyed++) {
		if (keyed)
			assert_true(scramble_init(&s));
		for (unsigned int bits = 2; bits <= 21; bits++) {
			memset(seen, 0, 1u << 21);
			for (uint32_t n = 0; n < 1u << bits; n++) {
				uint32_t got = scramble(&s, n, bits);

				assert_true(got < 1u << bits);
				assert_false(seen[got]);
				seen[got] = true;
			}
		}
	}
	free(seen);
}

static void numbers_of_32_bits_differ(void **state)
{
	struct scramble s;

	assert_true(scramble_init(&s));
	for (uint32_t n = 0; n < 1000; n++)
		assert_int_not_equal(scramble(&s, n, 32), scramble(&s, ~n, 32));
}

/* Of 1,000 numbers, about one in 2^20 would be the successor of the one before it. */
static void nothing_counts_up(void **state)
{
	struct scramble s, other;
	unsigned int up = 0, same = 0;

	assert_true(scramble_init(&s));
	assert_true(scramble_init(&other));
	for (uint32_t n = 0; n < 1000; n++) {
		up += scramble(&s, n + 1, 20) == scramble(&s, n, 20) + 1;
		same += scramble(&s, n, 20) == scramble(&other, n, 20);
	}
	assert_true(up < 5);
	assert_true(same < 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_number_comes_once),
		cmocka_unit_test(numbers_of_32_bits_differ),
		cmocka_unit_test(nothing_counts_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
