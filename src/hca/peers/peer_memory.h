/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory of one process that another one maps: pages of the owner's share memfd, whose offset there is their
 * address in the owner.
 */
#ifndef HCA_PEER_MEMORY_H
#define HCA_PEER_MEMORY_H

#include <stdint.h>

#include "fabric/id.h"
#include "hca/peers/peer_types.h"
#include "util/api.h"

/* Memory that others can map. -EOPNOTSUPP where this process shares none. */
VB_API int hca_peer_memory_alloc(uint64_t length, void **out);
VB_API void hca_peer_memory_free(void *addr);

/*
 * Maps memory of another process, until it is unmapped: longer than the link, if need be. -ENOENT: there is no
 * such process; -EOPNOTSUPP: it does not share its memory.
 */
VB_API int hca_peer_memory_map(fabric_id_t owner, uint64_t va, uint64_t length, void **out);
VB_API void hca_peer_memory_unmap(void *addr, uint64_t length);

/* hca_peer_memory_map() for a peer that was found. Inside an epoch section. */
int peer_memory_map(struct hca_peer *peer, uint64_t va, uint64_t length, void **out);

#endif
