/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of keys in the process segment: an entry per region, window, indirect key, protection
 * domain and device memory, which peers on this host read to check and carry out their own
 * accesses. A key is the entry's index and, in the low byte, a counter that changes with every use
 * of the entry. Indexes come from the host directory in blocks, so that an index names one object
 * of the host, and its owner.
 *
 * An entry is written by its object's module only. Readers are inside an epoch section (epoch.h)
 * and check the key first; the memory behind the entry stays until they leave the section.
 */
#ifndef HCA_KEY_H
#define HCA_KEY_H

#include <stdatomic.h>
#include <stdint.h>

#include "hca/hca.h"
#include "hca/peers/segment.h"

static inline struct hca_mr_entry *hca_key_entry(uint32_t index)
{
	return &hca.peers.segment->mr[index];
}

/* A free entry, and the key that it gets. -ENOMEM, explained. */
int hca_key_get(uint32_t *index, uint32_t *key);
void hca_key_put(uint32_t index);

/* Makes the entry valid, with the contents of `from`. */
void hca_key_publish(uint32_t index, const struct hca_mr_entry *from, uint32_t key);
/* The key is not valid for any epoch section that begins from now on. */
static inline void hca_key_invalidate(uint32_t index)
{
	/* [G1] */
	atomic_store_explicit(&hca_key_entry(index)->key, 0, memory_order_seq_cst);
}

#endif
