/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Protection domains. The adapter counts the objects of one and its handles.
 */
#include "verbs/pd.h"

#include <stdlib.h>

#include "util/explain.h"
#include "verbs/object_check.h"
#include "verbs/observer.h"
#include "verbs/parent.h"
#include "verbs/removal.h"
#include "verbs/result.h"

static struct ibv_pd *make(struct ibv_context *context, uint32_t handle,
			   int (*get)(struct hca_ctx *ctx, uint32_t handle, struct hca_pd **out))
{
	struct vb_context *ctx = to_context(context);
	struct vb_pd *pd = calloc(1, sizeof(*pd));
	int err;

	if (!pd)
		return vb_null(-ENOMEM);
	err = get(&ctx->hca, handle, &pd->hca);
	if (err) {
		free(pd);
		return vb_null(err);
	}
	pd->pd.context = context;
	pd->pd.handle = pd->hca->pdn;
	verbena_handle_add(&pd->own, ctx, VB_KIND_PD, pd->hca->pdn);
	vb_context_get(ctx);
	return &pd->pd;
}

static int create(struct hca_ctx *ctx, uint32_t handle, struct hca_pd **out)
{
	(void)handle;
	return hca_pd_create(ctx, out);
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	return make(context, 0, create);
}

struct ibv_pd *ibv_import_pd(struct ibv_context *context, uint32_t handle)
{
	return make(context, handle, hca_pd_import);
}

static void free_handle(struct vb_pd *pd)
{
	struct vb_context *ctx = pd->own.ctx;

	vb_handle_remove(&pd->own);
	vb_object_free(pd, &pd->own, &pd->pd.context);
	vb_context_put(ctx);
}

int verbena_dealloc_pd(struct ibv_pd *public)
{
	struct vb_pd *pd = to_pd(public);
	int err = hca_pd_destroy(pd->hca);

	if (err) {
		vb_observe(object_busy, &pd->own, -err);
		return vb_result(err);
	}
	free_handle(pd);
	return 0;
}

int ibv_dealloc_pd(struct ibv_pd *public)
{
	struct vb_pd *pd = to_pd(public);
	int err;

	if (pd->of)
		return vb_result(vb_parent_dealloc(pd));
	err = vb_check_destroy(public->context);
	if (!err)
		err = vb_check_pd(public, ENOENT, "ibv_dealloc_pd");
	return err ? vb_result(err) : verbena_dealloc_pd(public);
}

void ibv_unimport_pd(struct ibv_pd *public)
{
	struct vb_pd *pd = to_pd(public);

	if (pd->of) {
		explain_note("ibv_unimport_pd: a parent domain is never imported; "
			     "ibv_dealloc_pd frees it");
		return;
	}
	hca_pd_unref(pd->hca);
	free_handle(pd);
}
