/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/pd.h"

#include <errno.h>
#include <stdlib.h>

#include "hca/host.h"
#include "util/explain.h"

int hca_ctx_init(struct hca_ctx *ctx, const struct hca_adapter *adapter, struct hca_async *async)
{
	ctx->adapter = adapter;
	ctx->async = async;
	for (int i = 0; i < HCA_KIND_COUNT; i++)
		atomic_init(&ctx->count[i], 0);
	return hca_host_join();
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
	[HCA_KIND_AH] = { "address handles", offsetof(struct hca_limits, max_ah) },
};

int hca_ctx_take(struct hca_ctx *ctx, enum hca_kind kind)
{
	uint64_t limit =
		*(const uint64_t *)((const char *)&ctx->adapter->limits + kinds[kind].limit);

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

int hca_pd_create(struct hca_ctx *ctx, struct hca_pd **out)
{
	static atomic_uint next = 1;
	struct hca_pd *pd;
	int err = hca_ctx_take(ctx, HCA_KIND_PD);

	if (err)
		return err;
	pd = calloc(1, sizeof(*pd));
	if (!pd) {
		hca_ctx_drop(ctx, HCA_KIND_PD);
		return -ENOMEM;
	}
	pd->ctx = ctx;
	/* 24 bits, as the adapters have; a number comes again only after 16 million others. */
	do
		pd->pdn = atomic_fetch_add(&next, 1) & 0xffffff;
	while (!pd->pdn);
	*out = pd;
	return 0;
}

int hca_pd_destroy(struct hca_pd *pd)
{
	unsigned int users = atomic_load_explicit(&pd->users, memory_order_acquire);

	if (users)
		return explain(EBUSY, "%u objects still belong to the protection domain", users);
	hca_ctx_drop(pd->ctx, HCA_KIND_PD);
	free(pd);
	return 0;
}
