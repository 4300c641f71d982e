/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counters of flows.
 */
#ifndef VERBS_COUNTERS_H
#define VERBS_COUNTERS_H

#include "verbs/flow_types.h"

struct ibv_counters *vb_create_counters(struct ibv_context *context,
					struct ibv_counters_init_attr *attr);
int vb_destroy_counters(struct ibv_counters *counters);
int vb_attach_counters_point_flow(struct ibv_counters *counters,
				  struct ibv_counter_attach_attr *attr, struct ibv_flow *flow);
int vb_read_counters(struct ibv_counters *counters, uint64_t *values, uint32_t count,
		     uint32_t flags);

/* A flow feeds the counters from now on (-EINVAL: nothing is to be counted), or no longer. */
int vb_counters_bind(struct vb_counters *counters);
void vb_counters_unbind(struct vb_counters *counters);

#endif
