/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ibv_create_flow() and ibv_destroy_flow(): rules of a port's root table with a queue pair as
 * destination.
 */
#include "verbs/flow.h"

#include <stdlib.h>
#include <string.h>

#include "hca/raw/raw.h"
#include "util/explain.h"
#include "verbs/counters.h"
#include "verbs/driver.h"
#include "verbs/flow_spec.h"
#include "verbs/object_check.h"
#include "verbs/removal.h"
#include "verbs/result.h"

#define SPECS_MAX         10u
#define PRIORITY_MAX      15u   /* ConnectX-4 and later */
#define PRIORITY_MAX_MLX4 4095u /* ConnectX-3 */
#define FLAGS             ((uint32_t)IBV_FLOW_ATTR_FLAGS_DONT_TRAP | IBV_FLOW_ATTR_FLAGS_EGRESS)

/* On a ConnectX-3 a default rule may have specs, which narrow it; DPDK's promiscuous mode has none. */
static int check_kind(const struct ibv_flow_attr *attr, bool all)
{
	bool plain = attr->type == IBV_FLOW_ATTR_NORMAL;
	bool narrow = plain || (!all && attr->type != IBV_FLOW_ATTR_SNIFFER);

	if ((unsigned int)attr->type > IBV_FLOW_ATTR_SNIFFER)
		return explain(EINVAL, "ibv_create_flow: type %d is not known", (int)attr->type);
	if (!narrow && attr->num_of_specs)
		return explain(EINVAL, "ibv_create_flow: a default rule or a sniffer has no specs");
	if (!plain && attr->flags)
		return explain(EINVAL, "ibv_create_flow: flags 0x%x are for normal rules only",
			       attr->flags);
	if ((attr->flags & FLAGS) == FLAGS)
		return explain(EINVAL, "ibv_create_flow: an egress rule cannot have DONT_TRAP");
	return 0;
}

/* On a ConnectX-3 a rule with DONT_TRAP copies all frames, all multicast or all unicast frames. */
static int check_mlx4_dont_trap(const struct ibv_flow_attr *attr)
{
	const uint8_t *bytes = (const uint8_t *)(attr + 1);
	struct ibv_flow_spec_eth eth;
	uint8_t rest = 0;

	if (attr->num_of_specs > 1 || attr->priority)
		return explain(EOPNOTSUPP,
			       "ibv_create_flow: %u specs at priority %u in a rule with DONT_TRAP; "
			       "this adapter takes at most one, at priority 0",
			       attr->num_of_specs, attr->priority);
	if (!attr->num_of_specs)
		return 0;
	memcpy(&eth, bytes, sizeof(eth.type) + sizeof(eth.size));
	if (eth.type != IBV_FLOW_SPEC_ETH || eth.size != sizeof(eth))
		return explain(
			EINVAL,
			"ibv_create_flow: a rule with DONT_TRAP takes an Ethernet spec only");
	memcpy(&eth, bytes, sizeof(eth));
	for (int i = 0; i < 6; i++)
		rest |= eth.mask.dst_mac[i] & ~(i ? 0 : 1);
	if (rest)
		return explain(EINVAL, "ibv_create_flow: the address mask of a rule with DONT_TRAP "
				       "may have the multicast bit only");
	return 0;
}

/* Further limits of a ConnectX-3. */
static int check_mlx4(const struct vb_context *ctx, const struct ibv_flow_attr *attr)
{
	const uint32_t known = IBV_FLOW_ATTR_FLAGS_DONT_TRAP;

	if (!attr->port)
		return explain(EINVAL, "ibv_create_flow: port 0; ports of %s are numbered from 1",
			       ctx->adapter->name);
	if (attr->flags & ~known)
		return explain(EOPNOTSUPP, "ibv_create_flow: flags 0x%x; %s supports 0x%x",
			       attr->flags, ctx->adapter->name, known);
	return attr->flags && attr->type == IBV_FLOW_ATTR_NORMAL ? check_mlx4_dont_trap(attr) : 0;
}

static int check_attr(const struct vb_context *ctx, const struct ibv_flow_attr *attr)
{
	uint32_t most = ctx->driver->all_flows ? PRIORITY_MAX : PRIORITY_MAX_MLX4;

	if (attr->comp_mask)
		return explain(EINVAL, "ibv_create_flow: comp_mask 0x%x; no bit is known",
			       attr->comp_mask);
	if (attr->num_of_specs > SPECS_MAX)
		return explain(EINVAL, "ibv_create_flow: %u specs; at most %u", attr->num_of_specs,
			       SPECS_MAX);
	if (attr->flags >= IBV_FLOW_ATTR_FLAGS_EGRESS << 1 ||
	    (attr->flags & ~FLAGS && ctx->driver->all_flows))
		return explain(EINVAL, "ibv_create_flow: flags 0x%x; 0x%x are known", attr->flags,
			       FLAGS);
	if (attr->priority > most)
		return explain(ctx->driver->all_flows ? ENOSPC : EINVAL,
			       "ibv_create_flow: priority %u; 0 to %u exist", attr->priority, most);
	if (!ctx->driver->all_flows) {
		int err = check_mlx4(ctx, attr);

		if (err)
			return err;
	}
	return check_kind(attr, ctx->driver->all_flows);
}

/* For an egress rule the queue pair only names the device. */
static int check_qp(struct ibv_qp *public, const struct ibv_flow_attr *attr,
		    struct ether_dest **out)
{
	struct ether_dest *dest = hca_qp_dest(to_qp(public)->hca);

	if (dest ||
	    (attr->flags & IBV_FLOW_ATTR_FLAGS_EGRESS && public->qp_type == IBV_QPT_RAW_PACKET)) {
		*out = dest;
		return 0;
	}
	if (public->qp_type == IBV_QPT_RAW_PACKET)
		return explain(EINVAL, "ibv_create_flow: the queue pair has no receive queue");
	if (public->qp_type == IBV_QPT_UD)
		return explain(EOPNOTSUPP,
			       "ibv_create_flow: rules for UD queue pairs are not supported");
	return explain(EINVAL,
		       "ibv_create_flow: the queue pair is of type %d; raw packet (%d) is needed",
		       (int)public->qp_type, IBV_QPT_RAW_PACKET);
}

/* ---- domain and priority ---- */

static enum flow_domain domain_of(const struct ibv_flow_attr *attr)
{
	if (attr->type == IBV_FLOW_ATTR_SNIFFER)
		return FLOW_SNIFFER;
	return attr->flags & IBV_FLOW_ATTR_FLAGS_EGRESS ? FLOW_TX : FLOW_RX;
}

/* Rules for multicast come after rules for unicast addresses, whatever their priority. */
static bool is_multicast(const struct vb_flow_request *req)
{
	return req->mask.bytes[8] & req->value.bytes[8] & 1;
}

static uint32_t priority_of(const struct ibv_flow_attr *attr, const struct vb_flow_request *req,
			    bool all)
{
	bool on = attr->flags & IBV_FLOW_ATTR_FLAGS_DONT_TRAP;

	if (attr->type != IBV_FLOW_ATTR_NORMAL)
		return HCA_FLOW_LEFTOVERS;
	if (all && !on && !(attr->flags & IBV_FLOW_ATTR_FLAGS_EGRESS) && is_multicast(req))
		return HCA_FLOW_MULTICAST;
	return HCA_FLOW_PRIORITY(attr->priority, on);
}

/* ---- actions of a rule ---- */

static int add_handles(struct vb_flow *flow, const struct vb_flow_request *req,
		       enum flow_domain domain, struct flow_action *actions, unsigned int *count)
{
	for (unsigned int i = 0; i < req->handle_count; i++) {
		struct vb_flow_action *a = req->handles[i];

		if (a->domain != domain)
			return explain(EINVAL, "ibv_create_flow: an action was made for the other "
					       "direction");
		flow->used[i] = a;
		actions[(*count)++] = (struct flow_action){ .op = FLOW_OP_EDIT, .edit = a->edit };
	}
	return 0;
}

static int list_actions(struct vb_flow *flow, const struct vb_flow_request *req,
			enum flow_domain domain, struct ether_dest *dest,
			struct flow_action *actions, unsigned int *count)
{
	*count = 0;
	if (req->counters)
		actions[(*count)++] =
			(struct flow_action){ .op = FLOW_OP_COUNT, .counter = req->counters->hw };
	if (req->has_tag)
		actions[(*count)++] = (struct flow_action){ .op = FLOW_OP_TAG, .tag = req->tag };
	if (req->drop)
		actions[(*count)++] = (struct flow_action){ .op = FLOW_OP_DROP };
	else if (domain == FLOW_TX)
		actions[(*count)++] = (struct flow_action){ .op = FLOW_OP_MISS };
	else
		actions[(*count)++] = (struct flow_action){ .op = FLOW_OP_DEST, .dest = dest };
	return add_handles(flow, req, domain, actions, count);
}

static int add_rule(struct vb_flow *flow, const struct vb_context *ctx, struct ether_dest *dest,
		    const struct ibv_flow_attr *attr, const struct vb_flow_request *req)
{
	enum flow_domain domain = domain_of(attr);
	struct flow_action actions[4 + VB_FLOW_ACTIONS];
	struct ether_port *port;
	struct flow_table *root;
	unsigned int count, flags = 0;
	int err = hca_flow_port(ctx->adapter, attr->port ? attr->port : 1, FLOW_RX, &port);

	if (err)
		return err;
	err = list_actions(flow, req, domain, dest, actions, &count);
	if (!err)
		err = flow_table_root(port, domain, &root);
	if (!err)
		err = flow_matcher_create(root, priority_of(attr, req, ctx->driver->all_flows),
					  &req->mask, &flow->matcher);
	if (err)
		return err;
	if (attr->flags & IBV_FLOW_ATTR_FLAGS_DONT_TRAP || domain == FLOW_SNIFFER)
		flags |= FLOW_RULE_GO_ON;
	if (attr->type == IBV_FLOW_ATTR_ALL_DEFAULT)
		flags |= FLOW_RULE_UNCLAIMED;
	err = flow_rule_create(flow->matcher, &req->value, flags, actions, count, &flow->rule);
	if (err)
		flow_matcher_destroy(flow->matcher);
	return err;
}

static int read_request(const struct vb_context *ctx, const struct ibv_flow_attr *attr,
			struct vb_flow_request *req)
{
	int err = vb_flow_specs_read(attr, ctx->driver->all_flows, req);

	if (!err && attr->type == IBV_FLOW_ATTR_MC_DEFAULT) {
		req->mask.bytes[8] = 1;
		req->value.bytes[8] = 1;
	}
	return err;
}

struct ibv_flow *vb_create_flow(struct ibv_qp *qp, struct ibv_flow_attr *attr)
{
	struct vb_context *ctx = to_context(qp->context);
	struct vb_flow_request req;
	struct ether_dest *dest;
	struct vb_flow *flow;
	int err = check_attr(ctx, attr);

	if (!err)
		err = vb_check_qp(qp, EINVAL, "ibv_create_flow");
	if (!err)
		err = check_qp(qp, attr, &dest);
	if (!err)
		err = read_request(ctx, attr, &req);
	if (err)
		return vb_null(err);
	flow = calloc(1, sizeof(*flow));
	if (!flow)
		return vb_null(explain(ENOMEM, "no memory for a flow"));
	if (req.counters) {
		err = vb_counters_bind(req.counters);
		if (err)
			goto free_flow;
		flow->counters = req.counters;
	}
	err = add_rule(flow, ctx, dest, attr, &req);
	if (err)
		goto unbind;
	for (unsigned int i = 0; i < req.handle_count; i++)
		atomic_fetch_add(&flow->used[i]->flows, 1);
	flow->flow.context = qp->context;
	flow->flow.handle = verbena_handle_number();
	verbena_handle_add(&flow->own, ctx, VB_KIND_FLOW, flow->flow.handle);
	vb_context_get(ctx);
	return &flow->flow;
unbind:
	if (flow->counters)
		vb_counters_unbind(flow->counters);
free_flow:
	free(flow);
	return vb_null(err);
}

int vb_destroy_flow(struct ibv_flow *public)
{
	struct vb_flow *flow = to_flow(public);
	struct vb_context *ctx;
	int err = vb_check_destroy(public->context);

	if (!err)
		err = vb_check_flow(public, ENOENT, "ibv_destroy_flow");
	if (err)
		return vb_result(err);
	vb_handle_remove(&flow->own);
	ctx = flow->own.ctx;
	flow_rule_destroy(flow->rule);
	if (flow->matcher)
		flow_matcher_destroy(flow->matcher);
	if (flow->counters)
		vb_counters_unbind(flow->counters);
	for (unsigned int i = 0; i < VB_FLOW_ACTIONS && flow->used[i]; i++)
		atomic_fetch_sub(&flow->used[i]->flows, 1);
	if (flow->release)
		flow->release(flow->release_arg);
	free(flow);
	vb_context_put(ctx);
	return 0;
}

/* ---- flow action objects ---- */

/* Crypto offload needs keys in the adapter; no ConnectX that is modelled here has it. */
struct ibv_flow_action *vb_create_flow_action_esp(struct ibv_context *context,
						  struct ibv_flow_action_esp_attr *attr)
{
	return vb_null(explain(EOPNOTSUPP, "ibv_create_flow_action_esp: %s has no IPsec engine",
			       to_context(context)->adapter->name));
}

int vb_modify_flow_action_esp(struct ibv_flow_action *action, struct ibv_flow_action_esp_attr *attr)
{
	return vb_result(
		explain(EOPNOTSUPP, "ibv_modify_flow_action_esp: the action is not an ESP action"));
}

int vb_destroy_flow_action(struct ibv_flow_action *public)
{
	struct vb_flow_action *action = to_flow_action(public);
	struct vb_context *ctx = action->own.ctx;
	unsigned int flows = atomic_load(&action->flows);
	int err = vb_check_flow_action(public, ENOENT, "ibv_destroy_flow_action");

	if (err)
		return vb_result(err);
	if (flows)
		return vb_result(explain(EBUSY, "ibv_destroy_flow_action: %u flows use it", flows));
	vb_handle_remove(&action->own);
	flow_edit_put(action->edit);
	free(action);
	vb_context_put(ctx);
	return 0;
}
