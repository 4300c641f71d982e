/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The specs of a flow, as ibv_create_flow() takes them.
 */
#ifndef VERBS_FLOW_SPEC_H
#define VERBS_FLOW_SPEC_H

#include "verbs/flow_types.h"

/* The match and the actions that the specs of a flow ask for. */
struct vb_flow_request {
	struct flow_key mask, value;
	bool has_tag, drop;
	uint32_t tag;
	struct vb_counters *counters;
	struct vb_flow_action *handles[VB_FLOW_ACTIONS];
	unsigned int handle_count;
};

/* `all`: the specs of a ConnectX-4 and later; else only those of a ConnectX-3. 0 or -errno. */
int vb_flow_specs_read(const struct ibv_flow_attr *attr, bool all, struct vb_flow_request *out);

#endif
