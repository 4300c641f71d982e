/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Numbers that are unique on the host, from the host directory: queue-pair numbers and memory keys,
 * which processes get in blocks, and LIDs.
 */
#ifndef FABRIC_NUMBERS_H
#define FABRIC_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fabric/id.h"

/* ---- queue-pair numbers ---- */

#define FABRIC_QPN_FIRST 0x40u     /* below: special queue pairs */
#define FABRIC_QPN_LAST  0xfffffeu /* 0xffffff is multicast */
#define FABRIC_QPN_BLOCK 256u

/*
 * A block of numbers for this process: *first and how many (the first and the last block are
 * shorter). Blocks come round robin from a random one on, so that a number is used again as late as
 * possible. -ENOSPC when all are taken.
 */
int fabric_qpn_block_get(uint32_t *first, uint32_t *count);
/* `first` as it came from fabric_qpn_block_get(). -EPERM when the block is not ours. */
int fabric_qpn_block_put(uint32_t first);
/* Lock-free. FABRIC_ID_NONE when the number belongs to no process. */
fabric_id_t fabric_qpn_owner(uint32_t qpn);

/* Numbers first..last, neighbouring blocks of one process. */
struct fabric_qpn_range {
	uint32_t first, last;
	fabric_id_t owner;
};

/* Lock-free. All ranges that have an owner, in order, up to `max`; returns how many. */
size_t fabric_qpn_ranges(struct fabric_qpn_range *out, size_t max);

/* ---- numbers of memory keys, protection domains and device memory ---- */

#define FABRIC_KEY_FIRST 0x5u /* see hca/memory/mr.c */
#define FABRIC_KEY_LAST  0xffffffu
#define FABRIC_KEY_BLOCK 256u

/* As for queue pairs, and for the life of the process: a number names one object of the host. */
int fabric_key_block_get(uint32_t *first, uint32_t *count);
/* Lock-free. FABRIC_ID_NONE when the number belongs to no process. */
fabric_id_t fabric_key_owner(uint32_t number);

/* ---- LIDs ---- */

#define FABRIC_LID_KEY_MAX 59

/* A key's LID (1 and up), equal in every process for the life of the directory. */
int fabric_lid_get(const char *key, uint16_t *lid);
/* A process has asked for this LID. */
bool fabric_lid_is_taken(uint16_t lid);

#endif
