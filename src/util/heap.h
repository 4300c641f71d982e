/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A binary min-heap of elements with a key of 64 bits, such as timers with their deadlines. The
 * node is a member of the element and knows its place, so that setting and removing one takes
 * O(log n), and finding the smallest O(1). Elements with equal keys come in no particular order.
 * The caller provides the lock. All zero is an empty heap, or a node that is in none.
 */
#ifndef UTIL_HEAP_H
#define UTIL_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/api.h"
#include "util/array.h"

struct heap_node {
	uint64_t key;   /* of the heap: changed by heap_set() only */
	size_t index_1; /* index in heap->nodes + 1; 0 while the node is in no heap */
};

struct heap {
	ARRAY_OF(struct heap_node *) nodes;
};

/* Makes room for `count` nodes in all, so that heap_set() cannot fail up to that many. -ENOMEM. */
VB_API int heap_reserve(struct heap *heap, size_t count);
/* Adds the node, or changes the key of one that is in the heap. -ENOMEM only when it is new. */
VB_API int heap_set(struct heap *heap, struct heap_node *node, uint64_t key);
/* Does nothing when the node is in no heap. */
VB_API void heap_remove(struct heap *heap, struct heap_node *node);
/* Frees the heap's memory; its nodes are in no heap afterwards. */
VB_API void heap_fini(struct heap *heap);

static inline bool heap_contains(const struct heap_node *node)
{
	return node->index_1 != 0;
}

/* The node with the smallest key, which stays in the heap; NULL when the heap is empty. */
VB_API struct heap_node *heap_first(const struct heap *heap);

#endif
