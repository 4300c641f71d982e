/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Address handles. The adapter has no object for them: the driver copies its form of the address
 * into each request. libmlx5 has the kernel make one on Ethernet, libmlx4 does not; handles are checked
 * on both.
 */
#include <stdlib.h>

#include "util/explain.h"
#include "verbs/av.h"
#include "verbs/driver.h"
#include "verbs/object_check.h"
#include "verbs/observer.h"
#include "verbs/removal.h"
#include "verbs/result.h"

struct ibv_ah *ibv_create_ah(struct ibv_pd *public_pd, struct ibv_ah_attr *attr)
{
	struct vb_context *ctx = to_context(public_pd->context);
	struct vb_pd *pd = to_pd(public_pd);
	struct vb_ah *ah;
	int err = vb_check_pd(public_pd, EINVAL, "ibv_create_ah");

	if (!err)
		err = vb_av_check(ctx->adapter, attr);

	if (!err)
		err = hca_ctx_take(&ctx->hca, HCA_KIND_AH);
	if (err)
		return vb_null(err);
	ah = calloc(1, sizeof(*ah));
	if (!ah) {
		hca_ctx_drop(&ctx->hca, HCA_KIND_AH);
		return vb_null(-ENOMEM);
	}
	ah->ah.context = public_pd->context;
	ah->ah.pd = public_pd;
	ah->ah.handle = verbena_handle_number();
	ah->pd = pd;
	vb_av_fill(ctx->adapter, attr, &ah->av);
	ctx->driver->init_ah(ah);
	hca_pd_get(pd->hca);
	vb_parent_get(pd);
	verbena_handle_add(&ah->own, ctx, VB_KIND_AH, ah->ah.handle);
	vb_context_get(ctx);
	vb_observe(ah_created, ah, attr);
	return &ah->ah;
}

int ibv_destroy_ah(struct ibv_ah *public)
{
	struct vb_ah *ah = to_ah(public);
	struct vb_context *ctx;
	int err = vb_check_destroy(public->context);

	if (!err)
		err = vb_check_ah(public, ENOENT, "ibv_destroy_ah");
	if (err)
		return vb_result(err);
	vb_handle_remove(&ah->own);
	ctx = ah->own.ctx;
	vb_parent_put(ah->pd);
	hca_pd_put(ah->pd->hca);
	hca_ctx_drop(&ctx->hca, HCA_KIND_AH);
	vb_object_free(ah, &ah->own, &public->context);
	vb_context_put(ctx);
	return 0;
}
