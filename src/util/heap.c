/* SPDX-License-Identifier: BSD-2-Clause */
#include "util/heap.h"

static void place(struct heap *heap, struct heap_node *node, size_t index)
{
	heap->nodes.data[index] = node;
	node->index_1 = index + 1;
}

/* Both move a hole from `index` to where the node belongs, and put the node there. */

static void sift_up(struct heap *heap, struct heap_node *node, size_t index)
{
	while (index) {
		struct heap_node *parent = heap->nodes.data[(index - 1) / 2];

		if (parent->key <= node->key)
			break;
		place(heap, parent, index);
		index = (index - 1) / 2;
	}
	place(heap, node, index);
}

static void sift_down(struct heap *heap, struct heap_node *node, size_t index)
{
	struct heap_node **data = heap->nodes.data;
	size_t count = heap->nodes.count, child;

	while ((child = 2 * index + 1) < count) {
		if (child + 1 < count && data[child + 1]->key < data[child]->key)
			child++;
		if (node->key <= data[child]->key)
			break;
		place(heap, data[child], index);
		index = child;
	}
	place(heap, node, index);
}

/* Puts the node into the hole at `index`, or above or below it. */
static void settle(struct heap *heap, struct heap_node *node, size_t index)
{
	if (index && heap->nodes.data[(index - 1) / 2]->key > node->key)
		sift_up(heap, node, index);
	else
		sift_down(heap, node, index);
}

int heap_reserve(struct heap *heap, size_t count)
{
	return array_reserve(&heap->nodes, count);
}

int heap_set(struct heap *heap, struct heap_node *node, uint64_t key)
{
	int err = heap_contains(node) ? 0 : array_push(&heap->nodes, node);

	if (err)
		return err;
	node->key = key;
	settle(heap, node, (heap_contains(node) ? node->index_1 : heap->nodes.count) - 1);
	return 0;
}

void heap_remove(struct heap *heap, struct heap_node *node)
{
	struct heap_node *last;

	if (!heap_contains(node))
		return;
	last = heap->nodes.data[--heap->nodes.count];
	if (last != node)
		settle(heap, last, node->index_1 - 1);
	node->index_1 = 0;
}

struct heap_node *heap_first(const struct heap *heap)
{
	return heap->nodes.count ? heap->nodes.data[0] : NULL;
}

void heap_fini(struct heap *heap)
{
	for (size_t i = 0; i < heap->nodes.count; i++)
		heap->nodes.data[i]->index_1 = 0;
	array_fini(&heap->nodes);
}
