/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table has two levels; a block of slots is never freed. A slot counts users whether or not it
 * has an object: rs_table_get() first counts itself and then reads the object, rs_table_remove()
 * first clears the object and then waits for the count to drop, so one of them sees the other.
 */
#include "rsocket/table.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "rsocket/state.h"
#include "util/explain.h"
#include "util/futex.h"

#define BLOCK_SLOTS 1024

struct rs_slot {
	_Atomic(struct rs_entry *) entry;
	_Atomic uint32_t users;  /* a futex */
	_Atomic uint32_t waited; /* a thread waits for users to become 0 */
};

static struct rs_slot *find_slot(int fd)
{
	struct rs_slot *block;

	if (fd < 0 || fd >= RS_TABLE_BLOCKS * BLOCK_SLOTS)
		return NULL;
	block = atomic_load(&rs_state.blocks[fd / BLOCK_SLOTS]);
	return block ? &block[fd % BLOCK_SLOTS] : NULL;
}

static int make_block(int fd)
{
	_Atomic(struct rs_slot *) *at = &rs_state.blocks[fd / BLOCK_SLOTS];
	int err = 0;

	pthread_mutex_lock(&rs_state.lock);
	if (!atomic_load(at)) {
		struct rs_slot *block = calloc(BLOCK_SLOTS, sizeof(*block));

		if (block)
			atomic_store(at, block);
		else
			err = explain(ENOMEM, "no memory for the table of rsockets");
	}
	pthread_mutex_unlock(&rs_state.lock);
	return err;
}

int rs_table_add(struct rs_entry *entry, int fd)
{
	int err;

	if (fd >= RS_TABLE_BLOCKS * BLOCK_SLOTS)
		return explain(EMFILE, "descriptor %d is too large for an rsocket; the limit is %d",
			       fd, RS_TABLE_BLOCKS * BLOCK_SLOTS - 1);
	err = make_block(fd);
	if (err)
		return err;
	entry->fd = fd;
	atomic_store(&find_slot(fd)->entry, entry);
	return 0;
}

static void drop_user(struct rs_slot *slot)
{
	if (atomic_fetch_sub(&slot->users, 1) == 1 && atomic_load(&slot->waited))
		futex_wake_all(&slot->users);
}

struct rs_entry *rs_table_get(int fd)
{
	struct rs_slot *slot = find_slot(fd);
	struct rs_entry *entry;

	if (!slot)
		return NULL;
	if (!atomic_load(&slot->entry))
		return NULL;
	atomic_fetch_add(&slot->users, 1);
	entry = atomic_load(&slot->entry);
	if (!entry)
		drop_user(slot);
	return entry;
}

void rs_table_put(struct rs_entry *entry)
{
	drop_user(find_slot(entry->fd));
}

struct rs_entry *rs_table_remove(int fd)
{
	struct rs_slot *slot = find_slot(fd);

	return slot ? atomic_exchange(&slot->entry, NULL) : NULL;
}

void rs_table_wait_unused(struct rs_entry *entry)
{
	struct rs_slot *slot = find_slot(entry->fd);
	uint32_t users;

	atomic_store(&slot->waited, 1);
	while ((users = atomic_load(&slot->users)))
		futex_wait(&slot->users, users, NULL);
	atomic_store(&slot->waited, 0);
}
