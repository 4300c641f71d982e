/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/memory/pd.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#include "fabric/directory.h"
#include "hca/hca.h"
#include "hca/memory/mr.h"
#include "hca/peers/ctx_share.h"
#include "hca/device/table.h"
#include "util/explain.h"
#include "util/forksafe.h"

/* Guards the table, and that nobody takes a domain that is about to go. */
static pthread_mutex_t pd_lock = PTHREAD_MUTEX_INITIALIZER;
FORKSAFE(pd_lock, FORKSAFE_OBJECT);
static struct hca_table domains;

/* Locked. Makes the domain known here, and its row to others. */
static int add(struct hca_pd *pd)
{
	int err = hca_table_set(&domains, pd->pdn, pd);

	if (err)
		return err;
	pd->row = hca_mr_entry(pd->pdn);
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
	err = hca_mr_number_get(&pd->pdn, &key);
	if (err)
		goto free_pd;
	pthread_mutex_lock(&pd_lock);
	err = add(pd);
	pthread_mutex_unlock(&pd_lock);
	if (err)
		goto put_number;
	*out = pd;
	return 0;
put_number:
	hca_mr_number_put(pd->pdn);
free_pd:
	free(pd);
drop:
	hca_ctx_drop(ctx, HCA_KIND_PD);
	return err;
}

/* Locked. One that this process made, or has imported already. */
static struct hca_pd *find_here(const struct hca_ctx *ctx, uint32_t pdn)
{
	struct hca_pd *pd = hca_table_find(&domains, pdn);

	/* In a forked child the parent's domains are another process's. */
	return pd && !pd->gone && pd->ctx->uid == ctx->uid && hca_ctx_is_here(pd->ctx) ? pd : NULL;
}

static int import(struct hca_ctx *ctx, uint32_t pdn, struct hca_pd **out)
{
	struct hca_row_others others = hca_row_look(ctx, pdn, HCA_MR_DOMAIN);
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

	pthread_mutex_lock(&pd_lock);
	pd = find_here(ctx, pdn);
	if (pd && hca_row_is_shown(pd->row, HCA_MR_DOMAIN)) {
		pd->refs++;
		*out = pd;
	} else if (pd) {
		err = explain(ENOENT, "the protection domain %u was destroyed elsewhere", pdn);
	} else {
		err = import(ctx, pdn, out);
	}
	pthread_mutex_unlock(&pd_lock);
	return err;
}

/* Locked. True when it is to be freed: what was made here and lives stays, for a later import. */
static bool unref(struct hca_pd *pd)
{
	bool shown = hca_row_is_shown(pd->row, HCA_MR_DOMAIN);

	if (--pd->refs || (shown && !pd->imported) || atomic_load(pd->users))
		return false;
	if (hca_table_find(&domains, pd->pdn) == pd)
		hca_table_set(&domains, pd->pdn, NULL);
	if (pd->imported)
		hca_row_hide(pd->row);
	return true;
}

static void free_pd(struct hca_pd *pd)
{
	if (!pd->imported)
		hca_mr_number_put(pd->pdn);
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
	users = hca_row_look(pd->ctx, pd->pdn, HCA_MR_DOMAIN).users;
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

	pthread_mutex_lock(&pd_lock);
	err = destroy(pd);
	if (!err)
		last = unref(pd);
	pthread_mutex_unlock(&pd_lock);
	if (last)
		free_pd(pd);
	return err;
}

void hca_pd_unref(struct hca_pd *pd)
{
	bool last;

	pthread_mutex_lock(&pd_lock);
	last = unref(pd);
	pthread_mutex_unlock(&pd_lock);
	if (last)
		free_pd(pd);
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
