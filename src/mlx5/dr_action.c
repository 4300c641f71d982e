/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An action is one or more actions of the flow engine (steps), and references to other objects. A
 * rule copies the steps; the action is busy while the rule exists.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hca/raw/flow.h"
#include "hca/raw/raw.h"
#include "mlx5/devx_types.h"
#include "mlx5/dr_types.h"
#include "mlx5/flow_devx.h"
#include "mlx5/flow_match.h"
#include "util/explain.h"
#include "verbs/objects.h"

#define PARTS_MOST 32u
#define TYPE_CVLAN 0x8100u
#define TYPE_SVLAN 0x88a8u

static struct mlx5dv_dr_action *new_action(const char *name, enum dr_kind kind, unsigned int steps)
{
	struct mlx5dv_dr_action *a = calloc(1, sizeof(*a) + steps * sizeof(a->steps[0]));

	if (!a)
		return dr_null(explain(ENOMEM, "no memory for an action"));
	a->name = name;
	a->kind = kind;
	a->step_count = steps;
	return a;
}

static struct mlx5dv_dr_action *one_step(const char *name, enum dr_kind kind,
					 struct flow_action step)
{
	struct mlx5dv_dr_action *a = new_action(name, kind, 1);

	if (a)
		a->steps[0] = step;
	return a;
}

static void use_domain(struct mlx5dv_dr_action *a, struct mlx5dv_dr_domain *d)
{
	a->domain = d;
	atomic_fetch_add(&d->users, 1);
}

static void use_table(struct mlx5dv_dr_action *a, struct mlx5dv_dr_table *t)
{
	a->table = t;
	atomic_fetch_add(&t->users, 1);
}

/* ---- simple ends ---- */

struct mlx5dv_dr_action *mlx5dv_dr_action_create_drop(void)
{
	return one_step("drop", DR_DROP, (struct flow_action){ .op = FLOW_OP_DROP });
}

struct mlx5dv_dr_action *mlx5dv_dr_action_create_default_miss(void)
{
	return one_step("default miss", DR_MISS, (struct flow_action){ .op = FLOW_OP_MISS });
}

struct mlx5dv_dr_action *mlx5dv_dr_action_create_dest_ibv_qp(struct ibv_qp *qp)
{
	struct ether_dest *dest;

	if (!qp || qp->qp_type != IBV_QPT_RAW_PACKET)
		return dr_null(explain(EINVAL,
				       "mlx5dv_dr_action_create_dest_ibv_qp: not a raw packet "
				       "queue pair"));
	dest = hca_qp_dest(to_qp(qp)->hca);
	if (!dest)
		return dr_null(explain(EINVAL,
				       "mlx5dv_dr_action_create_dest_ibv_qp: the queue pair has "
				       "no receive queue"));
	return one_step("queue pair", DR_QUEUE,
			(struct flow_action){ .op = FLOW_OP_DEST, .dest = dest });
}

struct mlx5dv_dr_action *mlx5dv_dr_action_create_dest_devx_tir(struct mlx5dv_devx_obj *obj)
{
	struct flow_action step = { .op = FLOW_OP_DEST };
	int err = obj ? mlx5_flow_devx_dest(obj, &step.dest)
		      : explain(EINVAL, "mlx5dv_dr_action_create_dest_devx_tir: no object");

	return err ? dr_null(err) : one_step("TIR", DR_QUEUE, step);
}

struct mlx5dv_dr_action *mlx5dv_dr_action_create_dest_table(struct mlx5dv_dr_table *t)
{
	struct mlx5dv_dr_action *a;

	if (!t->level)
		return dr_null(explain(EINVAL,
				       "mlx5dv_dr_action_create_dest_table: a root table cannot "
				       "be jumped to"));
	a = one_step("table", DR_TABLE,
		     (struct flow_action){ .op = FLOW_OP_TABLE, .table = t->engine });
	if (a) {
		use_table(a, t);
		use_domain(a, t->domain);
	}
	return a;
}

/* Jump to the rules of a root table, from a priority on. */
struct mlx5dv_dr_action *mlx5dv_dr_action_create_dest_root_table(struct mlx5dv_dr_table *t,
								 uint16_t priority)
{
	struct flow_action step = { .op = FLOW_OP_TABLE,
				    .from = HCA_FLOW_PRIORITY(priority, true),
				    .table = t->engine };
	struct mlx5dv_dr_action *a;

	if (t->level)
		return dr_null(explain(EINVAL,
				       "mlx5dv_dr_action_create_dest_root_table: the table has "
				       "level %u; a root has level 0",
				       t->level));
	if (priority >= MLX5_FLOW_PRIORITIES)
		return dr_null(explain(EINVAL,
				       "mlx5dv_dr_action_create_dest_root_table: priority %u; 0 to "
				       "%u exist",
				       priority, MLX5_FLOW_PRIORITIES - 1));
	a = one_step("root table", DR_ROOT, step);
	if (a) {
		use_table(a, t);
		use_domain(a, t->domain);
	}
	return a;
}

static int check_fdb(const struct mlx5dv_dr_domain *d)
{
	return d->domain == FLOW_FDB
		       ? 0
		       : explain(EOPNOTSUPP, "a port can be a destination in FDB domains only");
}

static struct mlx5dv_dr_action *to_port(struct mlx5dv_dr_domain *d, const char *name,
					struct flow_action step)
{
	struct mlx5dv_dr_action *a = one_step(name, DR_PORT, step);

	if (a)
		use_domain(a, d);
	return a;
}

struct mlx5dv_dr_action *mlx5dv_dr_action_create_dest_vport(struct mlx5dv_dr_domain *d,
							    uint32_t vport)
{
	int err = check_fdb(d);

	if (err)
		return dr_null(err);
	if (vport != FLOW_VPORT_PF && vport != FLOW_VPORT_UPLINK)
		return dr_null(explain(EINVAL,
				       "mlx5dv_dr_action_create_dest_vport: vport 0x%x; there "
				       "are the function's own (0) and the uplink (0xffff)",
				       vport));
	return to_port(d, "vport", (struct flow_action){ .op = FLOW_OP_PORT, .vport = vport });
}

/*
 * A port is a destination for both directions: received frames go on to its receive side, sent ones
 * to its send side.
 */
struct mlx5dv_dr_action *mlx5dv_dr_action_create_dest_ib_port(struct mlx5dv_dr_domain *d,
							      uint32_t port)
{
	int err = check_fdb(d);

	if (err)
		return dr_null(err);
	if (port != d->port->number)
		return dr_null(explain(EINVAL,
				       "mlx5dv_dr_action_create_dest_ib_port: port %u; the "
				       "domain has port %u",
				       port, d->port->number));
	return to_port(d, "port", (struct flow_action){ .op = FLOW_OP_MISS });
}

/* ---- on the way ---- */

struct mlx5dv_dr_action *mlx5dv_dr_action_create_tag(uint32_t tag)
{
	return one_step("tag", DR_TAG,
			(struct flow_action){ .op = FLOW_OP_TAG, .tag = tag & MLX5_FLOW_TAG_MOST });
}

struct mlx5dv_dr_action *mlx5dv_dr_action_create_flow_counter(struct mlx5dv_devx_obj *obj,
							      uint32_t offset)
{
	struct flow_action step = { .op = FLOW_OP_COUNT };
	struct mlx5dv_dr_action *a;
	int err = obj ? mlx5_flow_devx_counter(obj, offset, &step.counter)
		      : explain(EINVAL, "mlx5dv_dr_action_create_flow_counter: no object");

	if (err)
		return dr_null(err);
	a = one_step("counter", DR_COUNT, step);
	if (!a)
		flow_counter_put(step.counter);
	return a;
}

static struct mlx5dv_dr_action *with_edit(const char *name, enum dr_kind kind,
					  struct mlx5dv_dr_domain *d, struct flow_edit *edit)
{
	struct mlx5dv_dr_action *a =
		one_step(name, kind, (struct flow_action){ .op = FLOW_OP_EDIT, .edit = edit });

	if (!a)
		flow_edit_put(edit);
	else if (d)
		use_domain(a, d);
	return a;
}

static int check_flags(const char *call, uint32_t flags)
{
	if (flags & ~(uint32_t)MLX5DV_DR_ACTION_FLAGS_ROOT_LEVEL)
		return explain(EINVAL, "%s: flags 0x%x; 0x%x is known", call, flags,
			       MLX5DV_DR_ACTION_FLAGS_ROOT_LEVEL);
	return 0;
}

struct mlx5dv_dr_action *
mlx5dv_dr_action_create_packet_reformat(struct mlx5dv_dr_domain *d, uint32_t flags,
					enum mlx5dv_flow_action_packet_reformat_type type,
					size_t size, void *data)
{
	bool decap = type == MLX5DV_FLOW_ACTION_PACKET_REFORMAT_TYPE_L2_TUNNEL_TO_L2 ||
		     type == MLX5DV_FLOW_ACTION_PACKET_REFORMAT_TYPE_L3_TUNNEL_TO_L2;
	struct mlx5dv_dr_action *a;
	struct flow_edit *edit;
	int err = check_flags("mlx5dv_dr_action_create_packet_reformat", flags);

	if (!err)
		err = mlx5_reformat_create(d->domain, type, data, size, &edit);
	if (err)
		return dr_null(err);
	a = with_edit("reformat", decap ? DR_DECAP : DR_ENCAP, d, edit);
	if (a)
		a->root_only = flags;
	return a;
}

struct mlx5dv_dr_action *mlx5dv_dr_action_create_modify_header(struct mlx5dv_dr_domain *d,
							       uint32_t flags, size_t size,
							       __be64 actions[])
{
	struct mlx5dv_dr_action *a;
	struct flow_edit *edit;
	int err = check_flags("mlx5dv_dr_action_create_modify_header", flags);

	if (!err)
		err = mlx5_modify_create(actions, size, &edit);
	if (err)
		return dr_null(err);
	a = with_edit("modify header", DR_MODIFY, d, edit);
	if (a)
		a->root_only = flags;
	return a;
}

struct mlx5dv_dr_action *mlx5dv_dr_action_create_pop_vlan(void)
{
	struct flow_edit *edit;
	int err = flow_edit_reformat(FLOW_POP_VLAN, NULL, 0, &edit);

	return err ? dr_null(err) : with_edit("pop VLAN", DR_POP, NULL, edit);
}

struct mlx5dv_dr_action *mlx5dv_dr_action_create_push_vlan(struct mlx5dv_dr_domain *d,
							   __be32 header)
{
	unsigned int type = be32toh(header) >> 16;
	struct flow_edit *edit;
	int err;

	if (type != TYPE_CVLAN && type != TYPE_SVLAN)
		return dr_null(explain(EINVAL,
				       "mlx5dv_dr_action_create_push_vlan: EtherType 0x%x; a "
				       "tag has 0x8100 or 0x88a8",
				       type));
	err = flow_edit_reformat(FLOW_PUSH_VLAN, &header, sizeof(header), &edit);
	return err ? dr_null(err) : with_edit("push VLAN", DR_PUSH, d, edit);
}

/* ---- made of others ---- */

static void free_reformat_dest(struct dr_reformat_dest *dest)
{
	if (dest->rule)
		flow_rule_destroy(dest->rule);
	if (dest->matcher)
		flow_matcher_destroy(dest->matcher);
	if (dest->table)
		flow_table_put(dest->table);
}

/* Frees the action, and the parts it has so far. */
static void free_action(struct mlx5dv_dr_action *a)
{
	for (unsigned int i = 0; i < a->part_count; i++)
		atomic_fetch_sub(&a->parts[i]->users, 1);
	for (unsigned int i = 0; i < a->reformat_dest_count; i++)
		free_reformat_dest(&a->reformat_dests[i]);
	if (a->table)
		atomic_fetch_sub(&a->table->users, 1);
	if (a->domain)
		atomic_fetch_sub(&a->domain->users, 1);
	free(a->parts);
	free(a->reformat_dests);
	free(a);
}

static int room_for_parts(struct mlx5dv_dr_action *a, size_t count)
{
	a->parts = calloc(count, sizeof(*a->parts));
	a->reformat_dests = calloc(count, sizeof(*a->reformat_dests));
	return a->parts && a->reformat_dests ? 0 : explain(ENOMEM, "no memory for an action");
}

static void use_part(struct mlx5dv_dr_action *a, struct mlx5dv_dr_action *part)
{
	a->parts[a->part_count++] = part;
	atomic_fetch_add(&part->users, 1);
}

/* A table with one rule: the reformat, then the destination. */
static int make_reformat_dest(struct mlx5dv_dr_action *a, struct mlx5dv_dr_domain *d,
			      const struct mlx5dv_dr_action_dest_reformat *both,
			      struct flow_action *step)
{
	struct dr_reformat_dest *dest = &a->reformat_dests[a->reformat_dest_count];
	struct flow_action steps[2] = { both->reformat->steps[0], both->dest->steps[0] };
	struct flow_key all;
	int err = flow_table_create(d->port, d->domain, &dest->table);

	memset(&all, 0, sizeof(all));
	if (err)
		return err;
	a->reformat_dest_count++;
	err = flow_matcher_create(dest->table, 0, &all, &dest->matcher);
	if (!err)
		err = flow_rule_create(dest->matcher, &all, 0, steps, 2, &dest->rule);
	*step = (struct flow_action){ .op = FLOW_OP_TABLE, .table = dest->table };
	return err;
}

static bool is_dest(const struct mlx5dv_dr_action *a)
{
	return a && (a->kind == DR_QUEUE || a->kind == DR_TABLE || a->kind == DR_PORT ||
		     a->kind == DR_MISS);
}

static int add_dest(struct mlx5dv_dr_action *a, struct mlx5dv_dr_domain *d,
		    const struct mlx5dv_dr_action_dest_attr *attr, struct flow_action *step)
{
	const struct mlx5dv_dr_action_dest_reformat *both;

	if (attr->type != MLX5DV_DR_ACTION_DEST && attr->type != MLX5DV_DR_ACTION_DEST_REFORMAT)
		return explain(EINVAL, "mlx5dv_dr_action_create_dest_array: type %d is not known",
			       (int)attr->type);
	switch (attr->type) {
	case MLX5DV_DR_ACTION_DEST:
		if (!is_dest(attr->dest))
			break;
		use_part(a, attr->dest);
		*step = attr->dest->steps[0];
		return 0;
	case MLX5DV_DR_ACTION_DEST_REFORMAT:
		both = attr->dest_reformat;
		if (!is_dest(both->dest) || !both->reformat ||
		    both->reformat->steps[0].op != FLOW_OP_EDIT)
			break;
		use_part(a, both->dest);
		use_part(a, both->reformat);
		return make_reformat_dest(a, d, both, step);
	}
	return explain(EOPNOTSUPP,
		       "mlx5dv_dr_action_create_dest_array: an entry is no destination, or "
		       "none with a reformat");
}

struct mlx5dv_dr_action *
mlx5dv_dr_action_create_dest_array(struct mlx5dv_dr_domain *d, size_t count,
				   struct mlx5dv_dr_action_dest_attr *dests[])
{
	struct mlx5dv_dr_action *a;
	int err;

	if (count < 2 || count > PARTS_MOST)
		return dr_null(explain(EINVAL,
				       "mlx5dv_dr_action_create_dest_array: %zu destinations; 2 "
				       "to %u are possible",
				       count, PARTS_MOST));
	if (d->domain == FLOW_TX)
		return dr_null(explain(EOPNOTSUPP,
				       "mlx5dv_dr_action_create_dest_array: not for what leaves"));
	a = new_action("array", DR_ARRAY, count);
	if (!a)
		return NULL;
	use_domain(a, d);
	err = room_for_parts(a, 2 * count);
	for (size_t i = 0; !err && i < count; i++)
		err = add_dest(a, d, dests[i], &a->steps[i]);
	if (err) {
		free_action(a);
		return dr_null(err);
	}
	return a;
}

static int list_sampled(struct mlx5dv_dr_action *a, const struct mlx5dv_dr_flow_sampler_attr *attr,
			struct flow_action *steps)
{
	for (uint32_t i = 0; i < attr->num_sample_actions; i++) {
		struct mlx5dv_dr_action *part = attr->sample_actions[i];

		if (!part || part->step_count != 1 || part->steps[0].op == FLOW_OP_SAMPLE ||
		    part->steps[0].op == FLOW_OP_EDIT || part->steps[0].op == FLOW_OP_DROP)
			return explain(EOPNOTSUPP,
				       "mlx5dv_dr_action_create_flow_sampler: action %u "
				       "cannot be one of a sampler's",
				       i);
		use_part(a, part);
		steps[i] = part->steps[0];
	}
	return 0;
}

static int check_sampler(const struct mlx5dv_dr_flow_sampler_attr *attr)
{
	if (!attr->default_next_table || !attr->sample_ratio || !attr->sample_actions ||
	    !attr->num_sample_actions || attr->num_sample_actions > PARTS_MOST)
		return explain(EINVAL,
			       "mlx5dv_dr_action_create_flow_sampler: a table, a ratio and 1 to "
			       "%u actions are needed",
			       PARTS_MOST);
	if (attr->default_next_table->domain->domain == FLOW_TX)
		return explain(EOPNOTSUPP,
			       "mlx5dv_dr_action_create_flow_sampler: not for what leaves");
	if (!attr->default_next_table->level)
		return explain(EINVAL,
			       "mlx5dv_dr_action_create_flow_sampler: the next table is a root");
	return 0;
}

struct mlx5dv_dr_action *
mlx5dv_dr_action_create_flow_sampler(struct mlx5dv_dr_flow_sampler_attr *attr)
{
	struct flow_action sampled[PARTS_MOST];
	struct mlx5dv_dr_action *a;
	int err = check_sampler(attr);

	if (err)
		return dr_null(err);
	a = one_step("sampler", DR_SAMPLER, (struct flow_action){ .op = FLOW_OP_SAMPLE });
	if (!a)
		return NULL;
	use_table(a, attr->default_next_table);
	use_domain(a, attr->default_next_table->domain);
	err = room_for_parts(a, attr->num_sample_actions);
	if (!err)
		err = list_sampled(a, attr, sampled);
	if (!err)
		err = flow_sampler_create(attr->sample_ratio, attr->default_next_table->engine,
					  sampled, attr->num_sample_actions, &a->steps[0].sampler);
	if (err) {
		free_action(a);
		return dr_null(err);
	}
	return a;
}

int mlx5dv_dr_action_destroy(struct mlx5dv_dr_action *a)
{
	unsigned int users = atomic_load(&a->users);

	if (users)
		return dr_result(explain(EBUSY,
					 "mlx5dv_dr_action_destroy: the action (%s) has %u "
					 "users",
					 a->name, users));
	/* Tables that the action made itself; parts and destination tables are only referred to. */
	if (a->step_count == 1 && !a->part_count && !a->reformat_dest_count) {
		if (a->steps[0].op == FLOW_OP_COUNT)
			flow_counter_put(a->steps[0].counter);
		else if (a->steps[0].op == FLOW_OP_EDIT)
			flow_edit_put(a->steps[0].edit);
	}
	if (a->aso)
		aso_put(a->aso);
	if (a->steps[0].op == FLOW_OP_SAMPLE)
		flow_sampler_destroy(a->steps[0].sampler);
	free_action(a);
	return 0;
}
