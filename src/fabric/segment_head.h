/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The first pages of every process segment, which the fabric keeps. Linked peers read them; no
 * process trusts what it reads from the segment of another.
 */
#ifndef FABRIC_SEGMENT_HEAD_H
#define FABRIC_SEGMENT_HEAD_H

#include <stdatomic.h>
#include <stdint.h>

/* Threads of a process that may use the fabric at once. The segment is sparse: a cell takes memory
 * only when a thread has used it. */
#define EPOCH_CELLS 65536u

/* One per thread; see epoch.h. */
struct epoch_cell {
	/* Odd inside a section. The cell's thread writes it, threads that wait for it read it. */
	_Alignas(64) _Atomic uint64_t section;
	/* The last section that reached for memory of other processes; + 1: that has the kernel copy (epoch.h). */
	_Atomic uint64_t visit;
};

struct epoch_area {
	_Alignas(64) _Atomic uint32_t high; /* cells in use have smaller indexes */
	struct epoch_cell cell[EPOCH_CELLS];
};

struct fabric_page {
	uint32_t magic;
	uint32_t version;

	/* 1 while threads of the owner poll: peers need not kick. The owner writes. */
	_Alignas(64) _Atomic uint32_t polling;
};

struct fabric_segment_head {
	struct fabric_page page;
	_Alignas(4096) struct epoch_area epochs;
};

#define FABRIC_SEGMENT_RESERVED (4104u << 10)

_Static_assert(sizeof(struct fabric_segment_head) <= FABRIC_SEGMENT_RESERVED, "it fits");

/* The epoch sections of a segment's owner. */
static inline const struct epoch_area *fabric_segment_epochs(const void *segment)
{
	return &((const struct fabric_segment_head *)segment)->epochs;
}

#endif
