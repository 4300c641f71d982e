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
	m = hca_table_find(&peer->mappings, key >> 8);
	return likely(m && hca_mapping_is_of(m, entry, key)) ? m->base
							     : peer_map_new(peer, entry, key);
}

/* For peer.c: the peer is about to be freed, and no section uses it. */
void peer_unmap_all(struct hca_peer *peer);

#endif
