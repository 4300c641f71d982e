/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Device memory: a piece of the adapter's own, zeroed. Handles as for regions; device memory of
 * another process that shares the context is mapped here.
 */
#ifndef HCA_DM_H
#define HCA_DM_H

#include <stdatomic.h>
#include <stdint.h>

#include "fabric/id.h"
#include "hca/device/ctx.h"

struct hca_mr_entry;

struct hca_dm {
	struct hca_ctx *ctx;
	uint32_t index;
	void *addr;      /* NULL: gone */
	uint64_t length; /* as the program asked for; no access reaches further */
	uint64_t size;
	struct hca_mr_entry *row;
	unsigned int refs;
	fabric_id_t owner;   /* the process that it belongs to; 0: this one */
	atomic_uint op_maps; /* times that addresses of operations were mapped (dm_op.h) */
};

/* -ENOMEM when the model has no more. */
VB_API int hca_dm_create(struct hca_ctx *ctx, uint64_t length, uint64_t size, struct hca_dm **out);
/* Errors as of hca_mr_import(); -EOPNOTSUPP where there are no memfds. */
VB_API int hca_dm_import(struct hca_ctx *ctx, uint32_t index, struct hca_dm **out);
/* -EBUSY while a region is on it, or another process has it imported; -ENOENT when it is gone. */
VB_API int hca_dm_destroy(struct hca_dm *dm);
VB_API void hca_dm_unref(struct hca_dm *dm);
/* A region on the memory is created, and destroyed. */
VB_API void hca_dm_get(struct hca_dm *dm);
VB_API void hca_dm_put(struct hca_dm *dm);
/* The descriptor of a dmabuf over whole pages, where the kernel makes such ones; or -errno. */
VB_API int hca_dm_export(struct hca_dm *dm);
/*
 * Maps addresses at which an access to the memory is an operation (enum hca_dm_op in dm_op.h). The
 * program unmaps them; those that are still mapped when the memory goes have no effect any more.
 */
VB_API int hca_dm_op_map(struct hca_dm *dm, unsigned int op, void **out);

#endif
