/* SPDX-License-Identifier: BSD-2-Clause */
#include "rspreload/table.h"

#include <errno.h>
#include <stdlib.h>

static int reserve_chunk(struct rsp_table *table, int number)
{
	struct rsp_slot *chunk;

	if (rsp_table_slot(table, number))
		return 0;
	chunk = calloc(RSP_CHUNK_SLOTS, sizeof(*chunk));
	if (!chunk)
		return -ENOMEM;
	/* [RSP1] */
	atomic_store_explicit(&table->chunks[number / RSP_CHUNK_SLOTS], chunk,
			      memory_order_release);
	return 0;
}

int rsp_table_reserve(struct rsp_table *table, int number)
{
	return (unsigned int)number < RSP_MAX_NUMBER ? reserve_chunk(table, number) : -EMFILE;
}

static void put_word(struct rsp_slot *slot, enum rsp_kind kind, int rs)
{
	atomic_store_explicit(&slot->word, (uint64_t)rs << 8 | kind, memory_order_relaxed);
}

void rsp_table_set(struct rsp_table *table, int number, enum rsp_kind kind, int rs)
{
	if (kind != RSP_RSOCKET)
		rs = 0;
	else
		rsp_table_slot(table, rs)->users++;
	put_word(rsp_table_slot(table, number), kind, rs);
}

int rsp_table_clear(struct rsp_table *table, int number)
{
	struct rsp_slot *slot = rsp_table_slot(table, number);
	enum rsp_kind kind;
	int rs;

	if (!slot)
		return -1;
	kind = rsp_table_get(table, number, &rs);
	put_word(slot, RSP_NONE, 0);
	atomic_store_explicit(&slot->edge, 0, memory_order_relaxed);
	if (kind != RSP_RSOCKET)
		return -1;
	return --rsp_table_slot(table, rs)->users ? -1 : rs;
}

void rsp_table_walk(struct rsp_table *table,
		    void (*fn)(struct rsp_table *, int, enum rsp_kind, int))
{
	enum rsp_kind kind;
	int number, rs;

	for (number = 0; number < RSP_MAX_NUMBER; number++) {
		if (!rsp_table_slot(table, number)) {
			number |= RSP_CHUNK_SLOTS - 1;
			continue;
		}
		kind = rsp_table_get(table, number, &rs);
		if (kind != RSP_NONE)
			fn(table, number, kind, rs);
	}
}
