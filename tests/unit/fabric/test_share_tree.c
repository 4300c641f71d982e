/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "fabric/share_tree.h"

#define SLOTS 200u

static struct share_seg arena[4096];

static void a_segment_is_found_by_every_address_below_its_end(void **state)
{
	struct share_tree tree;

	share_tree_init(&tree, arena, sizeof(arena));
	assert_null(share_tree_first(&tree, 0));
	share_tree_insert(&tree, 100, 200, 0, 1);
	share_tree_insert(&tree, 300, 400, 0, 1);
	assert_int_equal(share_tree_first(&tree, 0)->start, 100);
	assert_int_equal(share_tree_first(&tree, 199)->start, 100);
	assert_int_equal(share_tree_first(&tree, 200)->start, 300);
	assert_null(share_tree_first(&tree, 400));
}

static void a_cut_keeps_references_and_the_place_of_parking(void **state)
{
	struct share_tree tree;
	struct share_seg *right;

	share_tree_init(&tree, arena, sizeof(arena));
	share_tree_insert(&tree, 100, 200, 5100, 7);
	share_tree_cut(&tree, 100);
	share_tree_cut(&tree, 200);
	assert_int_equal(tree.count, 1);
	share_tree_cut(&tree, 130);
	assert_int_equal(tree.count, 2);
	right = share_tree_first(&tree, 130);
	assert_int_equal(right->start, 130);
	assert_int_equal(right->end, 200);
	assert_int_equal(right->park, 5130);
	assert_int_equal(right->refs, 7);
	share_tree_join(&tree, 130, 130);
	assert_int_equal(tree.count, 1);
	assert_int_equal(share_tree_first(&tree, 0)->end, 200);
}

static void neighbours_that_differ_are_not_joined(void **state)
{
	struct share_tree tree;

	share_tree_init(&tree, arena, sizeof(arena));
	share_tree_insert(&tree, 0, 10, 0, 1);
	share_tree_insert(&tree, 10, 20, 0, 2);
	share_tree_insert(&tree, 20, 30, 500, 2);
	share_tree_insert(&tree, 30, 40, 600, 2);
	share_tree_insert(&tree, 50, 60, 620, 2);
	share_tree_join(&tree, 0, 60);
	assert_int_equal(tree.count, 5);
}

static void the_arena_is_used_to_the_last_node_and_no_further(void **state)
{
	struct share_tree tree;
	size_t n = 0;

	share_tree_init(&tree, arena, 100 * sizeof(arena[0]));
	while (!share_tree_reserve(&tree, 1)) {
		share_tree_insert(&tree, n * 10, n * 10 + 5, 0, 1);
		n++;
	}
	assert_in_range(n, 95, 99);
	while (tree.count)
		share_tree_remove(&tree, share_tree_first(&tree, 0));
	assert_int_equal(share_tree_reserve(&tree, n), 0);
}

/* Against an array that holds the same by address. */
static void books_agree_with_a_plain_array(void **state)
{
	uint32_t refs[SLOTS] = { 0 };
	struct share_tree tree;
	unsigned int seed = 42;

	share_tree_init(&tree, arena, sizeof(arena));
	for (unsigned int step = 0; step < 20000; step++) {
		uintptr_t a = (unsigned int)rand_r(&seed) % SLOTS, b, at;
		int up = rand_r(&seed) % 2;

		b = a + 1 + (unsigned int)rand_r(&seed) % (SLOTS - a);
		share_tree_cut(&tree, a);
		share_tree_cut(&tree, b);
		for (at = a; at < b;) {
			struct share_seg *seg = share_tree_first(&tree, at);

			if (!seg || seg->start > at) {
				uintptr_t end = seg && seg->start < b ? seg->start : b;

				if (up)
					share_tree_insert(&tree, at, end, 1000 + at, 1);
				at = end;
				continue;
			}
			at = seg->end;
			if (up)
				seg->refs++;
			else if (!--seg->refs)
				share_tree_remove(&tree, seg);
		}
		share_tree_join(&tree, a, b);
		for (at = a; at < b; at++)
			refs[at] += up ? 1 : refs[at] ? -1 : 0;
		/* Counts are equal everywhere, and segments as few as possible. */
		unsigned int runs = 0;

		for (at = 0; at < SLOTS; at++) {
			struct share_seg *seg = share_tree_first(&tree, at);
			uint32_t have = seg && seg->start <= at ? seg->refs : 0;

			assert_int_equal(have, refs[at]);
			if (have)
				assert_int_equal(seg->park + (at - seg->start), 1000 + at);
			runs += refs[at] && (!at || refs[at - 1] != refs[at]);
		}
		assert_int_equal(tree.count, runs);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_segment_is_found_by_every_address_below_its_end),
		cmocka_unit_test(a_cut_keeps_references_and_the_place_of_parking),
		cmocka_unit_test(neighbours_that_differ_are_not_joined),
		cmocka_unit_test(the_arena_is_used_to_the_last_node_and_no_further),
		cmocka_unit_test(books_agree_with_a_plain_array),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
