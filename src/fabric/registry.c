/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Entries are added and removed under the directory's lock and found without it. An entry counts
 * while its owner is listed; the record of a dead owner is reused by the next entry that is added.
 */
#include "fabric/registry.h"

#include <errno.h>
#include <string.h>

#include "fabric/dir_memory.h"
#include "fabric/directory.h"
#include "fabric/dirfile.h"
#include "fabric/service.h"
#include "fabric/state.h"
#include "util/explain.h"

_Static_assert(FABRIC_REG_KEY_MAX == DIR_KEY_WORDS * 8, "a record holds the longest key");
_Static_assert(FABRIC_REG_KINDS <= DIR_KINDS, "each kind has a version");

#define DIR_PAGE        4096u
#define RECORDS_OF_PAGE (DIR_PAGE / (uint32_t)sizeof(struct dir_record))

/* A key and its kind, in the words of a record. */
struct reg_key {
	uint64_t meta;
	uint64_t key[DIR_KEY_WORDS];
};

static int make_key(enum fabric_reg_kind kind, const void *key, size_t len, struct reg_key *out)
{
	if (kind < 1 || kind >= FABRIC_REG_KINDS || !len || len > FABRIC_REG_KEY_MAX)
		return explain(EINVAL,
			       "a key of kind %d and %zu bytes; kinds are 1 to %d, keys up "
			       "to %d bytes",
			       (int)kind, len, FABRIC_REG_KINDS - 1, FABRIC_REG_KEY_MAX);
	memset(out, 0, sizeof(*out));
	out->meta = (uint64_t)len << 32 | (uint32_t)kind;
	memcpy(out->key, key, len);
	return 0;
}

/* True with the owner and the value when the record is alive and has the key. */
static bool matches(struct dir_file *dir, struct dir_record *record, const struct reg_key *wanted,
		    struct fabric_reg_entry *out)
{
	/* [G1] pairs with fill(): the contents before the owner */
	uint64_t word = atomic_load_explicit(&record->word, memory_order_acquire);
	uint64_t value, differ;

	if (!dir_is_listed(dir, (fabric_id_t)word))
		return false;
	differ = atomic_load_explicit(&record->meta, memory_order_relaxed) ^ wanted->meta;
	for (unsigned int i = 0; i < DIR_KEY_WORDS; i++)
		differ |= atomic_load_explicit(&record->key[i], memory_order_relaxed) ^
			  wanted->key[i];
	value = atomic_load_explicit(&record->value, memory_order_relaxed);
	/* [G2] pairs with fill(): a record that changed under us has another word */
	atomic_thread_fence(memory_order_acquire);
	if (differ || atomic_load_explicit(&record->word, memory_order_relaxed) != word)
		return false;
	out->owner = (fabric_id_t)word;
	out->value = value;
	return true;
}

static void fill(struct dir_record *record, const struct reg_key *wanted, uint64_t value)
{
	uint64_t sequence = (atomic_load_explicit(&record->word, memory_order_relaxed) >> 32) + 1;

	atomic_store_explicit(&record->word, sequence << 32, memory_order_relaxed);
	/* [G2] */
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&record->meta, wanted->meta, memory_order_relaxed);
	atomic_store_explicit(&record->value, value, memory_order_relaxed);
	for (unsigned int i = 0; i < DIR_KEY_WORDS; i++)
		atomic_store_explicit(&record->key[i], wanted->key[i], memory_order_relaxed);
	/* [G1] */
	atomic_store_explicit(&record->word, sequence << 32 | fabric_self(), memory_order_release);
}

static void bump_version(struct dir_file *dir, enum fabric_reg_kind kind)
{
	/* [D3] */
	atomic_fetch_add_explicit(&dir->reg_version[kind], 1, memory_order_release);
}

/* A refusal sets *refuser, the process that has an exclusive key. */
static int add_locked(struct dir_file *dir, enum fabric_reg_kind kind, const struct reg_key *wanted,
		      uint64_t value, bool exclusive, fabric_id_t *refuser)
{
	uint32_t used = atomic_load_explicit(&dir->records, memory_order_relaxed);
	struct fabric_reg_entry entry;
	uint32_t place = used, end = 0;

	for (uint32_t i = 0; i < used && i < DIR_RECORDS; i++) {
		struct dir_record *record = &dir->record[i];
		uint64_t word = atomic_load_explicit(&record->word, memory_order_relaxed);

		if (!dir_is_listed(dir, (fabric_id_t)word)) {
			if (place == used)
				place = i;
			continue;
		}
		end = i + 1;
		if (!matches(dir, record, wanted, &entry))
			continue;
		if (exclusive) {
			*refuser = entry.owner;
			return -EADDRINUSE;
		}
		if (entry.owner == fabric_self() && entry.value == value)
			return -EEXIST;
	}
	if (place >= DIR_RECORDS)
		return explain(ENOSPC, "the host directory's registry has only %u entries",
			       DIR_RECORDS);
	/* Places are taken one after the other, so that each page of them is reserved by its first. */
	if (place % RECORDS_OF_PAGE == 0) {
		int err =
			dir_memory_reserve(fabric.directory.fd, dir, &dir->record[place], DIR_PAGE);

		if (err)
			return explain(-err, "the host directory has no room for another entry: %s",
				       strerror(-err));
	}
	fill(&dir->record[place], wanted, value);
	/* [G3] pairs with fabric_reg_find(): a record before the count that covers it. Records of
	 * dead processes at the end are not looked at any more. */
	atomic_store_explicit(&dir->records, place < end ? end : place + 1, memory_order_release);
	bump_version(dir, kind);
	return 0;
}

int fabric_reg_add(enum fabric_reg_kind kind, const void *key, size_t len, uint64_t value,
		   bool exclusive)
{
	unsigned int tries = FABRIC_REAP_TRIES;
	struct reg_key wanted;
	fabric_id_t refuser;
	int err;

	err = make_key(kind, key, len, &wanted);
	if (err)
		return err;
	err = fabric_service_start();
	if (err)
		return err;
	do {
		refuser = FABRIC_ID_NONE;
		err = fabric_directory_lock();
		if (err)
			return err;
		err = add_locked(fabric_directory_file(), kind, &wanted, value, exclusive,
				 &refuser);
		fabric_directory_unlock();
		/* A process that died is taken from the directory. */
	} while (refuser && --tries && fabric_process_reap(refuser));
	return err;
}

/* The entry of this process, or NULL. Locked. */
static struct dir_record *own_record(struct dir_file *dir, const struct reg_key *wanted,
				     uint64_t value)
{
	uint32_t used = atomic_load_explicit(&dir->records, memory_order_relaxed);
	struct fabric_reg_entry entry;

	for (uint32_t i = 0; i < used && i < DIR_RECORDS; i++)
		if (matches(dir, &dir->record[i], wanted, &entry) && entry.owner == fabric_self() &&
		    entry.value == value)
			return &dir->record[i];
	return NULL;
}

static void clear(struct dir_record *record)
{
	uint64_t word = atomic_load_explicit(&record->word, memory_order_relaxed);

	atomic_store_explicit(&record->word, word >> 32 << 32, memory_order_release);
}

/* Removes the entry, or gives it the value *to. */
static int change(enum fabric_reg_kind kind, const struct reg_key *wanted, uint64_t value,
		  const uint64_t *to)
{
	struct dir_record *record;
	struct dir_file *dir;
	int err;

	err = fabric_directory_lock();
	if (err)
		return err;
	dir = fabric_directory_file();
	record = own_record(dir, wanted, value);
	if (record) {
		if (to)
			fill(record, wanted, *to);
		else
			clear(record);
		bump_version(dir, kind);
	}
	fabric_directory_unlock();
	return record ? 0 : -ENOENT;
}

int fabric_reg_del(enum fabric_reg_kind kind, const void *key, size_t len, uint64_t value)
{
	struct reg_key wanted;
	int err = make_key(kind, key, len, &wanted);

	return err ? err : change(kind, &wanted, value, NULL);
}

int fabric_reg_change(enum fabric_reg_kind kind, const void *key, size_t len, uint64_t value,
		      uint64_t to)
{
	struct reg_key wanted;
	int err = make_key(kind, key, len, &wanted);

	return err ? err : change(kind, &wanted, value, &to);
}

size_t fabric_reg_find(enum fabric_reg_kind kind, const void *key, size_t len,
		       struct fabric_reg_entry *out, size_t max)
{
	struct dir_file *dir = fabric_directory_file();
	struct fabric_reg_entry entry;
	struct reg_key wanted;
	size_t found = 0;
	uint32_t used;

	if (!dir || make_key(kind, key, len, &wanted))
		return 0;
	/* [G3] */
	used = atomic_load_explicit(&dir->records, memory_order_acquire);
	for (uint32_t i = 0; i < used && i < DIR_RECORDS; i++) {
		if (!matches(dir, &dir->record[i], &wanted, &entry))
			continue;
		if (found < max)
			out[found] = entry;
		found++;
	}
	return found;
}

uint64_t fabric_reg_version(enum fabric_reg_kind kind)
{
	struct dir_file *dir = fabric_directory_file();

	if (!dir || kind < 1 || kind >= FABRIC_REG_KINDS)
		return 0;
	/* [D3] */
	return atomic_load_explicit(&dir->reg_version[kind], memory_order_acquire);
}

/* ---- multicast groups ---- */

struct group {
	uint8_t gid[16];
	uint32_t net;
};

static struct group group_of(uint32_t net, const uint8_t gid[16])
{
	struct group group = { .net = net };

	memcpy(group.gid, gid, sizeof(group.gid));
	return group;
}

int fabric_mcast_join(uint32_t net, const uint8_t gid[16], uint32_t qpn)
{
	struct group group = group_of(net, gid);
	int err = fabric_reg_add(FABRIC_REG_MCAST, &group, sizeof(group), qpn, false);

	return err == -EEXIST ? 0 : err;
}

int fabric_mcast_leave(uint32_t net, const uint8_t gid[16], uint32_t qpn)
{
	struct group group = group_of(net, gid);

	return fabric_reg_del(FABRIC_REG_MCAST, &group, sizeof(group), qpn);
}

size_t fabric_mcast_members(uint32_t net, const uint8_t gid[16], struct fabric_reg_entry *out,
			    size_t max)
{
	struct group group = group_of(net, gid);

	return fabric_reg_find(FABRIC_REG_MCAST, &group, sizeof(group), out, max);
}
