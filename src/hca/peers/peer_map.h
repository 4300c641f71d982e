/* SPDX-License-Identifier: BSD-2-Clause */
/* Regions of a peer's memory, mapped into this process at first use. */
#ifndef HCA_PEER_MAP_H
#define HCA_PEER_MAP_H

#include "hca/peers/peer_types.h"
#include "util/api.h"

/* A key may be reused for other memory: by re-registration, or by a window. */
static inline bool hca_mapping_is_of(const struct hca_mapping *m, const struct hca_mr_entry *entry,
				     uint32_t key)
{
	return m->key == key && m->va == entry->va && m->length == entry->length;
}

/* hca_peer_map() of a region that is not mapped yet. */
char *peer_map_new(struct hca_peer *peer, const struct hca_mr_entry *entry, uint32_t key);

/* The local address of the region's first byte; NULL: it cannot be mapped. Inside an epoch section. */
static inline char *hca_peer_map(struct hca_peer *peer, const struct hca_mr_entry *entry,
				 uint32_t key)
{
	const struct hca_mapping *m;

	if (peer->is_self)
		return (char *)(uintptr_t)entry->va;
	/* [SG1] The memory may have become private since the entry was copied: the flags are read again. */
	if (unlikely(atomic_load_explicit(&peer->segment->share_generation, memory_order_acquire) &
		     1) ||
	    /* [SG3] */
	    unlikely(!(__atomic_load_n(&peer->segment->mr[key >> 8].flags, __ATOMIC_ACQUIRE) &
		       HCA_MR_SHARED)))
		return NULL;
	m = hca_table_find(&peer->mappings, key >> 8);
	return likely(m && hca_mapping_is_of(m, entry, key)) ? m->base
							     : peer_map_new(peer, entry, key);
}

/* The peer's memory may be moving: the kernel must not write to it. Inside an epoch section. */
static inline bool hca_peer_has_gate(const struct hca_peer *peer)
{
	/* [SG2] */
	return atomic_load_explicit(&peer->segment->gates, memory_order_relaxed);
}

/* For peer.c: the peer is about to be freed, and no section uses it. */
void peer_unmap_all(struct hca_peer *peer);

#endif
