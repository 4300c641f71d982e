/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory regions of this process, and bytes of the program's memory.
 */
#ifndef CHECK_MEMORY_H
#define CHECK_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "verbs/public.h"

struct vb_mr;
struct vb_pd;
struct check_place;

struct check_region {
	uint32_t key, access, pdn;
	uintptr_t addr;
	uint64_t iova, length;
};

/* The region that a queue used last, which saves the table's lock until one is created, changed or destroyed. */
struct check_region_cache {
	unsigned int epoch; /* check.region_epoch */
	struct check_region region;
};

/* What a request does with the memory of an element. */
struct check_use {
	const struct vb_pd *pd; /* of its queue */
	bool writes;            /* the adapter writes to it */
	bool all;               /* a request uses all of it: not so a receive */
	struct check_region_cache *cache;
};

/* A part of a registered region, by its address in the process. */
struct check_piece {
	uintptr_t addr;
	uint32_t length;
	uint32_t lkey;
};

void check_mr_created(struct vb_mr *mr);
void check_mr_changed(struct vb_mr *mr);
void check_mr_destroyed(struct vb_mr *mr);
/* A region whose memory is unmapped already. */
void check_mr_unmapped(const struct vb_mr *mr);

/*
 * From a scatter/gather element to memory. False: no plain region of this process has the key, or not this
 * range. Findings: the key of one that was deregistered, and an element that the adapter will refuse.
 */
bool check_piece_find(const struct ibv_sge *sge, const struct check_use *use,
		      struct check_piece *out, const struct check_place *place);

/*
 * A checksum of the pieces' bytes, up to 2 KiB in all, of more the first and the last 1 KiB. -EFAULT when a part of them
 * is not mapped; `mapped`: they are known to be.
 */
int check_bytes_sum(const struct check_piece *pieces, unsigned int count, bool mapped,
		    uint64_t *out);
/* Of the first bytes of a piece, which is mapped. */
#define CHECK_HEAD 256u
uint64_t check_head_sum(const struct check_piece *piece);

#endif
