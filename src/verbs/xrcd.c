/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * XRC domains.
 */
#include "verbs/xrcd.h"

#include <stdlib.h>

#include "util/explain.h"
#include "verbs/object_check.h"
#include "verbs/removal.h"
#include "verbs/result.h"

struct ibv_xrcd *vb_open_xrcd(struct ibv_context *context, struct ibv_xrcd_init_attr *attr)
{
	const uint32_t needed = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
	struct vb_context *ctx = to_context(context);
	struct vb_xrcd *xrcd;
	int err;

	if (attr->comp_mask & ~needed)
		return explain_null(EOPNOTSUPP,
				    "ibv_open_xrcd: comp_mask 0x%x has unknown bits 0x%x",
				    attr->comp_mask, attr->comp_mask & ~needed);
	if (attr->comp_mask != needed)
		return explain_null(EINVAL,
				    "ibv_open_xrcd: comp_mask 0x%x; fd and oflags are both "
				    "needed (0x%x)",
				    attr->comp_mask, needed);
	xrcd = calloc(1, sizeof(*xrcd));
	if (!xrcd)
		return vb_null(-ENOMEM);
	err = hca_xrcd_open(&ctx->hca, attr->fd, attr->oflags, &xrcd->hca);
	if (err) {
		free(xrcd);
		return vb_null(err);
	}
	xrcd->number = hca_xrcd_number(xrcd->hca);
	xrcd->xrcd.context = context;
	verbena_handle_add(&xrcd->own, ctx, VB_KIND_XRCD, verbena_handle_number());
	vb_context_get(ctx);
	return &xrcd->xrcd;
}

int vb_close_xrcd(struct ibv_xrcd *public)
{
	struct vb_xrcd *xrcd = to_xrcd(public);
	unsigned int users = atomic_load_explicit(&xrcd->users, memory_order_acquire);
	int err = vb_check_destroy(public->context);

	if (!err)
		err = vb_check_xrcd(public, ENOENT, "ibv_close_xrcd");
	if (err)
		return vb_result(err);
	if (users)
		return vb_result(
			explain(EBUSY, "ibv_close_xrcd: %u queues are in the domain", users));
	hca_xrcd_close(xrcd->hca);
	vb_handle_remove(&xrcd->own);
	vb_context_put(xrcd->own.ctx);
	free(xrcd);
	return 0;
}
