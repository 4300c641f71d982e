/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The hash table of embedded links.
 */
#include <stdlib.h>

#include "cmocka_all.h"
#include "util/hash.h"

#define MANY 10000

struct object {
	int number;
	struct hash_link link;
};

static struct object *object_of(struct hash_link *link)
{
	return link ? container_of(link, struct object, link) : NULL;
}

static void a_table_of_zeros_is_empty(void **state)
{
	struct hash h = { 0 };

	(void)state;
	assert_null(hash_find(&h, 0));
	assert_null(hash_find(&h, 1));
}

static void objects_are_found_by_their_keys_while_the_table_grows(void **state)
{
	struct object *all = calloc(MANY, sizeof(*all));
	struct hash h = { 0 };

	(void)state;
	for (int i = 0; i < MANY; i++) {
		all[i].number = i;
		hash_add(&h, &all[i].link, (uint64_t)i * 64);
	}
	for (int i = 0; i < MANY; i++)
		assert_ptr_equal(object_of(hash_find(&h, (uint64_t)i * 64)), &all[i]);
	assert_null(hash_find(&h, 1));
	for (int i = 0; i < MANY; i += 2)
		hash_remove(&h, &all[i].link);
	for (int i = 0; i < MANY; i++)
		assert_ptr_equal(object_of(hash_find(&h, (uint64_t)i * 64)),
				 i % 2 ? &all[i] : NULL);
	assert_int_equal(h.count, MANY / 2);
	hash_fini(&h);
	free(all);
}

static void all_objects_with_one_key_are_found_after_growth_too(void **state)
{
	struct object same[3] = { { 0 } }, *others = calloc(MANY, sizeof(*others));
	struct hash h = { 0 };
	int found = 0;

	(void)state;
	for (int i = 0; i < 3; i++) {
		same[i].number = 1 << i;
		hash_add(&h, &same[i].link, 7);
	}
	for (int i = 0; i < MANY; i++)
		hash_add(&h, &others[i].link, 100 + (uint64_t)i);
	for (struct hash_link *link = hash_find(&h, 7); link; link = hash_next(link))
		found |= object_of(link)->number;
	assert_int_equal(found, 7);
	hash_remove(&h, &same[1].link);
	found = 0;
	for (struct hash_link *link = hash_find(&h, 7); link; link = hash_next(link))
		found |= object_of(link)->number;
	assert_int_equal(found, 5);
	hash_fini(&h);
	free(others);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_table_of_zeros_is_empty),
		cmocka_unit_test(objects_are_found_by_their_keys_while_the_table_grows),
		cmocka_unit_test(all_objects_with_one_key_are_found_after_growth_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
