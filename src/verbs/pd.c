/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Protection domains. Who belongs to one is counted in the adapter.
 */
#include "verbs/pd.h"

#include <stdlib.h>

#include "util/explain.h"
#include "verbs/import.h"
#include "verbs/result.h"

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	struct vb_context *ctx = to_context(context);
	struct vb_pd *pd = calloc(1, sizeof(*pd));
	int err;

	if (!pd)
		return vb_null(-ENOMEM);
	err = hca_pd_create(&ctx->hca, &pd->hca);
	if (err) {
		free(pd);
		return vb_null(err);
	}
	pd->pd.context = context;
	pd->pd.handle = pd->hca->pdn;
	vb_context_get(ctx);
	vb_list_add(ctx, &ctx->root->lists.pd, &pd->link, pd->pd.handle);
	return &pd->pd;
}

int ibv_dealloc_pd(struct ibv_pd *public)
{
	struct vb_context *ctx = to_context(public->context);
	struct vb_pd *pd = to_pd(public);
	int err;

	if (pd->of)
		return vb_result(vb_parent_dealloc(pd));
	err = hca_pd_destroy(pd->hca);
	if (err)
		return vb_result(err);
	if (!vb_list_del(ctx, &pd->link))
		vb_list_forget(ctx, &ctx->root->lists.pd, pd->pd.handle);
	vb_context_put(ctx);
	free(pd);
	return 0;
}

struct ibv_pd *ibv_import_pd(struct ibv_context *context, uint32_t handle)
{
	struct vb_context *ctx = to_context(context);
	struct vb_link *of = vb_list_find(ctx, &ctx->root->lists.pd, handle);
	struct vb_pd *pd;

	if (!of)
		return explain_null(EINVAL,
				    "ibv_import_pd: no protection domain of this context has "
				    "the handle %u",
				    handle);
	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return vb_null(-ENOMEM);
	pd->hca = container_of(of, struct vb_pd, link)->hca;
	pd->pd.context = context;
	pd->pd.handle = handle;
	vb_context_get(ctx);
	return &pd->pd;
}

void ibv_unimport_pd(struct ibv_pd *public)
{
	struct vb_context *ctx = to_context(public->context);
	struct vb_pd *pd = to_pd(public);

	if (pd->of) {
		explain_note("ibv_unimport_pd: a parent domain is never imported; "
			     "ibv_dealloc_pd frees it");
		return;
	}
	vb_list_del(ctx, &pd->link);
	vb_context_put(ctx);
	free(pd);
}
