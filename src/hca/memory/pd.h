/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Protection domains. A domain may be shared by several contexts, also of several processes
 * (ctx_share.h); it has a reference for each handle, and is freed when it was destroyed and the
 * last handle is gone.
 */
#ifndef HCA_PD_H
#define HCA_PD_H

#include <stdatomic.h>
#include <stdbool.h>

#include "hca/device/ctx.h"

struct hca_mr_entry;

struct hca_pd {
	struct hca_ctx *ctx;
	uint32_t pdn;             /* names one domain of the host */
	struct hca_mr_entry *row; /* published to sharers of the context (ctx_share.h) */
	atomic_uint *users;       /* in the row: objects of this process */
	unsigned int refs;        /* handles */
	bool imported;            /* made by another process */
	bool gone;                /* destroyed through one of the handles here */
};

VB_API int hca_pd_create(struct hca_ctx *ctx, struct hca_pd **out);
/* One more handle. -ENOENT: no such domain in the context; -EINVAL: another kind of object. */
VB_API int hca_pd_import(struct hca_ctx *ctx, uint32_t pdn, struct hca_pd **out);
/*
 * Destroys, and releases one handle. -EBUSY while an object uses it, here or in another process;
 * -ENOENT when it was destroyed through another handle.
 */
VB_API int hca_pd_destroy(struct hca_pd *pd);
/* Releases one handle only. */
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
