/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/pd.h"

#include <errno.h>
#include <stdlib.h>

#include "hca/host.h"
#include "hca/table.h"
#include "util/explain.h"
#include "util/forksafe.h"

/* Guards the table, and that nobody takes a domain that is about to go. */
static pthread_mutex_t pd_lock = PTHREAD_MUTEX_INITIALIZER;
FORKSAFE(pd_lock, FORKSAFE_OBJECT);
static struct hca_table domains;
static uint32_t last_pdn;

int hca_ctx_init(struct hca_ctx *ctx, const struct hca_adapter *adapter, struct hca_async *async)
{
	static atomic_uint contexts = 1;

	ctx->adapter = adapter;
	ctx->async = async;
	ctx->domain = atomic_fetch_add(&contexts, 1);
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
	[HCA_KIND_WQ] = { "work queues", offsetof(struct hca_limits, max_wq) },
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

/* 24 bits, as the adapters have; a number comes again only after 16 million others. */
static int number(struct hca_pd *pd)
{
	int err;

	pthread_mutex_lock(&pd_lock);
	do
		last_pdn = (last_pdn + 1) & 0xffffff;
	while (!last_pdn || hca_table_find(&domains, last_pdn));
	pd->pdn = last_pdn;
	err = hca_table_set(&domains, pd->pdn, pd);
	pthread_mutex_unlock(&pd_lock);
	return err;
}

int hca_pd_create(struct hca_ctx *ctx, struct hca_pd **out)
{
	struct hca_pd *pd;
	int err = hca_ctx_take(ctx, HCA_KIND_PD);

	if (err)
		return err;
	pd = calloc(1, sizeof(*pd));
	if (!pd) {
		err = -ENOMEM;
		goto drop;
	}
	pd->ctx = ctx;
	err = number(pd);
	if (err)
		goto free_pd;
	*out = pd;
	return 0;
free_pd:
	free(pd);
drop:
	hca_ctx_drop(ctx, HCA_KIND_PD);
	return err;
}

int hca_pd_destroy(struct hca_pd *pd)
{
	unsigned int users;

	pthread_mutex_lock(&pd_lock);
	users = atomic_load_explicit(&pd->users, memory_order_acquire);
	if (!users)
		hca_table_set(&domains, pd->pdn, NULL);
	pthread_mutex_unlock(&pd_lock);
	if (users)
		return explain(EBUSY, "%u objects still belong to the protection domain", users);
	hca_ctx_drop(pd->ctx, HCA_KIND_PD);
	free(pd);
	return 0;
}

struct hca_pd *hca_pd_hold(const struct hca_adapter *adapter, uint32_t pdn)
{
	struct hca_pd *pd;

	pthread_mutex_lock(&pd_lock);
	pd = hca_table_find(&domains, pdn);
	if (pd && pd->ctx->adapter != adapter)
		pd = NULL;
	if (pd)
		hca_pd_get(pd);
	pthread_mutex_unlock(&pd_lock);
	return pd;
}
