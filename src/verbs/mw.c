/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory windows. Binding is a work request, which the driver posts.
 */
#include "verbs/mw.h"

#include <stdlib.h>

#include "hca/memory/mw.h"
#include "util/explain.h"
#include "verbs/object_check.h"
#include "verbs/removal.h"
#include "verbs/result.h"

struct ibv_mw *vb_alloc_mw(struct ibv_pd *public_pd, enum ibv_mw_type type)
{
	struct vb_pd *pd = to_pd(public_pd);
	struct vb_mw *mw;
	int err;

	if (type != IBV_MW_TYPE_1 && type != IBV_MW_TYPE_2)
		return explain_null(EINVAL,
				    "ibv_alloc_mw: type %d; there are IBV_MW_TYPE_1 and "
				    "IBV_MW_TYPE_2",
				    (int)type);
	err = vb_check_pd(public_pd, EINVAL, "ibv_alloc_mw");
	if (err)
		return vb_null(err);
	mw = calloc(1, sizeof(*mw));
	if (!mw)
		return vb_null(-ENOMEM);
	err = hca_mw_create(pd->hca, type == IBV_MW_TYPE_2, &mw->hca);
	if (err) {
		free(mw);
		return vb_null(err);
	}
	mw->mw.context = public_pd->context;
	mw->mw.pd = public_pd;
	mw->mw.rkey = mw->hca->key;
	mw->mw.handle = mw->hca->index;
	mw->mw.type = type;
	mw->pd = pd;
	vb_parent_get(pd);
	verbena_handle_add(&mw->own, to_context(public_pd->context), VB_KIND_MW, mw->hca->index);
	vb_context_get(mw->own.ctx);
	return &mw->mw;
}

int vb_dealloc_mw(struct ibv_mw *public)
{
	struct vb_mw *mw = to_mw(public);
	int err = vb_check_destroy(public->context);

	if (!err)
		err = vb_check_mw(public, ENOENT, "ibv_dealloc_mw");
	if (!err)
		err = hca_mw_destroy(mw->hca);
	if (err)
		return vb_result(err);
	vb_handle_remove(&mw->own);
	vb_parent_put(mw->pd);
	vb_context_put(mw->own.ctx);
	free(mw);
	return 0;
}
