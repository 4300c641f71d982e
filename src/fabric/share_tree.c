/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/share_tree.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>

void share_tree_init(struct share_tree *tree, void *arena, size_t bytes)
{
	*tree = (struct share_tree){
		.node = arena,
		.used = 1,
		.capacity = (uint32_t)(bytes / sizeof(struct share_seg)),
		.random = 2463534242u,
	};
	tree->node[0] = (struct share_seg){ 0 };
}

int share_tree_reserve(const struct share_tree *tree, size_t n)
{
	/* node[0] never counts, used or not */
	return n < tree->capacity - tree->count - 1 ? 0 : -ENOMEM;
}

static uint32_t node_alloc(struct share_tree *tree)
{
	uint32_t i = tree->spare;

	if (i)
		tree->spare = tree->node[i].right;
	else
		i = tree->used++;
	assert(i < tree->capacity);
	tree->count++;
	return i;
}

/* Everything that starts below addr goes to *lo, the rest to *hi. */
static void split(struct share_seg *node, uint32_t root, uintptr_t addr, uint32_t *lo, uint32_t *hi)
{
	while (root) {
		if (node[root].start < addr) {
			*lo = root;
			lo = &node[root].right;
			root = *lo;
		} else {
			*hi = root;
			hi = &node[root].left;
			root = *hi;
		}
	}
	*lo = 0;
	*hi = 0;
}

/* All of lo is below all of hi. */
static uint32_t merge(struct share_seg *node, uint32_t lo, uint32_t hi)
{
	uint32_t root = 0, *at = &root;

	while (lo && hi) {
		if (node[lo].weight > node[hi].weight) {
			*at = lo;
			at = &node[lo].right;
			lo = *at;
		} else {
			*at = hi;
			at = &node[hi].left;
			hi = *at;
		}
	}
	*at = lo ? lo : hi;
	return root;
}

struct share_seg *share_tree_first(const struct share_tree *tree, uintptr_t addr)
{
	struct share_seg *node = tree->node;
	uint32_t i = tree->root, best = 0;

	while (i) {
		if (node[i].end > addr) {
			best = i;
			i = node[i].left;
		} else {
			i = node[i].right;
		}
	}
	return best ? &node[best] : NULL;
}

struct share_seg *share_tree_insert(struct share_tree *tree, uintptr_t start, uintptr_t end,
				    uintptr_t park, uint32_t refs)
{
	uint32_t i = node_alloc(tree), lo, hi;
	struct share_seg *node = tree->node;

	tree->random ^= tree->random << 13;
	tree->random ^= tree->random >> 17;
	tree->random ^= tree->random << 5;
	node[i] = (struct share_seg){
		.start = start, .end = end, .park = park, .refs = refs, .weight = tree->random
	};
	split(node, tree->root, start, &lo, &hi);
	tree->root = merge(node, merge(node, lo, i), hi);
	return &node[i];
}

void share_tree_remove(struct share_tree *tree, struct share_seg *seg)
{
	struct share_seg *node = tree->node;
	uint32_t *at = &tree->root, i = (uint32_t)(seg - node);

	while (*at != i)
		at = node[*at].start < seg->start ? &node[*at].right : &node[*at].left;
	*at = merge(node, node[i].left, node[i].right);
	node[i].right = tree->spare;
	tree->spare = i;
	tree->count--;
}

void share_tree_cut(struct share_tree *tree, uintptr_t addr)
{
	struct share_seg *seg = share_tree_first(tree, addr);
	uintptr_t end;

	if (!seg || seg->start >= addr)
		return;
	end = seg->end;
	seg->end = addr;
	share_tree_insert(tree, addr, end, seg->park ? seg->park + (addr - seg->start) : 0,
			  seg->refs)
		->pins = seg->pins;
}

static bool alike(const struct share_seg *a, const struct share_seg *b)
{
	return a->end == b->start && a->refs == b->refs && a->pins == b->pins &&
	       !a->park == !b->park && (!a->park || a->park + (a->end - a->start) == b->park);
}

void share_tree_join(struct share_tree *tree, uintptr_t start, uintptr_t end)
{
	struct share_seg *seg = share_tree_first(tree, start ? start - 1 : 0), *next;

	while (seg && seg->start <= end) {
		next = share_tree_first(tree, seg->end);
		if (!next)
			return;
		if (!alike(seg, next)) {
			seg = next;
			continue;
		}
		share_tree_remove(tree, next);
		/* cppcheck-suppress nullPointerRedundantCheck ; the loop's condition holds */
		seg->end = next->end;
	}
}
