/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of rsockets by the program's descriptors. The program has the number of a kernel socket that is
 * never connected; the rsocket is reached through the number's slot. Every read() and write() of a
 * program passes here, on files too: look-ups take no lock. Changes are made under the library's lock.
 *
 * A slot is one word, so a look-up gives a kind and an rsocket that belong together.
 */
#ifndef RSPRELOAD_TABLE_H
#define RSPRELOAD_TABLE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* LATE_*: the connection is made over RDMA by the process that uses it first; late.h. */
enum rsp_kind {
	RSP_NONE, /* the kernel's */
	RSP_RSOCKET,
	RSP_LATE, /* neither listens nor is connected */
	RSP_LATE_LISTEN,
	RSP_LATE_ACTIVE,  /* connected by connect() */
	RSP_LATE_PASSIVE, /* by accept() */
	RSP_LATE_BUSY,    /* a thread is moving the connection to RDMA */
	RSP_EPOLL,        /* an epoll instance that watches rsockets; epoll.h */
};

#define RSP_CHUNKS      1024
#define RSP_CHUNK_SLOTS 1024
#define RSP_MAX_NUMBER  (RSP_CHUNKS * RSP_CHUNK_SLOTS)

struct rsp_slot {
	_Atomic uint64_t word; /* kind in the low 8 bits, rsocket above */
	_Atomic int edge;      /* an epoll instance watches the number edge-triggered */
	int users;             /* how many slots have the rsocket of this number */
};

/* Slots are never freed. */
struct rsp_table {
	struct rsp_slot *_Atomic chunks[RSP_CHUNKS];
};

static inline struct rsp_slot *rsp_table_slot(struct rsp_table *table, int number)
{
	struct rsp_slot *chunk;

	if ((unsigned int)number >= RSP_MAX_NUMBER)
		return NULL;
	/* [RSP1] pairs with rsp_table_reserve(): the slots are zeroed before they are seen */
	chunk = atomic_load_explicit(&table->chunks[number / RSP_CHUNK_SLOTS],
				     memory_order_acquire);
	return chunk ? &chunk[number % RSP_CHUNK_SLOTS] : NULL;
}

static inline enum rsp_kind rsp_table_get(struct rsp_table *table, int number, int *rs)
{
	struct rsp_slot *slot = rsp_table_slot(table, number);
	uint64_t word = slot ? atomic_load_explicit(&slot->word, memory_order_relaxed) : 0;

	*rs = (int)(word >> 8);
	return (enum rsp_kind)(word & 0xff);
}

/* Makes sure that the number has a slot: 0, -ENOMEM, or -EMFILE above RSP_MAX_NUMBER. */
int rsp_table_reserve(struct rsp_table *table, int number);

/* The number has a slot. rs counts for RSP_RSOCKET only: one more number stands for it. */
void rsp_table_set(struct rsp_table *table, int number, enum rsp_kind kind, int rs);

/* The number is the kernel's again. Returns the rsocket if no other number stands for it, else -1. */
int rsp_table_clear(struct rsp_table *table, int number);

/* Calls fn for every number that has a kind. */
void rsp_table_walk(struct rsp_table *table,
		    void (*fn)(struct rsp_table *, int, enum rsp_kind, int));

#endif
