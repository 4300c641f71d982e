/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Flows, their counters and actions, as the library and the drivers know them.
 */
#ifndef VERBS_FLOW_TYPES_H
#define VERBS_FLOW_TYPES_H

#include <pthread.h>

#include "hca/raw/flow.h"
#include "verbs/context.h"

#define VB_COUNTER_POINTS 32u

struct vb_counters {
	struct ibv_counters counters;
	pthread_mutex_t lock; /* everything below */
	struct flow_counter *hw;
	unsigned int flows; /* that feed it */
	unsigned int point_count;
	struct {
		uint32_t index;
		enum ibv_counter_description what;
	} points[VB_COUNTER_POINTS];
};

/* Made by drivers: what an IBV_FLOW_SPEC_ACTION_HANDLE leads to. */
struct vb_flow_action {
	struct ibv_flow_action action;
	struct flow_edit *edit;
	enum flow_domain domain; /* where it may be used */
	atomic_uint flows;       /* that use it */
};

#define VB_FLOW_ACTIONS 8u

/*
 * Every flow that ibv_destroy_flow() may get, whoever made it. It holds its context. A driver that
 * makes one itself owns the matcher.
 */
struct vb_flow {
	struct ibv_flow flow;
	struct flow_matcher *matcher; /* to be destroyed with it, or NULL */
	struct flow_rule *rule;
	struct vb_counters *counters;
	struct vb_flow_action *used[VB_FLOW_ACTIONS];
	/* the driver's: what goes when the flow has gone */
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
