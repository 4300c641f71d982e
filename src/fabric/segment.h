/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The process segment: a sealed, sparse memfd that its owner and every linked peer map read-write.
 * The first page is the fabric's; the rest is the adapter's to lay out. Both distrust what they
 * read from it.
 */
#ifndef FABRIC_SEGMENT_H
#define FABRIC_SEGMENT_H

#include <stdatomic.h>
#include <stdint.h>

#define FABRIC_SEGMENT_RESERVED 4096u

struct fabric_page {
	uint32_t magic;
	uint32_t version;

	/* 1 while threads of the owner poll: peers need not kick. The owner writes. */
	_Alignas(64) _Atomic uint32_t serving;
};

_Static_assert(sizeof(struct fabric_page) <= FABRIC_SEGMENT_RESERVED, "the page holds it");

/* This process's segment, first page included; NULL when the fabric is down. */
void *fabric_segment_self(void);
uint64_t fabric_segment_size(void);

/* ---- inside the fabric ---- */

int fabric_segment_create(uint64_t size);
void fabric_segment_destroy(void);
int fabric_segment_fd(void);
/* Maps a peer's segment; -EPROTO when the fd is not a sealed memfd of that size. Keeps no fd. */
int fabric_segment_map(int fd, uint64_t size, void **out);
void fabric_segment_unmap(void *segment, uint64_t size);
/* The child keeps the addresses, but what it writes there is its own. */
void fabric_segment_fork_child(void);

#endif
