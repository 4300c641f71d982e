/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory regions and windows. Each has an entry in a table in the process segment, which peers on
 * this host read to check and carry out their own accesses. A key is the entry's index and a
 * counter in the low byte that changes with every use of the entry. Indexes come from the host
 * directory in blocks, so that an index names one object of the host, and its owner.
 *
 * Entries are written by the owner's process under mr_lock; readers hold a guard (epoch.h), check
 * the key first, and may rely on the memory until they leave the guard.
 */
#ifndef HCA_MR_H
#define HCA_MR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "hca/memory/pd.h"
#include "hca/peers/segment.h"

struct hca_mr {
	struct hca_pd *pd;
	uint32_t index;
	uint32_t key; /* lkey and rkey alike */
	uint32_t access;
	void *addr;
	uint64_t length;
	uint64_t iova;
	bool shared;         /* holds a share_range reference */
	bool null;           /* has no memory */
	atomic_uint windows; /* bound to it */
	void *buffer;        /* for adapter-owned memory: no share reference of its own */
	unsigned int refs;   /* handles */
	bool gone;           /* destroyed, through one of them */
	fabric_id_t owner;   /* a region of another process: which */
	/* the library's: what kind of region it is, and what to do when it is gone */
	int kind;
	void (*on_gone)(void *arg);
	void *on_gone_arg;
};

/*
 * Registers. `iova` is the address by which requests name the region. Errors: -EINVAL (access,
 * overflow, length 0 where it may not be), -EFAULT (not mapped), -ENOMEM.
 */
VB_API int hca_mr_create(struct hca_pd *pd, void *addr, uint64_t length, uint64_t iova,
			 uint32_t access, struct hca_mr **out);
/* Memory that the adapter itself owns and that is shared already (device memory, ibv_alloc_buf). */
VB_API int hca_mr_create_owned(struct hca_pd *pd, void *addr, uint64_t length, uint64_t iova,
			       uint32_t access, struct hca_mr **out);
VB_API int hca_mr_create_null(struct hca_pd *pd, struct hca_mr **out);
/* Changes what is not NULL/0: flags as enum ibv_rereg_mr_flags. The old state holds on failure. */
VB_API int hca_mr_change(struct hca_mr *mr, int flags, struct hca_pd *pd, void *addr,
			 uint64_t length, uint32_t access);
/* Gives the region's key another low byte, before anybody knows the key. */
VB_API void hca_mr_set_variant(struct hca_mr *mr, uint8_t variant);
/* Whether the memory could be registered: 0, -EFAULT. */
VB_API int hca_mr_check(const void *addr, uint64_t length, uint32_t access);
/*
 * One more handle on a region of the context, or of another process that shares the context.
 * -ENOENT when there is none, -EINVAL when the handle is something else's.
 */
VB_API int hca_mr_import(struct hca_ctx *ctx, uint32_t index, struct hca_mr **out);
/*
 * Destroys, wherever it is, and lets go of the handle. Waits for accesses in flight, here and in
 * peers. -EBUSY while a window is bound to it; -ENOENT when another handle has destroyed it.
 */
VB_API int hca_mr_destroy(struct hca_mr *mr);
/* The context's region of this process with the key, or NULL. Its user keeps it from going. */
VB_API struct hca_mr *hca_mr_of_key(const struct hca_ctx *ctx, uint32_t key);
/* Lets go of the handle only. */
VB_API void hca_mr_unref(struct hca_mr *mr);

struct hca_mw {
	struct hca_pd *pd;
	uint32_t index;
	uint32_t key;
	bool type2;
	struct hca_mr *mr; /* bound to */
	struct hca_mw *next;
};

VB_API int hca_mw_create(struct hca_pd *pd, bool type2, struct hca_mw **out);
VB_API int hca_mw_destroy(struct hca_mw *mw);

/*
 * Device memory: a piece of the adapter's own, zeroed. Handles as for regions; one of another
 * process is that process's memory, mapped here.
 */
struct hca_dm {
	struct hca_ctx *ctx;
	uint32_t index;
	void *addr;      /* NULL: gone */
	uint64_t length; /* as asked for; nobody reaches further */
	uint64_t size;
	struct hca_mr_entry *row;
	unsigned int refs;
	fabric_id_t owner; /* of another process: which */
};

/* -ENOMEM when the model has no more. */
VB_API int hca_dm_create(struct hca_ctx *ctx, uint64_t length, uint64_t size, struct hca_dm **out);
/* Errors as of hca_mr_import(); -EOPNOTSUPP where there are no memfds. */
VB_API int hca_dm_import(struct hca_ctx *ctx, uint32_t index, struct hca_dm **out);
/* -EBUSY while a region is on it, or another process has it imported; -ENOENT when it is gone. */
VB_API int hca_dm_destroy(struct hca_dm *dm);
VB_API void hca_dm_unref(struct hca_dm *dm);
/* A region comes, and goes. */
VB_API void hca_dm_get(struct hca_dm *dm);
VB_API void hca_dm_put(struct hca_dm *dm);

/* Memory for programs, page aligned and shared from the start; for hca_mr_create_owned(). */
VB_API int hca_buf_alloc(uint64_t length, void **out);
VB_API void hca_buf_free(void *buf);

/*
 * Another address for a program's memory, good until the unpin whatever the program does to its own
 * mapping: an adapter pins what it is to use. -EOPNOTSUPP: memory that cannot be shared.
 */
VB_API int hca_buf_pin(void *addr, size_t length, void **out);
VB_API void hca_buf_unpin(void *addr, size_t length, void *pinned);

/* ---- inside the adapter ---- */

struct hca_mr_entry *hca_mr_entry(uint32_t index);
/* By full key, inside an epoch section; NULL when there is none. */
struct hca_mr *hca_mr_find(uint32_t key);
int hca_mr_number_get(uint32_t *index, uint32_t *key);
void hca_mr_number_put(uint32_t index);
void hca_mr_forked(void);
void hca_mr_publish(uint32_t index, const struct hca_mr_entry *from, uint32_t key);
/* Waits until nobody uses the entry any more. Not inside an epoch section. */
void hca_mr_unpublish(uint32_t index);

#endif
