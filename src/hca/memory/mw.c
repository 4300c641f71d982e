/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory windows. A window has an entry of its own, which is valid while it is bound; binding
 * copies the reach of its region. The entry is changed by the queue pair that binds, under that
 * QP's lock and inside its guard, so a rebind cannot wait for readers: it moves the key instead,
 * readers of the old key fail at their next look, and the request completes behind a fence.
 */
#include "hca/memory/mw.h"

#include <errno.h>
#include <stdlib.h>

#include "util/explain.h"
#include "util/forksafe.h"

/* Windows of this process by index, so that a bind request can find them. */
static pthread_mutex_t mw_lock = PTHREAD_MUTEX_INITIALIZER;
FORKSAFE(mw_lock, FORKSAFE_OBJECT);
static struct hca_mw *all;

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
	err = hca_mr_number_get(&mw->index, &mw->key);
	if (err)
		goto free_mw;
	mw->pd = pd;
	mw->type2 = type2;
	hca_pd_get(pd);
	pthread_mutex_lock(&mw_lock);
	mw->next = all;
	all = mw;
	pthread_mutex_unlock(&mw_lock);
	*out = mw;
	return 0;
free_mw:
	free(mw);
drop:
	hca_ctx_drop(pd->ctx, HCA_KIND_MW);
	return err;
}

static void unbind(struct hca_mw *mw)
{
	/* [G1] */
	atomic_store_explicit(&hca_mr_entry(mw->index)->key, 0, memory_order_seq_cst);
	if (mw->mr) {
		atomic_fetch_sub(&mw->mr->windows, 1);
		mw->mr = NULL;
	}
}

int hca_mw_destroy(struct hca_mw *mw)
{
	struct hca_mw **at;

	pthread_mutex_lock(&mw_lock);
	for (at = &all; *at && *at != mw; at = &(*at)->next)
		;
	if (*at)
		*at = mw->next;
	unbind(mw);
	pthread_mutex_unlock(&mw_lock);
	hca_mr_unpublish(mw->index);
	hca_mr_number_put(mw->index);
	hca_ctx_drop(mw->pd->ctx, HCA_KIND_MW);
	hca_pd_put(mw->pd);
	free(mw);
	return 0;
}

static struct hca_mw *find(uint32_t index)
{
	struct hca_mw *mw;

	for (mw = all; mw && mw->index != index; mw = mw->next)
		;
	return mw;
}

/* A remote or local invalidate names the key only; it must be a bound type 2 window of this QP. */
int hca_mw_invalidate(uint32_t key, uint32_t pdn, uint32_t qpn)
{
	struct hca_mw *mw;
	int err = -EINVAL;

	pthread_mutex_lock(&mw_lock);
	mw = find(key >> 8);
	if (mw && mw->type2 && mw->key == key && mw->mr && mw->pd->pdn == pdn &&
	    hca_mr_entry(mw->index)->qpn == qpn) {
		unbind(mw);
		err = 0;
	}
	pthread_mutex_unlock(&mw_lock);
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
	if (!mr || mr->key != b->mr_key || mr->pd->pdn != pdn)
		return -EINVAL;
	region = hca_mr_entry(mr->index);
	if (!(mr->access & HCA_ACCESS_MW_BIND) || b->addr < region->iova ||
	    b->len > region->length || b->addr - region->iova > region->length - b->len)
		return -EACCES;
	/* A window may not give what local writing of the region would need and does not have. */
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

	pthread_mutex_lock(&mw_lock);
	mw = find(b->mw_key >> 8);
	err = mw ? check_bind(mw, b, mr, pdn) : -EINVAL;
	/* A type 2 window is bound once, until it is invalidated. */
	if (!err && mw->type2 && mw->mr && b->len)
		err = -EINVAL;
	if (err)
		goto unlock;
	unbind(mw);
	mw->key = b->new_key;
	if (b->len) {
		const struct hca_mr_entry *region = hca_mr_entry(mr->index);

		entry = (struct hca_mr_entry){
			.context = mw->pd->ctx->uid,
			.pdn = mw->pd->pdn,
			.access = b->access,
			.flags = (region->flags & (HCA_MR_SHARED | HCA_MR_CAREFUL)) |
				 (mw->type2 ? HCA_MR_WINDOW2 : HCA_MR_WINDOW1),
			.iova = b->access & HCA_ACCESS_ZERO_BASED ? 0 : b->addr,
			.length = b->len,
			.va = region->va + (b->addr - region->iova),
			.qpn = qpn,
		};
		mw->mr = mr;
		atomic_fetch_add(&mr->windows, 1);
		hca_mr_entry(mw->index)->generation++;
		hca_mr_publish(mw->index, &entry, mw->key);
	}
unlock:
	pthread_mutex_unlock(&mw_lock);
	return err;
}
