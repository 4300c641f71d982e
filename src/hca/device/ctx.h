/* SPDX-License-Identifier: BSD-2-Clause */
/* The adapter's side of an open context: its identity, and the numbers of its objects. */
#ifndef HCA_CTX_H
#define HCA_CTX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

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

struct hca_table;

/* One open context. The first one joins the fabric, which the process leaves only at its end. */
struct hca_ctx {
	const struct hca_adapter *adapter;
	struct hca_async *async;
	uint32_t domain; /* tells contexts of this process apart */
	/* the same for a context and all that are imported from it, in every process */
	uint64_t uid;
	fabric_id_t creator; /* the process that opened it first */
	fabric_id_t home;    /* this process; another one in a forked child */
	/* of the library, may be NULL: keep and release the struct that contains this one */
	void (*get)(struct hca_ctx *ctx);
	void (*put)(struct hca_ctx *ctx);
	/* Replies of atomics are left in network order, as mlx5 can be told to; otherwise host order. */
	_Atomic bool atomic_reply_be;
	/* ASO contexts by number, of the driver; NULL: none */
	_Atomic(struct hca_table *) asos;
	atomic_uint count[HCA_KIND_COUNT];
};

/* Joins the fabric if the process has not. */
VB_API int hca_ctx_init(struct hca_ctx *ctx, const struct hca_adapter *adapter,
			struct hca_async *async);
/* False in a forked child: the context belongs to the parent. */
VB_API bool hca_ctx_is_here(const struct hca_ctx *ctx);

/* 0; -EIO: the adapter was removed under the context. */
VB_API int hca_ctx_check(const struct hca_ctx *ctx);

/* Counts one more object of the kind; -EIO as above; -ENOMEM (as a real driver has it) at the adapter's limit. */
VB_API int hca_ctx_take(struct hca_ctx *ctx, enum hca_kind kind);
VB_API void hca_ctx_drop(struct hca_ctx *ctx, enum hca_kind kind);

#endif
