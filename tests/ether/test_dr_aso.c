/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Direct rules with meters, first hits and connections. Everything goes from the root to a table whose one
 * rule runs the action and leads to a second table; there the result in a register decides: 0 goes to
 * receiver 0, 2 to receiver 1, 1 and 0x40 to receiver 2. Meters here have a burst and no rate, so that time does not matter.
 */
#include "raw_pair.h"

#include <endian.h>

#include <infiniband/mlx5dv.h>

#include "mlx5/ifc.h"
#include "mlx5/ifc_cmd.h"
#include "mlx5/ifc_val.h"

enum { MISC2 = 8, REG = 1, REG_C_1 = 0xe8, SIZE = 256, GREEN = 2 };

struct match {
	size_t size;
	uint8_t bytes[SIZE];
};

static struct raw_pair p;

static struct {
	struct mlx5dv_dr_domain *domain;
	struct mlx5dv_dr_table *root, *table, *next;
	struct mlx5dv_dr_matcher *all, *in_table, *by_reg;
	struct mlx5dv_dr_action *to_table, *to_next, *to[3];
	struct mlx5dv_dr_rule *first, *zero, *two, *one, *invalid;
} d;

static struct match none = { .size = 0 };

static struct mlx5dv_flow_match_parameters *params(struct match *m)
{
	return (void *)m;
}

static struct mlx5dv_dr_rule *by_register(uint8_t value, struct mlx5dv_dr_action *to)
{
	struct match m = { .size = SIZE };

	m.bytes[REG_C_1 + 3] = value;
	return mlx5dv_dr_rule_create(d.by_reg, params(&m), 1, &to);
}

static int make(void **state)
{
	struct match mask = { .size = SIZE };

	raw_pair_init(&p, "mlx5_1", "mlx5_0");
	d.domain = mlx5dv_dr_domain_create(p.to[0].context, MLX5DV_DR_DOMAIN_TYPE_NIC_RX);
	d.root = mlx5dv_dr_table_create(d.domain, 0);
	d.table = mlx5dv_dr_table_create(d.domain, 1);
	d.next = mlx5dv_dr_table_create(d.domain, 2);
	d.all = mlx5dv_dr_matcher_create(d.root, 0, 0, params(&none));
	d.in_table = mlx5dv_dr_matcher_create(d.table, 0, 0, params(&none));
	memset(mask.bytes + REG_C_1, 0xff, 4);
	d.by_reg = mlx5dv_dr_matcher_create(d.next, 0, MISC2, params(&mask));
	assert_true(d.all && d.in_table && d.by_reg);
	d.to_table = mlx5dv_dr_action_create_dest_table(d.table);
	d.to_next = mlx5dv_dr_action_create_dest_table(d.next);
	d.to[0] = mlx5dv_dr_action_create_dest_ibv_qp(p.to[0].qp);
	d.to[1] = mlx5dv_dr_action_create_dest_ibv_qp(p.to[1].qp);
	d.first = mlx5dv_dr_rule_create(d.all, params(&none), 1, &d.to_table);
	d.zero = by_register(0, d.to[0]);
	d.two = by_register(GREEN, d.to[1]);
	d.to[2] = mlx5dv_dr_action_create_dest_ibv_qp(p.to[2].qp);
	d.one = by_register(1, d.to[2]);
	d.invalid = by_register(0x40, d.to[2]);
	assert_true(d.first && d.zero && d.two && d.one && d.invalid);
	return 0;
}

static int drop(void **state)
{
	assert_int_equal(mlx5dv_dr_rule_destroy(d.invalid), 0);
	assert_int_equal(mlx5dv_dr_rule_destroy(d.one), 0);
	assert_int_equal(mlx5dv_dr_action_destroy(d.to[2]), 0);
	assert_int_equal(mlx5dv_dr_rule_destroy(d.two), 0);
	assert_int_equal(mlx5dv_dr_rule_destroy(d.zero), 0);
	assert_int_equal(mlx5dv_dr_rule_destroy(d.first), 0);
	assert_int_equal(mlx5dv_dr_action_destroy(d.to[1]), 0);
	assert_int_equal(mlx5dv_dr_action_destroy(d.to[0]), 0);
	assert_int_equal(mlx5dv_dr_action_destroy(d.to_next), 0);
	assert_int_equal(mlx5dv_dr_action_destroy(d.to_table), 0);
	assert_int_equal(mlx5dv_dr_matcher_destroy(d.by_reg), 0);
	assert_int_equal(mlx5dv_dr_matcher_destroy(d.in_table), 0);
	assert_int_equal(mlx5dv_dr_matcher_destroy(d.all), 0);
	assert_int_equal(mlx5dv_dr_table_destroy(d.next), 0);
	assert_int_equal(mlx5dv_dr_table_destroy(d.table), 0);
	assert_int_equal(mlx5dv_dr_table_destroy(d.root), 0);
	assert_int_equal(mlx5dv_dr_domain_destroy(d.domain), 0);
	raw_pair_fini(&p);
	return 0;
}

static struct mlx5dv_devx_obj *object(unsigned int type, const uint8_t context[64])
{
	uint8_t in[IFC_LEN_general_obj_in_cmd_hdr + IFC_LEN_aso_object] = { 0 }, out[16] = { 0 };
	uint8_t *body = in + IFC_LEN_general_obj_in_cmd_hdr;
	struct mlx5dv_obj obj = { 0 };
	struct mlx5dv_pd pd;
	struct mlx5dv_devx_obj *o;

	obj.pd.in = p.to[0].pd;
	obj.pd.out = &pd;
	assert_int_equal(mlx5dv_init_obj(&obj, MLX5DV_OBJ_PD), 0);
	ifc_set(in, cmd_in, opcode, IFC_OP_CREATE_GENERAL_OBJECT);
	ifc_set(in, general_obj_in_cmd_hdr, obj_type, type);
	ifc_set(body, aso_object, access_pd, pd.pdn);
	if (context)
		memcpy(body + ifc_byte(aso_object, context), context, 64);
	o = mlx5dv_devx_obj_create(p.to[0].context, in, sizeof(in), out, sizeof(out));
	assert_non_null(o);
	return o;
}

static struct mlx5dv_dr_rule *rule_in_table(struct mlx5dv_dr_action *a, struct mlx5dv_dr_action *b)
{
	struct mlx5dv_dr_action *actions[] = { a, b };

	return mlx5dv_dr_rule_create(d.in_table, params(&none), b ? 2 : 1, actions);
}

/* Packets are counted, a burst of `packets`. */
static void meter_of(uint8_t meter[32], uint8_t packets)
{
	memset(meter, 0, 32);
	meter[0] = 0x80 | GREEN << 4 | 3;
	meter[8] = 7; /* 128 tokens each */
	meter[9] = packets;
}

static void meters_colour_packets(void **state)
{
	struct pkt packet = pkt_plain(1, 2);
	uint8_t meter[32];
	struct mlx5dv_dr_flow_meter_attr attr = { .next_table = d.next,
						  .active = 1,
						  .reg_c_index = REG,
						  .flow_meter_parameter_sz = sizeof(meter),
						  .flow_meter_parameter = meter };
	struct mlx5dv_dr_action *a;
	struct mlx5dv_dr_rule *r;

	meter_of(meter, 3);
	a = mlx5dv_dr_action_create_flow_meter(&attr);
	assert_non_null(a);
	r = rule_in_table(a, NULL);
	assert_non_null(r);
	assert_int_equal(mlx5dv_dr_action_destroy(a), EBUSY);
	for (int i = 0; i < 5; i++)
		assert_int_equal(raw_who_gets(&p, &packet), i < 3 ? 1 : 0);
	/* An inactive meter lets packets keep their colour; its burst counts again when it is active. */
	attr.active = 0;
	assert_int_equal(mlx5dv_dr_action_modify_flow_meter(a, &attr, htobe64(1)), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(raw_who_gets(&p, &packet), 1);
	attr.active = 1;
	assert_int_equal(mlx5dv_dr_action_modify_flow_meter(a, &attr, htobe64(1)), 0);
	assert_int_equal(raw_who_gets(&p, &packet), 0);
	/* A rate that fills the bucket at once. */
	meter[11] = 200;
	assert_int_equal(mlx5dv_dr_action_modify_flow_meter(a, &attr, htobe64(1 << 2)), 0);
	for (int i = 0; i < 5; i++)
		assert_int_equal(raw_who_gets(&p, &packet), 1);
	assert_int_equal(mlx5dv_dr_rule_destroy(r), 0);
	assert_int_equal(mlx5dv_dr_action_destroy(a), 0);
}

static void a_meter_object_is_shared_by_its_rules(void **state)
{
	struct pkt packet = pkt_plain(1, 2);
	struct mlx5dv_dr_action *a, *red;
	struct mlx5dv_devx_obj *obj;
	struct mlx5dv_dr_rule *r;
	uint8_t context[64];

	meter_of(context, 2);
	meter_of(context + 32, 200);
	memset(context + 12, 0x7f, 1); /* tokens; the burst limits them */
	obj = object(IFC_OBJ_ASO_FLOW_METER, context);
	a = mlx5dv_dr_action_create_aso(d.domain, obj, 0,
					MLX5DV_DR_ACTION_FLAGS_ASO_FLOW_METER_GREEN, REG);
	red = mlx5dv_dr_action_create_aso(d.domain, obj, 1,
					  MLX5DV_DR_ACTION_FLAGS_ASO_FLOW_METER_RED, REG);
	assert_true(a && red);
	r = rule_in_table(a, d.to_next);
	assert_non_null(r);
	for (int i = 0; i < 4; i++)
		assert_int_equal(raw_who_gets(&p, &packet), i < 2 ? 1 : 0);
	assert_int_equal(mlx5dv_dr_rule_destroy(r), 0);
	r = rule_in_table(red, d.to_next);
	assert_int_equal(raw_who_gets(&p, &packet), 0);
	assert_int_equal(mlx5dv_dr_rule_destroy(r), 0);
	assert_int_equal(mlx5dv_dr_action_destroy(red), 0);
	assert_int_equal(mlx5dv_dr_action_destroy(a), 0);
	assert_int_equal(mlx5dv_devx_obj_destroy(obj), 0);
}

/* The object goes before its rule: the rule keeps its state. */
static void a_first_hit_is_told_once(void **state)
{
	struct mlx5dv_devx_obj *obj = object(IFC_OBJ_ASO_FIRST_HIT, NULL);
	struct pkt packet = pkt_plain(1, 2);
	struct mlx5dv_dr_action *a;
	struct mlx5dv_dr_rule *r;

	a = mlx5dv_dr_action_create_aso(d.domain, obj, 300,
					MLX5DV_DR_ACTION_FLAGS_ASO_FIRST_HIT_SET, REG);
	assert_non_null(a);
	r = rule_in_table(a, d.to_next);
	assert_non_null(r);
	assert_int_equal(mlx5dv_devx_obj_destroy(obj), 0);
	assert_int_equal(raw_who_gets(&p, &packet), 0);
	assert_int_equal(raw_who_gets(&p, &packet), 2); /* 1 */
	/* A change of the action is for new rules. */
	assert_int_equal(mlx5dv_dr_action_modify_aso(a, 301, 0, REG), 0);
	assert_int_equal(raw_who_gets(&p, &packet), 2);
	assert_int_equal(mlx5dv_dr_rule_destroy(r), 0);
	r = rule_in_table(a, d.to_next);
	assert_int_equal(raw_who_gets(&p, &packet), 0);
	assert_int_equal(raw_who_gets(&p, &packet), 0);
	assert_int_equal(mlx5dv_dr_rule_destroy(r), 0);
	assert_int_equal(mlx5dv_dr_action_destroy(a), 0);
}

static struct pkt segment(uint32_t seq)
{
	struct pkt s = { 0 };

	pkt_eth(&s, 2, 1, 0x0800);
	pkt_ip4(&s, 1, 2, 6);
	pkt_u32(&s, 0x00010002);
	pkt_u32(&s, seq);
	pkt_u32(&s, 500);
	pkt_u32(&s, 0x501003e8);
	pkt_u32(&s, 0);
	pkt_end(&s);
	pkt_tcp_sum(&s, s.ip[0]);
	return s;
}

static void connections_are_tracked_also_in_a_linked_domain(void **state)
{
	const uint32_t flags = MLX5DV_DR_ACTION_FLAGS_ASO_CT_DIRECTION_INITIATOR;
	struct mlx5dv_dr_domain *tx =
		mlx5dv_dr_domain_create(p.to[0].context, MLX5DV_DR_DOMAIN_TYPE_NIC_TX);
	struct pkt good = segment(100), bad = segment(5000);
	uint8_t context[64] = { 0 };
	struct mlx5dv_devx_obj *obj;
	struct mlx5dv_dr_action *a;
	struct mlx5dv_dr_rule *r;

	context[4 * 5 + 2] = context[4 * 1 + 2] = 4; /* windows of 1024 */
	context[4 * 6 + 2] = 8;
	context[4 * 7 + 3] = 100;
	context[4 * 3 + 2] = 1; /* sent_end 500 */
	context[4 * 3 + 3] = 0xf4;
	context[4 * 2 + 2] = 8;
	context[4 * 14] = 0xf0;
	context[4 * 14 + 2] = 0xf0;
	context[4 * 15] = 0x90; /* valid, established */
	obj = object(IFC_OBJ_ASO_CT, context);
	a = mlx5dv_dr_action_create_aso(tx, obj, 0, flags, REG);
	assert_non_null(a);
	/* The action is the other domain's, until the object is linked. */
	assert_null(rule_in_table(a, d.to_next));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(mlx5dv_dr_aso_other_domain_link(obj, tx, d.domain, flags, REG), 0);
	assert_int_equal(mlx5dv_dr_aso_other_domain_link(obj, tx, d.domain, flags, REG), EEXIST);
	r = rule_in_table(a, d.to_next);
	assert_non_null(r);
	assert_int_equal(raw_who_gets(&p, &good), 0);
	assert_int_equal(raw_who_gets(&p, &bad), 2);
	assert_int_equal(raw_who_gets(&p, &good), 0);
	assert_int_equal(mlx5dv_dr_rule_destroy(r), 0);
	assert_int_equal(mlx5dv_dr_aso_other_domain_unlink(obj, d.domain), 0);
	assert_int_equal(mlx5dv_dr_aso_other_domain_unlink(obj, d.domain), EINVAL);
	assert_null(rule_in_table(a, d.to_next));
	assert_int_equal(mlx5dv_dr_action_destroy(a), 0);
	assert_int_equal(mlx5dv_dr_domain_destroy(tx), 0);
	assert_int_equal(mlx5dv_devx_obj_destroy(obj), 0);
}

static void arguments_that_do_not_fit_the_object_are_refused(void **state)
{
	struct mlx5dv_devx_obj *hits = object(IFC_OBJ_ASO_FIRST_HIT, NULL);
	struct mlx5dv_devx_obj *meters = object(IFC_OBJ_ASO_FLOW_METER, NULL);
	struct mlx5dv_devx_obj *ct = object(IFC_OBJ_ASO_CT, NULL);
	uint8_t meter[33];
	struct mlx5dv_dr_flow_meter_attr attr = { .next_table = d.root,
						  .flow_meter_parameter_sz = 32,
						  .flow_meter_parameter = meter };
	const struct {
		struct mlx5dv_devx_obj *obj;
		uint32_t offset, flags;
		uint8_t reg;
	} rows[] = {
		{ hits, 512, 0, 1 }, { hits, 0, 2, 1 },   { hits, 0, 0, 0 },   { hits, 0, 0, 7 },
		{ meters, 2, 1, 1 }, { meters, 0, 0, 1 }, { meters, 0, 3, 1 }, { meters, 0, 16, 1 },
		{ meters, 0, 1, 2 }, { ct, 1, 1, 1 },     { ct, 0, 0, 1 },     { ct, 0, 3, 1 },
		{ ct, 0, 4, 1 },
	};
	struct mlx5dv_dr_action *a, *jump = d.to_next;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_null(mlx5dv_dr_action_create_aso(d.domain, rows[i].obj, rows[i].offset,
							rows[i].flags, rows[i].reg));
		assert_int_equal(errno, EINVAL);
	}
	assert_null(mlx5dv_dr_action_create_flow_meter(&attr));
	assert_int_equal(errno, EOPNOTSUPP);
	attr.next_table = d.next;
	attr.flow_meter_parameter_sz = 33;
	assert_null(mlx5dv_dr_action_create_flow_meter(&attr));
	assert_int_equal(errno, EINVAL);
	attr.flow_meter_parameter_sz = 32;
	attr.reg_c_index = 8;
	assert_null(mlx5dv_dr_action_create_flow_meter(&attr));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(mlx5dv_dr_action_modify_flow_meter(jump, &attr, 0), EINVAL);
	assert_int_equal(mlx5dv_dr_action_modify_aso(jump, 0, 0, 1), EINVAL);
	assert_int_equal(mlx5dv_dr_aso_other_domain_link(meters, NULL, d.domain, 1, 1), EOPNOTSUPP);
	a = mlx5dv_dr_action_create_aso(d.domain, hits, 0, 0, 1);
	assert_non_null(a);
	assert_null(mlx5dv_dr_rule_create(d.all, params(&none), 1, &a)); /* in a root */
	assert_int_equal(errno, EOPNOTSUPP);
	assert_int_equal(mlx5dv_dr_action_destroy(a), 0);
	assert_int_equal(mlx5dv_devx_obj_destroy(hits), 0);
	assert_int_equal(mlx5dv_devx_obj_destroy(meters), 0);
	assert_int_equal(mlx5dv_devx_obj_destroy(ct), 0);
}

#define T(test) cmocka_unit_test_setup_teardown(test, make, drop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(meters_colour_packets),
		T(a_meter_object_is_shared_by_its_rules),
		T(a_first_hit_is_told_once),
		T(connections_are_tracked_also_in_a_linked_domain),
		T(arguments_that_do_not_fit_the_object_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
