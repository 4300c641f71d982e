/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stretches of the address space that do not overlap, in order: the books of share.c. A treap whose
 * nodes lie in an arena of their own, because the program's heap may be the very memory that is
 * being moved. The arena is reserved once and never moves, so nodes can be pointed to.
 *
 * No lock; share.c has one.
 */
#ifndef FABRIC_SHARE_TREE_H
#define FABRIC_SHARE_TREE_H

#include <stddef.h>
#include <stdint.h>

struct share_seg {
	uintptr_t start, end;
	uintptr_t park; /* where the private mapping waits, 0 when there is none */
	uint32_t refs;
	uint32_t left, right, weight; /* the treap's */
};

struct share_tree {
	struct share_seg *node; /* [0] is nobody */
	uint32_t root, spare, used, count, capacity;
	uint32_t random;
};

/* `arena` holds `bytes`, zero or not. */
void share_tree_init(struct share_tree *tree, void *arena, size_t bytes);

/* Whether `n` more segments fit, so that what follows cannot fail half-way. */
int share_tree_reserve(const struct share_tree *tree, size_t n);

/* The first segment that ends behind addr, NULL when there is none. */
struct share_seg *share_tree_first(const struct share_tree *tree, uintptr_t addr);

/* The range must be free. There must be room. */
struct share_seg *share_tree_insert(struct share_tree *tree, uintptr_t start, uintptr_t end,
				    uintptr_t park, uint32_t refs);
void share_tree_remove(struct share_tree *tree, struct share_seg *seg);

/* Makes addr a boundary: a segment across it becomes two. There must be room for one. */
void share_tree_cut(struct share_tree *tree, uintptr_t addr);
/* Makes one of neighbours that say the same, from the one before start to the one behind end. */
void share_tree_join(struct share_tree *tree, uintptr_t start, uintptr_t end);

#endif
