/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Numbers that the host directory hands out: blocks of queue-pair numbers, LIDs, and the rows of
 * counters. A block is taken and given back by one compare-and-swap, so it needs no lock: it is
 * free whenever its word names nobody who is listed.
 */
#include <errno.h>
#include <string.h>

#include "fabric/dirfile.h"
#include "fabric/service_priv.h"
#include "util/explain.h"

/* ---- queue-pair numbers ---- */

static uint32_t block_first(uint32_t block)
{
	return block ? block * FABRIC_QPN_BLOCK : FABRIC_QPN_FIRST;
}

static uint32_t block_last(uint32_t block)
{
	uint32_t last = (block + 1) * FABRIC_QPN_BLOCK - 1;

	return last > FABRIC_QPN_LAST ? FABRIC_QPN_LAST : last;
}

static bool block_take(struct dir_file *dir, uint32_t block, fabric_id_t self)
{
	fabric_id_t owner = atomic_load_explicit(&dir->block[block], memory_order_relaxed);

	return !dir_is_listed(dir, owner) &&
	       atomic_compare_exchange_strong(&dir->block[block], &owner, self);
}

static int find_block(struct dir_file *dir, uint32_t *out)
{
	uint32_t start = atomic_load_explicit(&dir->next_block, memory_order_relaxed);

	for (uint32_t i = 0; i < DIR_QPN_BLOCKS; i++) {
		uint32_t block = (start + i) % DIR_QPN_BLOCKS;

		if (!block_take(dir, block, fabric_self()))
			continue;
		atomic_store_explicit(&dir->next_block, (block + 1) % DIR_QPN_BLOCKS,
				      memory_order_relaxed);
		*out = block;
		return 0;
	}
	return -ENOSPC;
}

int fabric_qpn_block_get(uint32_t *first, uint32_t *count)
{
	struct dir_file *dir = dir_file();
	uint32_t block;
	int err;

	if (!dir)
		return explain(ENOTCONN, "the fabric is not up");
	/* Whoever can be addressed must answer. */
	err = fabric_service_need();
	if (err)
		return err;
	err = find_block(dir, &block);
	if (err && fabric_directory_sweep())
		err = find_block(dir, &block);
	if (err)
		return explain(ENOSPC, "all %u blocks of queue-pair numbers are taken",
			       DIR_QPN_BLOCKS);
	*first = block_first(block);
	*count = block_last(block) - *first + 1;
	return 0;
}

int fabric_qpn_block_put(uint32_t first)
{
	struct dir_file *dir = dir_file();
	uint32_t block = first / FABRIC_QPN_BLOCK;
	fabric_id_t self = fabric_self();

	if (!dir)
		return explain(ENOTCONN, "the fabric is not up");
	if (block >= DIR_QPN_BLOCKS || first != block_first(block))
		return explain(EINVAL, "0x%x is not the first number of a block", first);
	if (!atomic_compare_exchange_strong(&dir->block[block], &self, FABRIC_NOBODY))
		return explain(EPERM, "the block from 0x%x belongs to process %u, not to us", first,
			       (unsigned int)self);
	return 0;
}

fabric_id_t fabric_qpn_owner(uint32_t qpn)
{
	struct dir_file *dir = dir_file();
	fabric_id_t owner;

	if (!dir || qpn < FABRIC_QPN_FIRST || qpn > FABRIC_QPN_LAST)
		return FABRIC_NOBODY;
	owner = atomic_load_explicit(&dir->block[qpn / FABRIC_QPN_BLOCK], memory_order_relaxed);
	return dir_is_listed(dir, owner) ? owner : FABRIC_NOBODY;
}

size_t fabric_qpn_ranges(struct fabric_qpn_range *out, size_t max)
{
	struct dir_file *dir = dir_file();
	size_t n = 0;

	for (uint32_t block = 0; dir && block < DIR_QPN_BLOCKS; block++) {
		fabric_id_t owner = atomic_load_explicit(&dir->block[block], memory_order_relaxed);

		if (owner == FABRIC_NOBODY || !dir_is_listed(dir, owner))
			continue;
		if (n && out[n - 1].owner == owner && out[n - 1].last + 1 == block_first(block)) {
			out[n - 1].last = block_last(block);
			continue;
		}
		if (n == max)
			break;
		out[n++] =
			(struct fabric_qpn_range){ block_first(block), block_last(block), owner };
	}
	return n;
}

/* ---- LIDs ---- */

static bool find_lid(struct dir_file *dir, const char *key, uint32_t *at)
{
	uint32_t i;

	for (i = 0; i < DIR_LIDS; i++) {
		/* [N1] pairs with add_lid(): the key before its mark */
		if (!atomic_load_explicit(&dir->lid[i].used, memory_order_acquire))
			break;
		if (strncmp(dir->lid[i].key, key, sizeof(dir->lid[i].key)) != 0)
			continue;
		*at = i;
		return true;
	}
	*at = i;
	return false;
}

static int add_lid(struct dir_file *dir, const char *key, uint32_t *at)
{
	int err = dir_lock();

	if (err)
		return err;
	if (!find_lid(dir, key, at)) {
		if (*at < DIR_LIDS) {
			strncpy(dir->lid[*at].key, key, sizeof(dir->lid[*at].key));
			/* [N1] */
			atomic_store_explicit(&dir->lid[*at].used, 1, memory_order_release);
		} else {
			err = explain(ENOSPC, "all %u LIDs are taken", DIR_LIDS);
		}
	}
	dir_unlock();
	return err;
}

int fabric_lid_get(const char *key, uint16_t *lid)
{
	struct dir_file *dir = dir_file();
	uint32_t at;
	int err;

	if (!dir)
		return explain(ENOTCONN, "the fabric is not up");
	if (!*key || strlen(key) > FABRIC_LID_KEY_MAX)
		return explain(EINVAL, "the port name \"%s\" must have 1 to %d characters", key,
			       FABRIC_LID_KEY_MAX);
	if (!find_lid(dir, key, &at)) {
		err = add_lid(dir, key, &at);
		if (err)
			return err;
	}
	*lid = (uint16_t)(at + 1);
	return 0;
}

/* ---- counters ---- */

void fabric_count(enum fabric_counter counter, uint64_t n)
{
	struct dir_file *dir = dir_file();
	fabric_id_t self = fabric_self();

	if (dir && self)
		atomic_fetch_add_explicit(&dir->counter[fabric_id_slot(self)][counter], n,
					  memory_order_relaxed);
}

uint64_t fabric_counter_read(uint32_t slot, enum fabric_counter counter)
{
	struct dir_file *dir = dir_file();

	if (!dir || slot >= FABRIC_SLOTS || counter >= FABRIC_COUNTERS ||
	    !atomic_load_explicit(&dir->slot[slot].id, memory_order_relaxed))
		return 0;
	return atomic_load_explicit(&dir->counter[slot][counter], memory_order_relaxed);
}
