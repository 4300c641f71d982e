/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Segments of the address space that do not overlap, in order: a treap. Its nodes lie in an arena of
 * their own, because the program's heap may be the memory that is being moved. The arena is reserved
 * once and never moves, so pointers to nodes stay valid. The caller provides the lock.
 */
#ifndef FABRIC_SHARE_TREE_H
#define FABRIC_SHARE_TREE_H

#include <stddef.h>
#include <stdint.h>

struct share_seg {
	uintptr_t start, end;
	uintptr_t park; /* where the private mapping is parked, 0 when there is none */
	uint32_t refs;
	uint32_t pins; /* of these: references that outlast a fork (share_range_pin()) */
	uint32_t left, right, weight; /* the treap's */
};

struct share_tree {
	struct share_seg *node; /* [0] is not used: index 0 means no node */
	uint32_t root, spare, used, count, capacity;
	uint32_t random;
};

/* `arena` holds `bytes`, zero or not. */
void share_tree_init(struct share_tree *tree, void *arena, size_t bytes);

/* -ENOMEM unless `n` more segments fit. */
int share_tree_reserve(const struct share_tree *tree, size_t n);

/* The first segment that ends behind addr, NULL when there is none. */
struct share_seg *share_tree_first(const struct share_tree *tree, uintptr_t addr);

/* The range must be free. There must be room. */
struct share_seg *share_tree_insert(struct share_tree *tree, uintptr_t start, uintptr_t end,
				    uintptr_t park, uint32_t refs);
void share_tree_remove(struct share_tree *tree, struct share_seg *seg);

/* Makes addr a boundary: a segment across it becomes two. There must be room for one. */
void share_tree_cut(struct share_tree *tree, uintptr_t addr);
/* Joins neighbours with equal contents, from the one before start to the one behind end. */
void share_tree_join(struct share_tree *tree, uintptr_t start, uintptr_t end);

#endif
