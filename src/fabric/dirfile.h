/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Layout of the host directory's file. directory.c keeps the slots and counters, numbers.c the blocks
 * and LIDs, registry.c the records, claims.c the claims, port_counts.c the counters of ports, traffic.c
 * the blocks of traffic.
 *
 * The last arrays, from DIR_SPARSE on, are holes of the file until their elements are used for the first time, and
 * are not read before: to read a hole would take memory, and end in SIGBUS where there is none.
 *
 * All zero is a valid, empty directory. Fields that are read without the lock are atomic; where
 * several words belong together, an id or a sequence number beside them is cleared before they
 * change and set afterwards.
 */
#ifndef FABRIC_DIRFILE_H
#define FABRIC_DIRFILE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "fabric/id.h"
#include "fabric/traffic_block.h"

#define DIR_MAGIC        0x79616c7065726276ull
#define DIR_VERSION      8u
#define DIR_QPN_BLOCKS   (1u << 16)
#define DIR_KEY_BLOCKS   (1u << 16)
#define DIR_LIDS         1024u
#define DIR_LID_KEY      60u /* bytes */
#define DIR_RECORDS      65536u
#define DIR_KEY_WORDS    4u
#define DIR_KINDS        16u
#define DIR_COUNTERS     32u
#define DIR_PORTS        32u
#define DIR_PORT_TRAFFIC 96u /* the counts from here on are enum fabric_traffic_count */
#define DIR_PORT_COUNTS  (DIR_PORT_TRAFFIC + FABRIC_TRAFFIC_OF_PORT)
#define DIR_TRAFFIC      2048u
#define DIR_CLAIMS_BITS  15u
#define DIR_CLAIMS       (1u << DIR_CLAIMS_BITS)

/*
 * Bytes of the file that are locked, far beyond its end: one for changes, and one per slot
 * (directory.c).
 */
#define DIR_LOCK_CHANGES    ((off_t)1 << 40)
#define DIR_LOCK_SLOT(slot) (DIR_LOCK_CHANGES + 1 + (off_t)(slot))

struct dir_slot {
	_Atomic fabric_id_t id;      /* FABRIC_ID_NONE while free */
	_Atomic uint32_t generation; /* of the last id; changed under the lock */
	_Atomic uint64_t pid;
	_Atomic uint64_t start_time;
	_Atomic uint64_t token[2];
	_Atomic uint64_t name[2];
	uint64_t reserved;
};

struct dir_lid {
	_Atomic uint32_t used; /* set last, never cleared */
	char key[DIR_LID_KEY];
};

struct dir_record {
	/* sequence << 32 | owner; owner FABRIC_ID_NONE while free or being filled */
	_Atomic uint64_t word;
	_Atomic uint64_t meta; /* length << 32 | kind */
	_Atomic uint64_t value;
	_Atomic uint64_t key[DIR_KEY_WORDS];
	uint64_t reserved;
};

/* Read and written under the lock only. */
struct dir_claim {
	_Atomic fabric_id_t owner;
	uint32_t number;
	uint32_t flags;
	uint32_t scope;
	uint8_t addr[16];
};

struct dir_port {
	_Atomic uint32_t used; /* set last, never cleared */
	char name[60];
	_Atomic uint64_t count[DIR_PORT_COUNTS];
};

struct dir_file {
	_Atomic uint64_t magic; /* written last */
	uint32_t version;
	uint32_t size;
	uint64_t nonce; /* dir_memory.c */
	_Alignas(64) _Atomic uint32_t next_block;
	_Alignas(64) _Atomic uint32_t next_key_block;
	_Alignas(64) _Atomic uint32_t records; /* records from this index on are not in use */
	uint32_t claims_used;                  /* places that are not empty; under the lock */
	uint32_t next_reap;                    /* slot; under the lock */
	uint32_t next_slot;                    /* for the next process; under the lock */
	_Alignas(64) _Atomic uint32_t slots;   /* slots from this index on were never taken */
	_Alignas(64) _Atomic uint64_t reg_version[DIR_KINDS];
	_Alignas(4096) struct dir_lid lid[DIR_LIDS];
	_Alignas(4096) struct dir_port port[DIR_PORTS];
	_Alignas(4096) struct fabric_traffic traffic[DIR_TRAFFIC];
	_Alignas(4096) struct dir_claim claim[DIR_CLAIMS];
	_Alignas(4096) _Atomic fabric_id_t block[DIR_QPN_BLOCKS];
	_Alignas(4096) _Atomic fabric_id_t key_block[DIR_KEY_BLOCKS];
	_Alignas(4096) struct dir_record record[DIR_RECORDS];
	_Alignas(4096) struct dir_slot slot[FABRIC_SLOTS];
	_Alignas(4096) _Atomic uint64_t counter[FABRIC_SLOTS][DIR_COUNTERS];
};

#define DIR_SPARSE offsetof(struct dir_file, record)

_Static_assert(sizeof(struct dir_slot) == 64, "one line per slot");
_Static_assert(sizeof(struct dir_lid) == 64, "one line per LID");
_Static_assert(sizeof(struct dir_record) == 64, "one line per record");

/* Lock-free. False: the slot was never taken, and is not to be read. */
static inline bool dir_has_slot(struct dir_file *dir, uint32_t slot)
{
	/* [D9] pairs with reserve_slot(): the slot's memory before the count that covers it */
	return slot < atomic_load_explicit(&dir->slots, memory_order_acquire);
}

/* True until the process of the id has left or was found dead. Lock-free. */
static inline bool dir_is_listed(struct dir_file *dir, fabric_id_t id)
{
	/* [D1] pairs with claim_free_slot(): the slot's contents before its id */
	return id && dir_has_slot(dir, fabric_id_slot(id)) &&
	       atomic_load_explicit(&dir->slot[fabric_id_slot(id)].id, memory_order_acquire) == id;
}

/* Slots that were ever used. The word may be any: a process of the user can write to the file. */
static inline uint32_t dir_slots(const struct dir_file *file)
{
	uint32_t slots = atomic_load_explicit(&file->slots, memory_order_relaxed);

	return slots < FABRIC_SLOTS ? slots : FABRIC_SLOTS;
}

#endif
