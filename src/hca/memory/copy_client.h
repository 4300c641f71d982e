/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Access to memory of a peer through the peer's copy server (copy_server.h): for memory that this
 * process can neither map nor have the kernel copy, and for atomics on memory that is not mapped.
 */
#ifndef HCA_COPY_CLIENT_H
#define HCA_COPY_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "hca/memory/seg.h"

struct hca_atomic;
struct hca_peer;

/* [addr, addr + len) of a peer's entry as a piece; valid inside the epoch section. */
void copy_client_seg(struct hca_peer *peer, const struct hca_mr_entry *e, uint32_t key,
		     uint64_t addr, uint64_t len, struct hca_seg *out);

/* Inside an epoch section. False when the owner is dead or stopped, or the key is not valid any more. */
bool copy_client_copy(const struct hca_seg *there, uint64_t off, void *here, uint64_t len,
		      bool write);
bool copy_client_atomic(const struct hca_seg *there, const struct hca_atomic *a, uint64_t *old);

#endif
