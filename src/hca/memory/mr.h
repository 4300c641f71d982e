/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory regions. Each has an entry in the table of keys (key.h). */
#ifndef HCA_MR_H
#define HCA_MR_H

#include <stdbool.h>
#include <stdint.h>

#include "hca/device/access.h"
#include "hca/memory/mr_types.h"
#include "hca/memory/pd.h"

/*
 * Registers. `iova` is the address by which requests name the region. Errors: -EINVAL (access,
 * overflow, length 0 where it may not be), -EFAULT (not mapped), -ENOMEM.
 */
VB_API int hca_mr_create(struct hca_pd *pd, void *addr, uint64_t length, uint64_t iova,
			 uint32_t access, struct hca_mr **out);
/* Memory that the adapter itself owns and that is shared already (device memory, ibv_alloc_buf). */
VB_API int hca_mr_create_owned(struct hca_pd *pd, void *addr, uint64_t length, uint64_t iova,
			       uint32_t access, struct hca_mr **out);
/*
 * Reads as zeros and ignores writes, of peers too. It is no object of the kernel on a real adapter: the domain
 * may be destroyed first.
 */
VB_API int hca_mr_create_null(struct hca_pd *pd, struct hca_mr **out);
/* Changes by flags as enum ibv_rereg_mr_flags has them. The region is unchanged on failure. */
VB_API int hca_mr_change(struct hca_mr *mr, int flags, struct hca_pd *pd, void *addr,
			 uint64_t length, uint32_t access);
/* Gives the region's key another low byte, before the key is handed out. */
VB_API void hca_mr_set_variant(struct hca_mr *mr, uint8_t variant);
/* Whether the memory could be registered: 0, -EFAULT. */
VB_API int hca_mr_check(const void *addr, uint64_t length, uint32_t access);
/*
 * One more handle on a region of the context, or of another process that shares the context.
 * -ENOENT when there is none, -EINVAL when the handle is that of another kind of object.
 */
VB_API int hca_mr_import(struct hca_ctx *ctx, uint32_t index, struct hca_mr **out);
/*
 * Destroys the region, in whichever process it is, and releases the handle. Waits for accesses in
 * flight, here and in peers. -EBUSY while a window is bound to it; -ENOENT when it was destroyed
 * through another handle.
 */
VB_API int hca_mr_destroy(struct hca_mr *mr);
/* The context's region of this process with the key, or NULL. The caller keeps it from going. */
VB_API struct hca_mr *hca_mr_of_key(const struct hca_ctx *ctx, uint32_t key);
/* Releases the handle only. */
VB_API void hca_mr_unref(struct hca_mr *mr);

/* ---- for the adapter ---- */

/* By full key, inside an epoch section; NULL when there is none. */
struct hca_mr *hca_mr_find(uint32_t key);

#endif
