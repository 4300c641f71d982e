/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Blocks of numbers, and LIDs. A block is taken and given back by one compare-and-swap, without the
 * lock: it is free whenever its word names no process that is listed.
 */
#include "fabric/numbers.h"

#include <errno.h>
#include <string.h>

#include "fabric/directory.h"
#include "fabric/dirfile.h"
#include "fabric/service.h"
#include "util/explain.h"

/* ---- series of numbers in blocks ---- */

_Static_assert(FABRIC_LID_KEY_MAX + 1 == DIR_LID_KEY, "a key and its terminator fit");

struct series {
	const char *what;
	_Atomic fabric_id_t *block;
	_Atomic uint32_t *next;
	uint32_t blocks, size;
	uint32_t first, last; /* of all numbers; the first and the last block are shorter for it */
};

static struct series qpns(struct dir_file *dir)
{
	return (struct series){
		.what = "queue-pair numbers",
		.block = dir->block,
		.next = &dir->next_block,
		.blocks = DIR_QPN_BLOCKS,
		.size = FABRIC_QPN_BLOCK,
		.first = FABRIC_QPN_FIRST,
		.last = FABRIC_QPN_LAST,
	};
}

static struct series keys(struct dir_file *dir)
{
	return (struct series){
		.what = "memory keys",
		.block = dir->key_block,
		.next = &dir->next_key_block,
		.blocks = DIR_KEY_BLOCKS,
		.size = FABRIC_KEY_BLOCK,
		.first = FABRIC_KEY_FIRST,
		.last = FABRIC_KEY_LAST,
	};
}

static uint32_t block_first(const struct series *s, uint32_t block)
{
	return block ? block * s->size : s->first;
}

static uint32_t block_last(const struct series *s, uint32_t block)
{
	uint32_t last = (block + 1) * s->size - 1;

	return last > s->last ? s->last : last;
}

static bool block_take(struct dir_file *dir, _Atomic fabric_id_t *block, fabric_id_t self)
{
	fabric_id_t owner = atomic_load_explicit(block, memory_order_relaxed);

	return !dir_is_listed(dir, owner) && atomic_compare_exchange_strong(block, &owner, self);
}

static int find_block(struct dir_file *dir, const struct series *s, uint32_t *out)
{
	uint32_t start = atomic_load_explicit(s->next, memory_order_relaxed);

	for (uint32_t i = 0; i < s->blocks; i++) {
		uint32_t block = (start + i) % s->blocks;

		if (!block_take(dir, &s->block[block], fabric_self()))
			continue;
		atomic_store_explicit(s->next, (block + 1) % s->blocks, memory_order_relaxed);
		*out = block;
		return 0;
	}
	return -ENOSPC;
}

static int block_get(struct dir_file *dir, const struct series *s, uint32_t *first, uint32_t *count)
{
	uint32_t block;
	/* The owner of a number has to answer its peers. */
	int err = fabric_service_start();

	if (err)
		return err;
	err = find_block(dir, s, &block);
	if (err && fabric_directory_reap())
		err = find_block(dir, s, &block);
	if (err)
		return explain(ENOSPC, "all %u blocks of %s are taken", s->blocks, s->what);
	*first = block_first(s, block);
	*count = block_last(s, block) - *first + 1;
	return 0;
}

static fabric_id_t owner_of(struct dir_file *dir, const struct series *s, uint32_t number)
{
	fabric_id_t owner;

	if (number < s->first || number > s->last)
		return FABRIC_ID_NONE;
	owner = atomic_load_explicit(&s->block[number / s->size], memory_order_relaxed);
	return dir_is_listed(dir, owner) ? owner : FABRIC_ID_NONE;
}

int fabric_qpn_block_get(uint32_t *first, uint32_t *count)
{
	struct dir_file *dir = fabric_directory_file();
	struct series s;

	if (!dir)
		return explain(ENOTCONN, "the fabric is not up");
	s = qpns(dir);
	return block_get(dir, &s, first, count);
}

int fabric_qpn_block_put(uint32_t first)
{
	struct dir_file *dir = fabric_directory_file();
	uint32_t block = first / FABRIC_QPN_BLOCK;
	fabric_id_t self = fabric_self();
	struct series s;

	if (!dir)
		return explain(ENOTCONN, "the fabric is not up");
	s = qpns(dir);
	if (block >= DIR_QPN_BLOCKS || first != block_first(&s, block))
		return explain(EINVAL, "0x%x is not the first number of a block", first);
	if (!atomic_compare_exchange_strong(&dir->block[block], &self, FABRIC_ID_NONE))
		return explain(EPERM, "the block from 0x%x belongs to process %u, not to us", first,
			       (unsigned int)self);
	return 0;
}

fabric_id_t fabric_qpn_owner(uint32_t qpn)
{
	struct dir_file *dir = fabric_directory_file();
	struct series s;

	if (!dir)
		return FABRIC_ID_NONE;
	s = qpns(dir);
	return owner_of(dir, &s, qpn);
}

int fabric_key_block_get(uint32_t *first, uint32_t *count)
{
	struct dir_file *dir = fabric_directory_file();
	struct series s;

	if (!dir)
		return explain(ENOTCONN, "the fabric is not up");
	s = keys(dir);
	return block_get(dir, &s, first, count);
}

fabric_id_t fabric_key_owner(uint32_t number)
{
	struct dir_file *dir = fabric_directory_file();
	struct series s;

	if (!dir)
		return FABRIC_ID_NONE;
	s = keys(dir);
	return owner_of(dir, &s, number);
}

size_t fabric_qpn_ranges(struct fabric_qpn_range *out, size_t max)
{
	struct dir_file *dir = fabric_directory_file();
	struct series s;
	size_t n = 0;

	if (!dir)
		return 0;
	s = qpns(dir);
	for (uint32_t block = 0; block < DIR_QPN_BLOCKS; block++) {
		fabric_id_t owner = atomic_load_explicit(&dir->block[block], memory_order_relaxed);

		if (owner == FABRIC_ID_NONE || !dir_is_listed(dir, owner))
			continue;
		if (n && out[n - 1].owner == owner &&
		    out[n - 1].last + 1 == block_first(&s, block)) {
			out[n - 1].last = block_last(&s, block);
			continue;
		}
		if (n == max)
			break;
		out[n++] = (struct fabric_qpn_range){ block_first(&s, block), block_last(&s, block),
						      owner };
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
	int err = fabric_directory_lock();

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
	fabric_directory_unlock();
	return err;
}

int fabric_lid_get(const char *key, uint16_t *lid)
{
	struct dir_file *dir = fabric_directory_file();
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

bool fabric_lid_is_taken(uint16_t lid)
{
	const struct dir_file *dir = fabric_directory_file();

	return dir && lid && lid <= DIR_LIDS &&
	       atomic_load_explicit(&dir->lid[lid - 1].used, memory_order_relaxed);
}
