/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counters of flows: the program attaches points (what to count, and the index to report it at), then
 * creates flows with the object. All flows of one object add to the same numbers.
 */
#include "verbs/counters.h"

#include <stdlib.h>
#include <string.h>

#include "util/explain.h"
#include "verbs/driver.h"
#include "verbs/object_check.h"
#include "verbs/removal.h"
#include "verbs/result.h"

struct ibv_counters *vb_create_counters(struct ibv_context *context,
					struct ibv_counters_init_attr *attr)
{
	struct vb_context *ctx = to_context(context);
	struct vb_counters *c;

	if (!ctx->driver->all_flows)
		return vb_null(explain(EOPNOTSUPP, "ibv_create_counters: %s has no flow counters",
				       ctx->adapter->name));
	if (attr && attr->comp_mask)
		return vb_null(explain(EOPNOTSUPP,
				       "ibv_create_counters: comp_mask 0x%x; no bit is known",
				       attr->comp_mask));
	c = calloc(1, sizeof(*c));
	if (!c)
		return vb_null(explain(ENOMEM, "no memory for a counters object"));
	c->hw = flow_counter_create(1);
	if (!c->hw) {
		free(c);
		return vb_null(explain(ENOMEM, "no memory for a flow counter"));
	}
	pthread_mutex_init(&c->lock, NULL);
	c->counters.context = context;
	verbena_handle_add(&c->own, ctx, VB_KIND_COUNTERS, verbena_handle_number());
	vb_context_get(ctx);
	return &c->counters;
}

int vb_destroy_counters(struct ibv_counters *public)
{
	struct vb_counters *c = to_counters(public);
	struct vb_context *ctx;
	int err = vb_check_destroy(public->context);
	unsigned int flows;

	if (!err)
		err = vb_check_counters(public, ENOENT, "ibv_destroy_counters");
	if (err)
		return vb_result(err);
	pthread_mutex_lock(&c->lock);
	flows = c->flows;
	pthread_mutex_unlock(&c->lock);
	if (flows)
		return vb_result(
			explain(EBUSY, "ibv_destroy_counters: %u flows use the object", flows));
	vb_handle_remove(&c->own);
	ctx = c->own.ctx;
	pthread_mutex_destroy(&c->lock);
	flow_counter_put(c->hw);
	free(c);
	vb_context_put(ctx);
	return 0;
}

static int check_point(const struct ibv_counter_attach_attr *attr, const struct ibv_flow *flow)
{
	if (flow)
		return explain(EOPNOTSUPP,
			       "ibv_attach_counters_point_flow: counters are bound to a "
			       "flow when it is created; pass NULL for it");
	if (attr->comp_mask)
		return explain(EOPNOTSUPP,
			       "ibv_attach_counters_point_flow: comp_mask 0x%x; no bit is known",
			       attr->comp_mask);
	if (attr->counter_desc != IBV_COUNTER_PACKETS && attr->counter_desc != IBV_COUNTER_BYTES)
		return explain(EOPNOTSUPP,
			       "ibv_attach_counters_point_flow: counter %d; packets (0) and bytes "
			       "(1) exist",
			       (int)attr->counter_desc);
	return 0;
}

int vb_attach_counters_point_flow(struct ibv_counters *public, struct ibv_counter_attach_attr *attr,
				  struct ibv_flow *flow)
{
	struct vb_counters *c = to_counters(public);
	int err = check_point(attr, flow);

	if (err)
		return vb_result(err);
	pthread_mutex_lock(&c->lock);
	if (c->flows) {
		err = explain(EBUSY,
			      "ibv_attach_counters_point_flow: %u flows use the object already",
			      c->flows);
	} else if (c->point_count == VB_COUNTER_POINTS) {
		err = explain(ENOSPC, "ibv_attach_counters_point_flow: all %u points are in use",
			      VB_COUNTER_POINTS);
	} else {
		c->points[c->point_count].index = attr->index;
		c->points[c->point_count++].what = attr->counter_desc;
	}
	pthread_mutex_unlock(&c->lock);
	return vb_result(err);
}

static int read_points(struct vb_counters *c, uint64_t *values, uint32_t count)
{
	uint64_t packets, bytes;

	if (!c->flows)
		return explain(EINVAL, "ibv_read_counters: no flow uses the object");
	for (unsigned int i = 0; i < c->point_count; i++)
		if (c->points[i].index >= count)
			return explain(
				EINVAL,
				"ibv_read_counters: room for %u values; a point has index %u",
				count, c->points[i].index);
	memset(values, 0, count * sizeof(*values));
	flow_counter_read(c->hw, &packets, &bytes);
	for (unsigned int i = 0; i < c->point_count; i++)
		values[c->points[i].index] +=
			c->points[i].what == IBV_COUNTER_PACKETS ? packets : bytes;
	return 0;
}

int vb_read_counters(struct ibv_counters *public, uint64_t *values, uint32_t count, uint32_t flags)
{
	struct vb_counters *c = to_counters(public);
	int err;

	if (flags & ~(uint32_t)IBV_READ_COUNTERS_ATTR_PREFER_CACHED)
		return vb_result(explain(EINVAL,
					 "ibv_read_counters: flags 0x%x; only 0x%x is known", flags,
					 IBV_READ_COUNTERS_ATTR_PREFER_CACHED));
	err = vb_check_counters(public, ENOENT, "ibv_read_counters");
	if (err)
		return vb_result(err);
	pthread_mutex_lock(&c->lock);
	err = read_points(c, values, count);
	pthread_mutex_unlock(&c->lock);
	return vb_result(err);
}

int vb_counters_bind(struct vb_counters *c)
{
	int err = 0;

	pthread_mutex_lock(&c->lock);
	if (c->point_count)
		c->flows++;
	else
		err = explain(
			EINVAL,
			"ibv_create_flow: the counters object has no point; attach one first");
	pthread_mutex_unlock(&c->lock);
	return err;
}

void vb_counters_unbind(struct vb_counters *c)
{
	pthread_mutex_lock(&c->lock);
	c->flows--;
	pthread_mutex_unlock(&c->lock);
}
