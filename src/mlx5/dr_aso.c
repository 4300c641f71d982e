/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An ASO action is one step of the flow engine. A rule copies it, so that later changes of the action are
 * for new rules only. A meter of mlx5dv_dr_action_create_flow_meter() is an object of the action's own, and
 * its parameters change for all rules.
 */
#include "mlx5/dr_aso.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hca/raw/flow.h"
#include "mlx5/devx_aso.h"
#include "mlx5/devx_types.h"
#include "mlx5/ifc_cmd.h"
#include "util/explain.h"

#define REGISTER_MOST 5u /* c_1, c_3 and c_5 take results of ASO objects */

/* Rules of the domain may use objects of another one's context. */
struct dr_link {
	struct aso *aso; /* referenced */
	LIST_ENTRY(dr_link) link;
};

static struct mlx5dv_dr_action *new_action(const char *name, enum dr_kind kind, unsigned int steps,
					   struct mlx5dv_dr_domain *d)
{
	struct mlx5dv_dr_action *a = calloc(1, sizeof(*a) + steps * sizeof(a->steps[0]));

	if (!a)
		return dr_null(explain(ENOMEM, "no memory for an action"));
	a->name = name;
	a->kind = kind;
	a->step_count = steps;
	a->domain = d;
	atomic_fetch_add(&d->users, 1);
	return a;
}

/* ---- ASO objects ---- */

static struct aso *aso_of(const struct mlx5dv_devx_obj *obj)
{
	if (!obj || obj->kind != DEVX_GENERAL ||
	    (obj->type != IFC_OBJ_ASO_FIRST_HIT && obj->type != IFC_OBJ_ASO_FLOW_METER &&
	     obj->type != IFC_OBJ_ASO_CT))
		return NULL;
	return obj->aso;
}

/* The flags of each kind: one bit at most, and how the engine calls it. */
static int read_flags(enum aso_kind kind, uint32_t flags, uint8_t *arg)
{
	bool good;

	switch (kind) {
	case ASO_FIRST_HIT:
		good = !(flags & ~(uint32_t)MLX5DV_DR_ACTION_FLAGS_ASO_FIRST_HIT_SET);
		*arg = flags ? ASO_ARG_SET : 0;
		break;
	case ASO_METER:
		good = flags == MLX5DV_DR_ACTION_FLAGS_ASO_FLOW_METER_RED ||
		       flags == MLX5DV_DR_ACTION_FLAGS_ASO_FLOW_METER_YELLOW ||
		       flags == MLX5DV_DR_ACTION_FLAGS_ASO_FLOW_METER_GREEN ||
		       flags == MLX5DV_DR_ACTION_FLAGS_ASO_FLOW_METER_UNDEFINED;
		*arg = flags ? __builtin_ctz(flags) : 0; /* enum aso_colour */
		break;
	default:
		good = flags == MLX5DV_DR_ACTION_FLAGS_ASO_CT_DIRECTION_INITIATOR ||
		       flags == MLX5DV_DR_ACTION_FLAGS_ASO_CT_DIRECTION_RESPONDER;
		*arg = flags == MLX5DV_DR_ACTION_FLAGS_ASO_CT_DIRECTION_RESPONDER
			       ? ASO_ARG_RESPONDER
			       : 0;
		break;
	}
	return good ? 0
		    : explain(EINVAL, "flags 0x%x do not fit the kind of the ASO object", flags);
}

static int make_step(struct aso *aso, uint32_t offset, uint32_t flags, uint8_t reg,
		     struct flow_action *out)
{
	struct flow_action step = { .op = FLOW_OP_ASO, .reg = reg, .from = offset, .aso = aso };
	int err = read_flags(aso->kind, flags, &step.arg);

	if (err)
		return err;
	if (offset >= aso_count(aso))
		return explain(EINVAL, "ASO object %u of a bulk of %u", offset, aso_count(aso));
	if (reg > REGISTER_MOST || reg % 2 == 0)
		return explain(EINVAL, "register c_%u; c_1, c_3 and c_5 take results", reg);
	*out = step;
	return 0;
}

struct mlx5dv_dr_action *mlx5dv_dr_action_create_aso(struct mlx5dv_dr_domain *d,
						     struct mlx5dv_devx_obj *obj, uint32_t offset,
						     uint32_t flags, uint8_t reg)
{
	struct aso *aso = aso_of(obj);
	struct mlx5dv_dr_action *a;
	struct flow_action step;
	int err;

	if (!aso)
		return dr_null(explain(EOPNOTSUPP,
				       "mlx5dv_dr_action_create_aso: the object is no first hit, "
				       "meter or connection"));
	err = make_step(aso, offset, flags, reg, &step);
	if (err)
		return dr_null(err);
	a = aso->kind == ASO_FIRST_HIT ? new_action("first hit", DR_FIRST_HIT, 1, d)
				       : new_action("ASO", DR_ASO, 1, d);
	if (!a)
		return NULL;
	a->aso = aso_get(aso);
	a->aso_flags = flags;
	a->steps[0] = step;
	return a;
}

static bool has_links(struct mlx5dv_dr_domain *d)
{
	bool has;

	pthread_mutex_lock(&d->lock);
	has = !LIST_EMPTY(&d->links);
	pthread_mutex_unlock(&d->lock);
	return has;
}

int mlx5dv_dr_action_modify_aso(struct mlx5dv_dr_action *a, uint32_t offset, uint32_t flags,
				uint8_t reg)
{
	struct flow_action step;
	int err;

	if (a->kind != DR_FIRST_HIT && a->kind != DR_ASO)
		return dr_result(explain(EINVAL,
					 "mlx5dv_dr_action_modify_aso: the action (%s) has no ASO "
					 "object",
					 a->name));
	if (a->aso->kind == ASO_CT && has_links(a->domain) &&
	    (flags != a->aso_flags || reg != a->steps[0].reg))
		return dr_result(explain(EOPNOTSUPP,
					 "mlx5dv_dr_action_modify_aso: with a link to another "
					 "domain only the offset can change"));
	err = make_step(a->aso, offset, flags, reg, &step);
	if (err)
		return dr_result(err);
	a->aso_flags = flags;
	a->steps[0] = step;
	return 0;
}

/* ---- objects of other domains ---- */

bool dr_aso_is_linked(struct mlx5dv_dr_domain *d, const struct mlx5dv_dr_action *a)
{
	const struct dr_link *l;

	if (a->kind != DR_ASO)
		return false;
	pthread_mutex_lock(&d->lock);
	LIST_FOREACH(l, &d->links, link)
		if (l->aso == a->aso)
			break;
	pthread_mutex_unlock(&d->lock);
	return l;
}

static int check_link(const struct aso *aso, const struct mlx5dv_dr_domain *from,
		      const struct mlx5dv_dr_domain *d)
{
	const struct dr_link *l;

	if (!aso || aso->kind != ASO_CT)
		return explain(EOPNOTSUPP,
			       "mlx5dv_dr_aso_other_domain_link: the object tracks no connections");
	if (from == d)
		return explain(EINVAL, "mlx5dv_dr_aso_other_domain_link: the domain is the "
				       "object's own");
	LIST_FOREACH(l, &d->links, link)
		if (l->aso == aso)
			return explain(EEXIST,
				       "mlx5dv_dr_aso_other_domain_link: there is such a link");
	return 0;
}

int mlx5dv_dr_aso_other_domain_link(struct mlx5dv_devx_obj *obj, struct mlx5dv_dr_domain *from,
				    struct mlx5dv_dr_domain *d, uint32_t flags, uint8_t reg)
{
	struct dr_link *l = calloc(1, sizeof(*l));
	struct aso *aso = aso_of(obj);
	struct flow_action step;
	int err = l ? 0 : explain(ENOMEM, "no memory for a link between domains");

	pthread_mutex_lock(&d->lock);
	if (!err)
		err = check_link(aso, from, d);
	if (!err)
		err = make_step(aso, 0, flags, reg, &step);
	if (!err) {
		l->aso = aso_get(aso);
		LIST_INSERT_HEAD(&d->links, l, link);
		atomic_fetch_add(&d->users, 1);
	}
	pthread_mutex_unlock(&d->lock);
	if (err)
		free(l);
	return dr_result(err);
}

int mlx5dv_dr_aso_other_domain_unlink(struct mlx5dv_devx_obj *obj, struct mlx5dv_dr_domain *d)
{
	struct aso *aso = aso_of(obj);
	struct dr_link *l;

	pthread_mutex_lock(&d->lock);
	LIST_FOREACH(l, &d->links, link)
		if (l->aso == aso)
			break;
	if (l)
		LIST_REMOVE(l, link);
	pthread_mutex_unlock(&d->lock);
	if (!l)
		return dr_result(explain(EINVAL,
					 "mlx5dv_dr_aso_other_domain_unlink: there is no such "
					 "link"));
	aso_put(l->aso);
	free(l);
	atomic_fetch_sub(&d->users, 1);
	return 0;
}

/* ---- meters ---- */

/* A meter counts while it is active and valid; otherwise packets keep their colour. */
static void write_meter(struct aso *aso, const struct mlx5dv_dr_flow_meter_attr *attr, bool valid,
			const uint8_t mask[DEVX_METER_BYTES])
{
	struct aso_change change = { .condition = { { .op = ASO_ALWAYS }, { .op = ASO_ALWAYS } } };
	uint8_t before[ASO_BYTES];

	memcpy(change.data, attr->flow_meter_parameter, attr->flow_meter_parameter_sz);
	change.data[0] = (change.data[0] & 0x7f) | (attr->active && valid ? 0x80 : 0);
	memcpy(change.mask, mask, DEVX_METER_BYTES);
	aso_access(aso, 0, &change, before);
}

static int check_meter(const struct mlx5dv_dr_flow_meter_attr *attr)
{
	if (attr->flow_meter_parameter_sz > DEVX_METER_BYTES ||
	    (attr->flow_meter_parameter_sz && !attr->flow_meter_parameter))
		return explain(EINVAL, "a meter with parameters of %zu bytes; at most %u",
			       attr->flow_meter_parameter_sz, DEVX_METER_BYTES);
	return 0;
}

struct mlx5dv_dr_action *mlx5dv_dr_action_create_flow_meter(struct mlx5dv_dr_flow_meter_attr *attr)
{
	/* The program gives rates and bursts; the tokens are the meter's own. */
	static const uint8_t full[8] = { 0x7f, 0xff, 0xff, 0xff };
	struct mlx5dv_dr_table *next = attr->next_table;
	uint8_t mask[DEVX_METER_BYTES];
	struct mlx5dv_dr_action *a;
	int err = check_meter(attr);

	if (!err && !next->level)
		err = explain(EOPNOTSUPP,
			      "mlx5dv_dr_action_create_flow_meter: the next table is a root");
	if (!err && attr->reg_c_index >= FLOW_REGISTERS)
		err = explain(EINVAL, "mlx5dv_dr_action_create_flow_meter: register c_%u",
			      attr->reg_c_index);
	if (err)
		return dr_null(err);
	a = new_action("meter", DR_METER, 2, next->domain);
	if (!a)
		return NULL;
	a->aso = aso_create(ASO_METER, 1);
	if (!a->aso) {
		atomic_fetch_sub(&next->domain->users, 1);
		free(a);
		return dr_null(explain(ENOMEM, "no memory for a meter"));
	}
	memset(mask, 0xff, sizeof(mask));
	write_meter(a->aso, attr,
		    attr->flow_meter_parameter_sz &&
			    *(const uint8_t *)attr->flow_meter_parameter >> 7,
		    mask);
	memcpy(a->aso->bytes[0] + 12, full, 4);
	memcpy(a->aso->bytes[0] + 20, full, 4);
	memset(a->aso->bytes[0] + 24, 0, 8);
	a->table = next;
	atomic_fetch_add(&next->users, 1);
	a->steps[0] = (struct flow_action){
		.op = FLOW_OP_ASO, .reg = attr->reg_c_index, .arg = ASO_NO_COLOUR, .aso = a->aso
	};
	a->steps[1] = (struct flow_action){ .op = FLOW_OP_TABLE, .table = next->engine };
	return a;
}

int mlx5dv_dr_action_modify_flow_meter(struct mlx5dv_dr_action *a,
				       struct mlx5dv_dr_flow_meter_attr *attr,
				       __be64 modify_field_select)
{
	uint64_t select = be64toh(modify_field_select);
	uint8_t mask[DEVX_METER_BYTES];
	int err = check_meter(attr);

	if (!err && a->kind != DR_METER)
		err = explain(EINVAL, "mlx5dv_dr_action_modify_flow_meter: the action is a %s",
			      a->name);
	if (err)
		return dr_result(err);
	devx_meter_mask(select, mask);
	if (select & 1)
		mask[0] = 0x80;
	write_meter(a->aso, attr, true, mask);
	return 0;
}
