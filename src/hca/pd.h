/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The objects that only count: a context's adapter side, and protection domains.
 */
#ifndef HCA_PD_H
#define HCA_PD_H

#include <stdatomic.h>

#include "hca/adapter.h"
#include "hca/async.h"

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
	atomic_uint count[HCA_KIND_COUNT];
};

VB_API int hca_ctx_init(struct hca_ctx *ctx, const struct hca_adapter *adapter,
			struct hca_async *async);

/* Counts one more object of the kind; -ENOMEM (as a real driver has it) at the adapter's limit. */
VB_API int hca_ctx_take(struct hca_ctx *ctx, enum hca_kind kind);
VB_API void hca_ctx_drop(struct hca_ctx *ctx, enum hca_kind kind);

struct hca_pd {
	struct hca_ctx *ctx;
	uint32_t pdn; /* unique in this process */
	atomic_uint users;
};

VB_API int hca_pd_create(struct hca_ctx *ctx, struct hca_pd **out);
VB_API int hca_pd_destroy(struct hca_pd *pd); /* -EBUSY while something uses it */
/* By number, with a use taken (hca_pd_put); NULL when the adapter has no such domain. */
VB_API struct hca_pd *hca_pd_hold(const struct hca_adapter *adapter, uint32_t pdn);

static inline void hca_pd_get(struct hca_pd *pd)
{
	atomic_fetch_add_explicit(&pd->users, 1, memory_order_relaxed);
}

static inline void hca_pd_put(struct hca_pd *pd)
{
	atomic_fetch_sub_explicit(&pd->users, 1, memory_order_release);
}

#endif
