/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completion queues: arguments, the public struct, and the order of destruction. The driver has
 * rings and polling, the adapter writes entries and raises events.
 */
#include "verbs/cq.h"

#include <stdlib.h>

#include "util/explain.h"
#include "verbs/channel.h"
#include "verbs/driver.h"
#include "verbs/event.h"
#include "verbs/object_check.h"
#include "verbs/observer.h"
#include "verbs/removal.h"
#include "verbs/result.h"

#define MASK_KNOWN  (IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD)
#define FLAGS_KNOWN (IBV_CREATE_CQ_ATTR_SINGLE_THREADED | IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN)

static int check_size(const struct hca_adapter *a, const char *call, uint32_t entries)
{
	if (!entries || entries > a->limits.max_cqe)
		return explain(EINVAL, "%s: %u entries; %s can have 1 to %llu", call, entries,
			       a->name, (unsigned long long)a->limits.max_cqe);
	return 0;
}

static int check_mask(const struct hca_adapter *a, const struct ibv_cq_init_attr_ex *attr)
{
	if (attr->comp_mask & ~(uint32_t)MASK_KNOWN)
		return explain(EINVAL, "ibv_create_cq_ex: comp_mask 0x%x has unknown bits 0x%x",
			       attr->comp_mask, attr->comp_mask & ~(uint32_t)MASK_KNOWN);
	if ((attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) &&
	    (attr->flags & ~(uint32_t)FLAGS_KNOWN))
		return explain(a->model->driver == HCA_DRIVER_MLX4 ? EOPNOTSUPP : EINVAL,
			       "ibv_create_cq_ex: flags 0x%x have unknown bits 0x%x", attr->flags,
			       attr->flags & ~(uint32_t)FLAGS_KNOWN);
	if (attr->wc_flags & ~(uint64_t)IBV_CREATE_CQ_SUP_WC_FLAGS)
		return explain(EOPNOTSUPP, "ibv_create_cq_ex: wc_flags 0x%llx; 0x%x are supported",
			       (unsigned long long)attr->wc_flags, IBV_CREATE_CQ_SUP_WC_FLAGS);
	if ((attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD) &&
	    (!attr->parent_domain || !to_pd(attr->parent_domain)->of))
		return explain(EINVAL,
			       "ibv_create_cq_ex: parent_domain is %s; ibv_alloc_parent_domain "
			       "makes a parent domain",
			       attr->parent_domain ? "a plain protection domain" : "NULL");
	return 0;
}

static int check(struct ibv_context *context, const struct ibv_cq_init_attr_ex *attr)
{
	int err = check_size(to_context(context)->adapter, "ibv_create_cq", attr->cqe);

	if (!err)
		err = check_mask(to_context(context)->adapter, attr);
	if (err)
		return err;
	if (attr->comp_vector >= (uint32_t)context->num_comp_vectors)
		return explain(EINVAL, "ibv_create_cq: completion vector %u; there are 0 to %d",
			       attr->comp_vector, context->num_comp_vectors - 1);
	if (attr->channel && attr->channel->context != context)
		return explain(EINVAL, "ibv_create_cq: the channel belongs to another context");
	if (attr->channel)
		err = vb_channel_check(attr->channel, "ibv_create_cq");
	if (err)
		return err;
	if ((attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD) && attr->parent_domain->context != context)
		return explain(EINVAL,
			       "ibv_create_cq_ex: parent_domain belongs to another context");
	return 0;
}

static int create(struct ibv_context *context, const struct ibv_cq_init_attr_ex *wanted,
		  const void *driver_attr, struct vb_cq **out)
{
	struct ibv_cq_init_attr_ex attr = *wanted;
	struct vb_context *ctx = to_context(context);
	struct vb_cq *cq;
	int err = check(context, &attr);

	if (err)
		return err;
	if (!(attr.comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS))
		attr.flags = 0;
	if (!(attr.comp_mask & IBV_CQ_INIT_ATTR_MASK_PD))
		attr.parent_domain = NULL;
	/* The observer finds the queue of a completion by this field. */
	if (unlikely(verbs_state.observer))
		attr.wc_flags |= IBV_WC_EX_WITH_QP_NUM;
	err = ctx->driver->create_cq(ctx, &attr, driver_attr, &cq);
	if (err)
		return err;
	cq->cq.context = context;
	cq->cq.channel = attr.channel;
	cq->cq.cq_context = attr.cq_context;
	cq->cq.handle = cq->hca->cqn;
	cq->cq.cqe = attr.cqe;
	pthread_mutex_init(&cq->cq.mutex, NULL);
	pthread_cond_init(&cq->cq.cond, NULL);
	cq->parent = attr.parent_domain ? to_pd(attr.parent_domain) : NULL;
	if (cq->parent)
		vb_parent_get(cq->parent);
	vb_channel_count(attr.channel, 1);
	verbena_handle_add(&cq->own, ctx, VB_KIND_CQ, cq->hca->cqn);
	vb_context_get(ctx);
	vb_observe(cq_created, cq, attr.flags);
	*out = cq;
	return 0;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
			     struct ibv_comp_channel *channel, int comp_vector)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = cqe < 0 ? 0 : cqe, /* refused like 0 */
		.cq_context = cq_context,
		.channel = channel,
		.comp_vector = comp_vector, /* a negative one is refused as too large */
		.wc_flags = IBV_WC_STANDARD_FLAGS,
	};
	struct vb_cq *cq;
	int err = create(context, &attr, NULL, &cq);

	return err ? vb_null(err) : &cq->cq;
}

struct ibv_cq_ex *verbena_create_cq_ex(struct ibv_context *context,
				       struct ibv_cq_init_attr_ex *attr, const void *driver_attr)
{
	struct vb_cq *cq;
	int err = create(context, attr, driver_attr, &cq);

	if (err)
		return vb_null(err);
	cq->extended = true;
	return &cq->ex;
}

struct ibv_cq_ex *vb_create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr)
{
	return verbena_create_cq_ex(context, attr, NULL);
}

int ibv_resize_cq(struct ibv_cq *public, int cqe)
{
	struct vb_context *ctx = to_context(public->context);
	int err = vb_check_present(public->context);

	if (!err)
		err = vb_check_cq(public, EINVAL, "ibv_resize_cq");
	if (!err)
		err = check_size(ctx->adapter, "ibv_resize_cq", cqe < 0 ? 0 : cqe);
	if (!err)
		err = ctx->driver->resize_cq(to_cq(public), cqe);
	return vb_result(err);
}

int ibv_destroy_cq(struct ibv_cq *public)
{
	struct vb_cq *cq = to_cq(public);
	struct vb_context *ctx;
	int err = vb_check_destroy(public->context);

	if (!err)
		err = vb_check_cq(public, ENOENT, "ibv_destroy_cq");
	if (err)
		return vb_result(err);
	ctx = cq->own.ctx;
	vb_observe(cq_destroying, cq);
	err = ctx->driver->destroy_cq(cq);
	if (err) {
		vb_observe(object_busy, &cq->own, -err);
		return vb_result(err);
	}
	vb_observe(cq_destroyed, cq);
	vb_handle_remove(&cq->own);
	vb_event_wait(&public->mutex, &public->cond, &public->comp_events_completed,
		      &cq->comp_events);
	vb_event_wait(&public->mutex, &public->cond, &public->async_events_completed,
		      &cq->async_events);
	pthread_cond_destroy(&public->cond);
	pthread_mutex_destroy(&public->mutex);
	vb_channel_count(public->channel, -1);
	if (cq->parent)
		vb_parent_put(cq->parent);
	vb_object_free(cq, &cq->own, &public->context);
	vb_context_put(ctx);
	return 0;
}

int vb_modify_cq(struct ibv_cq *public, struct ibv_modify_cq_attr *attr)
{
	struct vb_context *ctx = to_context(public->context);
	struct ibv_device_attr_ex caps = { 0 };
	int err = vb_check_present(public->context);

	if (!err)
		err = vb_check_cq(public, EINVAL, "ibv_modify_cq");
	if (err)
		return vb_result(err);
	if (!attr->attr_mask)
		return vb_result(explain(EINVAL,
					 "ibv_modify_cq: attr_mask is 0; there is nothing to "
					 "change"));
	if (attr->attr_mask & ~(uint32_t)IBV_CQ_ATTR_MODERATE)
		return vb_result(explain(EOPNOTSUPP,
					 "ibv_modify_cq: attr_mask 0x%x; only "
					 "IBV_CQ_ATTR_MODERATE is known",
					 attr->attr_mask));
	ctx->driver->query_device(ctx, &caps);
	if (!caps.cq_mod_caps.max_cq_count)
		return vb_result(explain(EOPNOTSUPP, "ibv_modify_cq: %s does not moderate events",
					 ctx->adapter->name));
	if (attr->moderate.cq_period > caps.cq_mod_caps.max_cq_period ||
	    attr->moderate.cq_count > caps.cq_mod_caps.max_cq_count)
		return vb_result(explain(
			EINVAL,
			"ibv_modify_cq: moderation of %u entries and %u us; at most %u and %u",
			attr->moderate.cq_count, attr->moderate.cq_period,
			caps.cq_mod_caps.max_cq_count, caps.cq_mod_caps.max_cq_period));
	hca_cq_moderate(to_cq(public)->hca, attr->moderate.cq_count, attr->moderate.cq_period);
	return 0;
}
