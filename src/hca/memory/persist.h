/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory that outlives a loss of power: mappings of files on storage (DAX or not). No state; any thread.
 */
#ifndef HCA_PERSIST_H
#define HCA_PERSIST_H

#include <stdbool.h>
#include <stdint.h>

#include "hca/peers/segment.h"

/* Whether all of the range is shared mappings of files on storage; 0 or -errno, explained. */
int persist_check(const void *addr, uint64_t length);

/* Makes [addr, addr + length) of a valid entry of this process persistent. False: the storage failed. */
bool persist_flush(const struct hca_mr_entry *e, uint64_t addr, uint64_t length);

#endif
