/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory regions.
 */
#ifndef VERBS_MR_H
#define VERBS_MR_H

#include "verbs/objects.h"

/* Where a region's memory is, and how requests name it. */
struct vb_mr_range {
	void *addr; /* as the public struct will show it */
	void *va;   /* where the memory is */
	size_t length;
	uint64_t iova;
};

/* Access rights that need something the device does not have. 0 or -EOPNOTSUPP. */
int vb_mr_check_access(struct vb_context *ctx, unsigned int access);

/*
 * Registers and fills the public struct. `owned`: memory that the adapter gave out itself. The
 * caller adds what its kind of region needs to the struct. 0 or -errno.
 */
int vb_mr_make(struct vb_pd *pd, const struct vb_mr_range *range, unsigned int access, bool owned,
	       enum vb_mr_kind kind, struct vb_mr **out);

/* By address. An iova equal to the address means that none was asked for. */
int vb_mr_register(struct vb_pd *pd, void *addr, size_t length, uint64_t iova, unsigned int access,
		   bool owned, struct vb_mr **out);

/* For the dispatch table. */
struct ibv_mr *vb_alloc_null_mr(struct ibv_pd *pd);

#endif
