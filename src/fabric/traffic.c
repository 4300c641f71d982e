/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The block of a process that died keeps its counts until another process claims the block. While counts move
 * from a block to a row, readers miss them: they show no value that is less than an earlier one.
 */
#include "fabric/traffic.h"

#include <stdbool.h>
#include <stddef.h>

#include "fabric/directory.h"
#include "fabric/dirfile.h"

#define PROBES 64u

/* Indexes in the row of the peer's port, by counts of a block: it receives what this port sends. */
static const uint8_t at_other[FABRIC_TRAFFIC_COUNTS] = {
	[FABRIC_DIRECT_TX_BYTES] = FABRIC_RX_BYTES,
	[FABRIC_DIRECT_TX_PACKETS] = FABRIC_RX_UNICAST,
	[FABRIC_DIRECT_RX_BYTES] = FABRIC_TX_BYTES,
	[FABRIC_DIRECT_RX_PACKETS] = FABRIC_TX_UNICAST,
};

static const uint8_t at_port[FABRIC_TRAFFIC_COUNTS] = {
	[FABRIC_TX_BYTES] = FABRIC_TX_BYTES,         [FABRIC_TX_UNICAST] = FABRIC_TX_UNICAST,
	[FABRIC_TX_MULTICAST] = FABRIC_TX_MULTICAST, [FABRIC_RX_BYTES] = FABRIC_RX_BYTES,
	[FABRIC_RX_UNICAST] = FABRIC_RX_UNICAST,     [FABRIC_RX_MULTICAST] = FABRIC_RX_MULTICAST,
	[FABRIC_DIRECT_TX_BYTES] = FABRIC_TX_BYTES,  [FABRIC_DIRECT_TX_PACKETS] = FABRIC_TX_UNICAST,
	[FABRIC_DIRECT_RX_BYTES] = FABRIC_RX_BYTES,  [FABRIC_DIRECT_RX_PACKETS] = FABRIC_RX_UNICAST,
};

static void add_to_row(struct dir_file *dir, unsigned int row, unsigned int what, uint64_t n)
{
	if (row && row <= DIR_PORTS)
		atomic_fetch_add_explicit(&dir->port[row - 1].count[DIR_PORT_TRAFFIC + what], n,
					  memory_order_relaxed);
}

static void move_to_rows(struct dir_file *dir, struct fabric_traffic *t)
{
	unsigned int port = atomic_load_explicit(&t->port, memory_order_relaxed);
	unsigned int other = atomic_load_explicit(&t->other, memory_order_relaxed);

	for (unsigned int i = 0; i < FABRIC_TRAFFIC_COUNTS; i++) {
		uint64_t n = atomic_exchange_explicit(&t->count[i], 0, memory_order_relaxed);

		if (!n)
			continue;
		add_to_row(dir, port, at_port[i], n);
		if (i >= FABRIC_TRAFFIC_OF_PORT)
			add_to_row(dir, other, at_other[i], n);
	}
}

struct fabric_traffic *fabric_traffic_claim(unsigned int row, uint32_t hint)
{
	struct dir_file *dir = fabric_directory_file();

	for (uint32_t i = 0; dir && row && i < PROBES; i++) {
		struct fabric_traffic *t = &dir->traffic[(hint + i) % DIR_TRAFFIC];
		fabric_id_t id = atomic_load_explicit(&t->owner, memory_order_relaxed);

		if (dir_is_listed(dir, id) ||
		    !atomic_compare_exchange_strong(&t->owner, &id, fabric_self()))
			continue;
		move_to_rows(dir, t);
		atomic_store_explicit(&t->port, row, memory_order_relaxed);
		atomic_store_explicit(&t->other, 0, memory_order_relaxed);
		return t;
	}
	return NULL;
}

void fabric_traffic_release(struct fabric_traffic *t)
{
	struct dir_file *dir = fabric_directory_file();

	if (!dir)
		return;
	move_to_rows(dir, t);
	atomic_store(&t->owner, FABRIC_ID_NONE);
}

void fabric_traffic_set_other(struct fabric_traffic *t, unsigned int row)
{
	struct dir_file *dir = fabric_directory_file();

	if (dir)
		move_to_rows(dir, t);
	atomic_store_explicit(&t->other, row, memory_order_relaxed);
}

void fabric_traffic_add_direct(unsigned int row, unsigned int other, unsigned int what, uint64_t n)
{
	struct dir_file *dir = fabric_directory_file();

	if (!dir)
		return;
	add_to_row(dir, row, at_port[what], n);
	add_to_row(dir, other, at_other[what], n);
}

void fabric_traffic_sum(const struct dir_file *dir, unsigned int row,
			uint64_t out[FABRIC_TRAFFIC_OF_PORT])
{
	for (unsigned int k = 0; k < DIR_TRAFFIC; k++) {
		const struct fabric_traffic *t = &dir->traffic[k];
		bool port, other;

		if (!atomic_load_explicit(&t->owner, memory_order_relaxed))
			continue;
		port = atomic_load_explicit(&t->port, memory_order_relaxed) == row;
		other = atomic_load_explicit(&t->other, memory_order_relaxed) == row;
		for (unsigned int i = 0; (port || other) && i < FABRIC_TRAFFIC_COUNTS; i++) {
			uint64_t n = atomic_load_explicit(&t->count[i], memory_order_relaxed);

			if (port)
				out[at_port[i]] += n;
			if (other && i >= FABRIC_TRAFFIC_OF_PORT)
				out[at_other[i]] += n;
		}
	}
}
