/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory windows. A window has an entry of its own, which is valid while it is bound; binding
 * copies the reach of its region. The entry is changed by the queue pair that binds, under that
 * QP's lock and inside its epoch section, so a rebind cannot wait for readers: it changes the key
 * instead, readers of the old key fail at their next check, and the request completes after a grace
 * period (grace.h).
 */
#include "hca/memory/mw.h"

#include <errno.h>
#include <stdlib.h>

#include "hca/hca.h"
#include "hca/memory/key.h"
#include "hca/memory/mr_stopped.h"

int hca_mw_create(struct hca_pd *pd, bool type2, struct hca_mw **out)
{
	struct hca_mw *mw;
	int err = hca_ctx_take(pd->ctx, HCA_KIND_MW);

	if (err)
		return err;
	mw = calloc(1, sizeof(*mw));
	if (!mw) {
		err = -ENOMEM;
		goto drop;
	}
	err = hca_key_get(&mw->index, &mw->key);
	if (err)
		goto free_mw;
	mw->pd = pd;
	mw->type2 = type2;
	err = hca_table_set(&hca.memory.mw.table, mw->index, mw);
	if (err)
		goto put_key;
	hca_pd_get(pd);
	*out = mw;
	return 0;
put_key:
	hca_key_put(mw->index);
free_mw:
	free(mw);
drop:
	hca_ctx_drop(pd->ctx, HCA_KIND_MW);
	return err;
}

/* Lock held. */
static void unbind(struct hca_mw *mw)
{
	hca_key_invalidate(mw->index);
	if (mw->mr) {
		atomic_fetch_sub(&mw->mr->windows, 1);
		mw->mr = NULL;
	}
}

int hca_mw_destroy(struct hca_mw *mw)
{
	pthread_mutex_lock(&hca.memory.mw.lock);
	hca_table_set(&hca.memory.mw.table, mw->index, NULL);
	unbind(mw);
	pthread_mutex_unlock(&hca.memory.mw.lock);
	hca_key_invalidate(mw->index);
	mr_stopped_wait();
	hca_key_put(mw->index);
	hca_ctx_drop(mw->pd->ctx, HCA_KIND_MW);
	hca_pd_put(mw->pd);
	free(mw);
	return 0;
}

int hca_mw_invalidate(uint32_t key, uint32_t pdn, uint32_t qpn)
{
	struct hca_mw *mw;
	int err = -EINVAL;

	pthread_mutex_lock(&hca.memory.mw.lock);
	mw = hca_table_find(&hca.memory.mw.table, key >> 8);
	if (mw && mw->type2 && mw->key == key && mw->mr && mw->pd->pdn == pdn &&
	    hca_key_entry(mw->index)->qpn == qpn) {
		unbind(mw);
		err = 0;
	}
	pthread_mutex_unlock(&hca.memory.mw.lock);
	return err;
}

static int check_bind(const struct hca_mw *mw, const struct hca_bind *b, struct hca_mr *mr,
		      uint32_t pdn)
{
	const struct hca_mr_entry *region;

	if (mw->pd->pdn != pdn || mw->type2 != b->type2 || (b->new_key >> 8) != mw->index)
		return -EINVAL;
	if (!b->len)
		return 0;
	if (!mr || mr->key != b->mr_key || !mr->pd || mr->pd->pdn != pdn)
		return -EINVAL;
	region = hca_key_entry(mr->index);
	if (!(mr->access & HCA_ACCESS_MW_BIND) || b->addr < region->iova ||
	    b->len > region->length || b->addr - region->iova > region->length - b->len)
		return -EACCES;
	/* Remote write and atomic rights need local write access of the region. */
	if ((b->access & (HCA_ACCESS_REMOTE_WRITE | HCA_ACCESS_REMOTE_ATOMIC)) &&
	    !(mr->access & HCA_ACCESS_LOCAL_WRITE))
		return -EACCES;
	return 0;
}

int hca_mw_bind(const struct hca_bind *b, struct hca_mr *mr, uint32_t pdn, uint32_t qpn)
{
	struct hca_mr_entry entry = { 0 };
	struct hca_mw *mw;
	int err;

	pthread_mutex_lock(&hca.memory.mw.lock);
	mw = hca_table_find(&hca.memory.mw.table, b->mw_key >> 8);
	err = mw ? check_bind(mw, b, mr, pdn) : -EINVAL;
	/* A type 2 window is bound once, until it is invalidated. */
	if (!err && mw->type2 && mw->mr && b->len)
		err = -EINVAL;
	if (err)
		goto unlock;
	unbind(mw);
	mw->key = b->new_key;
	if (b->len) {
		const struct hca_mr_entry *region = hca_key_entry(mr->index);

		entry = (struct hca_mr_entry){
			.context = mw->pd->ctx->uid,
			.pdn = mw->pd->pdn,
			.access = b->access,
			.flags = (hca_entry_flags(region) & (HCA_MR_SHARED | HCA_MR_CAREFUL)) |
				 (mw->type2 ? HCA_MR_WINDOW2 : HCA_MR_WINDOW1),
			.iova = b->access & HCA_ACCESS_ZERO_BASED ? 0 : b->addr,
			.length = b->len,
			.va = region->va + (b->addr - region->iova),
			.qpn = qpn,
		};
		mw->mr = mr;
		atomic_fetch_add(&mr->windows, 1);
		hca_key_entry(mw->index)->generation++;
		hca_key_publish(mw->index, &entry, mw->key);
	}
unlock:
	pthread_mutex_unlock(&hca.memory.mw.lock);
	return err;
}
