/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The process segment: a sealed, sparse memfd that its owner alone writes and every linked peer reads.
 * The kernel sees to that: it refuses any further writable mapping. So a process may trust what it
 * reads from its own segment, and trusts nothing that it reads from the segment of another. Its head
 * is the fabric's (segment_head.h); the adapter lays out the rest.
 */
#ifndef FABRIC_SEGMENT_H
#define FABRIC_SEGMENT_H

#include <stdint.h>

#include "fabric/segment_head.h"

/* This process's segment, head included; NULL when the fabric is down. */
void *fabric_segment_self(void);
uint64_t fabric_segment_size(void);

/* ---- inside the fabric ---- */

int fabric_segment_create(uint64_t size);
void fabric_segment_destroy(void);
int fabric_segment_fd(void);
/* Maps a peer's segment, read-only; -EPROTO when the fd is not a sealed memfd of that size. Keeps no fd. */
int fabric_segment_map(int fd, uint64_t size, const void **out);
void fabric_segment_unmap(const void *segment, uint64_t size);
/* In the child of a fork: the addresses stay mapped, privately. */
void fabric_segment_forked(void);

#endif
