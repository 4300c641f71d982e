/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A bit per cell, and a bit per word of these that is full: the search looks at no more than 17
 * words, however many threads there are. Under cells.lock, once at the start and the end of a thread.
 */
#include "fabric/epoch_cells.h"

#include <string.h>

#include "fabric/lock.h"

#define WORD_BITS 64u

static bool is_taken(const struct epoch_cells *cells, uint32_t index)
{
	return cells->taken[index / WORD_BITS] >> (index % WORD_BITS) & 1;
}

/* EPOCH_CELLS when all are taken. */
static uint32_t find_free(const struct epoch_cells *cells)
{
	for (uint32_t i = 0; i < EPOCH_CELL_WORDS / WORD_BITS; i++) {
		uint32_t word;

		if (!~cells->full[i])
			continue;
		word = i * WORD_BITS + (uint32_t)__builtin_ctzll(~cells->full[i]);
		return word * WORD_BITS + (uint32_t)__builtin_ctzll(~cells->taken[word]);
	}
	return EPOCH_CELLS;
}

static void mark_taken(struct epoch_cells *cells, uint32_t index)
{
	uint32_t word = index / WORD_BITS;

	cells->taken[word] |= 1ull << (index % WORD_BITS);
	if (!~cells->taken[word])
		cells->full[word / WORD_BITS] |= 1ull << (word % WORD_BITS);
}

static void mark_free(struct epoch_cells *cells, uint32_t index)
{
	uint32_t word = index / WORD_BITS;

	cells->taken[word] &= ~(1ull << (index % WORD_BITS));
	cells->full[word / WORD_BITS] &= ~(1ull << (word % WORD_BITS));
}

struct epoch_cell *epoch_cells_take(struct epoch_cells *cells, struct epoch_area *area)
{
	uint32_t index;

	fabric_lock(&cells->lock);
	index = find_free(cells);
	if (index < EPOCH_CELLS) {
		mark_taken(cells, index);
		/* Before the first section: a thread that waits sees both, or neither ([E1]). */
		if (index >= atomic_load(&area->high))
			atomic_store(&area->high, index + 1);
	}
	fabric_unlock(&cells->lock);
	return index < EPOCH_CELLS ? &area->cell[index] : NULL;
}

void epoch_cells_put(struct epoch_cells *cells, struct epoch_area *area,
		     const struct epoch_cell *cell)
{
	uint32_t index = (uint32_t)(cell - area->cell), high;

	fabric_lock(&cells->lock);
	mark_free(cells, index);
	high = atomic_load(&area->high);
	if (index + 1 == high) {
		while (high && !is_taken(cells, high - 1))
			high--;
		atomic_store(&area->high, high);
	}
	fabric_unlock(&cells->lock);
}

void epoch_cells_reset(struct epoch_cells *cells)
{
	memset(cells, 0, sizeof(*cells));
}
