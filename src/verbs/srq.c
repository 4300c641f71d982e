/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared receive queues. The driver posts; the adapter has limits and their events.
 */
#include "verbs/srq.h"

#include <stdlib.h>

#include "util/explain.h"
#include "verbs/driver.h"
#include "verbs/event.h"
#include "verbs/object_check.h"
#include "verbs/observer.h"
#include "verbs/removal.h"
#include "verbs/result.h"

#define MASK_KNOWN (IBV_SRQ_INIT_ATTR_RESERVED - 1)

static int check_xrc(struct ibv_context *context, const struct ibv_srq_init_attr_ex *attr)
{
	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_XRCD) || !attr->xrcd ||
	    !(attr->comp_mask & IBV_SRQ_INIT_ATTR_CQ) || !attr->cq)
		return explain(EINVAL,
			       "ibv_create_srq_ex: an XRC queue needs a domain and a completion "
			       "queue; comp_mask 0x%x lacks one, or it is NULL",
			       attr->comp_mask);
	if (attr->xrcd->context != context || attr->cq->context != context)
		return explain(EINVAL, "ibv_create_srq_ex: the %s belongs to another context",
			       attr->cq->context != context ? "completion queue" : "XRC domain");
	return 0;
}

static int check_tags(struct ibv_context *context, const struct ibv_srq_init_attr_ex *attr)
{
	struct vb_context *ctx = to_context(context);
	struct ibv_device_attr_ex device = { 0 };

	ctx->driver->query_device(ctx, &device);
	if (!device.tm_caps.max_num_tags)
		return explain(EOPNOTSUPP, "ibv_create_srq_ex: %s has no tag matching",
			       ctx->adapter->name);
	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_CQ) || !attr->cq ||
	    !(attr->comp_mask & IBV_SRQ_INIT_ATTR_TM))
		return explain(
			EINVAL,
			"ibv_create_srq_ex: tag matching needs a completion queue and tm_cap; "
			"comp_mask 0x%x lacks one, or it is NULL",
			attr->comp_mask);
	if (attr->cq->context != context)
		return explain(EINVAL, "ibv_create_srq_ex: the completion queue belongs to another "
				       "context");
	if (!attr->tm_cap.max_num_tags || attr->tm_cap.max_num_tags > device.tm_caps.max_num_tags ||
	    attr->tm_cap.max_ops > device.tm_caps.max_ops)
		return explain(
			EINVAL,
			"ibv_create_srq_ex: %u tags and %u changes; %s has 1 to %u and up to %u",
			attr->tm_cap.max_num_tags, attr->tm_cap.max_ops, ctx->adapter->name,
			device.tm_caps.max_num_tags, device.tm_caps.max_ops);
	return 0;
}

static int check(struct ibv_context *context, const struct ibv_srq_init_attr_ex *attr)
{
	const struct hca_adapter *a = to_context(context)->adapter;

	if (attr->comp_mask & ~(uint32_t)MASK_KNOWN)
		return explain(EOPNOTSUPP,
			       "ibv_create_srq_ex: comp_mask 0x%x has unknown bits 0x%x",
			       attr->comp_mask, attr->comp_mask & ~(uint32_t)MASK_KNOWN);
	if (attr->srq_type != IBV_SRQT_BASIC && attr->srq_type != IBV_SRQT_XRC &&
	    attr->srq_type != IBV_SRQT_TM)
		return explain(EINVAL,
			       "ibv_create_srq_ex: type %d; there are IBV_SRQT_BASIC, "
			       "IBV_SRQT_XRC and IBV_SRQT_TM",
			       (int)attr->srq_type);
	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_PD) || !attr->pd)
		return explain(EINVAL, "ibv_create_srq_ex: there is no protection domain");
	if (attr->pd->context != context)
		return explain(EINVAL,
			       "ibv_create_srq_ex: the protection domain belongs to another "
			       "context");
	if (attr->attr.max_wr > a->limits.max_srq_wr || attr->attr.max_sge > a->limits.max_srq_sge)
		return explain(
			EINVAL,
			"ibv_create_srq: %u requests of %u elements; at most %llu and %llu on %s",
			attr->attr.max_wr, attr->attr.max_sge,
			(unsigned long long)a->limits.max_srq_wr,
			(unsigned long long)a->limits.max_srq_sge, a->name);
	if (attr->srq_type == IBV_SRQT_TM)
		return check_tags(context, attr);
	return attr->srq_type == IBV_SRQT_XRC ? check_xrc(context, attr) : 0;
}

static int check_handles(const struct ibv_srq_init_attr_ex *attr)
{
	int err = vb_check_pd(attr->pd, ENOENT, "ibv_create_srq");

	if (err || attr->srq_type == IBV_SRQT_BASIC)
		return err;
	err = vb_check_cq(attr->cq, ENOENT, "ibv_create_srq_ex");
	if (err || attr->srq_type != IBV_SRQT_XRC)
		return err;
	return vb_check_xrcd(attr->xrcd, ENOENT, "ibv_create_srq_ex");
}

static int create(struct ibv_context *context, struct ibv_srq_init_attr_ex *attr,
		  struct vb_srq **out)
{
	struct vb_context *ctx = to_context(context);
	struct vb_srq *srq;
	int err = check(context, attr);

	if (!err)
		err = check_handles(attr);
	if (!err)
		err = ctx->driver->create_srq(ctx, attr, &srq);
	if (err)
		return err;
	srq->srq.context = context;
	srq->srq.srq_context = attr->srq_context;
	srq->srq.pd = attr->pd;
	srq->srq.handle = srq->hca->srqn;
	pthread_mutex_init(&srq->srq.mutex, NULL);
	pthread_cond_init(&srq->srq.cond, NULL);
	srq->pd = to_pd(attr->pd);
	srq->max_wr = attr->attr.max_wr;
	srq->max_sge = attr->attr.max_sge;
	vb_parent_get(srq->pd);
	if (attr->srq_type == IBV_SRQT_XRC) {
		srq->xrcd = to_xrcd(attr->xrcd);
		atomic_fetch_add_explicit(&srq->xrcd->users, 1, memory_order_relaxed);
	}
	verbena_handle_add(&srq->own, ctx, VB_KIND_SRQ, srq->hca->srqn);
	vb_context_get(ctx);
	vb_observe(srq_created, srq);
	*out = srq;
	return 0;
}

struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	struct ibv_srq_init_attr_ex ex = {
		.srq_context = attr->srq_context,
		.attr = attr->attr,
		.comp_mask = IBV_SRQ_INIT_ATTR_PD,
		.pd = pd,
	};
	struct vb_srq *srq;
	int err = create(pd->context, &ex, &srq);

	if (err)
		return vb_null(err);
	attr->attr = ex.attr;
	return &srq->srq;
}

struct ibv_srq *vb_create_srq_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *attr)
{
	struct ibv_srq_init_attr_ex ex = *attr;
	struct vb_srq *srq;
	int err;

	if (!(ex.comp_mask & IBV_SRQ_INIT_ATTR_TYPE))
		ex.srq_type = IBV_SRQT_BASIC;
	err = create(context, &ex, &srq);
	if (err)
		return vb_null(err);
	attr->attr = ex.attr;
	return &srq->srq;
}

int ibv_modify_srq(struct ibv_srq *public, struct ibv_srq_attr *attr, int mask)
{
	struct vb_srq *srq = to_srq(public);
	int err = vb_check_present(public->context);

	if (!err)
		err = vb_check_srq(public, EINVAL, "ibv_modify_srq");
	if (err)
		return vb_result(err);
	if (mask & ~(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT))
		return vb_result(
			explain(EINVAL, "ibv_modify_srq: mask 0x%x has unknown bits", mask));
	if (mask & IBV_SRQ_MAX_WR)
		return vb_result(explain(EINVAL,
					 "ibv_modify_srq: the adapter does not resize shared "
					 "receive queues"));
	if (!(mask & IBV_SRQ_LIMIT))
		return 0;
	if (attr->srq_limit > srq->max_wr)
		return vb_result(explain(EINVAL,
					 "ibv_modify_srq: a limit of %u; the queue has %u entries",
					 attr->srq_limit, srq->max_wr));
	hca_srq_set_limit(srq->hca, attr->srq_limit);
	return 0;
}

int ibv_query_srq(struct ibv_srq *public, struct ibv_srq_attr *attr)
{
	struct vb_srq *srq = to_srq(public);
	int err = vb_check_present(public->context);

	if (!err)
		err = vb_check_srq(public, EINVAL, "ibv_query_srq");
	if (err)
		return vb_result(err);
	attr->max_wr = srq->max_wr;
	attr->max_sge = srq->max_sge;
	attr->srq_limit = hca_srq_limit(srq->hca);
	return 0;
}

int vb_get_srq_num(struct ibv_srq *public, uint32_t *number)
{
	const struct vb_srq *srq = to_srq(public);

	/* On later models DC targets name a basic queue by its number. */
	if (!srq->xrcd && to_context(public->context)->adapter->model->driver == HCA_DRIVER_MLX4)
		return vb_result(
			explain(EOPNOTSUPP,
				"ibv_get_srq_num: only XRC queues have numbers on this adapter"));
	*number = srq->hca->srqn;
	return 0;
}

int ibv_destroy_srq(struct ibv_srq *public)
{
	struct vb_srq *srq = to_srq(public);
	struct vb_context *ctx;
	int err = vb_check_destroy(public->context);

	if (!err)
		err = vb_check_srq(public, ENOENT, "ibv_destroy_srq");
	if (err)
		return vb_result(err);
	ctx = srq->own.ctx;
	err = ctx->driver->destroy_srq(srq);
	if (err) {
		vb_observe(object_busy, &srq->own, -err);
		return vb_result(err);
	}
	vb_observe(srq_destroyed, srq);
	vb_handle_remove(&srq->own);
	vb_event_wait(&public->mutex, &public->cond, &public->events_completed, &srq->async_events);
	pthread_cond_destroy(&public->cond);
	pthread_mutex_destroy(&public->mutex);
	if (srq->xrcd)
		atomic_fetch_sub_explicit(&srq->xrcd->users, 1, memory_order_release);
	vb_parent_put(srq->pd);
	vb_object_free(srq, &srq->own, &public->context);
	vb_context_put(ctx);
	return 0;
}
