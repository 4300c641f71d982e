/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Flows and flow actions.
 */
#ifndef VERBS_FLOW_H
#define VERBS_FLOW_H

#include "verbs/public.h"

struct ibv_flow *vb_create_flow(struct ibv_qp *qp, struct ibv_flow_attr *attr);
int vb_destroy_flow(struct ibv_flow *flow);
struct ibv_flow_action *vb_create_flow_action_esp(struct ibv_context *context,
						  struct ibv_flow_action_esp_attr *attr);
int vb_modify_flow_action_esp(struct ibv_flow_action *action,
			      struct ibv_flow_action_esp_attr *attr);
int vb_destroy_flow_action(struct ibv_flow_action *action);

#endif
