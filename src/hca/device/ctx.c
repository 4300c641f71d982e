/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/device/ctx.h"

#include <errno.h>
#include <stddef.h>
#include <sys/random.h>

#include "fabric/directory.h"
#include "hca/hca.h"
#include "util/explain.h"

int hca_ctx_init(struct hca_ctx *ctx, const struct hca_adapter *adapter, struct hca_async *async)
{
	int err;

	ctx->adapter = adapter;
	ctx->async = async;
	atomic_init(&ctx->asos, NULL);
	ctx->domain = atomic_fetch_add(&hca.device.ctx.last_domain, 1) + 1;
	for (int i = 0; i < HCA_KIND_COUNT; i++)
		atomic_init(&ctx->count[i], 0);
	if (getrandom(&ctx->uid, sizeof(ctx->uid), 0) != sizeof(ctx->uid))
		return -errno;
	err = hca.ops->join();
	ctx->creator = ctx->home = fabric_self();
	return err;
}

bool hca_ctx_is_here(const struct hca_ctx *ctx)
{
	return ctx->home == fabric_self();
}

int hca_ctx_check(const struct hca_ctx *ctx)
{
	if (!atomic_load_explicit(&ctx->async->dead, memory_order_relaxed))
		return 0;
	return explain(EIO, "%s was unplugged after this context was opened; close the device",
		       ctx->adapter->name);
}

static const struct {
	const char *name;
	size_t limit;
} kinds[HCA_KIND_COUNT] = {
	[HCA_KIND_PD] = { "protection domains", offsetof(struct hca_limits, max_pd) },
	[HCA_KIND_MR] = { "memory regions", offsetof(struct hca_limits, max_mr) },
	[HCA_KIND_MW] = { "memory windows", offsetof(struct hca_limits, max_mw) },
	[HCA_KIND_CQ] = { "completion queues", offsetof(struct hca_limits, max_cq) },
	[HCA_KIND_QP] = { "queue pairs", offsetof(struct hca_limits, max_qp) },
	[HCA_KIND_SRQ] = { "shared receive queues", offsetof(struct hca_limits, max_srq) },
	[HCA_KIND_WQ] = { "work queues", offsetof(struct hca_limits, max_wq) },
	[HCA_KIND_AH] = { "address handles", offsetof(struct hca_limits, max_ah) },
};

int hca_ctx_take(struct hca_ctx *ctx, enum hca_kind kind)
{
	uint64_t limit =
		*(const uint64_t *)((const char *)&ctx->adapter->limits + kinds[kind].limit);
	int err = hca_ctx_check(ctx);

	/* The child of a fork joins with the first object that it makes in an inherited context. */
	if (!err && unlikely(ctx->home != fabric_self()))
		err = hca.ops->join();
	if (err)
		return err;
	if (atomic_fetch_add(&ctx->count[kind], 1) >= limit) {
		atomic_fetch_sub(&ctx->count[kind], 1);
		return explain(ENOMEM, "%s has no more than %llu %s", ctx->adapter->name,
			       (unsigned long long)limit, kinds[kind].name);
	}
	return 0;
}

void hca_ctx_drop(struct hca_ctx *ctx, enum hca_kind kind)
{
	atomic_fetch_sub(&ctx->count[kind], 1);
}
