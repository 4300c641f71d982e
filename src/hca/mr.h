/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory regions and windows. Each has an entry in a table in the process segment, which peers on
 * this host read to check and carry out their own accesses. A key is the entry's index and a
 * counter in the low byte that changes with every use of the entry.
 *
 * Entries are written by the owner's process under mr_lock; readers hold a guard (guard.h), check
 * the key first, and may rely on the memory until they leave the guard.
 */
#ifndef HCA_MR_H
#define HCA_MR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "hca/pd.h"

/* Access rights; bits as enum ibv_access_flags has them. */
enum hca_access {
	HCA_ACCESS_LOCAL_WRITE = 1 << 0,
	HCA_ACCESS_REMOTE_WRITE = 1 << 1,
	HCA_ACCESS_REMOTE_READ = 1 << 2,
	HCA_ACCESS_REMOTE_ATOMIC = 1 << 3,
	HCA_ACCESS_MW_BIND = 1 << 4,
	HCA_ACCESS_ZERO_BASED = 1 << 5,
	HCA_ACCESS_ON_DEMAND = 1 << 6,
	HCA_ACCESS_HUGETLB = 1 << 7,
	HCA_ACCESS_FLUSH_GLOBAL = 1 << 8,
	HCA_ACCESS_FLUSH_PERSISTENT = 1 << 9,
	HCA_ACCESS_RELAXED = 1 << 20,
};

enum hca_mr_flags {
	HCA_MR_SHARED = 1 << 0,  /* peers may map it through the owner's share memfd */
	HCA_MR_NULL = 1 << 1,    /* reads as zeros, swallows writes */
	HCA_MR_CAREFUL = 1 << 2, /* pages may be missing: copy through the kernel */
	HCA_MR_WINDOW1 = 1 << 3,
	HCA_MR_WINDOW2 = 1 << 4,  /* bound to one QP: qpn */
	HCA_MR_INDIRECT = 1 << 5, /* pieces of other keys: mkey.h */
};

struct hca_mr_entry {
	_Atomic uint32_t key; /* 0: not valid. Written last when made, first when unmade */
	uint32_t pdn;
	uint32_t access;
	uint32_t flags;
	uint64_t iova;
	uint64_t length;
	uint64_t va; /* of iova, in the owner */
	uint32_t qpn;
	uint32_t generation; /* moves whenever the memory behind the entry may have changed */
	uint64_t reserved[2];
};

_Static_assert(sizeof(struct hca_mr_entry) == 64, "one line");

struct hca_mr {
	struct hca_pd *pd;
	uint32_t index;
	uint32_t key; /* lkey and rkey alike */
	uint32_t access;
	void *addr;
	uint64_t length;
	uint64_t iova;
	bool shared;         /* holds a share_range reference */
	atomic_uint windows; /* bound to it */
	void *buffer;        /* for adapter-owned memory: no share reference of its own */
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
/* Waits for accesses in flight, here and in peers. -EBUSY while a window is bound to it. */
VB_API int hca_mr_destroy(struct hca_mr *mr);

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

/* Device memory: a piece of the adapter's own, zeroed. -ENOMEM when the model has no more. */
VB_API int hca_dm_alloc(struct hca_ctx *ctx, uint64_t length, void **out);
VB_API void hca_dm_free(struct hca_ctx *ctx, void *dm, uint64_t length);

/* Memory for programs, page aligned and shared from the start; for hca_mr_create_owned(). */
VB_API int hca_buf_alloc(uint64_t length, void **out);
VB_API void hca_buf_free(void *buf);

/* ---- inside the adapter ---- */

struct hca_mr_entry *hca_mr_entry(uint32_t index);
/* By full key, inside a guard; NULL when there is none. */
struct hca_mr *hca_mr_find(uint32_t key);
int hca_mr_number_get(uint32_t *index, uint32_t *key);
void hca_mr_number_put(uint32_t index);
void hca_mr_publish(uint32_t index, const struct hca_mr_entry *from, uint32_t key);
/* Waits until nobody uses the entry any more. Not inside a guard. */
void hca_mr_unpublish(uint32_t index);

#endif
