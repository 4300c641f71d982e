/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The objects that only count: a context's adapter side, and protection domains. A domain may be
 * shared by several contexts, also of several processes (ctx_share.h); it has a reference for each
 * handle, and goes when it was destroyed and the last handle is gone.
 */
#ifndef HCA_PD_H
#define HCA_PD_H

#include <stdatomic.h>
#include <stdbool.h>

#include "fabric/id.h"
#include "hca/device/adapter.h"
#include "hca/device/async.h"

enum hca_kind {
	HCA_KIND_PD,
	HCA_KIND_MR,
	HCA_KIND_MW,
	HCA_KIND_CQ,
	HCA_KIND_QP,
	HCA_KIND_SRQ,
	HCA_KIND_AH,
	HCA_KIND_WQ,
	HCA_KIND_COUNT,
};

/*
 * One open context. Joining the fabric happens with the first (hca_ctx_init), and is undone by the
 * process's end only.
 */
struct hca_ctx {
	const struct hca_adapter *adapter;
	struct hca_async *async;
	uint32_t domain; /* tells contexts of this process apart */
	/* what a context and those imported from it have in common, in whichever process */
	uint64_t uid;
	fabric_id_t creator; /* the process that opened it first */
	fabric_id_t home;    /* this process; another one in a forked child */
	/* the library's, may be NULL: what it is part of must stay, or need not any more */
	void (*get)(struct hca_ctx *ctx);
	void (*put)(struct hca_ctx *ctx);
	atomic_uint count[HCA_KIND_COUNT];
};

VB_API int hca_ctx_init(struct hca_ctx *ctx, const struct hca_adapter *adapter,
			struct hca_async *async);
/* A context of another process, or of this one before it forked. Waits until it can be shared. */
VB_API int hca_ctx_share(struct hca_ctx *ctx, uint64_t uid, fabric_id_t creator);
VB_API void hca_ctx_unshare(struct hca_ctx *ctx);
/* False in a forked child. */
VB_API bool hca_ctx_is_here(const struct hca_ctx *ctx);

/* Counts one more object of the kind; -ENOMEM (as a real driver has it) at the adapter's limit. */
VB_API int hca_ctx_take(struct hca_ctx *ctx, enum hca_kind kind);
VB_API void hca_ctx_drop(struct hca_ctx *ctx, enum hca_kind kind);

struct hca_mr_entry;

struct hca_pd {
	struct hca_ctx *ctx;
	uint32_t pdn;             /* names one domain of the host */
	struct hca_mr_entry *row; /* what others see of it (ctx_share.h) */
	atomic_uint *users;       /* in the row: objects of this process */
	unsigned int refs;        /* handles */
	bool imported;            /* made by another process */
	bool gone;                /* destroyed through one of the handles here */
};

VB_API int hca_pd_create(struct hca_ctx *ctx, struct hca_pd **out);
/* One more handle. -ENOENT when the context has no such domain, -EINVAL when it is something else. */
VB_API int hca_pd_import(struct hca_ctx *ctx, uint32_t pdn, struct hca_pd **out);
/*
 * Destroys, and lets go of one handle. -EBUSY while something uses it, here or in another process;
 * -ENOENT when it was destroyed through another handle.
 */
VB_API int hca_pd_destroy(struct hca_pd *pd);
/* Lets go of one handle only. */
VB_API void hca_pd_unref(struct hca_pd *pd);
/* By number, with a use taken (hca_pd_put); NULL when the adapter has no such domain. */
VB_API struct hca_pd *hca_pd_hold(const struct hca_adapter *adapter, uint32_t pdn);

static inline void hca_pd_get(struct hca_pd *pd)
{
	atomic_fetch_add_explicit(pd->users, 1, memory_order_relaxed);
}

static inline void hca_pd_put(struct hca_pd *pd)
{
	atomic_fetch_sub_explicit(pd->users, 1, memory_order_release);
}

#endif
