/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory regions.
 */
#ifndef VERBS_MR_H
#define VERBS_MR_H

#include "verbs/objects.h"

/* The memory of a region, and its address in requests. */
struct vb_mr_range {
	void *addr; /* in the public struct */
	void *va;   /* of the memory in this process */
	size_t length;
	uint64_t iova;
};

/* -EOPNOTSUPP for access rights that the device does not have. */
int vb_mr_check_access(struct vb_context *ctx, unsigned int access);

/*
 * Registers and fills the public struct. `owned`: memory that the adapter allocated. 0 or
 * -errno.
 */
int vb_mr_make(struct vb_pd *pd, const struct vb_mr_range *range, unsigned int access, bool owned,
	       enum vb_mr_kind kind, struct vb_mr **out);

/* An iova equal to the address means that the program gave none. */
int vb_mr_register(struct vb_pd *pd, void *addr, size_t length, uint64_t iova, unsigned int access,
		   bool owned, struct vb_mr **out);

/* For the dispatch table. */
struct ibv_mr *vb_alloc_null_mr(struct ibv_pd *pd);

#endif
