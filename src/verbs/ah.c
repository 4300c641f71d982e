/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Address handles. The adapter has no object for them: the driver copies its form of the address
 * into each request.
 */
#include <stdlib.h>

#include "util/explain.h"
#include "verbs/av.h"
#include "verbs/driver.h"
#include "verbs/objects.h"
#include "verbs/removal.h"
#include "verbs/result.h"
#include "verbs/state.h"

struct ibv_ah *ibv_create_ah(struct ibv_pd *public_pd, struct ibv_ah_attr *attr)
{
	struct vb_context *ctx = to_context(public_pd->context);
	struct vb_pd *pd = to_pd(public_pd);
	struct vb_ah *ah;
	int err = vb_av_check(ctx->adapter, attr);

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
	ah->ah.handle = atomic_fetch_add(&verbs_state.last_ah, 1) + 1;
	vb_av_fill(ctx->adapter, attr, &ah->av);
	ctx->driver->init_ah(ah);
	hca_pd_get(pd->hca);
	vb_parent_get(pd);
	vb_context_get(ctx);
	return &ah->ah;
}

int ibv_destroy_ah(struct ibv_ah *public)
{
	struct vb_context *ctx = to_context(public->context);
	struct vb_pd *pd = to_pd(public->pd);
	int err = vb_check_destroy(public->context);

	if (err)
		return vb_result(err);
	vb_parent_put(pd);
	hca_pd_put(pd->hca);
	hca_ctx_drop(&ctx->hca, HCA_KIND_AH);
	vb_context_put(ctx);
	free(to_ah(public));
	return 0;
}
