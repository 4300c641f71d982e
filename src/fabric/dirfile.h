/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Layout of the directory file, for the files that keep its tables: directory.c (slots),
 * numbers.c (queue-pair numbers, LIDs, counters), registry.c (keys with owners).
 *
 * All zero is a valid, empty directory. Fields that are read without the lock are atomic; what
 * several words say together is framed by an id or a sequence that is withdrawn first and
 * published last.
 */
#ifndef FABRIC_DIRFILE_H
#define FABRIC_DIRFILE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "fabric/directory.h"

#define DIR_MAGIC      0x79616c7065726276ull
#define DIR_VERSION    2u
#define DIR_QPN_BLOCKS (1u << 16)
#define DIR_KEY_BLOCKS (1u << 14)
#define DIR_LIDS       1024u
#define DIR_RECORDS    4096u

struct dir_slot {
	_Atomic fabric_id_t id; /* 0 while free */
	uint32_t generation;    /* the last one handed out; under the lock */
	_Atomic uint64_t pid;
	_Atomic uint64_t start_time;
	_Atomic uint64_t token[2];
	_Atomic uint64_t name[2];
	uint64_t spare;
};

struct dir_lid {
	_Atomic uint32_t used; /* set last, never cleared */
	char key[FABRIC_LID_KEY_MAX + 1];
};

struct dir_record {
	/* sequence << 32 | owner; owner 0 while free or being filled */
	_Atomic uint64_t word;
	_Atomic uint64_t meta; /* length << 32 | kind */
	_Atomic uint64_t value;
	_Atomic uint64_t key[FABRIC_REG_KEY_MAX / 8];
	uint64_t spare;
};

struct dir_file {
	_Atomic uint64_t magic; /* written last */
	uint32_t version;
	uint32_t size;
	_Alignas(64) _Atomic uint32_t next_block;
	_Alignas(64) _Atomic uint32_t next_key_block;
	_Alignas(64) _Atomic uint32_t records; /* those beyond were never used */
	_Alignas(64) _Atomic uint64_t reg_version[16];
	_Alignas(4096) struct dir_slot slot[FABRIC_SLOTS];
	_Alignas(4096) struct dir_lid lid[DIR_LIDS];
	_Alignas(4096) _Atomic uint64_t counter[FABRIC_SLOTS][FABRIC_COUNTERS];
	_Alignas(4096) struct dir_record record[DIR_RECORDS];
	_Alignas(4096) _Atomic fabric_id_t block[DIR_QPN_BLOCKS];
	_Alignas(4096) _Atomic fabric_id_t key_block[DIR_KEY_BLOCKS];
};

_Static_assert(sizeof(struct dir_slot) == 64, "one line per slot");
_Static_assert(sizeof(struct dir_lid) == 64, "one line per LID");
_Static_assert(sizeof(struct dir_record) == 64, "one line per record");
_Static_assert(FABRIC_REG_KINDS <= 16, "reg_version has a place for each kind");

/* The mapped file, NULL when this process is in none. */
struct dir_file *dir_file(void);

/* Between them this thread, of all threads of all processes, may change the directory. */
int dir_lock(void);
void dir_unlock(void);

/* True while the process of the id has not left and was not found dead. Lock-free. */
static inline bool dir_is_listed(struct dir_file *dir, fabric_id_t id)
{
	/* [D1] pairs with the claim of a slot: the slot's contents before its id */
	return id &&
	       atomic_load_explicit(&dir->slot[fabric_id_slot(id)].id, memory_order_acquire) == id;
}

#endif
