/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Flow tables, groups and entries made by device commands. A verbs flow takes frames with UDP ports
 * 0x300 to 0x3ff from the root to table `first`; counters, and a receive queue, show where they go.
 */
#include "devx_frames.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <time.h>

enum { PORT = 777, OTHER = 778 };

static struct rig rig;

/* ---- what tests are made of ---- */

struct thing {
	struct mlx5dv_devx_obj *obj;
	uint32_t number;
};

static struct thing first, second;
static struct mlx5dv_flow_matcher *matcher;
static struct ibv_flow *flow;

static void drop(struct thing *t)
{
	if (t->obj)
		assert_int_equal(mlx5dv_devx_obj_destroy(t->obj), 0);
	t->obj = NULL;
}

/* Status of a command that is refused. */
static uint8_t refused(const void *in, size_t len)
{
	uint8_t out[0x10] = { 0 };

	errno = 0;
	assert_null(mlx5dv_devx_obj_create(rig.ctx, in, len, out, sizeof(out)));
	assert_int_equal(errno, EREMOTEIO);
	assert_int_not_equal(ifc_get(out, cmd_out, syndrome), 0);
	return ifc_get(out, cmd_out, status);
}

static void table_in(uint8_t *in, unsigned int type, unsigned int level, uint32_t miss)
{
	uint8_t *ftc = ifc_ptr(in, create_flow_table_in, flow_table_context);

	memset(in, 0, ifc_len(create_flow_table_in));
	ifc_set(in, cmd_in, opcode, IFC_OP_CREATE_FLOW_TABLE);
	ifc_set(in, flow_cmd_in, table_type, type);
	ifc_set(ftc, flow_table_context, level, level);
	ifc_set(ftc, flow_table_context, log_size, 4);
	ifc_set(ftc, flow_table_context, table_miss_action, !!miss);
	ifc_set(ftc, flow_table_context, table_miss_id, miss);
}

static struct thing table(unsigned int type, unsigned int level, uint32_t miss)
{
	uint8_t in[IFC_LEN_create_flow_table_in];
	struct thing t;

	table_in(in, type, level, miss);
	t.obj = frames_create(&rig, in, sizeof(in), &t.number);
	return t;
}

/* A group of entries `from` to `to`, by destination port or by nothing. */
static void group_in(uint8_t *in, const struct thing *in_table, uint32_t from, uint32_t to,
		     bool by_port)
{
	uint8_t *match = ifc_ptr(in, create_flow_group_in, match_criteria);

	memset(in, 0, ifc_len(create_flow_group_in));
	ifc_set(in, cmd_in, opcode, IFC_OP_CREATE_FLOW_GROUP);
	ifc_set(in, flow_cmd_in, table_id, in_table->number);
	ifc_set(in, create_flow_group_in, start_flow_index, from);
	ifc_set(in, create_flow_group_in, end_flow_index, to);
	ifc_set(in, create_flow_group_in, match_criteria_enable, by_port);
	if (by_port)
		memset(match + FRAMES_UDP_DPORT, 0xff, 2);
}

static struct thing group(const struct thing *in_table, uint32_t from, uint32_t to, bool by_port)
{
	uint8_t in[IFC_LEN_create_flow_group_in];
	struct thing t;

	group_in(in, in_table, from, to, by_port);
	t.obj = frames_create(&rig, in, sizeof(in), &t.number);
	return t;
}

static struct thing counter(void)
{
	RIG_IN(in, 0x10, ALLOC_FLOW_COUNTER);
	struct thing t;

	t.obj = frames_create(&rig, in, sizeof(in), &t.number);
	return t;
}

#define FTE_LEN (IFC_LEN_set_fte_in + 16)

static uint8_t *fte_in(uint8_t *in, const struct thing *in_table, const struct thing *in_group,
		       uint32_t index, unsigned int action, uint16_t port)
{
	uint8_t *fc = ifc_ptr(in, set_fte_in, flow_context);
	uint8_t *match = ifc_ptr(fc, flow_context, match_value);

	memset(in, 0, FTE_LEN);
	ifc_set(in, cmd_in, opcode, IFC_OP_SET_FLOW_TABLE_ENTRY);
	ifc_set(in, flow_cmd_in, table_id, in_table->number);
	ifc_set(in, set_fte_in, flow_index, index);
	ifc_set(fc, flow_context, group_id, in_group->number);
	ifc_set(fc, flow_context, action, action);
	match[FRAMES_UDP_DPORT] = port >> 8;
	match[FRAMES_UDP_DPORT + 1] = port & 0xff;
	return fc;
}

/* Lists: a destination first, then a counter. */
static void lead_to(uint8_t *fc, unsigned int type, uint32_t id, const struct thing *count)
{
	uint8_t *at = ifc_ptr(fc, flow_context, destination);

	if (id) {
		ifc_set(at, dest_format, destination_type, type);
		ifc_set(at, dest_format, destination_id, id);
		ifc_set(fc, flow_context, destination_list_size, 1);
		at += 8;
	}
	if (count) {
		ifc_set(at, flow_counter_list, flow_counter_id, count->number);
		ifc_set(fc, flow_context, flow_counter_list_size, 1);
	}
}

static struct thing entry(const uint8_t *in)
{
	struct thing t;

	t.obj = frames_create(&rig, in, FTE_LEN, &t.number);
	return t;
}

static struct thing count_entry(const struct thing *in_table, const struct thing *in_group,
				uint32_t index, uint16_t port, const struct thing *count)
{
	uint8_t in[FTE_LEN];
	uint8_t *fc = fte_in(in, in_table, in_group, index, IFC_FLOW_DROP | IFC_FLOW_COUNT, port);

	lead_to(fc, 0, 0, count);
	return entry(in);
}

static struct thing jump_entry(const struct thing *in_table, const struct thing *in_group,
			       uint32_t index, uint16_t port, const struct thing *to)
{
	uint8_t in[FTE_LEN];
	uint8_t *fc = fte_in(in, in_table, in_group, index, IFC_FLOW_FWD, port);

	lead_to(fc, IFC_DEST_TABLE, to->number, NULL);
	return entry(in);
}

/* Frames are received by a thread that polls, or by a thread of the library. */
static void wait_for(const struct thing *count, uint64_t packets)
{
	time_t end = time(NULL) + 20;

	while (frames_counted(count->obj, count->number) < packets) {
		assert_true(time(NULL) < end);
		sched_yield();
	}
	assert_int_equal(frames_counted(count->obj, count->number), packets);
}

/* ---- around each test ---- */

static int begin(void **state)
{
	union {
		struct mlx5dv_flow_match_parameters p;
		uint8_t room[sizeof(struct mlx5dv_flow_match_parameters) + 64];
	} mask = { .p.match_sz = 64 }, value = { .p.match_sz = 64 };
	struct mlx5dv_flow_matcher_attr attr = { .match_criteria_enable = 1,
						 .match_mask = &mask.p };
	struct mlx5dv_flow_action_attr action = { .type = MLX5DV_FLOW_ACTION_DEST_DEVX };

	first = table(IFC_TABLE_NIC_RX, 1, 0);
	second = table(IFC_TABLE_NIC_RX, 2, 0);
	((uint8_t *)mask.p.match_buf)[FRAMES_UDP_DPORT] = 0xff;
	((uint8_t *)value.p.match_buf)[FRAMES_UDP_DPORT] = 3;
	matcher = mlx5dv_create_flow_matcher(rig.ctx, &attr);
	assert_non_null(matcher);
	action.obj = first.obj;
	flow = mlx5dv_create_flow(matcher, &value.p, 1, &action);
	assert_non_null(flow);
	return 0;
}

static int end(void **state)
{
	assert_int_equal(ibv_destroy_flow(flow), 0);
	assert_int_equal(mlx5dv_destroy_flow_matcher(matcher), 0);
	drop(&first);
	drop(&second);
	return 0;
}

/* ---- tests ---- */

static void an_entry_takes_what_matches_and_the_next_group_the_rest(void **state)
{
	struct thing by_port = group(&first, 0, 3, true), rest = group(&first, 4, 7, false);
	struct thing hits = counter(), others = counter();
	struct thing a = count_entry(&first, &by_port, 2, PORT, &hits);
	struct thing b = count_entry(&first, &rest, 4, 0, &others);

	frames_send(&rig, 5, PORT);
	frames_send(&rig, 3, OTHER);
	wait_for(&hits, 5);
	wait_for(&others, 3);
	drop(&a);
	frames_send(&rig, 2, PORT);
	wait_for(&others, 5);
	wait_for(&hits, 5);
	drop(&b);
	drop(&rest);
	drop(&by_port);
	drop(&others);
	drop(&hits);
}

static void an_entry_leads_to_a_table_of_a_higher_level(void **state)
{
	struct thing g1 = group(&first, 0, 0, true), g2 = group(&second, 0, 0, false);
	struct thing hits = counter();
	struct thing b = count_entry(&second, &g2, 0, 0, &hits);
	struct thing a = jump_entry(&first, &g1, 0, PORT, &second);

	frames_send(&rig, 4, OTHER);
	frames_send(&rig, 4, PORT);
	wait_for(&hits, 4);
	/* which is needed now */
	assert_int_equal(mlx5dv_devx_obj_destroy(second.obj), EBUSY);
	assert_int_equal(mlx5dv_devx_obj_destroy(g1.obj), EBUSY);
	drop(&a);
	drop(&b);
	drop(&g1);
	drop(&g2);
	drop(&hits);
}

/* Back to the root, behind the rule that led away from it. */
static void an_anchor_leads_back_to_later_rules_of_the_root(void **state)
{
	union {
		struct mlx5dv_flow_match_parameters p;
		uint8_t room[sizeof(struct mlx5dv_flow_match_parameters) + 64];
	} mask = { .p.match_sz = 64 }, value = { .p.match_sz = 64 };
	struct mlx5dv_flow_matcher_attr later = { .match_criteria_enable = 1,
						  .priority = 2,
						  .match_mask = &mask.p };
	struct mlx5dv_flow_action_attr to_second = { .type = MLX5DV_FLOW_ACTION_DEST_DEVX,
						     .obj = second.obj };
	struct mlx5dv_steering_anchor_attr attr = { .ft_type = MLX5DV_FLOW_TABLE_TYPE_NIC_RX,
						    .priority = 1 };
	struct mlx5dv_steering_anchor *anchor = mlx5dv_create_steering_anchor(rig.ctx, &attr);
	struct thing g1 = group(&first, 0, 0, true), g2 = group(&second, 0, 0, false);
	struct thing hits = counter(), b = count_entry(&second, &g2, 0, 0, &hits), a, there;
	uint8_t in[IFC_LEN_create_flow_group_in];
	struct mlx5dv_flow_matcher *m;
	struct ibv_flow *f;

	assert_non_null(anchor);
	there = (struct thing){ .number = anchor->id };
	((uint8_t *)mask.p.match_buf)[FRAMES_UDP_DPORT] = 0xff;
	((uint8_t *)value.p.match_buf)[FRAMES_UDP_DPORT] = 3;
	m = mlx5dv_create_flow_matcher(rig.ctx, &later);
	assert_non_null(m);
	f = mlx5dv_create_flow(m, &value.p, 1, &to_second);
	assert_non_null(f);
	a = jump_entry(&first, &g1, 0, PORT, &there);
	frames_send(&rig, 3, PORT);
	wait_for(&hits, 3);
	/* Nothing can be put there, and the anchor stays while a rule leads to it. */
	group_in(in, &there, 0, 0, true);
	assert_int_equal(refused(in, sizeof(in)), IFC_STATUS_BAD_RES);
	assert_int_equal(mlx5dv_destroy_steering_anchor(anchor), EBUSY);
	drop(&a);
	assert_int_equal(mlx5dv_destroy_steering_anchor(anchor), 0);
	assert_int_equal(ibv_destroy_flow(f), 0);
	assert_int_equal(mlx5dv_destroy_flow_matcher(m), 0);
	drop(&b);
	drop(&g1);
	drop(&g2);
	drop(&hits);
	attr.comp_mask = 1;
	assert_null(mlx5dv_create_steering_anchor(rig.ctx, &attr));
	assert_int_equal(errno, EOPNOTSUPP);
	attr = (struct mlx5dv_steering_anchor_attr){ .priority = 0xffff };
	assert_null(mlx5dv_create_steering_anchor(rig.ctx, &attr));
	assert_int_equal(errno, EINVAL);
}

static void frames_that_miss_go_where_the_table_says(void **state)
{
	struct thing g2 = group(&second, 0, 0, false), hits = counter();
	struct thing b = count_entry(&second, &g2, 0, 0, &hits);
	RIG_IN(in, ifc_len(modify_flow_table_in), MODIFY_FLOW_TABLE);
	RIG_IN(query, ifc_len(flow_cmd_in), QUERY_FLOW_TABLE);
	uint8_t out[0x10], answer[IFC_LEN_query_flow_table_out] = { 0 };
	uint8_t *ftc = ifc_ptr(in, modify_flow_table_in, flow_table_context);
	uint8_t *now = ifc_ptr(answer, query_flow_table_out, flow_table_context);

	frames_send(&rig, 2, PORT); /* lost */
	ifc_set(in, flow_cmd_in, table_id, first.number);
	ifc_set(in, modify_flow_table_in, modify_field_select, IFC_MODIFY_TABLE_MISS);
	ifc_set(ftc, flow_table_context, table_miss_action, IFC_MISS_TABLE);
	ifc_set(ftc, flow_table_context, table_miss_id, second.number);
	assert_int_equal(mlx5dv_devx_obj_modify(first.obj, in, sizeof(in), out, sizeof(out)), 0);
	frames_send(&rig, 3, PORT);
	wait_for(&hits, 3);
	ifc_set(query, flow_cmd_in, table_id, first.number);
	assert_int_equal(
		mlx5dv_devx_obj_query(first.obj, query, sizeof(query), answer, sizeof(answer)), 0);
	assert_int_equal(ifc_get(now, flow_table_context, level), 1);
	assert_int_equal(ifc_get(now, flow_table_context, log_size), 4);
	assert_int_equal(ifc_get(now, flow_table_context, table_miss_id), second.number);
	assert_int_equal(mlx5dv_devx_obj_destroy(second.obj), EBUSY);
	/* and back */
	ifc_set(ftc, flow_table_context, table_miss_action, IFC_MISS_DEFAULT);
	assert_int_equal(mlx5dv_devx_obj_modify(first.obj, in, sizeof(in), out, sizeof(out)), 0);
	frames_send(&rig, 3, PORT);
	/* downwards it does not go, nor for fields that do not exist */
	ifc_set(in, flow_cmd_in, table_id, second.number);
	ifc_set(ftc, flow_table_context, table_miss_action, IFC_MISS_TABLE);
	ifc_set(ftc, flow_table_context, table_miss_id, first.number);
	assert_int_equal(mlx5dv_devx_obj_modify(second.obj, in, sizeof(in), out, sizeof(out)),
			 EREMOTEIO);
	assert_int_equal(ifc_get(out, cmd_out, status), IFC_STATUS_BAD_PARAM);
	ifc_set(in, modify_flow_table_in, modify_field_select, 0x8000);
	assert_int_equal(mlx5dv_devx_obj_modify(second.obj, in, sizeof(in), out, sizeof(out)),
			 EREMOTEIO);
	wait_for(&hits, 3);
	drop(&b);
	drop(&g2);
	drop(&hits);
}

static void an_entry_is_changed_field_by_field(void **state)
{
	struct thing g1 = group(&first, 0, 3, true), g2 = group(&second, 0, 0, false);
	struct thing old = counter(), fresh = counter(), beyond = counter();
	struct thing a = count_entry(&first, &g1, 1, PORT, &old);
	struct thing b = count_entry(&second, &g2, 0, 0, &beyond);
	uint8_t in[FTE_LEN], out[0x10];
	uint8_t *fc = fte_in(in, &first, &g1, 1, 0, 0);

	ifc_set(in, cmd_in, op_mod, 1);
	frames_send(&rig, 2, PORT);
	wait_for(&old, 2);
	/* the counter only: it still drops, and still by the port of before */
	ifc_set(in, set_fte_in, modify_enable_mask, IFC_MODIFY_FTE_COUNTERS);
	lead_to(fc, 0, 0, &fresh);
	assert_int_equal(mlx5dv_devx_obj_modify(a.obj, in, sizeof(in), out, sizeof(out)), 0);
	frames_send(&rig, 3, PORT);
	wait_for(&fresh, 3);
	assert_int_equal(mlx5dv_devx_obj_destroy(fresh.obj), EBUSY);
	drop(&old);
	/* action and destinations: the counter stays */
	fc = fte_in(in, &first, &g1, 1, IFC_FLOW_FWD | IFC_FLOW_COUNT, 0);
	ifc_set(in, cmd_in, op_mod, 1);
	ifc_set(in, set_fte_in, modify_enable_mask, IFC_MODIFY_FTE_ACTION | IFC_MODIFY_FTE_DESTS);
	lead_to(fc, IFC_DEST_TABLE, second.number, NULL);
	assert_int_equal(mlx5dv_devx_obj_modify(a.obj, in, sizeof(in), out, sizeof(out)), 0);
	frames_send(&rig, 4, PORT);
	wait_for(&beyond, 4);
	wait_for(&fresh, 7);
	/* a change that makes no sense changes nothing */
	ifc_set(fc, flow_context, action, IFC_FLOW_FWD | IFC_FLOW_DROP);
	assert_int_equal(mlx5dv_devx_obj_modify(a.obj, in, sizeof(in), out, sizeof(out)),
			 EREMOTEIO);
	assert_int_equal(ifc_get(out, cmd_out, status), IFC_STATUS_BAD_PARAM);
	frames_send(&rig, 1, PORT);
	wait_for(&beyond, 5);
	drop(&a);
	drop(&b);
	drop(&g1);
	drop(&g2);
	drop(&fresh);
	drop(&beyond);
}

static struct thing direct_tir(uint32_t rqn)
{
	RIG_IN(in, ifc_len(create_tir_in), CREATE_TIR);
	uint8_t *ctx = ifc_ptr(in, create_tir_in, ctx);
	struct thing t;

	ifc_set(ctx, tirc, disp_type, IFC_TIR_DIRECT);
	ifc_set(ctx, tirc, inline_rqn, rqn);
	t.obj = frames_create(&rig, in, sizeof(in), &t.number);
	return t;
}

/* One action: the upper part of the source address becomes aa:bb:cc:dd. */
static struct thing set_source(void)
{
	uint8_t in[IFC_LEN_alloc_modify_header_context_in + 8] = { 0 };
	uint8_t out[0x10] = { 0 };
	static const uint8_t set[8] = { 0x10, 0x01, 0, 0, 0xaa, 0xbb, 0xcc, 0xdd };
	struct thing t;

	ifc_set(in, cmd_in, opcode, IFC_OP_ALLOC_MODIFY_HEADER_CONTEXT);
	ifc_set(in, alloc_modify_header_context_in, num_of_actions, 1);
	memcpy(ifc_ptr(in, alloc_modify_header_context_in, actions), set, sizeof(set));
	t.obj = mlx5dv_devx_obj_create(rig.ctx, in, sizeof(in), out, sizeof(out));
	assert_non_null(t.obj);
	t.number = ifc_get(out, alloc_modify_header_context_out, modify_header_id);
	return t;
}

static void headers_change_on_the_way_to_a_queue(void **state)
{
	static const uint8_t changed[] = { 0xaa, 0xbb, 0xcc, 0xdd, 0, 1, 0x81, 0, 0x60, 0x2a };
	struct thing g1 = group(&first, 0, 0, true), edit = set_source(), hits = counter();
	struct thing tir, a;
	struct frames_rq rq;
	uint8_t in[FTE_LEN];
	uint8_t *fc =
		fte_in(in, &first, &g1, 0,
		       IFC_FLOW_FWD | IFC_FLOW_COUNT | IFC_FLOW_MOD_HDR | IFC_FLOW_VLAN_PUSH, PORT);
	const struct mlx5_cqe64 *cqe;

	frames_rq(&rig, &rq, 0);
	tir = direct_tir(rq.number);
	lead_to(fc, IFC_DEST_TIR, tir.number, &hits);
	ifc_set(fc, flow_context, modify_header_id, edit.number);
	ifc_set(fc, flow_context, push_vlan, 0x8100602a);
	ifc_set(fc, flow_context, flow_tag, 0x1234);
	a = entry(in);
	frames_send(&rig, 1, PORT);
	cqe = rig_cq_wait(&rq.cq);
	assert_int_equal(be32toh(cqe->sop_drop_qpn) & 0xffffff, 0x1234);
	assert_memory_equal(rig.memory + 6, changed, sizeof(changed));
	rig_cq_take(&rq.cq);
	wait_for(&hits, 1);
	assert_int_equal(mlx5dv_devx_obj_destroy(edit.obj), EBUSY);
	assert_int_equal(mlx5dv_devx_obj_destroy(tir.obj), EBUSY);
	drop(&a);
	drop(&tir);
	frames_rq_drop(&rq);
	drop(&edit);
	drop(&g1);
	drop(&hits);
}

static void queries_show_groups_and_entries_as_they_were_made(void **state)
{
	struct thing g1 = group(&first, 3, 6, true), hits = counter();
	struct thing a = count_entry(&first, &g1, 5, PORT, &hits);
	RIG_IN(in, ifc_len(query_flow_group_in), QUERY_FLOW_GROUP);
	RIG_IN(fte, ifc_len(query_fte_in), QUERY_FLOW_TABLE_ENTRY);
	uint8_t out[IFC_LEN_query_flow_group_out] = { 0 },
		answer[IFC_LEN_query_fte_out + 8] = { 0 };
	uint8_t *mask = ifc_ptr(out, query_flow_group_out, match_criteria);
	uint8_t *fc = ifc_ptr(answer, query_fte_out, flow_context);

	ifc_set(in, flow_cmd_in, table_id, first.number);
	ifc_set(in, query_flow_group_in, group_id, g1.number);
	assert_int_equal(mlx5dv_devx_obj_query(g1.obj, in, sizeof(in), out, sizeof(out)), 0);
	assert_int_equal(ifc_get(out, query_flow_group_out, start_flow_index), 3);
	assert_int_equal(ifc_get(out, query_flow_group_out, end_flow_index), 6);
	assert_int_equal(ifc_get(out, query_flow_group_out, match_criteria_enable), 1);
	assert_int_equal(mask[FRAMES_UDP_DPORT], 0xff);
	ifc_set(fte, flow_cmd_in, table_id, first.number);
	ifc_set(fte, query_fte_in, flow_index, 5);
	assert_int_equal(mlx5dv_devx_obj_query(a.obj, fte, sizeof(fte), answer, sizeof(answer)), 0);
	assert_int_equal(ifc_get(fc, flow_context, action), IFC_FLOW_DROP | IFC_FLOW_COUNT);
	assert_int_equal(ifc_get(fc, flow_context, group_id), g1.number);
	assert_int_equal(
		ifc_get(ifc_ptr(fc, flow_context, destination), flow_counter_list, flow_counter_id),
		hits.number);
	/* a query of another one through this object */
	ifc_set(fte, query_fte_in, flow_index, 4);
	assert_int_equal(mlx5dv_devx_obj_query(a.obj, fte, sizeof(fte), answer, sizeof(answer)),
			 EINVAL);
	drop(&a);
	drop(&g1);
	drop(&hits);
}

static void tables_that_cannot_be_are_refused(void **state)
{
	uint8_t in[IFC_LEN_create_flow_table_in], out[0x10];
	uint8_t *ftc = ifc_ptr(in, create_flow_table_in, flow_table_context);

	table_in(in, 2, 1, 0);
	assert_int_equal(refused(in, sizeof(in)), IFC_STATUS_BAD_PARAM);
	table_in(in, IFC_TABLE_NIC_RX, 255, 0);
	assert_int_equal(refused(in, sizeof(in)), IFC_STATUS_BAD_PARAM);
	table_in(in, IFC_TABLE_NIC_RX, 1, 0);
	ifc_set(ftc, flow_table_context, log_size, 30);
	assert_int_equal(refused(in, sizeof(in)), IFC_STATUS_BAD_PARAM);
	table_in(in, IFC_TABLE_NIC_RX, 1, 0);
	ifc_set(ftc, flow_table_context, sw_owner, 1);
	assert_int_equal(refused(in, sizeof(in)), IFC_STATUS_BAD_PARAM);
	table_in(in, IFC_TABLE_NIC_RX, 1, 0xabcdef);
	assert_int_equal(refused(in, sizeof(in)), IFC_STATUS_BAD_RES);
	table_in(in, IFC_TABLE_NIC_TX, 1, second.number);
	assert_int_equal(refused(in, sizeof(in)), IFC_STATUS_BAD_PARAM);
	table_in(in, IFC_TABLE_NIC_RX, 1, 0);
	ifc_set(in, flow_cmd_in, other_vport, 1);
	assert_int_equal(refused(in, sizeof(in)), IFC_STATUS_BAD_PARAM);
	table_in(in, IFC_TABLE_NIC_RX, 1, 0);
	assert_null(mlx5dv_devx_obj_create(rig.ctx, in, sizeof(in) - 1, out, sizeof(out)));
	assert_int_equal(errno, EINVAL);
	assert_null(mlx5dv_devx_obj_create(rig.ctx, in, sizeof(in), out, sizeof(out) - 1));
	assert_int_equal(errno, EINVAL);
}

static void groups_that_cannot_be_are_refused(void **state)
{
	struct thing g1 = group(&first, 4, 7, true), none = { .number = 0xabcdef };
	uint8_t in[IFC_LEN_create_flow_group_in];

	group_in(in, &none, 0, 1, true);
	assert_int_equal(refused(in, sizeof(in)), IFC_STATUS_BAD_RES);
	group_in(in, &first, 0, 4, true);
	assert_int_equal(refused(in, sizeof(in)), IFC_STATUS_BAD_PARAM);
	group_in(in, &first, 3, 2, true);
	assert_int_equal(refused(in, sizeof(in)), IFC_STATUS_BAD_INDEX);
	group_in(in, &first, 8, 16, true);
	assert_int_equal(refused(in, sizeof(in)), IFC_STATUS_BAD_INDEX);
	group_in(in, &first, 0, 1, true);
	ifc_set(in, flow_cmd_in, table_type, IFC_TABLE_NIC_TX);
	assert_int_equal(refused(in, sizeof(in)), IFC_STATUS_BAD_PARAM);
	group_in(in, &first, 0, 1, true);
	ifc_set(in, create_flow_group_in, match_criteria_enable, 0x80);
	assert_int_equal(refused(in, sizeof(in)), IFC_STATUS_BAD_PARAM);
	drop(&g1);
}

static void entries_that_cannot_be_are_refused(void **state)
{
	struct thing g1 = group(&first, 4, 7, true), g2 = group(&second, 0, 0, true);
	struct thing hits = counter(), a = count_entry(&first, &g1, 5, PORT, &hits);
	uint8_t in[FTE_LEN], *fc;

	/* no such index in the group; one that is taken; a group of another table */
	fte_in(in, &first, &g1, 8, IFC_FLOW_DROP, PORT);
	assert_int_equal(refused(in, sizeof(in)), IFC_STATUS_BAD_INDEX);
	fte_in(in, &first, &g1, 5, IFC_FLOW_DROP, OTHER);
	assert_int_equal(refused(in, sizeof(in)), IFC_STATUS_BAD_PARAM);
	fte_in(in, &first, &g2, 4, IFC_FLOW_DROP, PORT);
	assert_int_equal(refused(in, sizeof(in)), IFC_STATUS_BAD_RES);
	/* no end, two ends, an end without destination, actions that are not there */
	fte_in(in, &first, &g1, 4, IFC_FLOW_COUNT, PORT);
	assert_int_equal(refused(in, sizeof(in)), IFC_STATUS_BAD_PARAM);
	fte_in(in, &first, &g1, 4, IFC_FLOW_DROP | IFC_FLOW_FWD, PORT);
	assert_int_equal(refused(in, sizeof(in)), IFC_STATUS_BAD_PARAM);
	fte_in(in, &first, &g1, 4, IFC_FLOW_FWD, PORT);
	assert_int_equal(refused(in, sizeof(in)), IFC_STATUS_BAD_PARAM);
	fte_in(in, &first, &g1, 4, IFC_FLOW_DROP | 0x1000, PORT);
	assert_int_equal(refused(in, sizeof(in)), IFC_STATUS_BAD_PARAM);
	/* destinations that do not exist, or lie behind */
	fc = fte_in(in, &first, &g1, 4, IFC_FLOW_FWD, PORT);
	lead_to(fc, IFC_DEST_TIR, 0x123456, NULL);
	assert_int_equal(refused(in, sizeof(in)), IFC_STATUS_BAD_RES);
	lead_to(fc, IFC_DEST_TABLE, first.number, NULL);
	assert_int_equal(refused(in, sizeof(in)), IFC_STATUS_BAD_PARAM);
	lead_to(fc, IFC_DEST_VPORT, 1, NULL);
	assert_int_equal(refused(in, sizeof(in)), IFC_STATUS_BAD_PARAM);
	lead_to(fc, 99, 1, NULL);
	assert_int_equal(refused(in, sizeof(in)), IFC_STATUS_BAD_PARAM);
	fc = fte_in(in, &second, &g2, 0, IFC_FLOW_FWD, PORT);
	lead_to(fc, IFC_DEST_TABLE, first.number, NULL);
	assert_int_equal(refused(in, sizeof(in)), IFC_STATUS_BAD_PARAM);
	/* lists that are longer than the mailbox, or than can be */
	ifc_set(fc, flow_context, destination_list_size, 8);
	assert_int_equal(refused(in, sizeof(in)), IFC_STATUS_BAD_INPUT_LEN);
	ifc_set(fc, flow_context, destination_list_size, 0xffffff);
	assert_int_equal(refused(in, sizeof(in)), IFC_STATUS_BAD_PARAM);
	/* changes of headers and counters that do not exist */
	fte_in(in, &first, &g1, 4, IFC_FLOW_DROP | IFC_FLOW_MOD_HDR, PORT);
	assert_int_equal(refused(in, sizeof(in)), IFC_STATUS_BAD_RES);
	fte_in(in, &first, &g1, 4, IFC_FLOW_DROP | IFC_FLOW_REFORMAT, PORT);
	assert_int_equal(refused(in, sizeof(in)), IFC_STATUS_BAD_RES);
	fte_in(in, &first, &g1, 4, IFC_FLOW_DROP | IFC_FLOW_COUNT, PORT);
	assert_int_equal(refused(in, sizeof(in)), IFC_STATUS_BAD_PARAM);
	/* a change is for an entry that is there */
	fte_in(in, &first, &g1, 4, IFC_FLOW_DROP, PORT);
	ifc_set(in, cmd_in, op_mod, 1);
	assert_int_equal(refused(in, sizeof(in)), IFC_STATUS_BAD_PARAM);
	drop(&a);
	drop(&g1);
	drop(&g2);
	drop(&hits);
}

static void changes_of_headers_that_cannot_be_are_refused(void **state)
{
	uint8_t in[IFC_LEN_alloc_packet_reformat_context_in + 64] = { 0 };
	uint8_t mod[IFC_LEN_alloc_modify_header_context_in + 8] = { 0 };
	uint8_t *rc = ifc_ptr(in, alloc_packet_reformat_context_in, packet_reformat_context);

	ifc_set(in, cmd_in, opcode, IFC_OP_ALLOC_PACKET_REFORMAT_CONTEXT);
	ifc_set(rc, packet_reformat_context_in, reformat_type, 0x10);
	assert_int_equal(refused(in, sizeof(in)), IFC_STATUS_BAD_PARAM);
	ifc_set(rc, packet_reformat_context_in, reformat_type, IFC_REFORMAT_L2_TO_L2_TUNNEL);
	ifc_set(rc, packet_reformat_context_in, reformat_data_size, 500);
	assert_int_equal(refused(in, sizeof(in)), IFC_STATUS_BAD_INPUT_LEN);
	ifc_set(mod, cmd_in, opcode, IFC_OP_ALLOC_MODIFY_HEADER_CONTEXT);
	assert_int_equal(refused(mod, sizeof(mod)), IFC_STATUS_BAD_PARAM);
	ifc_set(mod, alloc_modify_header_context_in, num_of_actions, 2);
	assert_int_equal(refused(mod, sizeof(mod)), IFC_STATUS_BAD_INPUT_LEN);
	ifc_set(mod, alloc_modify_header_context_in, num_of_actions, 1);
	memset(ifc_ptr(mod, alloc_modify_header_context_in, actions), 0xff, 8);
	assert_int_equal(refused(mod, sizeof(mod)), IFC_STATUS_BAD_PARAM);
}

static void capabilities_tell_of_tables(void **state)
{
	RIG_IN(in, 0x10, QUERY_HCA_CAP);
	uint8_t out[0x1010] = { 0 };
	const uint8_t *rx = ifc_ptr(ifc_ptr(out, query_hca_cap_out, capability), flow_table_nic_cap,
				    flow_table_properties_nic_receive);

	ifc_set(in, cmd_in, op_mod, IFC_CAP_OP_MOD(IFC_CAP_NIC_FLOW_TABLE, 1));
	assert_int_equal(mlx5dv_devx_general_cmd(rig.ctx, in, sizeof(in), out, sizeof(out)), 0);
	assert_int_equal(ifc_get(rx, flow_table_prop_layout, ft_support), 1);
	assert_int_equal(ifc_get(rx, flow_table_prop_layout, flow_modify_en), 1);
	assert_int_equal(ifc_get(rx, flow_table_prop_layout, log_max_destination), 3);
	assert_int_equal(ifc_get(rx, flow_table_prop_layout, sw_owner), 0);
}

static void geneve_in(uint8_t *in, size_t len, unsigned int data_words, unsigned int word)
{
	uint8_t *body = in + ifc_len(general_obj_in_cmd_hdr);

	memset(in, 0, len);
	ifc_set(in, cmd_in, opcode, IFC_OP_CREATE_GENERAL_OBJECT);
	ifc_set(in, general_obj_in_cmd_hdr, obj_type, IFC_OBJ_GENEVE_TLV_OPT);
	ifc_set(body, geneve_tlv_option, option_class, 0x103);
	ifc_set(body, geneve_tlv_option, option_type, 0x81);
	ifc_set(body, geneve_tlv_option, option_data_length, data_words);
	ifc_set(body, geneve_tlv_option, sample_offset, word);
}

static void the_parser_has_one_geneve_option(void **state)
{
	uint8_t in[IFC_LEN_general_obj_in_cmd_hdr + IFC_LEN_geneve_tlv_option];
	uint8_t out[sizeof(in)] = { 0 };
	struct mlx5dv_devx_obj *obj;

	geneve_in(in, sizeof(in), 2, 2);
	assert_int_equal(refused(in, sizeof(in)), IFC_STATUS_BAD_PARAM);
	geneve_in(in, sizeof(in), 2, 1);
	assert_int_equal(refused(in, sizeof(in) - 4), IFC_STATUS_BAD_INPUT_LEN);
	for (int i = 0; i < 2; i++) {
		obj = mlx5dv_devx_obj_create(rig.ctx, in, sizeof(in), out, sizeof(out));
		assert_non_null(obj);
		assert_int_equal(refused(in, sizeof(in)), IFC_STATUS_BAD_RES);
		assert_int_equal(mlx5dv_devx_obj_destroy(obj), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			an_entry_takes_what_matches_and_the_next_group_the_rest, begin, end),
		cmocka_unit_test_setup_teardown(an_entry_leads_to_a_table_of_a_higher_level, begin,
						end),
		cmocka_unit_test_setup_teardown(an_anchor_leads_back_to_later_rules_of_the_root,
						begin, end),
		cmocka_unit_test_setup_teardown(frames_that_miss_go_where_the_table_says, begin,
						end),
		cmocka_unit_test_setup_teardown(an_entry_is_changed_field_by_field, begin, end),
		cmocka_unit_test_setup_teardown(headers_change_on_the_way_to_a_queue, begin, end),
		cmocka_unit_test_setup_teardown(queries_show_groups_and_entries_as_they_were_made,
						begin, end),
		cmocka_unit_test_setup_teardown(tables_that_cannot_be_are_refused, begin, end),
		cmocka_unit_test_setup_teardown(groups_that_cannot_be_are_refused, begin, end),
		cmocka_unit_test_setup_teardown(entries_that_cannot_be_are_refused, begin, end),
		cmocka_unit_test_setup_teardown(changes_of_headers_that_cannot_be_are_refused,
						begin, end),
		cmocka_unit_test(capabilities_tell_of_tables),
		cmocka_unit_test(the_parser_has_one_geneve_option),
	};
	int failed;

	rig_open(&rig);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	rig_close(&rig);
	return failed;
}
