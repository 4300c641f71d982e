/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "util/heap.h"

#define NODES 500u

static void check(const struct heap *heap)
{
	for (size_t i = 0; i < heap->nodes.count; i++) {
		assert_int_equal(heap->nodes.data[i]->index_1, i + 1);
		if (i)
			assert_true(heap->nodes.data[(i - 1) / 2]->key <= heap->nodes.data[i]->key);
	}
}

static void an_empty_heap_has_no_first_node(void **state)
{
	struct heap heap = { 0 };

	assert_null(heap_first(&heap));
}

static void nodes_come_out_by_their_keys(void **state)
{
	static struct heap_node node[NODES];
	struct heap heap = { 0 };
	uint64_t last = 0;
	unsigned int seed = 1;

	for (size_t i = 0; i < NODES; i++) {
		assert_int_equal(heap_set(&heap, &node[i], (uint64_t)rand_r(&seed) % 100), 0);
		check(&heap);
	}
	for (size_t i = 0; i < NODES; i++) {
		struct heap_node *first = heap_first(&heap);

		assert_true(first->key >= last);
		last = first->key;
		heap_remove(&heap, first);
		assert_false(heap_contains(first));
		check(&heap);
	}
	assert_null(heap_first(&heap));
	heap_fini(&heap);
}

static void keys_use_all_64_bits(void **state)
{
	struct heap_node low = { 0 }, high = { 0 };
	struct heap heap = { 0 };

	heap_set(&heap, &high, UINT64_MAX);
	heap_set(&heap, &low, (uint64_t)INT64_MAX);
	assert_ptr_equal(heap_first(&heap), &low);
	heap_fini(&heap);
}

static void setting_a_node_again_moves_it_both_ways(void **state)
{
	static struct heap_node node[NODES];
	struct heap heap = { 0 };
	unsigned int seed = 2;

	for (size_t i = 0; i < NODES; i++)
		heap_set(&heap, &node[i], 1000 + i);
	heap_set(&heap, &node[NODES - 1], 1);
	assert_ptr_equal(heap_first(&heap), &node[NODES - 1]);
	heap_set(&heap, &node[NODES - 1], 5000);
	assert_ptr_equal(heap_first(&heap), &node[0]);
	for (size_t i = 0; i < 20 * NODES; i++) {
		heap_set(&heap, &node[(size_t)rand_r(&seed) % NODES], (uint64_t)rand_r(&seed));
		assert_int_equal(heap.nodes.count, NODES);
	}
	check(&heap);
	heap_fini(&heap);
}

static void any_node_can_be_removed(void **state)
{
	static struct heap_node node[NODES];
	struct heap heap = { 0 };
	unsigned int seed = 3;

	for (size_t i = 0; i < NODES; i++)
		heap_set(&heap, &node[i], (uint64_t)rand_r(&seed) % 1000);
	for (size_t i = 0; i < NODES; i += 2) {
		heap_remove(&heap, &node[i]);
		heap_remove(&heap, &node[i]);
		check(&heap);
	}
	assert_int_equal(heap.nodes.count, NODES / 2);
	for (size_t i = 0; i < NODES; i++)
		assert_int_equal(heap_contains(&node[i]), i % 2);
	heap_fini(&heap);
}

static void a_node_with_reserved_room_needs_no_memory(void **state)
{
	struct heap_node node[3] = { 0 };
	struct heap heap = { 0 };
	struct heap_node **data;

	assert_int_equal(heap_reserve(&heap, 3), 0);
	data = heap.nodes.data;
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(heap_set(&heap, &node[i], 3 - i), 0);
	assert_ptr_equal(heap.nodes.data, data);
	assert_ptr_equal(heap_first(&heap), &node[2]);
	heap_fini(&heap);
}

static void nodes_of_a_freed_heap_are_in_none(void **state)
{
	struct heap_node node[2] = { 0 };
	struct heap heap = { 0 };

	heap_set(&heap, &node[0], 1);
	heap_set(&heap, &node[1], 2);
	heap_fini(&heap);
	assert_false(heap_contains(&node[0]));
	assert_null(heap_first(&heap));
	assert_int_equal(heap_set(&heap, &node[1], 7), 0);
	assert_ptr_equal(heap_first(&heap), &node[1]);
	heap_fini(&heap);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_heap_has_no_first_node),
		cmocka_unit_test(nodes_come_out_by_their_keys),
		cmocka_unit_test(keys_use_all_64_bits),
		cmocka_unit_test(setting_a_node_again_moves_it_both_ways),
		cmocka_unit_test(any_node_can_be_removed),
		cmocka_unit_test(a_node_with_reserved_room_needs_no_memory),
		cmocka_unit_test(nodes_of_a_freed_heap_are_in_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
