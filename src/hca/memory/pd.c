/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/memory/pd.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "hca/hca.h"
#include "hca/memory/key.h"
#include "hca/peers/ctx_share.h"
#include "util/explain.h"

/* Lock held. Enters the domain into the table, and publishes its row. */
static int add(struct hca_pd *pd)
{
	int err = hca_table_set(&hca.memory.pd.table, pd->pdn, pd);

	if (err)
		return err;
	pd->row = hca_key_entry(pd->pdn);
	pd->users = &pd->row->users;
	pd->refs = 1;
	hca_row_show(pd->row, pd->ctx, HCA_MR_DOMAIN);
	return 0;
}

int hca_pd_create(struct hca_ctx *ctx, struct hca_pd **out)
{
	struct hca_pd *pd;
	uint32_t key;
	int err = hca_ctx_take(ctx, HCA_KIND_PD);

	if (err)
		return err;
	pd = calloc(1, sizeof(*pd));
	if (!pd) {
		err = -ENOMEM;
		goto drop;
	}
	pd->ctx = ctx;
	/* 24 bits, as the adapters have */
	err = hca_key_get(&pd->pdn, &key);
	if (err)
		goto free_pd;
	pthread_mutex_lock(&hca.memory.pd.lock);
	err = add(pd);
	pthread_mutex_unlock(&hca.memory.pd.lock);
	if (err)
		goto put_number;
	*out = pd;
	return 0;
put_number:
	hca_key_put(pd->pdn);
free_pd:
	free(pd);
drop:
	hca_ctx_drop(ctx, HCA_KIND_PD);
	return err;
}

/* Lock held. A domain that this process created, or has imported already. */
static struct hca_pd *find_here(const struct hca_ctx *ctx, uint32_t pdn)
{
	struct hca_pd *pd = hca_table_find(&hca.memory.pd.table, pdn);

	/* The domains that a forked child has inherited are the parent's. */
	return pd && !pd->gone && pd->ctx->uid == ctx->uid && hca_ctx_is_here(pd->ctx) ? pd : NULL;
}

static int import(struct hca_ctx *ctx, uint32_t pdn, struct hca_pd **out)
{
	struct hca_row_others others = hca_row_query(ctx, pdn, HCA_MR_DOMAIN);
	struct hca_pd *pd;
	int err;

	if (!others.exists)
		return explain(others.other_kind ? EINVAL : ENOENT,
			       others.other_kind
				       ? "the handle %u is not that of a protection domain"
				       : "no protection domain of the context has the handle %u",
			       pdn);
	err = hca_ctx_take(ctx, HCA_KIND_PD);
	if (err)
		return err;
	pd = calloc(1, sizeof(*pd));
	if (!pd) {
		err = -ENOMEM;
		goto drop;
	}
	pd->ctx = ctx;
	pd->pdn = pdn;
	pd->imported = true;
	err = add(pd);
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

int hca_pd_import(struct hca_ctx *ctx, uint32_t pdn, struct hca_pd **out)
{
	struct hca_pd *pd;
	int err = 0;

	pthread_mutex_lock(&hca.memory.pd.lock);
	pd = find_here(ctx, pdn);
	if (pd && hca_row_is_shown(pd->row, HCA_MR_DOMAIN)) {
		pd->refs++;
		*out = pd;
	} else if (pd) {
		err = explain(ENOENT, "the protection domain %u was destroyed elsewhere", pdn);
	} else {
		err = import(ctx, pdn, out);
	}
	pthread_mutex_unlock(&hca.memory.pd.lock);
	return err;
}

/*
 * Lock held. True when it is to be freed. A domain that this process created and that is not
 * destroyed stays, for a later import.
 */
static bool unref(struct hca_pd *pd)
{
	bool shown = hca_row_is_shown(pd->row, HCA_MR_DOMAIN);

	if (--pd->refs || (shown && !pd->imported) || atomic_load(pd->users))
		return false;
	if (hca_table_find(&hca.memory.pd.table, pd->pdn) == pd)
		hca_table_set(&hca.memory.pd.table, pd->pdn, NULL);
	if (pd->imported)
		hca_row_hide(pd->row);
	return true;
}

static void free_pd(struct hca_pd *pd)
{
	if (!pd->imported)
		hca_key_put(pd->pdn);
	hca_ctx_drop(pd->ctx, HCA_KIND_PD);
	free(pd);
}

static int destroy(struct hca_pd *pd)
{
	unsigned int users = atomic_load_explicit(pd->users, memory_order_acquire);

	if (pd->gone || !hca_row_is_shown(pd->row, HCA_MR_DOMAIN))
		return explain(ENOENT, "the protection domain %u was destroyed elsewhere", pd->pdn);
	if (users)
		return explain(EBUSY, "%u objects still belong to the protection domain", users);
	users = hca_row_query(pd->ctx, pd->pdn, HCA_MR_DOMAIN).users;
	if (users)
		return explain(EBUSY,
			       "%u objects of other processes still belong to the protection "
			       "domain",
			       users);
	hca_row_hide(pd->row);
	hca_row_hide_others(pd->ctx, pd->pdn, HCA_MR_DOMAIN);
	pd->gone = true;
	return 0;
}

int hca_pd_destroy(struct hca_pd *pd)
{
	bool last = false;
	int err;

	pthread_mutex_lock(&hca.memory.pd.lock);
	err = destroy(pd);
	pthread_mutex_unlock(&hca.memory.pd.lock);
	if (err)
		return err;
	hca_row_wait_hidden(pd->ctx, pd->pdn, HCA_MR_DOMAIN);
	pthread_mutex_lock(&hca.memory.pd.lock);
	last = unref(pd);
	pthread_mutex_unlock(&hca.memory.pd.lock);
	if (last)
		free_pd(pd);
	return err;
}

void hca_pd_unref(struct hca_pd *pd)
{
	bool last;

	pthread_mutex_lock(&hca.memory.pd.lock);
	last = unref(pd);
	pthread_mutex_unlock(&hca.memory.pd.lock);
	if (last)
		free_pd(pd);
}

struct hca_pd *hca_pd_hold(const struct hca_adapter *adapter, uint32_t pdn)
{
	struct hca_pd *pd;

	pthread_mutex_lock(&hca.memory.pd.lock);
	pd = hca_table_find(&hca.memory.pd.table, pdn);
	if (pd && pd->ctx->adapter != adapter)
		pd = NULL;
	if (pd)
		hca_pd_get(pd);
	pthread_mutex_unlock(&hca.memory.pd.lock);
	return pd;
}
