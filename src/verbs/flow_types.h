/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Flows, their counters and actions, as the library and the drivers know them.
 */
#ifndef VERBS_FLOW_TYPES_H
#define VERBS_FLOW_TYPES_H

#include <pthread.h>

#include "hca/raw/flow.h"
#include "verbs/handle.h"

#define VB_COUNTER_POINTS 32u

struct vb_counters {
	struct ibv_counters counters;
	struct vb_handle own;
	pthread_mutex_t lock; /* everything below */
	struct flow_counter *hw;
	unsigned int flows; /* that feed it */
	unsigned int point_count;
	struct {
		uint32_t index;
		enum ibv_counter_description what;
	} points[VB_COUNTER_POINTS];
};

/* Made by drivers: the object of an IBV_FLOW_SPEC_ACTION_HANDLE. */
struct vb_flow_action {
	struct ibv_flow_action action;
	struct vb_handle own;
	struct flow_edit *edit;
	enum flow_domain domain; /* the only one it may be used in */
	atomic_uint flows;       /* that use it */
};

#define VB_FLOW_ACTIONS 8u

/*
 * A flow as ibv_destroy_flow() gets it, made by ibv_create_flow() or by a driver. It has a handle, and a
 * reference on its context. A driver that makes a flow owns the matcher.
 */
struct vb_flow {
	struct ibv_flow flow;
	struct vb_handle own;
	struct flow_matcher *matcher; /* to be destroyed with it, or NULL */
	struct flow_rule *rule;
	struct vb_counters *counters;
	struct vb_flow_action *used[VB_FLOW_ACTIONS];
	/* set by the driver: called when the flow has been destroyed */
	void (*release)(void *arg);
	void *release_arg;
};

static inline struct vb_flow *to_flow(struct ibv_flow *flow)
{
	return container_of(flow, struct vb_flow, flow);
}

static inline struct vb_flow_action *to_flow_action(const struct ibv_flow_action *action)
{
	return (struct vb_flow_action *)((char *)(uintptr_t)action -
					 offsetof(struct vb_flow_action, action));
}

static inline struct vb_counters *to_counters(struct ibv_counters *counters)
{
	return container_of(counters, struct vb_counters, counters);
}

#endif
