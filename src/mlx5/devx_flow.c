/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Flow tables, groups and entries by command, on the flow engine (ether/flow_types.h): a table is a
 * flow_table, a group a flow_matcher whose priority is its first index, an entry (devx_fte.c) a
 * flow_rule. Frames come to a table from a verbs flow (MLX5DV_FLOW_ACTION_DEST_DEVX) or from an
 * entry of another table. devx.lock is held.
 */
#include "mlx5/devx_flow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hca/raw/flow.h"
#include "mlx5/devx_cmd.h"
#include "mlx5/devx_flow_types.h"
#include "mlx5/devx_obj.h"
#include "mlx5/flow_match.h"

#define NUMBERS (1u << 24)

/* ---- tables ---- */

int devx_flow_domain(struct devx_cmd *c, unsigned int type, enum flow_domain *out)
{
	static const struct {
		uint8_t type, domain;
	} types[] = {
		{ IFC_TABLE_NIC_RX, FLOW_RX },
		{ IFC_TABLE_NIC_TX, FLOW_TX },
		{ IFC_TABLE_FDB, FLOW_FDB },
		{ IFC_TABLE_NIC_RX_RDMA, FLOW_RDMA_RX },
		{ IFC_TABLE_NIC_TX_RDMA, FLOW_RDMA_TX },
		{ IFC_TABLE_RDMA_TRANSPORT_RX, FLOW_RDMA_TRANSPORT_RX },
		{ IFC_TABLE_RDMA_TRANSPORT_TX, FLOW_RDMA_TRANSPORT_TX },
	};

	for (size_t i = 0; i < array_size(types); i++)
		if (types[i].type == type) {
			*out = types[i].domain;
			return 0;
		}
	return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_TYPE,
			   "table_type %u; NIC_RX (0), NIC_TX (1), FDB (4), NIC_RX_RDMA (7), "
			   "NIC_TX_RDMA (8) and RDMA_TRANSPORT_RX and _TX (13, 14) are offered",
			   type);
}

static int find_table(struct devx_cmd *c, uint32_t id, struct mlx5dv_devx_obj **out)
{
	*out = devx_find(c->devx, DEVX_FLOW_TABLE, id);
	return *out ? 0
		    : devx_refuse(c, IFC_STATUS_BAD_RES, DEVX_WHY_OBJECT,
				  "there is no flow table 0x%x", id);
}

/* A command names its table by number and type. */
static int named_table(struct devx_cmd *c, struct mlx5dv_devx_obj **out)
{
	unsigned int type = ifc_get(c->in, flow_cmd_in, table_type);
	int err = find_table(c, ifc_get(c->in, flow_cmd_in, table_id), out);

	if (err)
		return err;
	if ((*out)->flow_table->anchor)
		return devx_refuse(c, IFC_STATUS_BAD_RES, DEVX_WHY_OBJECT,
				   "table 0x%x is an anchor, which can only be a destination",
				   (*out)->number);
	if ((*out)->flow_table->type != type)
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_TYPE,
				   "table 0x%x has type %u, not %u", (*out)->number,
				   (*out)->flow_table->type, type);
	return 0;
}

/* table_miss_action: a rule behind all others leads to another table. */
static int set_miss(struct devx_cmd *c, struct devx_flow_table *t, struct mlx5dv_devx_obj *to)
{
	static const struct flow_key nothing;
	struct flow_action jump = { .op = FLOW_OP_TABLE };
	struct flow_rule *rule = NULL;
	int err = 0;

	if (to) {
		jump.table = to->flow_table->engine;
		jump.from = to->flow_table->from;
		if (!t->miss_matcher)
			err = flow_matcher_create(t->engine, UINT32_MAX, &nothing,
						  &t->miss_matcher);
		if (!err)
			err = flow_rule_create(t->miss_matcher, &nothing, 0, &jump, 1, &rule);
		if (err)
			return devx_refuse_errno(c, err, DEVX_WHY_FIELD);
		to->users++;
	}
	if (t->miss_rule)
		flow_rule_destroy(t->miss_rule);
	if (t->miss)
		t->miss->users--;
	t->miss_rule = rule;
	t->miss = to;
	return 0;
}

static int read_miss(struct devx_cmd *c, const void *ftc, const struct devx_flow_table *t,
		     struct mlx5dv_devx_obj **out)
{
	unsigned int action = ifc_get(ftc, flow_table_context, table_miss_action);
	int err;

	*out = NULL;
	if (action == IFC_MISS_DEFAULT)
		return 0;
	if (action != IFC_MISS_TABLE)
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_FIELD,
				   "table_miss_action %u; 0 and 1 (another table) are offered",
				   action);
	err = find_table(c, ifc_get(ftc, flow_table_context, table_miss_id), out);
	if (err)
		return err;
	if ((*out)->flow_table->type != t->type || (*out)->flow_table->level <= t->level)
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_FIELD,
				   "table_miss_id 0x%x: a table of type %u and level %u; from here "
				   "(type %u, level %u) only higher levels can be reached",
				   (*out)->number, (*out)->flow_table->type,
				   (*out)->flow_table->level, t->type, t->level);
	return 0;
}

static int check_table(struct devx_cmd *c, const void *ftc)
{
	unsigned int level = ifc_get(ftc, flow_table_context, level);
	unsigned int log = ifc_get(ftc, flow_table_context, log_size);

	if (ifc_get(c->in, flow_cmd_in, other_vport))
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_PORT,
				   "there is no other vport to make tables for");
	if (ifc_get(ftc, flow_table_context, sw_owner) ||
	    ifc_get(ftc, flow_table_context, termination_table))
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_OFFERED,
				   "sw_owner and termination_table are not offered; the "
				   "capabilities say so");
	if (level > DEVX_FLOW_LEVELS || log > DEVX_FLOW_LOG_SIZE)
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_SIZE,
				   "level %u, log_size %u; at most %u and %u", level, log,
				   DEVX_FLOW_LEVELS, DEVX_FLOW_LOG_SIZE);
	return 0;
}

int devx_create_flow_table(struct devx_cmd *c)
{
	const void *ftc = ifc_cptr(c->in, create_flow_table_in, flow_table_context);
	unsigned int type = ifc_get(c->in, flow_cmd_in, table_type);
	struct mlx5dv_devx_obj *miss;
	struct devx_flow_table *t;
	enum flow_domain domain = FLOW_RX;
	struct ether_port *port;
	int err;

	err = devx_flow_domain(c, type, &domain);
	if (!err)
		err = check_table(c, ftc);
	if (!err)
		err = devx_refuse_errno(c, hca_flow_port(c->adapter, 1, domain, &port),
					DEVX_WHY_PORT);
	if (err)
		return err;
	t = c->obj->flow_table = calloc(1, sizeof(*t));
	if (!t)
		return devx_refuse_errno(c, -ENOMEM, DEVX_WHY_MEMORY);
	t->domain = domain;
	t->type = type;
	t->level = ifc_get(ftc, flow_table_context, level);
	t->size = 1u << ifc_get(ftc, flow_table_context, log_size);
	err = read_miss(c, ftc, t, &miss);
	if (!err)
		err = devx_refuse_errno(c, flow_table_create(port, domain, &t->engine),
					DEVX_WHY_MEMORY);
	if (!err)
		err = set_miss(c, t, miss);
	if (!err)
		err = devx_keep(c, ftc, ifc_len(flow_table_context));
	if (!err)
		err = devx_refuse_errno(c, devx_number(c->obj, 1, NUMBERS, 1), DEVX_WHY_OBJECT);
	if (!err)
		ifc_set(c->out, create_flow_table_out, table_id, c->obj->number);
	return err;
}

int devx_query_flow_table(struct devx_cmd *c)
{
	struct mlx5dv_devx_obj *obj;
	int err = named_table(c, &obj);

	if (!err)
		memcpy(ifc_ptr(c->out, query_flow_table_out, flow_table_context), obj->image,
		       obj->image_len);
	return err;
}

int devx_modify_flow_table(struct devx_cmd *c)
{
	const void *ftc = ifc_cptr(c->in, modify_flow_table_in, flow_table_context);
	unsigned int select = ifc_get(c->in, modify_flow_table_in, modify_field_select);
	struct mlx5dv_devx_obj *obj, *miss;
	int err = named_table(c, &obj);

	if (err)
		return err;
	if (select & ~(unsigned int)IFC_MODIFY_TABLE_MISS)
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_FIELD,
				   "modify_field_select 0x%x; 0x%x (what misses) is offered",
				   select, IFC_MODIFY_TABLE_MISS);
	if (!select)
		return 0;
	err = read_miss(c, ftc, obj->flow_table, &miss);
	if (!err)
		err = set_miss(c, obj->flow_table, miss);
	if (err)
		return err;
	ifc_set(obj->image, flow_table_context, table_miss_action,
		ifc_get(ftc, flow_table_context, table_miss_action));
	ifc_set(obj->image, flow_table_context, table_miss_id, miss ? miss->number : 0);
	return 0;
}

int devx_flow_table_destroy(struct mlx5dv_devx_obj *obj)
{
	struct devx_flow_table *t = obj->flow_table;

	if (t->miss_rule)
		flow_rule_destroy(t->miss_rule);
	if (t->miss)
		t->miss->users--;
	if (t->miss_matcher)
		flow_matcher_destroy(t->miss_matcher);
	if (t->engine)
		flow_table_put(t->engine);
	hca_table_fini(&t->entries);
	free(t);
	obj->hca = NULL;
	return 0;
}

/* ---- groups ---- */

/* Match parameters as the engine reads them. */
int devx_flow_match(struct devx_cmd *c, const void *bytes, uint8_t criteria, struct flow_key *out)
{
	struct {
		size_t size;
		uint8_t bytes[MLX5_MATCH_BYTES];
	} __attribute__((aligned(8))) match = { .size = MLX5_MATCH_BYTES };

	memcpy(match.bytes, bytes, MLX5_MATCH_BYTES);
	return devx_refuse_errno(
		c, mlx5_match_read((const void *)&match, MLX5_MATCH_BYTES, criteria, out),
		DEVX_WHY_FIELD);
}

static int check_range(struct devx_cmd *c, const struct mlx5dv_devx_obj *table, uint32_t first,
		       uint32_t last)
{
	const struct devx_flow_table *t = table->flow_table;
	const struct devx_flow_group *g;

	if (first > last || last >= t->size)
		return devx_refuse(c, IFC_STATUS_BAD_INDEX, DEVX_WHY_INDEX,
				   "entries %u to %u of table 0x%x, which has %u", first, last,
				   table->number, t->size);
	LIST_FOREACH(g, &t->groups, link)
		if (first <= g->last && last >= g->first)
			return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_INDEX,
					   "entries %u to %u; there is a group of %u to %u", first,
					   last, g->first, g->last);
	return 0;
}

int devx_create_flow_group(struct devx_cmd *c)
{
	uint32_t first = ifc_get(c->in, create_flow_group_in, start_flow_index);
	uint32_t last = ifc_get(c->in, create_flow_group_in, end_flow_index);
	uint8_t criteria = ifc_get(c->in, create_flow_group_in, match_criteria_enable);
	struct mlx5dv_devx_obj *table;
	struct devx_flow_group *g;
	int err = named_table(c, &table);

	if (!err)
		err = check_range(c, table, first, last);
	if (err)
		return err;
	g = c->obj->flow_group = aligned_alloc(_Alignof(struct devx_flow_group), sizeof(*g));
	if (!g)
		return devx_refuse_errno(c, -ENOMEM, DEVX_WHY_MEMORY);
	memset(g, 0, sizeof(*g));
	g->first = first;
	g->last = last;
	g->criteria = criteria;
	err = devx_flow_match(c, ifc_cptr(c->in, create_flow_group_in, match_criteria), criteria,
			      &g->mask);
	if (!err)
		err = devx_refuse_errno(
			c,
			flow_matcher_create(table->flow_table->engine, first, &g->mask, &g->engine),
			DEVX_WHY_FIELD);
	if (!err)
		err = devx_keep(c, c->in, ifc_len(create_flow_group_in));
	if (!err)
		err = devx_refuse_errno(c, devx_number(c->obj, 1, NUMBERS, 1), DEVX_WHY_OBJECT);
	if (err)
		return err;
	g->table = table;
	devx_use(c->obj, table);
	LIST_INSERT_HEAD(&table->flow_table->groups, g, link);
	ifc_set(c->out, create_flow_group_out, group_id, c->obj->number);
	return 0;
}

/* The output has the fields at the offsets of the input. */
int devx_query_flow_group(struct devx_cmd *c)
{
	const uint8_t *from = c->obj->image;
	size_t at = ifc_byte(query_flow_group_out, start_flow_index);

	memcpy(c->out + at, from + at, ifc_len(query_flow_group_out) - at);
	return 0;
}

int devx_flow_group_destroy(struct mlx5dv_devx_obj *obj)
{
	struct devx_flow_group *g = obj->flow_group;

	if (g->table)
		LIST_REMOVE(g, link);
	if (g->engine)
		flow_matcher_destroy(g->engine);
	free(g);
	obj->hca = NULL;
	return 0;
}

/* ---- changes of headers ---- */

static int made_edit(struct devx_cmd *c, int err)
{
	if (!err)
		err = devx_number(c->obj, 1, NUMBERS, 1);
	return devx_refuse_errno(c, err, DEVX_WHY_FIELD);
}

static int check_edits(struct devx_cmd *c)
{
	if (hca_model_has(c->adapter->model, HCA_HAS_EDITS))
		return 0;
	return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_OFFERED,
			   "a %s has no rules that change frames", c->adapter->model->name);
}

int devx_alloc_reformat(struct devx_cmd *c)
{
	static const enum flow_reformat kinds[] = {
		[IFC_REFORMAT_L2_TO_VXLAN] = FLOW_ENCAP_L2,
		[IFC_REFORMAT_L2_TO_NVGRE] = FLOW_ENCAP_L2,
		[IFC_REFORMAT_L2_TO_L2_TUNNEL] = FLOW_ENCAP_L2,
		[IFC_REFORMAT_L3_TUNNEL_TO_L2] = FLOW_DECAP_L3,
		[IFC_REFORMAT_L2_TO_L3_TUNNEL] = FLOW_ENCAP_L3,
	};
	const uint8_t *rc =
		ifc_cptr(c->in, alloc_packet_reformat_context_in, packet_reformat_context);
	unsigned int type = ifc_get(rc, packet_reformat_context_in, reformat_type);
	size_t size = ifc_get(rc, packet_reformat_context_in, reformat_data_size);
	size_t at = ifc_byte(packet_reformat_context_in, reformat_data);
	int err = check_edits(c);

	if (err)
		return err;
	if (type >= array_size(kinds))
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_TYPE,
				   "reformat_type %u; 0 to %zu are offered", type,
				   array_size(kinds) - 1);
	if (rc + at + size > c->in + c->inlen)
		return devx_refuse(c, IFC_STATUS_BAD_INPUT_LEN, DEVX_WHY_SIZE,
				   "reformat_data_size %zu is more than the mailbox holds", size);
	c->obj->reformat_decaps = kinds[type] == FLOW_DECAP_L3;
	err = made_edit(
		c, flow_edit_reformat(kinds[type], size ? rc + at : NULL, size, &c->obj->edit));
	if (!err)
		ifc_set(c->out, alloc_packet_reformat_context_out, packet_reformat_id,
			c->obj->number);
	return err;
}

int devx_alloc_modify_header(struct devx_cmd *c)
{
	unsigned int count = ifc_get(c->in, alloc_modify_header_context_in, num_of_actions);
	const uint8_t *actions = ifc_cptr(c->in, alloc_modify_header_context_in, actions);
	enum flow_domain domain;
	int err = check_edits(c);

	if (!err)
		err = devx_flow_domain(
			c, ifc_get(c->in, alloc_modify_header_context_in, table_type), &domain);
	if (err)
		return err;
	if (actions + 8 * (size_t)count > c->in + c->inlen)
		return devx_refuse(c, IFC_STATUS_BAD_INPUT_LEN, DEVX_WHY_SIZE,
				   "num_of_actions %u is more than the mailbox holds", count);
	if (!count || count > DEVX_FLOW_MODIFY)
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_SIZE,
				   "num_of_actions %u; 1 to %u", count, DEVX_FLOW_MODIFY);
	err = made_edit(c, flow_edit_modify(actions, count, &c->obj->edit));
	if (!err)
		ifc_set(c->out, alloc_modify_header_context_out, modify_header_id, c->obj->number);
	return err;
}
