/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queue pairs: creation and destruction. States and attributes are in qp_attr.c, XRC handles in
 * qp_xrc.c.
 */
#include "verbs/qp.h"

#include <stdlib.h>
#include <string.h>

#include "util/explain.h"
#include "verbs/driver.h"
#include "verbs/event.h"
#include "verbs/object_check.h"
#include "verbs/observer.h"
#include "verbs/qp_check.h"
#include "verbs/qp_fill.h"
#include "verbs/qp_xrc.h"
#include "verbs/removal.h"
#include "verbs/result.h"

/* Clears the fields that the mask or the type excludes, so that the driver need not look. */
static void clear_unused(struct ibv_qp_init_attr_ex *attr)
{
	bool xrc_recv = attr->qp_type == IBV_QPT_XRC_RECV;

	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD) || xrc_recv)
		attr->pd = NULL;
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_XRCD) || !xrc_recv)
		attr->xrcd = NULL;
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS))
		attr->create_flags = 0;
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS))
		attr->send_ops_flags = 0;
	if (xrc_recv) {
		attr->send_cq = NULL;
		memset(&attr->cap, 0, sizeof(attr->cap));
	}
	if (xrc_recv || attr->qp_type == IBV_QPT_XRC_SEND) {
		attr->recv_cq = NULL;
		attr->srq = NULL;
	}
	if (attr->comp_mask & IBV_QP_INIT_ATTR_IND_TABLE)
		attr->recv_cq = NULL;
	if (attr->srq || !attr->recv_cq)
		attr->cap.max_recv_wr = attr->cap.max_recv_sge = 0;
}

static int create(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr, void *driver_attr,
		  struct vb_qp **out)
{
	struct vb_context *ctx = to_context(context);
	struct vb_qp *qp;
	int err = vb_qp_check(context, attr, driver_attr);

	if (err)
		return err;
	clear_unused(attr);
	err = ctx->driver->create_qp(ctx, attr, driver_attr, &qp);
	if (err)
		return err;
	vb_qp_fill(qp, context, attr->qp_context, attr->qp_type);
	qp->qp.pd = attr->pd;
	qp->qp.send_cq = attr->send_cq;
	qp->qp.recv_cq = attr->recv_cq;
	qp->qp.srq = attr->srq;
	qp->pd = attr->pd ? to_pd(attr->pd) : NULL;
	qp->cap = attr->cap;
	qp->sig_all = attr->sq_sig_all;
	qp->has_ex = attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	if (qp->pd)
		vb_parent_get(qp->pd);
	if (attr->xrcd) {
		qp->xrcd = to_xrcd(attr->xrcd);
		vb_xrc_add(qp);
	}
	vb_context_get(ctx);
	vb_observe(qp_created, qp, driver_attr);
	*out = qp;
	return 0;
}

struct ibv_qp *verbena_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr,
				    void *driver_attr)
{
	struct ibv_qp_init_attr_ex granted = *attr;
	struct vb_qp *qp;
	int err = create(context, &granted, driver_attr, &qp);

	if (err)
		return vb_null(err);
	attr->cap = granted.cap;
	return &qp->qp;
}

struct ibv_qp *vb_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
	return verbena_create_qp_ex(context, attr, NULL);
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_init_attr_ex ex = {
		.qp_context = attr->qp_context,
		.send_cq = attr->send_cq,
		.recv_cq = attr->recv_cq,
		.srq = attr->srq,
		.cap = attr->cap,
		.qp_type = attr->qp_type,
		.sq_sig_all = attr->sq_sig_all,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = pd,
	};
	struct vb_qp *qp;
	int err = pd ? create(pd->context, &ex, NULL, &qp)
		     : explain(EINVAL, "ibv_create_qp: the protection domain is NULL");

	if (err)
		return vb_null(err);
	attr->cap = ex.cap;
	return &qp->qp;
}

int ibv_destroy_qp(struct ibv_qp *public)
{
	struct vb_qp *qp = to_qp(public);
	struct vb_context *ctx;
	int err = vb_check_destroy(public->context);

	if (!err)
		err = vb_check_qp(public, ENOENT, "ibv_destroy_qp");
	if (err)
		return vb_result(err);
	ctx = qp->own.ctx;
	if (!qp->xrcd || !vb_xrc_del(qp)) {
		err = ctx->driver->destroy_qp(qp);
		if (err) {
			if (qp->xrcd)
				vb_xrc_add(qp);
			vb_observe(object_busy, &qp->own, -err);
			return vb_result(err);
		}
	}
	vb_observe(qp_destroyed, qp);
	vb_handle_remove(&qp->own);
	vb_event_wait(&public->mutex, &public->cond, &public->events_completed, &qp->async_events);
	pthread_cond_destroy(&public->cond);
	pthread_mutex_destroy(&public->mutex);
	if (qp->pd)
		vb_parent_put(qp->pd);
	vb_object_free(qp, &qp->own, &public->context);
	vb_context_put(ctx);
	return 0;
}

struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *public)
{
	struct vb_qp *qp = to_qp(public);

	if (!qp->has_ex)
		return explain_null(EOPNOTSUPP,
				    "ibv_qp_to_qp_ex: QP 0x%x was not created with "
				    "IBV_QP_INIT_ATTR_SEND_OPS_FLAGS",
				    public->qp_num);
	return &qp->ex;
}
