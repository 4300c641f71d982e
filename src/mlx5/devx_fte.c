/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * SET_FLOW_TABLE_ENTRY makes or changes the entry of an index. An entry is a rule of the flow
 * engine; a change makes the new rule before it destroys the old one, so that every frame meets one
 * of them. devx.lock is held.
 */
#include "mlx5/devx_fte.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hca/raw/flow.h"
#include "mlx5/devx_cmd.h"
#include "mlx5/devx_flow.h"
#include "mlx5/devx_flow_types.h"
#include "mlx5/devx_obj.h"
#include "mlx5/flow_devx.h"

#define STEPS_MOST 32u
#define LIST_MOST  (DEVX_FLOW_DESTS + 1)

/* An entry while its context is read. */
struct fte_build {
	struct devx_cmd *c;
	const struct devx_flow_table *table;
	struct flow_action steps[STEPS_MOST];
	unsigned int count;
	struct mlx5dv_devx_obj *refs[STEPS_MOST];
	unsigned int ref_count;
	struct flow_edit *own[4]; /* edits made for this entry */
	unsigned int own_count;
};

static void add(struct fte_build *w, struct flow_action step)
{
	w->steps[w->count++] = step;
}

static void add_reference(struct fte_build *w, struct mlx5dv_devx_obj *obj)
{
	w->refs[w->ref_count++] = obj;
}

static int add_object_edit(struct fte_build *w, enum devx_kind kind, uint32_t id)
{
	struct mlx5dv_devx_obj *obj = devx_find(w->c->devx, kind, id);

	if (!obj)
		return devx_refuse(
			w->c, IFC_STATUS_BAD_RES, DEVX_WHY_OBJECT, "there is no %s 0x%x",
			kind == DEVX_REFORMAT ? "packet_reformat_id" : "modify_header_id", id);
	add_reference(w, obj);
	add(w, (struct flow_action){ .op = FLOW_OP_EDIT, .edit = obj->edit });
	return 0;
}

static int add_own_edit(struct fte_build *w, enum flow_reformat kind, uint32_t vlan)
{
	const uint8_t tag[4] = { vlan >> 24, vlan >> 16, vlan >> 8, vlan };
	bool push = kind == FLOW_PUSH_VLAN;
	struct flow_edit *edit;
	int err = flow_edit_reformat(kind, push ? tag : NULL, push ? sizeof(tag) : 0, &edit);

	if (err)
		return devx_refuse_errno(w->c, err, DEVX_WHY_FIELD);
	w->own[w->own_count++] = edit;
	add(w, (struct flow_action){ .op = FLOW_OP_EDIT, .edit = edit });
	return 0;
}

/* In the order in which a device applies them. */
static int read_edits(struct fte_build *w, const void *fc, unsigned int action)
{
	uint32_t reformat = ifc_get(fc, flow_context, packet_reformat_id);
	struct mlx5dv_devx_obj *obj =
		action & IFC_FLOW_REFORMAT ? devx_find(w->c->devx, DEVX_REFORMAT, reformat) : NULL;
	bool first = obj && obj->reformat_decaps;
	int err = 0;

	if (action & IFC_FLOW_DECAP)
		err = add_own_edit(w, FLOW_DECAP_L2, 0);
	if (!err && action & IFC_FLOW_REFORMAT && first)
		err = add_object_edit(w, DEVX_REFORMAT, reformat);
	if (!err && action & IFC_FLOW_VLAN_POP)
		err = add_own_edit(w, FLOW_POP_VLAN, 0);
	if (!err && action & IFC_FLOW_MOD_HDR)
		err = add_object_edit(w, DEVX_MODIFY_HEADER,
				      ifc_get(fc, flow_context, modify_header_id));
	if (!err && action & IFC_FLOW_VLAN_PUSH)
		err = add_own_edit(w, FLOW_PUSH_VLAN, ifc_get(fc, flow_context, push_vlan));
	if (!err && action & IFC_FLOW_REFORMAT && !first)
		err = add_object_edit(w, DEVX_REFORMAT, reformat);
	return err;
}

static int add_counter(struct fte_build *w, uint32_t id)
{
	struct mlx5dv_devx_obj *obj = devx_find(w->c->devx, DEVX_FLOW_COUNTER, id);

	if (!obj)
		return devx_refuse(w->c, IFC_STATUS_BAD_RES, DEVX_WHY_OBJECT,
				   "there is no flow counter 0x%x", id);
	add_reference(w, obj);
	add(w, (struct flow_action){ .op = FLOW_OP_COUNT,
				     .counter = &obj->counters[id - obj->number] });
	return 0;
}

static int add_table(struct fte_build *w, uint32_t id, bool any_level)
{
	struct mlx5dv_devx_obj *obj = devx_find(w->c->devx, DEVX_FLOW_TABLE, id);

	if (!obj)
		return devx_refuse(w->c, IFC_STATUS_BAD_RES, DEVX_WHY_OBJECT,
				   "destination: there is no flow table 0x%x", id);
	if (obj->flow_table->domain != w->table->domain || obj->flow_table == w->table ||
	    (!any_level && obj->flow_table->level <= w->table->level))
		return devx_refuse(w->c, IFC_STATUS_BAD_PARAM, DEVX_WHY_FIELD,
				   "destination: table 0x%x has type %u and level %u; from here "
				   "(type %u, level %u) only higher levels can be reached",
				   id, obj->flow_table->type, obj->flow_table->level,
				   w->table->type, w->table->level);
	add_reference(w, obj);
	add(w, (struct flow_action){ .op = FLOW_OP_TABLE,
				     .from = obj->flow_table->from,
				     .table = obj->flow_table->engine });
	return 0;
}

static int add_tir(struct fte_build *w, uint32_t id)
{
	struct flow_action step = { .op = FLOW_OP_DEST };
	struct mlx5dv_devx_obj *obj = devx_find(w->c->devx, DEVX_TIR, id);
	int err;

	if (!obj || w->table->domain != FLOW_RX)
		return devx_refuse(w->c, obj ? IFC_STATUS_BAD_PARAM : IFC_STATUS_BAD_RES,
				   DEVX_WHY_OBJECT,
				   "destination: TIR 0x%x; there has to be one, and frames have to "
				   "come in (NIC_RX)",
				   id);
	err = mlx5_flow_devx_dest(obj, &step.dest);
	if (err)
		return devx_refuse_errno(w->c, err, DEVX_WHY_OBJECT);
	add_reference(w, obj);
	add(w, step);
	return 0;
}

static int add_vport(struct fte_build *w, uint32_t vport)
{
	if (w->table->domain != FLOW_FDB || (vport != FLOW_VPORT_PF && vport != FLOW_VPORT_UPLINK))
		return devx_refuse(w->c, IFC_STATUS_BAD_PARAM, DEVX_WHY_PORT,
				   "destination: vport 0x%x; tables of the FDB lead to 0 and "
				   "0xffff",
				   vport);
	add(w, (struct flow_action){ .op = FLOW_OP_PORT, .vport = vport });
	return 0;
}

static int add_destination(struct fte_build *w, const void *dest, bool any_level)
{
	unsigned int type = ifc_get(dest, dest_format, destination_type);
	uint32_t id = ifc_get(dest, dest_format, destination_id);

	switch (type) {
	case IFC_DEST_VPORT:
		return add_vport(w, id & 0xffff);
	case IFC_DEST_UPLINK:
		return add_vport(w, FLOW_VPORT_UPLINK);
	case IFC_DEST_TABLE:
		return add_table(w, id, any_level);
	case IFC_DEST_TIR:
		return add_tir(w, id);
	default:
		return devx_refuse(w->c, IFC_STATUS_BAD_PARAM, DEVX_WHY_TYPE,
				   "destination_type %u; vport (0), flow table (1), TIR (2) and "
				   "uplink (8) are offered",
				   type);
	}
}

/* The action that ends an entry: exactly one of these. */
static int read_final(struct fte_build *w, const void *fc, unsigned int action, bool any_level)
{
	const uint8_t *list = ifc_cptr(fc, flow_context, destination);
	uint32_t count = ifc_get(fc, flow_context, destination_list_size);
	unsigned int ends = action & (IFC_FLOW_ALLOW | IFC_FLOW_DROP | IFC_FLOW_FWD);
	int err = 0;

	if (!ends || ends & (ends - 1))
		return devx_refuse(w->c, IFC_STATUS_BAD_PARAM, DEVX_WHY_FIELD,
				   "action 0x%x; one of ALLOW (1), DROP (2) and FWD_DEST (4)",
				   action);
	if (ends == IFC_FLOW_FWD && !count)
		return devx_refuse(w->c, IFC_STATUS_BAD_PARAM, DEVX_WHY_FIELD,
				   "FWD_DEST without a destination");
	if (ends == IFC_FLOW_ALLOW)
		add(w, (struct flow_action){ .op = FLOW_OP_MISS });
	if (ends == IFC_FLOW_DROP)
		add(w, (struct flow_action){ .op = FLOW_OP_DROP });
	for (uint32_t i = 0; !err && ends == IFC_FLOW_FWD && i < count; i++)
		err = add_destination(w, list + i * ifc_len(dest_format), any_level);
	return err;
}

static int check_lists(struct devx_cmd *c, const void *fc, size_t len)
{
	size_t dests = ifc_get(fc, flow_context, destination_list_size);
	size_t counters = ifc_get(fc, flow_context, flow_counter_list_size);
	unsigned int action = ifc_get(fc, flow_context, action);

	if (action & ~(unsigned int)IFC_FLOW_KNOWN ||
	    ifc_get(fc, flow_context, extended_destination))
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_OFFERED,
				   "action 0x%x, extended_destination %u; 0x%x and 0 are offered",
				   action,
				   (unsigned int)ifc_get(fc, flow_context, extended_destination),
				   IFC_FLOW_KNOWN);
	if (dests > DEVX_FLOW_DESTS || counters > 1)
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_SIZE,
				   "%zu destinations, %zu counters; at most %u and 1", dests,
				   counters, DEVX_FLOW_DESTS);
	if (ifc_byte(flow_context, destination) + (dests + counters) * ifc_len(dest_format) > len)
		return devx_refuse(c, IFC_STATUS_BAD_INPUT_LEN, DEVX_WHY_SIZE,
				   "%zu destinations and %zu counters are more than the mailbox "
				   "holds",
				   dests, counters);
	return 0;
}

static int read_context(struct fte_build *w, const void *fc, bool any_level)
{
	unsigned int action = ifc_get(fc, flow_context, action);
	uint32_t tag = ifc_get(fc, flow_context, flow_tag);
	const uint8_t *counter =
		(const uint8_t *)ifc_cptr(fc, flow_context, destination) +
		ifc_get(fc, flow_context, destination_list_size) * ifc_len(dest_format);
	int err = 0;

	if (action & IFC_FLOW_COUNT) {
		if (!ifc_get(fc, flow_context, flow_counter_list_size))
			return devx_refuse(w->c, IFC_STATUS_BAD_PARAM, DEVX_WHY_FIELD,
					   "COUNT without a counter");
		err = add_counter(w, ifc_get(counter, flow_counter_list, flow_counter_id));
	}
	if (!err && tag && w->table->domain == FLOW_RX)
		add(w, (struct flow_action){ .op = FLOW_OP_TAG, .tag = tag });
	if (!err)
		err = read_edits(w, fc, action);
	return err ? err : read_final(w, fc, action, any_level);
}

/* Makes the rule for this context, in place of the entry's present one. */
static int make_rule(struct devx_cmd *c, struct devx_flow_entry *e, const struct devx_flow_group *g,
		     const void *fc, bool any_level)
{
	struct fte_build w = { .c = c, .table = e->table->flow_table };
	struct mlx5dv_devx_obj **refs = NULL;
	struct flow_rule *rule = NULL;
	struct flow_key value;
	int err = devx_flow_match(c, ifc_cptr(fc, flow_context, match_value), g->criteria, &value);

	for (size_t i = 0; i < FLOW_KEY_WORDS; i++)
		value.words[i] &= g->mask.words[i];
	if (!err)
		err = read_context(&w, fc, any_level);
	if (!err) {
		refs = malloc((w.ref_count + 1) * sizeof(*refs));
		err = refs ? 0 : devx_refuse_errno(c, -ENOMEM, DEVX_WHY_MEMORY);
	}
	if (!err)
		err = devx_refuse_errno(
			c, flow_rule_create(g->engine, &value, 0, w.steps, w.count, &rule),
			DEVX_WHY_FIELD);
	for (unsigned int i = 0; i < w.own_count; i++) /* the rule has taken its own reference */
		flow_edit_put(w.own[i]);
	if (err) {
		free(refs);
		return err;
	}
	for (unsigned int i = 0; i < w.ref_count; i++) {
		refs[i] = w.refs[i];
		refs[i]->users++;
	}
	for (unsigned int i = 0; i < e->ref_count; i++)
		e->refs[i]->users--;
	if (e->rule)
		flow_rule_destroy(e->rule);
	free(e->refs);
	e->rule = rule;
	e->refs = refs;
	e->ref_count = w.ref_count;
	return 0;
}

/* Table, group and index of the command must fit each other. */
static int find_entry(struct devx_cmd *c, struct mlx5dv_devx_obj **table,
		      struct mlx5dv_devx_obj **group)
{
	uint32_t table_id = ifc_get(c->in, flow_cmd_in, table_id);
	uint32_t index = ifc_get(c->in, set_fte_in, flow_index);
	const void *fc = ifc_cptr(c->in, set_fte_in, flow_context);
	uint32_t group_id = ifc_get(fc, flow_context, group_id);

	*table = devx_find(c->devx, DEVX_FLOW_TABLE, table_id);
	*group = group_id < 1u << 24 ? devx_find(c->devx, DEVX_FLOW_GROUP, group_id) : NULL;
	if (!*table || !*group || (*group)->flow_group->table != *table)
		return devx_refuse(c, IFC_STATUS_BAD_RES, DEVX_WHY_OBJECT,
				   "group 0x%x of flow table 0x%x: no such table, or no such group "
				   "in it",
				   group_id, table_id);
	if (ifc_get(c->in, flow_cmd_in, table_type) != (*table)->flow_table->type)
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_TYPE,
				   "table 0x%x has another type, %u", table_id,
				   (*table)->flow_table->type);
	if (index < (*group)->flow_group->first || index > (*group)->flow_group->last)
		return devx_refuse(c, IFC_STATUS_BAD_INDEX, DEVX_WHY_INDEX,
				   "flow_index %u; the group has %u to %u", index,
				   (*group)->flow_group->first, (*group)->flow_group->last);
	return 0;
}

/* A flow context with the longest lists. */
#define CONTEXT_ROOM (IFC_LEN_flow_context + 8 * LIST_MOST)

int devx_create_fte(struct devx_cmd *c)
{
	const uint8_t *fc = ifc_cptr(c->in, set_fte_in, flow_context);
	uint32_t index = ifc_get(c->in, set_fte_in, flow_index);
	bool any_level = ifc_get(c->in, set_fte_in, ignore_flow_level);
	struct mlx5dv_devx_obj *table, *group;
	struct devx_flow_entry *e;
	uint8_t image[CONTEXT_ROOM] = { 0 };
	int err;

	if (devx_op_mod(c))
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_OP_MOD,
				   "op_mod %u; an entry is made by 0 and changed by 1, of itself",
				   devx_op_mod(c));
	err = find_entry(c, &table, &group);
	if (!err)
		err = check_lists(c, fc, c->inlen - ifc_byte(set_fte_in, flow_context));
	if (err)
		return err;
	if (hca_table_find(&table->flow_table->entries, index))
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_BUSY,
				   "flow_index %u of table 0x%x is taken", index, table->number);
	e = c->obj->flow_entry = calloc(1, sizeof(*e));
	if (!e)
		return devx_refuse_errno(c, -ENOMEM, DEVX_WHY_MEMORY);
	memcpy(image, fc,
	       c->inlen - (fc - c->in) < sizeof(image) ? c->inlen - (fc - c->in) : sizeof(image));
	err = devx_keep(c, image, sizeof(image));
	if (!err)
		err = devx_refuse_errno(c,
					hca_table_set(&table->flow_table->entries, index, c->obj),
					DEVX_WHY_MEMORY);
	if (err)
		return err;
	e->table = table;
	c->obj->number = index;
	devx_use(c->obj, group);
	devx_use(c->obj, table);
	return make_rule(c, e, group->flow_group, image, any_level);
}

static void take_list(uint8_t *to, const uint8_t *from, bool dests, bool counters)
{
	size_t at = ifc_byte(flow_context, destination);
	const uint8_t *d = dests ? from : to, *k = counters ? from : to;
	size_t n = ifc_get(d, flow_context, destination_list_size) * 8;
	size_t m = ifc_get(k, flow_context, flow_counter_list_size) * 8;
	size_t skip = ifc_get(k, flow_context, destination_list_size) * 8;
	uint8_t list[8 * LIST_MOST];

	memcpy(list, d + at, n);
	memcpy(list + n, k + at + skip, m);
	memcpy(to + at, list, n + m);
	ifc_set(to, flow_context, destination_list_size, n / 8);
	ifc_set(to, flow_context, flow_counter_list_size, m / 8);
}

int devx_modify_fte(struct devx_cmd *c)
{
	const uint8_t *fc = ifc_cptr(c->in, set_fte_in, flow_context);
	unsigned int select = ifc_get(c->in, set_fte_in, modify_enable_mask);
	struct mlx5dv_devx_obj *table, *group;
	uint8_t image[CONTEXT_ROOM];
	int err;

	if (devx_op_mod(c) != 1)
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_OP_MOD,
				   "op_mod %u; an entry is changed by 1", devx_op_mod(c));
	err = find_entry(c, &table, &group);
	if (!err)
		err = check_lists(c, fc, c->inlen - ifc_byte(set_fte_in, flow_context));
	if (err)
		return err;
	if (select & ~(unsigned int)IFC_MODIFY_FTE_KNOWN || table != c->obj->flow_entry->table ||
	    group != c->obj->uses[0])
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_FIELD,
				   "modify_enable_mask 0x%x (0x%x is known), or another table or "
				   "group than the entry's",
				   select, IFC_MODIFY_FTE_KNOWN);
	memcpy(image, c->obj->image, sizeof(image));
	take_list(image, fc, select & IFC_MODIFY_FTE_DESTS, select & IFC_MODIFY_FTE_COUNTERS);
	if (select & IFC_MODIFY_FTE_TAG)
		ifc_set(image, flow_context, flow_tag, ifc_get(fc, flow_context, flow_tag));
	if (select & IFC_MODIFY_FTE_ACTION) {
		ifc_set(image, flow_context, action, ifc_get(fc, flow_context, action));
		ifc_set(image, flow_context, push_vlan, ifc_get(fc, flow_context, push_vlan));
		ifc_set(image, flow_context, packet_reformat_id,
			ifc_get(fc, flow_context, packet_reformat_id));
		ifc_set(image, flow_context, modify_header_id,
			ifc_get(fc, flow_context, modify_header_id));
	}
	err = make_rule(c, c->obj->flow_entry, group->flow_group, image,
			ifc_get(c->in, set_fte_in, ignore_flow_level));
	if (!err)
		memcpy(c->obj->image, image, sizeof(image));
	return err;
}

int devx_query_fte(struct devx_cmd *c)
{
	size_t at = ifc_byte(query_fte_out, flow_context);
	size_t room = c->outlen - at;

	if (ifc_get(c->in, flow_cmd_in, table_id) != c->obj->flow_entry->table->number)
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_OBJECT,
				   "the entry is one of table 0x%x",
				   c->obj->flow_entry->table->number);
	memcpy(c->out + at, c->obj->image, room < c->obj->image_len ? room : c->obj->image_len);
	return 0;
}

int devx_fte_destroy(struct mlx5dv_devx_obj *obj)
{
	struct devx_flow_entry *e = obj->flow_entry;

	if (e->rule)
		flow_rule_destroy(e->rule);
	for (unsigned int i = 0; i < e->ref_count; i++)
		e->refs[i]->users--;
	if (e->table)
		hca_table_set(&e->table->flow_table->entries, obj->number, NULL);
	free(e->refs);
	free(e);
	obj->hca = NULL;
	obj->number = 0;
	return 0;
}
