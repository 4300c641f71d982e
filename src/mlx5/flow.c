/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Flow matchers, their rules, and actions that are objects. Rules are flows, which
 * ibv_destroy_flow() destroys. A matcher is busy while it has rules.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hca/raw/flow.h"
#include "hca/raw/raw.h"
#include "mlx5/devx_types.h"
#include "mlx5/dv.h"
#include "mlx5/flow_devx.h"
#include "mlx5/flow_match.h"
#include "mlx5/privilege.h"
#include "util/explain.h"
#include "verbs/objects.h"

#define ACTIONS_MOST 16u
#define FLAGS        ((uint32_t)IBV_FLOW_ATTR_FLAGS_DONT_TRAP | IBV_FLOW_ATTR_FLAGS_EGRESS)

struct mlx5dv_flow_matcher {
	struct ibv_context *context;
	struct flow_matcher *engine;
	struct flow_key mask;
	enum flow_domain domain;
	uint8_t criteria;
	uint32_t flags;
};

static void *null(int err)
{
	errno = -err;
	return NULL;
}

static int domain_of(unsigned int table, enum flow_domain *out)
{
	static const enum flow_domain domains[] = {
		[MLX5DV_FLOW_TABLE_TYPE_NIC_RX] = FLOW_RX,
		[MLX5DV_FLOW_TABLE_TYPE_NIC_TX] = FLOW_TX,
		[MLX5DV_FLOW_TABLE_TYPE_FDB] = FLOW_FDB,
		[MLX5DV_FLOW_TABLE_TYPE_RDMA_RX] = FLOW_RDMA_RX,
		[MLX5DV_FLOW_TABLE_TYPE_RDMA_TX] = FLOW_RDMA_TX,
		[MLX5DV_FLOW_TABLE_TYPE_RDMA_TRANSPORT_RX] = FLOW_RDMA_TRANSPORT_RX,
		[MLX5DV_FLOW_TABLE_TYPE_RDMA_TRANSPORT_TX] = FLOW_RDMA_TRANSPORT_TX,
	};

	if (table >= array_size(domains))
		return explain(EOPNOTSUPP, "flow table type %u; there are 0 to %zu", table,
			       array_size(domains) - 1);
	*out = domains[table];
	return 0;
}

/* ---- matchers ---- */

static bool is_of_transport(const struct mlx5dv_flow_matcher_attr *attr)
{
	return attr->comp_mask & MLX5DV_FLOW_MATCHER_MASK_FT_TYPE &&
	       (attr->ft_type == MLX5DV_FLOW_TABLE_TYPE_RDMA_TRANSPORT_RX ||
		attr->ft_type == MLX5DV_FLOW_TABLE_TYPE_RDMA_TRANSPORT_TX);
}

/* As the kernel has it: tables of a vport belong to other functions' manager when the switch is in switchdev mode. */
static int check_privilege(const struct mlx5_context *ctx)
{
	bool others = ctx->vb->adapter->switchdev;

	if (ctx->privileges & (others ? MLX5_MAY_CONTROL_OTHERS : MLX5_MAY_CONTROL))
		return 0;
	return explain(EOPNOTSUPP,
		       "mlx5dv_create_flow_matcher: tables of the RDMA transport are for contexts "
		       "opened with a descriptor of /dev/infiniband/mlx5_perm_ctrl_%s",
		       others ? "other_vhca" : "local");
}

static int check_matcher(const struct mlx5_context *ctx,
			 const struct mlx5dv_flow_matcher_attr *attr)
{
	if (attr->comp_mask &
	    ~(uint64_t)(MLX5DV_FLOW_MATCHER_MASK_FT_TYPE | MLX5DV_FLOW_MATCHER_MASK_IB_PORT))
		return explain(EOPNOTSUPP,
			       "mlx5dv_create_flow_matcher: comp_mask 0x%llx; 3 is known",
			       (unsigned long long)attr->comp_mask);
	if (attr->type != IBV_FLOW_ATTR_NORMAL)
		return explain(EOPNOTSUPP,
			       "mlx5dv_create_flow_matcher: type %d; there are matchers of the "
			       "normal type (0) only",
			       (int)attr->type);
	if (!(attr->comp_mask & MLX5DV_FLOW_MATCHER_MASK_IB_PORT) != !is_of_transport(attr))
		return explain(
			EINVAL,
			"mlx5dv_create_flow_matcher: tables of types %d and %d need ib_port, "
			"and no others have it",
			(int)MLX5DV_FLOW_TABLE_TYPE_RDMA_TRANSPORT_RX,
			(int)MLX5DV_FLOW_TABLE_TYPE_RDMA_TRANSPORT_TX);
	if (attr->flags & ~FLAGS || attr->flags == FLAGS)
		return explain(EINVAL,
			       "mlx5dv_create_flow_matcher: flags 0x%x; one of 0x%x is "
			       "possible",
			       attr->flags, FLAGS);
	if (attr->priority >= MLX5_FLOW_PRIORITIES)
		return explain(ENOSPC, "mlx5dv_create_flow_matcher: priority %u; 0 to %u exist",
			       attr->priority, MLX5_FLOW_PRIORITIES - 1);
	return is_of_transport(attr) ? check_privilege(ctx) : 0;
}

static int make_matcher(struct mlx5dv_flow_matcher *m, const struct mlx5dv_flow_matcher_attr *attr)
{
	struct vb_context *ctx = to_context(m->context);
	bool on = attr->flags & IBV_FLOW_ATTR_FLAGS_DONT_TRAP;
	struct ether_port *port;
	struct flow_table *root;
	int err = 0;

	m->domain = attr->flags & IBV_FLOW_ATTR_FLAGS_EGRESS ? FLOW_TX : FLOW_RX;
	if (attr->comp_mask & MLX5DV_FLOW_MATCHER_MASK_FT_TYPE)
		err = domain_of(attr->ft_type, &m->domain);
	if (!err)
		err = hca_flow_port(ctx->adapter, is_of_transport(attr) ? attr->ib_port : 1,
				    m->domain, &port);
	if (!err)
		err = mlx5_match_read(attr->match_mask, MLX5_MATCH_BYTES,
				      attr->match_criteria_enable, &m->mask);
	if (!err)
		err = flow_table_root(port, m->domain, &root);
	if (!err)
		err = flow_matcher_create(root, HCA_FLOW_PRIORITY(attr->priority, on), &m->mask,
					  &m->engine);
	return err;
}

struct mlx5dv_flow_matcher *mlx5dv_create_flow_matcher(struct ibv_context *context,
						       struct mlx5dv_flow_matcher_attr *attr)
{
	const struct mlx5_context *ctx = mlx5_dv_context(context, "mlx5dv_create_flow_matcher");
	struct mlx5dv_flow_matcher *m;
	int err;

	if (!ctx)
		return NULL;
	err = check_matcher(ctx, attr);
	if (err)
		return null(err);
	m = aligned_alloc(_Alignof(struct mlx5dv_flow_matcher), sizeof(*m));
	if (!m)
		return null(explain(ENOMEM, "no memory for a flow matcher"));
	*m = (struct mlx5dv_flow_matcher){ .context = context,
					   .criteria = attr->match_criteria_enable,
					   .flags = attr->flags };
	err = make_matcher(m, attr);
	if (err) {
		free(m);
		return null(err);
	}
	return m;
}

int mlx5dv_destroy_flow_matcher(struct mlx5dv_flow_matcher *m)
{
	int err = flow_matcher_destroy(m->engine);

	if (err) {
		errno = -err;
		return -err;
	}
	free(m);
	return 0;
}

/* ---- rules ---- */

/* The actions of a rule for the flow engine. */
struct rule_actions {
	struct flow_action actions[ACTIONS_MOST];
	unsigned int count;
	bool has_end, has_tag, has_counter;
	struct flow_counter *counter; /* referenced */
	struct vb_flow_action *used[VB_FLOW_ACTIONS];
	unsigned int used_count;
};

static int add(struct rule_actions *w, struct flow_action action)
{
	if (w->count == ACTIONS_MOST)
		return explain(EOPNOTSUPP, "mlx5dv_create_flow: more than %u actions",
			       ACTIONS_MOST);
	w->actions[w->count++] = action;
	return 0;
}

static int add_end(struct rule_actions *w, struct flow_action action)
{
	if (w->has_end)
		return explain(EOPNOTSUPP,
			       "mlx5dv_create_flow: a second destination, or one for what "
			       "is dropped");
	w->has_end = true;
	return add(w, action);
}

static int add_qp(struct rule_actions *w, struct ibv_qp *qp)
{
	struct ether_dest *dest = qp ? hca_qp_dest(to_qp(qp)->hca) : NULL;

	if (!dest)
		return explain(EINVAL, "mlx5dv_create_flow: the destination is no raw packet queue "
				       "pair with a receive queue");
	return add_end(w, (struct flow_action){ .op = FLOW_OP_DEST, .dest = dest });
}

static int add_devx(struct rule_actions *w, struct mlx5dv_devx_obj *obj)
{
	struct flow_action a;
	int err = mlx5_flow_devx_step(obj, &a);

	return err ? err : add_end(w, a);
}

static int add_edit(struct rule_actions *w, const struct mlx5dv_flow_matcher *m,
		    struct ibv_flow_action *public)
{
	struct vb_flow_action *action = public ? to_flow_action(public) : NULL;

	if (!action || action->domain != m->domain)
		return explain(EINVAL,
			       "mlx5dv_create_flow: the flow action was created for another kind "
			       "of table");
	if (w->used_count == VB_FLOW_ACTIONS)
		return explain(EOPNOTSUPP, "mlx5dv_create_flow: more than %u flow actions",
			       VB_FLOW_ACTIONS);
	w->used[w->used_count++] = action;
	return add(w, (struct flow_action){ .op = FLOW_OP_EDIT, .edit = action->edit });
}

static int add_tag(struct rule_actions *w, uint32_t tag)
{
	if (w->has_tag || tag > MLX5_FLOW_TAG_MOST)
		return explain(EINVAL, "mlx5dv_create_flow: tag 0x%x; one of 24 bits is possible",
			       tag);
	w->has_tag = true;
	return add(w, (struct flow_action){ .op = FLOW_OP_TAG, .tag = tag });
}

static int add_counter(struct rule_actions *w, struct mlx5dv_devx_obj *obj, uint32_t offset)
{
	int err;

	if (w->counter)
		return explain(EOPNOTSUPP, "mlx5dv_create_flow: a second counter");
	err = mlx5_flow_devx_counter(obj, offset, &w->counter);
	return err ? err
		   : add(w, (struct flow_action){ .op = FLOW_OP_COUNT, .counter = w->counter });
}

static int add_one(struct rule_actions *w, const struct mlx5dv_flow_matcher *m,
		   const struct mlx5dv_flow_action_attr *attr)
{
	switch (attr->type) {
	case MLX5DV_FLOW_ACTION_DEST_IBV_QP:
		return add_qp(w, attr->qp);
	case MLX5DV_FLOW_ACTION_DROP:
		return add_end(w, (struct flow_action){ .op = FLOW_OP_DROP });
	case MLX5DV_FLOW_ACTION_IBV_FLOW_ACTION:
		return add_edit(w, m, attr->action);
	case MLX5DV_FLOW_ACTION_TAG:
		return add_tag(w, attr->tag_value);
	case MLX5DV_FLOW_ACTION_DEST_DEVX:
		return add_devx(w, attr->obj);
	case MLX5DV_FLOW_ACTION_COUNTERS_DEVX:
		return add_counter(w, attr->obj, 0);
	case MLX5DV_FLOW_ACTION_DEFAULT_MISS:
		return add_end(w, (struct flow_action){ .op = FLOW_OP_MISS });
	case MLX5DV_FLOW_ACTION_COUNTERS_DEVX_WITH_OFFSET:
		return add_counter(w, attr->bulk_obj.obj, attr->bulk_obj.offset);
	default:
		return explain(EOPNOTSUPP, "mlx5dv_create_flow: action %d does not exist here",
			       (int)attr->type);
	}
}

static int read_actions(struct rule_actions *w, const struct mlx5dv_flow_matcher *m, size_t count,
			const void *actions, size_t stride)
{
	for (size_t i = 0; i < count; i++) {
		struct mlx5dv_flow_action_attr attr = { 0 };
		int err;

		memcpy(&attr, (const char *)actions + i * stride,
		       stride < sizeof(attr) ? stride : sizeof(attr));
		err = add_one(w, m, &attr);
		if (err)
			return err;
	}
	if (!w->has_end && (m->domain == FLOW_RX || m->domain == FLOW_RDMA_RX))
		return explain(
			EINVAL,
			"mlx5dv_create_flow: the rule has no final action; a destination, drop "
			"or default miss is needed");
	return 0;
}

static int make_rule(struct vb_flow *flow, struct mlx5dv_flow_matcher *m,
		     const struct mlx5dv_flow_match_parameters *match, const struct rule_actions *w)
{
	bool on = m->flags & IBV_FLOW_ATTR_FLAGS_DONT_TRAP;
	struct flow_key value;
	int err = mlx5_match_read(match, MLX5_MATCH_BYTES, m->criteria, &value);

	if (err)
		return err;
	return flow_rule_create(m->engine, &value, on ? FLOW_RULE_GO_ON : 0, w->actions, w->count,
				&flow->rule);
}

struct ibv_flow *__mlx5dv_create_flow(struct mlx5dv_flow_matcher *m,
				      struct mlx5dv_flow_match_parameters *match, size_t count,
				      struct mlx5dv_flow_action_attr actions[], size_t stride)
{
	struct vb_flow *flow = calloc(1, sizeof(*flow));
	struct rule_actions w = { .count = 0 };
	int err;

	if (!flow)
		return null(explain(ENOMEM, "no memory for a flow"));
	err = read_actions(&w, m, count, actions, stride);
	if (!err)
		err = make_rule(flow, m, match, &w);
	if (w.counter) /* the rule has taken its own reference */
		flow_counter_put(w.counter);
	if (err) {
		free(flow);
		return null(err);
	}
	for (unsigned int i = 0; i < w.used_count; i++) {
		flow->used[i] = w.used[i];
		atomic_fetch_add(&w.used[i]->flows, 1);
	}
	flow->flow.context = m->context;
	flow->flow.handle = verbena_handle_number();
	verbena_handle_add(&flow->own, to_context(m->context), VB_KIND_FLOW, flow->flow.handle);
	atomic_fetch_add(&to_context(m->context)->refs, 1);
	return &flow->flow;
}

/* The old ABI, whose action structs have no offset. */
#undef mlx5dv_create_flow
VB_API struct ibv_flow *mlx5dv_create_flow(struct mlx5dv_flow_matcher *m,
					   struct mlx5dv_flow_match_parameters *match, size_t count,
					   struct mlx5dv_flow_action_attr actions[]);

struct ibv_flow *mlx5dv_create_flow(struct mlx5dv_flow_matcher *m,
				    struct mlx5dv_flow_match_parameters *match, size_t count,
				    struct mlx5dv_flow_action_attr actions[])
{
	return __mlx5dv_create_flow(m, match, count, actions, 2 * sizeof(void *));
}

/* ---- actions ---- */

static struct ibv_flow_action *new_action(struct ibv_context *context, enum flow_domain domain,
					  struct flow_edit *edit)
{
	struct vb_flow_action *action = calloc(1, sizeof(*action));

	if (!action) {
		flow_edit_put(edit);
		return null(explain(ENOMEM, "no memory for a flow action"));
	}
	action->action.context = context;
	verbena_handle_add(&action->own, to_context(context), VB_KIND_FLOW_ACTION,
			   verbena_handle_number());
	action->edit = edit;
	action->domain = domain;
	atomic_fetch_add(&to_context(context)->refs, 1);
	return &action->action;
}

static int check_edits(struct ibv_context *context)
{
	const struct hca_model *model = to_context(context)->adapter->model;

	if (hca_model_has(model, HCA_HAS_EDITS))
		return 0;
	return explain(EOPNOTSUPP, "flow action: a %s has no rules that change frames",
		       model->name);
}

struct ibv_flow_action *mlx5dv_create_flow_action_modify_header(struct ibv_context *context,
								size_t size, uint64_t actions[],
								enum mlx5dv_flow_table_type table)
{
	enum flow_domain domain;
	struct flow_edit *edit;
	int err = domain_of(table, &domain);

	if (!mlx5_dv_context(context, "mlx5dv_create_flow_action_modify_header"))
		return NULL;
	if (!err)
		err = check_edits(context);
	if (!err)
		err = mlx5_modify_create(actions, size, &edit);
	return err ? null(err) : new_action(context, domain, edit);
}

struct ibv_flow_action *
mlx5dv_create_flow_action_packet_reformat(struct ibv_context *context, size_t size, void *data,
					  enum mlx5dv_flow_action_packet_reformat_type type,
					  enum mlx5dv_flow_table_type table)
{
	enum flow_domain domain;
	struct flow_edit *edit;
	int err = domain_of(table, &domain);

	if (!mlx5_dv_context(context, "mlx5dv_create_flow_action_packet_reformat"))
		return NULL;
	if (!err)
		err = check_edits(context);
	if (!err)
		err = mlx5_reformat_create(domain, type, data, size, &edit);
	return err ? null(err) : new_action(context, domain, edit);
}

struct ibv_flow_action *mlx5dv_create_flow_action_esp(struct ibv_context *context,
						      struct ibv_flow_action_esp_attr *esp,
						      struct mlx5dv_flow_action_esp *attr)
{
	return null(explain(EOPNOTSUPP, "mlx5dv_create_flow_action_esp: %s has no IPsec engine",
			    to_context(context)->adapter->name));
}
