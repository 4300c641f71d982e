/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Steering by mlx5dv: matchers and flows with their actions, and direct rules. What they match on
 * is the device's layout: 64 bytes each of outer headers, misc, inner headers.
 */
#include "raw_pair.h"

#include <endian.h>

#include <infiniband/mlx5dv.h>

enum { OUTER = 1, MISC = 2, INNER = 4, IP_VERSION = 17, UDP_DPORT = 30, SIZE = 192 };

struct match {
	union {
		struct mlx5dv_flow_match_parameters p;
		uint8_t bytes[sizeof(struct mlx5dv_flow_match_parameters) + SIZE];
	};
};

static struct match match_of(unsigned int at, uint16_t value)
{
	struct match m = { .p.match_sz = SIZE };

	m.bytes[sizeof(m.p) + at] = value >> 8;
	m.bytes[sizeof(m.p) + at + 1] = value;
	return m;
}

/* ---- matchers and flows ---- */

static struct mlx5dv_flow_matcher *matcher(struct ibv_context *context, uint32_t flags,
					   enum mlx5dv_flow_table_type type)
{
	struct match mask = match_of(UDP_DPORT, 0xffff);
	struct mlx5dv_flow_matcher_attr attr = {
		.type = IBV_FLOW_ATTR_NORMAL,
		.flags = flags,
		.match_criteria_enable = OUTER,
		.match_mask = &mask.p,
		.comp_mask = MLX5DV_FLOW_MATCHER_MASK_FT_TYPE,
		.ft_type = type,
	};
	struct mlx5dv_flow_matcher *m = mlx5dv_create_flow_matcher(context, &attr);

	assert_non_null(m);
	return m;
}

static void a_flow_leads_from_a_matcher_to_a_queue_pair(void **state)
{
	struct match value = match_of(UDP_DPORT, 2);
	struct pkt yes = pkt_plain(1, 2), no = pkt_plain(1, 3);
	struct mlx5dv_flow_action_attr actions[2] = {
		{ .type = MLX5DV_FLOW_ACTION_TAG, .tag_value = 5 },
		{ .type = MLX5DV_FLOW_ACTION_DEST_IBV_QP },
	};
	struct mlx5dv_flow_matcher *m;
	struct ibv_flow *flow;
	struct raw_pair p;

	raw_pair_init(&p, "mlx5_1", "mlx5_0");
	m = matcher(p.to[0].context, 0, MLX5DV_FLOW_TABLE_TYPE_NIC_RX);
	actions[1].qp = p.to[0].qp;
	flow = mlx5dv_create_flow(m, &value.p, 2, actions);
	assert_non_null(flow);
	assert_int_equal(mlx5dv_destroy_flow_matcher(m), EBUSY);
	assert_int_equal(raw_who_gets(&p, &yes), 0);
	assert_int_equal(raw_who_gets(&p, &no), RAW_REST);
	assert_int_equal(ibv_destroy_flow(flow), 0);
	assert_int_equal(mlx5dv_destroy_flow_matcher(m), 0);
	raw_pair_fini(&p);
}

static void flow_actions_change_outgoing_and_incoming_packets(void **state)
{
	struct match value = match_of(UDP_DPORT, 2), tunnel = match_of(UDP_DPORT, 4789);
	struct pkt inner = pkt_plain(1, 2), whole = pkt_vxlan(1, 2);
	struct mlx5dv_flow_action_attr out = { .type = MLX5DV_FLOW_ACTION_IBV_FLOW_ACTION };
	struct mlx5dv_flow_action_attr in[2] = { { .type = MLX5DV_FLOW_ACTION_IBV_FLOW_ACTION },
						 { .type = MLX5DV_FLOW_ACTION_DEST_IBV_QP } };
	uint64_t set = htobe64(0x1002001000008888); /* source MAC, low 16 bits */
	struct mlx5dv_flow_matcher *tx, *rx;
	struct ibv_flow_action *encap, *decap, *modify;
	struct ibv_flow *leaves, *arrives;
	struct raw_pair p;

	raw_pair_init(&p, "mlx5_1", "mlx5_0");
	tx = matcher(p.from.context, IBV_FLOW_ATTR_FLAGS_EGRESS, MLX5DV_FLOW_TABLE_TYPE_NIC_TX);
	rx = matcher(p.to[0].context, 0, MLX5DV_FLOW_TABLE_TYPE_NIC_RX);
	encap = mlx5dv_create_flow_action_packet_reformat(
		p.from.context, whole.len - inner.len, whole.b,
		MLX5DV_FLOW_ACTION_PACKET_REFORMAT_TYPE_L2_TO_L2_TUNNEL,
		MLX5DV_FLOW_TABLE_TYPE_NIC_TX);
	assert_non_null(encap);
	out.action = encap;
	leaves = mlx5dv_create_flow(tx, &value.p, 1, &out);
	assert_non_null(leaves);
	assert_int_equal(raw_who_gets(&p, &inner), RAW_REST);
	assert_int_equal(p.to[RAW_REST].len, whole.len);
	assert_memory_equal(p.to[RAW_REST].frame, whole.b, whole.len);

	decap = mlx5dv_create_flow_action_packet_reformat(
		p.to[0].context, 0, NULL, MLX5DV_FLOW_ACTION_PACKET_REFORMAT_TYPE_L2_TUNNEL_TO_L2,
		MLX5DV_FLOW_TABLE_TYPE_NIC_RX);
	assert_non_null(decap);
	in[0].action = decap;
	in[1].qp = p.to[0].qp;
	arrives = mlx5dv_create_flow(rx, &tunnel.p, 2, in);
	assert_non_null(arrives);
	assert_int_equal(ibv_destroy_flow_action(decap), EBUSY);
	assert_int_equal(raw_who_gets(&p, &inner), 0);
	assert_int_equal(p.to[0].len, inner.len);
	assert_memory_equal(p.to[0].frame, inner.b, inner.len);
	assert_int_equal(ibv_destroy_flow(arrives), 0);
	assert_int_equal(ibv_destroy_flow(leaves), 0);

	modify = mlx5dv_create_flow_action_modify_header(p.from.context, sizeof(set), &set,
							 MLX5DV_FLOW_TABLE_TYPE_NIC_TX);
	assert_non_null(modify);
	out.action = modify;
	leaves = mlx5dv_create_flow(tx, &value.p, 1, &out);
	assert_non_null(leaves);
	assert_int_equal(raw_who_gets(&p, &inner), RAW_REST);
	assert_memory_equal(p.to[RAW_REST].frame + 6, "\x02\0\0\0\x88\x88", 6);
	assert_int_equal(ibv_destroy_flow(leaves), 0);
	assert_int_equal(ibv_destroy_flow_action(modify), 0);
	assert_int_equal(ibv_destroy_flow_action(encap), 0);
	assert_int_equal(ibv_destroy_flow_action(decap), 0);
	assert_int_equal(mlx5dv_destroy_flow_matcher(tx), 0);
	assert_int_equal(mlx5dv_destroy_flow_matcher(rx), 0);
	raw_pair_fini(&p);
}

static void matchers_refuse_unknown_attributes(void **state)
{
	struct match mask = match_of(UDP_DPORT, 0xffff);
	struct mlx5dv_flow_matcher_attr good = { .match_criteria_enable = OUTER,
						 .match_mask = &mask.p },
					attr;
	struct ibv_context *context = test_open("mlx5_0");
	static const struct {
		uint64_t comp_mask;
		uint32_t flags, type, criteria, priority, table;
		int err;
	} rows[] = {
		{ .comp_mask = 4, .criteria = 1, .err = EOPNOTSUPP },
		{ .flags = 1, .criteria = 1, .err = EINVAL },
		{ .type = IBV_FLOW_ATTR_ALL_DEFAULT, .criteria = 1, .err = EOPNOTSUPP },
		{ .type = 4, .criteria = 1, .err = EOPNOTSUPP },
		{ .comp_mask = MLX5DV_FLOW_MATCHER_MASK_IB_PORT, .criteria = 1, .err = EINVAL },
		{ .criteria = 0x80, .err = EINVAL },
		{ .priority = 16, .criteria = 1, .err = ENOSPC },
		{ .comp_mask = 1, .table = 7, .criteria = 1, .err = EOPNOTSUPP },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		attr = good;
		attr.comp_mask = rows[i].comp_mask;
		attr.flags = rows[i].flags;
		attr.type = rows[i].type;
		attr.match_criteria_enable = rows[i].criteria;
		attr.priority = rows[i].priority;
		attr.ft_type = rows[i].table;
		assert_null(mlx5dv_create_flow_matcher(context, &attr));
		assert_int_equal(errno, rows[i].err);
	}
	mask = match_of(24, 0xffff); /* bits that mean nothing */
	assert_null(mlx5dv_create_flow_matcher(context, &good));
	assert_int_equal(errno, EOPNOTSUPP);
	test_close(context);
}

static void flows_refuse_unsuitable_actions(void **state)
{
	struct match value = match_of(UDP_DPORT, 2), wrong = match_of(UDP_DPORT - 2, 2);
	struct mlx5dv_flow_action_attr a[2] = { { .type = MLX5DV_FLOW_ACTION_DROP },
						{ .type = MLX5DV_FLOW_ACTION_DROP } };
	struct mlx5dv_flow_matcher *m;
	struct raw_end e;

	raw_end_init(&e, "mlx5_0");
	m = matcher(e.context, 0, MLX5DV_FLOW_TABLE_TYPE_NIC_RX);
	assert_null(mlx5dv_create_flow(m, &value.p, 2, a));
	assert_int_equal(errno, EOPNOTSUPP);
	assert_null(mlx5dv_create_flow(m, &value.p, 0, a));
	assert_int_equal(errno, EINVAL);
	assert_null(mlx5dv_create_flow(m, &wrong.p, 1, a));
	assert_int_equal(errno, EINVAL);
	a[0] = (struct mlx5dv_flow_action_attr){ .type = MLX5DV_FLOW_ACTION_TAG,
						 .tag_value = 1 << 24 };
	assert_null(mlx5dv_create_flow(m, &value.p, 2, a));
	assert_int_equal(errno, EINVAL);
	a[0] = (struct mlx5dv_flow_action_attr){ .type = MLX5DV_FLOW_ACTION_IBV_COUNTER };
	assert_null(mlx5dv_create_flow(m, &value.p, 2, a));
	assert_int_equal(errno, EOPNOTSUPP);
	assert_int_equal(mlx5dv_destroy_flow_matcher(m), 0);
	assert_null(mlx5dv_create_flow_action_packet_reformat(
		e.context, 0, NULL, MLX5DV_FLOW_ACTION_PACKET_REFORMAT_TYPE_L2_TUNNEL_TO_L2,
		MLX5DV_FLOW_TABLE_TYPE_NIC_TX));
	assert_int_equal(errno, EINVAL);
	assert_null(mlx5dv_create_flow_action_modify_header(e.context, 4, (uint64_t[]){ 0 },
							    MLX5DV_FLOW_TABLE_TYPE_NIC_TX));
	assert_int_equal(errno, EINVAL);
	raw_end_fini(&e);
}

/* ---- direct rules ---- */

struct dr {
	struct mlx5dv_dr_domain *domain;
	struct mlx5dv_dr_table *root, *table;
	struct mlx5dv_dr_matcher *all, *by_port;
	struct mlx5dv_dr_action *jump;
	struct mlx5dv_dr_rule *first;
};

/* Everything goes from the root to a table with a matcher on UDP's destination port. */
static void dr_init(struct dr *d, struct ibv_context *context, enum mlx5dv_dr_domain_type type)
{
	struct match mask = match_of(UDP_DPORT, 0xffff), none = { .p.match_sz = 0 };

	d->domain = mlx5dv_dr_domain_create(context, type);
	assert_non_null(d->domain);
	d->root = mlx5dv_dr_table_create(d->domain, 0);
	d->table = mlx5dv_dr_table_create(d->domain, 1);
	assert_true(d->root && d->table);
	d->all = mlx5dv_dr_matcher_create(d->root, 0, 0, &none.p);
	d->by_port = mlx5dv_dr_matcher_create(d->table, 7, OUTER, &mask.p);
	assert_true(d->all && d->by_port);
	d->jump = mlx5dv_dr_action_create_dest_table(d->table);
	assert_non_null(d->jump);
	d->first = mlx5dv_dr_rule_create(d->all, &none.p, 1, &d->jump);
	assert_non_null(d->first);
}

static void dr_fini(struct dr *d)
{
	assert_int_equal(mlx5dv_dr_table_destroy(d->table), EBUSY);
	assert_int_equal(mlx5dv_dr_action_destroy(d->jump), EBUSY);
	assert_int_equal(mlx5dv_dr_matcher_destroy(d->all), EBUSY);
	assert_int_equal(mlx5dv_dr_rule_destroy(d->first), 0);
	assert_int_equal(mlx5dv_dr_action_destroy(d->jump), 0);
	assert_int_equal(mlx5dv_dr_matcher_destroy(d->by_port), 0);
	assert_int_equal(mlx5dv_dr_matcher_destroy(d->all), 0);
	assert_int_equal(mlx5dv_dr_domain_destroy(d->domain), EBUSY);
	assert_int_equal(mlx5dv_dr_table_destroy(d->table), 0);
	assert_int_equal(mlx5dv_dr_table_destroy(d->root), 0);
	assert_int_equal(mlx5dv_dr_domain_destroy(d->domain), 0);
}

/* Bytes that are not given are 0; those behind the known parts are only counted. */
static void masks_have_any_length(void **state)
{
	static const size_t root[] = { 1, 6, 31, 32, 33, 192, 447, 448, 449, 512 };
	static const size_t deeper[] = { 0, 1, 6, 31, 32, 447, 448 };
	struct {
		size_t size;
		uint8_t bytes[516];
	} mask = { 0 };
	struct mlx5dv_flow_match_parameters *match = (void *)&mask;
	struct mlx5dv_flow_matcher_attr attr = { .match_criteria_enable = OUTER,
						 .match_mask = match };
	struct ibv_context *context = test_open("mlx5_0");
	struct mlx5dv_flow_matcher *m;
	struct mlx5dv_dr_matcher *dm;
	struct dr d;

	memset(mask.bytes, 0xff, 6);
	dr_init(&d, context, MLX5DV_DR_DOMAIN_TYPE_NIC_RX);
	for (size_t i = 0; i < sizeof(root) / sizeof(root[0]); i++) {
		mask.size = root[i];
		m = mlx5dv_create_flow_matcher(context, &attr);
		assert_non_null(m);
		assert_int_equal(mlx5dv_destroy_flow_matcher(m), 0);
		dm = mlx5dv_dr_matcher_create(d.root, 0, OUTER, match);
		assert_non_null(dm);
		assert_int_equal(mlx5dv_dr_matcher_destroy(dm), 0);
	}
	mask.size = 513;
	assert_null(mlx5dv_create_flow_matcher(context, &attr));
	assert_int_equal(errno, EINVAL);
	for (size_t i = 0; i < sizeof(deeper) / sizeof(deeper[0]); i++) {
		mask.size = deeper[i];
		dm = mlx5dv_dr_matcher_create(d.table, 0, OUTER, match);
		assert_non_null(dm);
		assert_int_equal(mlx5dv_dr_matcher_destroy(dm), 0);
	}
	mask.size = 449;
	assert_null(mlx5dv_dr_matcher_create(d.table, 0, OUTER, match));
	assert_int_equal(errno, EINVAL);
	dr_fini(&d);
	test_close(context);
}

static struct mlx5dv_dr_rule *dr_rule(struct dr *d, uint16_t port, struct mlx5dv_dr_action *a,
				      struct mlx5dv_dr_action *b)
{
	struct match value = match_of(UDP_DPORT, port);
	struct mlx5dv_dr_action *actions[] = { a, b };

	return mlx5dv_dr_rule_create(d->by_port, &value.p, b ? 2 : 1, actions);
}

static void direct_rules_jump_through_tables(void **state)
{
	struct pkt two = pkt_plain(1, 2), three = pkt_plain(1, 3), four = pkt_plain(1, 4);
	struct mlx5dv_dr_action *qp, *drop, *array, *other;
	struct mlx5dv_dr_action_dest_attr dests[2], *list[2] = { &dests[0], &dests[1] };
	struct mlx5dv_dr_rule *r2, *r3, *r4;
	struct raw_pair p;
	struct dr d;

	raw_pair_init(&p, "mlx5_1", "mlx5_0");
	dr_init(&d, p.to[0].context, MLX5DV_DR_DOMAIN_TYPE_NIC_RX);
	qp = mlx5dv_dr_action_create_dest_ibv_qp(p.to[0].qp);
	other = mlx5dv_dr_action_create_dest_ibv_qp(p.to[1].qp);
	drop = mlx5dv_dr_action_create_drop();
	assert_true(qp && other && drop);
	dests[0] = (struct mlx5dv_dr_action_dest_attr){ MLX5DV_DR_ACTION_DEST, { qp } };
	dests[1] = (struct mlx5dv_dr_action_dest_attr){ MLX5DV_DR_ACTION_DEST, { other } };
	array = mlx5dv_dr_action_create_dest_array(d.domain, 2, list);
	assert_non_null(array);
	r2 = dr_rule(&d, 2, qp, NULL);
	r3 = dr_rule(&d, 3, drop, NULL);
	r4 = dr_rule(&d, 4, array, NULL);
	assert_true(r2 && r3 && r4);
	assert_int_equal(mlx5dv_dr_domain_sync(d.domain, MLX5DV_DR_DOMAIN_SYNC_FLAGS_SW), 0);
	assert_int_equal(raw_who_gets(&p, &two), 0);
	raw_send(&p, &three);
	raw_send(&p, &four);
	assert_int_equal(raw_wait(&p) + raw_wait(&p), 1);
	assert_int_equal(mlx5dv_dr_action_destroy(qp), EBUSY);
	assert_int_equal(mlx5dv_dr_rule_destroy(r2), 0);
	assert_int_equal(mlx5dv_dr_rule_destroy(r3), 0);
	assert_int_equal(mlx5dv_dr_rule_destroy(r4), 0);
	assert_int_equal(mlx5dv_dr_action_destroy(array), 0);
	assert_int_equal(mlx5dv_dr_action_destroy(qp), 0);
	assert_int_equal(mlx5dv_dr_action_destroy(other), 0);
	assert_int_equal(mlx5dv_dr_action_destroy(drop), 0);
	dr_fini(&d);
	raw_pair_fini(&p);
}

/* From a table back to the root, behind the rule that led away from it. */
static void a_rule_leads_back_to_the_root_from_a_priority_on(void **state)
{
	struct match mask = match_of(UDP_DPORT, 0xffff), value = match_of(UDP_DPORT, 2);
	struct mlx5dv_dr_action *back, *early, *late;
	struct mlx5dv_dr_matcher *at4, *at5;
	struct mlx5dv_dr_rule *r, *r4, *r5;
	struct pkt two = pkt_plain(1, 2);
	struct raw_pair p;
	struct dr d;

	raw_pair_init(&p, "mlx5_1", "mlx5_0");
	dr_init(&d, p.to[0].context, MLX5DV_DR_DOMAIN_TYPE_NIC_RX);
	early = mlx5dv_dr_action_create_dest_ibv_qp(p.to[0].qp);
	late = mlx5dv_dr_action_create_dest_ibv_qp(p.to[1].qp);
	at4 = mlx5dv_dr_matcher_create(d.root, 4, OUTER, &mask.p);
	at5 = mlx5dv_dr_matcher_create(d.root, 5, OUTER, &mask.p);
	assert_true(early && late && at4 && at5);
	r4 = mlx5dv_dr_rule_create(at4, &value.p, 1, &early);
	r5 = mlx5dv_dr_rule_create(at5, &value.p, 1, &late);
	assert_true(r4 && r5);
	for (uint16_t priority = 4; priority < 6; priority++) {
		back = mlx5dv_dr_action_create_dest_root_table(d.root, priority);
		assert_non_null(back);
		r = dr_rule(&d, 2, back, NULL);
		assert_non_null(r);
		assert_int_equal(raw_who_gets(&p, &two), priority - 4);
		assert_int_equal(mlx5dv_dr_action_destroy(back), EBUSY);
		assert_int_equal(mlx5dv_dr_rule_destroy(r), 0);
		assert_int_equal(mlx5dv_dr_action_destroy(back), 0);
	}
	assert_null(mlx5dv_dr_action_create_dest_root_table(d.table, 4));
	assert_int_equal(errno, EINVAL);
	assert_null(mlx5dv_dr_action_create_dest_root_table(d.root, 16));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(mlx5dv_dr_rule_destroy(r4), 0);
	assert_int_equal(mlx5dv_dr_rule_destroy(r5), 0);
	assert_int_equal(mlx5dv_dr_matcher_destroy(at4), 0);
	assert_int_equal(mlx5dv_dr_matcher_destroy(at5), 0);
	assert_int_equal(mlx5dv_dr_action_destroy(early), 0);
	assert_int_equal(mlx5dv_dr_action_destroy(late), 0);
	dr_fini(&d);
	raw_pair_fini(&p);
}

/* A copy in a tunnel for one, and the plain frame for another. */
static void a_destination_array_changes_each_copy_separately(void **state)
{
	struct pkt inner = pkt_plain(1, 2), whole = pkt_vxlan(1, 2);
	struct mlx5dv_dr_action *a, *b, *decap, *array;
	struct mlx5dv_dr_action_dest_reformat both;
	struct mlx5dv_dr_action_dest_attr dests[2], *list[2] = { &dests[0], &dests[1] };
	struct mlx5dv_dr_rule *rule;
	struct raw_pair p;
	struct dr d;

	raw_pair_init(&p, "mlx5_1", "mlx5_0");
	dr_init(&d, p.to[0].context, MLX5DV_DR_DOMAIN_TYPE_NIC_RX);
	a = mlx5dv_dr_action_create_dest_ibv_qp(p.to[0].qp);
	b = mlx5dv_dr_action_create_dest_ibv_qp(p.to[1].qp);
	decap = mlx5dv_dr_action_create_packet_reformat(
		d.domain, 0, MLX5DV_FLOW_ACTION_PACKET_REFORMAT_TYPE_L2_TUNNEL_TO_L2, 0, NULL);
	assert_true(a && b && decap);
	both = (struct mlx5dv_dr_action_dest_reformat){ decap, a };
	dests[0] = (struct mlx5dv_dr_action_dest_attr){ .type = MLX5DV_DR_ACTION_DEST_REFORMAT,
							.dest_reformat = &both };
	dests[1] = (struct mlx5dv_dr_action_dest_attr){ MLX5DV_DR_ACTION_DEST, { b } };
	array = mlx5dv_dr_action_create_dest_array(d.domain, 2, list);
	assert_non_null(array);
	rule = dr_rule(&d, 4789, array, NULL);
	assert_non_null(rule);
	raw_send(&p, &whole);
	assert_int_equal(raw_wait(&p) + raw_wait(&p), 1);
	assert_int_equal(p.to[0].len, inner.len);
	assert_memory_equal(p.to[0].frame, inner.b, inner.len);
	assert_int_equal(p.to[1].len, whole.len);
	assert_memory_equal(p.to[1].frame, whole.b, whole.len);
	assert_int_equal(mlx5dv_dr_rule_destroy(rule), 0);
	assert_int_equal(mlx5dv_dr_action_destroy(decap), EBUSY);
	assert_int_equal(mlx5dv_dr_action_destroy(array), 0);
	assert_int_equal(mlx5dv_dr_action_destroy(decap), 0);
	assert_int_equal(mlx5dv_dr_action_destroy(a), 0);
	assert_int_equal(mlx5dv_dr_action_destroy(b), 0);
	dr_fini(&d);
	raw_pair_fini(&p);
}

static void vlan_tags_are_pushed_and_popped(void **state)
{
	struct pkt plain = pkt_plain(1, 2);
	struct mlx5dv_dr_action *push, *pop, *qp, *vlan;
	struct mlx5dv_dr_rule *out, *in;
	struct raw_pair p;
	struct dr tx, rx;

	raw_pair_init(&p, "mlx5_1", "mlx5_0");
	dr_init(&tx, p.from.context, MLX5DV_DR_DOMAIN_TYPE_NIC_TX);
	dr_init(&rx, p.to[0].context, MLX5DV_DR_DOMAIN_TYPE_NIC_RX);
	push = mlx5dv_dr_action_create_push_vlan(tx.domain, htobe32(0x8100a005));
	pop = mlx5dv_dr_action_create_pop_vlan();
	qp = mlx5dv_dr_action_create_dest_ibv_qp(p.to[0].qp);
	assert_true(push && pop && qp);
	out = dr_rule(&tx, 2, push, NULL);
	in = dr_rule(&rx, 2, qp, NULL);
	assert_true(out && in);
	assert_int_equal(raw_who_gets(&p, &plain), 0);
	assert_int_equal(p.to[0].len, plain.len + 4);
	assert_memory_equal(p.to[0].frame + 12, "\x81\x00\xa0\x05\x08\x00", 6);
	assert_int_equal(mlx5dv_dr_rule_destroy(in), 0);
	in = dr_rule(&rx, 2, pop, qp);
	assert_non_null(in);
	assert_int_equal(raw_who_gets(&p, &plain), 0);
	assert_int_equal(p.to[0].len, plain.len);
	assert_memory_equal(p.to[0].frame, plain.b, plain.len);
	assert_int_equal(mlx5dv_dr_rule_destroy(in), 0);
	assert_int_equal(mlx5dv_dr_rule_destroy(out), 0);
	vlan = mlx5dv_dr_action_create_push_vlan(tx.domain, htobe32(0x9100a005));
	assert_null(vlan);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(mlx5dv_dr_action_destroy(push), 0);
	assert_int_equal(mlx5dv_dr_action_destroy(pop), 0);
	assert_int_equal(mlx5dv_dr_action_destroy(qp), 0);
	dr_fini(&tx);
	dr_fini(&rx);
	raw_pair_fini(&p);
}

static void fdb_rules_deliver_and_drop(void **state)
{
	struct pkt two = pkt_plain(1, 2), three = pkt_plain(1, 3), four = pkt_plain(1, 4);
	struct mlx5dv_dr_action *port, *drop, *ib;
	struct mlx5dv_dr_rule *r2, *r3, *r4;
	struct raw_pair p;
	struct dr d;

	raw_pair_init(&p, "mlx5_1", "mlx5_0");
	dr_init(&d, p.to[0].context, MLX5DV_DR_DOMAIN_TYPE_FDB);
	port = mlx5dv_dr_action_create_dest_vport(d.domain, 0);
	ib = mlx5dv_dr_action_create_dest_ib_port(d.domain, 1);
	drop = mlx5dv_dr_action_create_drop();
	assert_true(port && drop && ib);
	r2 = dr_rule(&d, 2, port, NULL);
	r3 = dr_rule(&d, 3, drop, NULL);
	r4 = dr_rule(&d, 4, ib, NULL);
	assert_true(r2 && r3 && r4);
	assert_int_equal(raw_who_gets(&p, &two), RAW_REST);
	raw_send(&p, &three);
	assert_int_equal(raw_who_gets(&p, &four), RAW_REST);
	assert_int_equal(p.to[RAW_REST].frame[37], 4);
	assert_null(mlx5dv_dr_action_create_dest_vport(d.domain, 5));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(mlx5dv_dr_rule_destroy(r2), 0);
	assert_int_equal(mlx5dv_dr_rule_destroy(r3), 0);
	assert_int_equal(mlx5dv_dr_rule_destroy(r4), 0);
	assert_int_equal(mlx5dv_dr_action_destroy(port), 0);
	assert_int_equal(mlx5dv_dr_action_destroy(ib), 0);
	assert_int_equal(mlx5dv_dr_action_destroy(drop), 0);
	dr_fini(&d);
	raw_pair_fini(&p);
}

static void a_frame_that_is_sent_to_its_own_function_comes_back(void **state)
{
	struct pkt two = pkt_plain(1, 2), three = pkt_plain(1, 3);
	struct mlx5dv_dr_action *own, *drop;
	struct mlx5dv_dr_rule *back, *lost;
	struct raw_pair p;
	struct dr d, tx;

	raw_pair_init(&p, "mlx5_0", "mlx5_0");
	dr_init(&d, p.from.context, MLX5DV_DR_DOMAIN_TYPE_FDB);
	own = mlx5dv_dr_action_create_dest_vport(d.domain, 0);
	drop = mlx5dv_dr_action_create_drop();
	assert_true(own && drop);
	back = dr_rule(&d, 2, own, NULL);
	lost = dr_rule(&d, 3, drop, NULL);
	assert_true(back && lost);
	raw_send(&p, &three);
	assert_int_equal(raw_who_gets(&p, &two), RAW_REST);
	assert_int_equal(p.to[RAW_REST].len, two.len);
	assert_memory_equal(p.to[RAW_REST].frame, two.b, two.len);
	/* also behind a table for frames that leave */
	dr_init(&tx, p.from.context, MLX5DV_DR_DOMAIN_TYPE_NIC_TX);
	assert_int_equal(raw_who_gets(&p, &two), RAW_REST);
	dr_fini(&tx);
	assert_int_equal(mlx5dv_dr_rule_destroy(back), 0);
	assert_int_equal(mlx5dv_dr_rule_destroy(lost), 0);
	assert_int_equal(mlx5dv_dr_action_destroy(own), 0);
	assert_int_equal(mlx5dv_dr_action_destroy(drop), 0);
	dr_fini(&d);
	raw_pair_fini(&p);
}

static void direct_rules_refuse_invalid_arguments(void **state)
{
	struct match odd = match_of(UDP_DPORT, 2);
	struct mlx5dv_dr_matcher_layout layout = { .flags = 1 << 2 };
	struct mlx5dv_dr_action *drop, *miss, *tag;
	struct mlx5dv_dr_rule *rule;
	struct ibv_context *context = test_open("mlx5_0");
	struct dr d, tx;

	assert_null(mlx5dv_dr_domain_create(context, 3));
	assert_int_equal(errno, EINVAL);
	dr_init(&d, context, MLX5DV_DR_DOMAIN_TYPE_NIC_RX);
	dr_init(&tx, context, MLX5DV_DR_DOMAIN_TYPE_NIC_TX);
	drop = mlx5dv_dr_action_create_drop();
	miss = mlx5dv_dr_action_create_default_miss();
	tag = mlx5dv_dr_action_create_tag(7);
	assert_true(drop && miss && tag);
	assert_null(dr_rule(&d, 2, drop, miss));
	assert_int_equal(errno, EOPNOTSUPP);
	assert_null(dr_rule(&tx, 2, tag, NULL));
	assert_int_equal(errno, EOPNOTSUPP);
	assert_null(dr_rule(&tx, 2, d.jump, NULL));
	assert_int_equal(errno, EINVAL);
	odd.p.match_sz = 33;
	assert_null(mlx5dv_dr_rule_create(d.by_port, &odd.p, 1, &drop));
	assert_int_equal(errno, EINVAL);
	assert_null(mlx5dv_dr_matcher_create(d.root, 16, 0, NULL));
	assert_int_equal(errno, ENOSPC);
	assert_null(mlx5dv_dr_action_create_dest_table(d.root));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(mlx5dv_dr_matcher_set_layout(d.by_port, &layout), ENOTSUP);
	layout.flags = MLX5DV_DR_MATCHER_LAYOUT_RESIZABLE;
	assert_int_equal(mlx5dv_dr_matcher_set_layout(d.all, &layout), ENOTSUP);
	assert_int_equal(mlx5dv_dr_matcher_set_layout(d.by_port, &layout), 0);
	assert_int_equal(mlx5dv_dr_domain_sync(d.domain, 1 << 5), EOPNOTSUPP);
	assert_null(mlx5dv_dr_action_create_dest_vport(d.domain, 5));
	assert_int_equal(errno, EOPNOTSUPP);
	assert_null(mlx5dv_dr_action_create_dest_ib_port(d.domain, 5));
	assert_int_equal(errno, EOPNOTSUPP);

	/* A second rule with the same value is one too many only when the domain says so. */
	rule = dr_rule(&d, 2, drop, NULL);
	assert_non_null(rule);
	mlx5dv_dr_domain_allow_duplicate_rules(d.domain, false);
	assert_null(dr_rule(&d, 2, miss, NULL));
	assert_int_equal(errno, EEXIST);
	assert_int_equal(mlx5dv_dr_rule_destroy(rule), 0);
	assert_int_equal(mlx5dv_dr_action_destroy(drop), 0);
	assert_int_equal(mlx5dv_dr_action_destroy(miss), 0);
	assert_int_equal(mlx5dv_dr_action_destroy(tag), 0);
	dr_fini(&tx);
	dr_fini(&d);
	test_close(context);
}

enum { DROP, MISS, TAG, QP, JUMP, POP, PUSH, MODIFY, ROOT_MODIFY, BACK, NONE };

static void actions_must_be_in_the_order_of_the_device(void **state)
{
	static const struct {
		uint8_t actions[4];
		int error, root_error; /* in a table, in the root */
	} cases[] = {
		{ { TAG, QP, NONE }, 0, 0 },
		{ { MODIFY, TAG, QP, NONE }, 0, 0 },
		{ { POP, MODIFY, PUSH, JUMP }, 0, EOPNOTSUPP },
		{ { POP, POP, QP, NONE }, 0, EOPNOTSUPP },
		{ { BACK, NONE }, 0, EOPNOTSUPP },
		{ { QP, TAG, NONE }, EOPNOTSUPP, 0 },
		{ { QP, MODIFY, NONE }, EOPNOTSUPP, 0 },
		{ { MODIFY, DROP, NONE }, EOPNOTSUPP, 0 },
		{ { MODIFY, POP, QP, NONE }, EOPNOTSUPP, EOPNOTSUPP },
		{ { PUSH, MODIFY, QP, NONE }, EOPNOTSUPP, EOPNOTSUPP },
		{ { QP, JUMP, NONE }, EOPNOTSUPP, EOPNOTSUPP },
		{ { QP, QP, NONE }, EINVAL, EOPNOTSUPP },
		{ { TAG, TAG, QP, NONE }, EINVAL, 0 },
		{ { POP, POP, POP, QP }, EINVAL, EOPNOTSUPP },
		{ { PUSH, PUSH, PUSH, QP }, EOPNOTSUPP, EOPNOTSUPP },
		{ { ROOT_MODIFY, QP, NONE }, EINVAL, 0 },
	};
	__be64 set_ttl = htobe64(0x100a000800000040ull); /* 64 to the 8 bits of TTL */
	struct mlx5dv_dr_action *a[NONE];
	struct match none = { .p.match_sz = 0 };
	struct mlx5dv_dr_matcher *in_root;
	struct raw_end e;
	struct dr d;

	raw_end_init(&e, "mlx5_0");
	dr_init(&d, e.context, MLX5DV_DR_DOMAIN_TYPE_NIC_RX);
	in_root = mlx5dv_dr_matcher_create(d.root, 3, 0, &none.p);
	assert_non_null(in_root);
	a[DROP] = mlx5dv_dr_action_create_drop();
	a[MISS] = mlx5dv_dr_action_create_default_miss();
	a[TAG] = mlx5dv_dr_action_create_tag(1);
	a[QP] = mlx5dv_dr_action_create_dest_ibv_qp(e.qp);
	a[JUMP] = mlx5dv_dr_action_create_dest_table(d.table);
	a[POP] = mlx5dv_dr_action_create_pop_vlan();
	a[PUSH] = mlx5dv_dr_action_create_push_vlan(d.domain, htobe32(0x81000005));
	a[MODIFY] = mlx5dv_dr_action_create_modify_header(d.domain, 0, 8, &set_ttl);
	a[ROOT_MODIFY] = mlx5dv_dr_action_create_modify_header(
		d.domain, MLX5DV_DR_ACTION_FLAGS_ROOT_LEVEL, 8, &set_ttl);
	a[BACK] = mlx5dv_dr_action_create_dest_root_table(d.root, 5);
	for (int i = 0; i < NONE; i++)
		assert_non_null(a[i]);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct match value = match_of(UDP_DPORT, 2);
		struct mlx5dv_dr_action *list[4];
		struct mlx5dv_dr_rule *rule;
		size_t n = 0;

		while (n < 4 && cases[i].actions[n] != NONE) {
			list[n] = a[cases[i].actions[n]];
			n++;
		}
		for (int root = 0; root < 2; root++) {
			int error = root ? cases[i].root_error : cases[i].error;

			errno = 0;
			rule = mlx5dv_dr_rule_create(root ? in_root : d.by_port,
						     root ? &none.p : &value.p, n, list);
			assert_int_equal(rule ? 0 : errno, error);
			if (rule)
				assert_int_equal(mlx5dv_dr_rule_destroy(rule), 0);
		}
	}
	for (int i = 0; i < NONE; i++)
		assert_int_equal(mlx5dv_dr_action_destroy(a[i]), 0);
	assert_int_equal(mlx5dv_dr_matcher_destroy(in_root), 0);
	dr_fini(&d);
	raw_end_fini(&e);
}

static void an_ip_version_may_be_its_own_mask(void **state)
{
	struct match mask = match_of(IP_VERSION, 4 << 1), wide = match_of(IP_VERSION, 0xf << 1);
	struct match six = match_of(IP_VERSION, 6 << 1);
	struct pkt v4 = pkt_plain(1, 2), v6 = { 0 };
	struct mlx5dv_dr_matcher *matcher;
	struct mlx5dv_dr_action *qp;
	struct mlx5dv_dr_rule *rule;
	struct raw_pair p;
	struct dr d;

	pkt_eth(&v6, 2, 1, 0x86dd);
	pkt_ip6(&v6, 1, 2, 17);
	pkt_udp(&v6, 1, 2);
	pkt_end(&v6);
	raw_pair_init(&p, "mlx5_1", "mlx5_0");
	dr_init(&d, p.to[0].context, MLX5DV_DR_DOMAIN_TYPE_NIC_RX);
	qp = mlx5dv_dr_action_create_dest_ibv_qp(p.to[0].qp);
	matcher = mlx5dv_dr_matcher_create(d.table, 1, OUTER, &mask.p);
	assert_true(qp && matcher);
	rule = mlx5dv_dr_rule_create(matcher, &mask.p, 1, &qp);
	assert_non_null(rule);
	raw_send(&p, &v6); /* nobody gets it */
	assert_int_equal(raw_who_gets(&p, &v4), 0);
	assert_int_equal(p.to[0].len, v4.len);
	assert_null(mlx5dv_dr_rule_create(matcher, &six.p, 1, &qp));
	assert_int_equal(errno, EOPNOTSUPP);
	assert_null(mlx5dv_dr_matcher_create(d.table, 2, OUTER, &wide.p));
	assert_int_equal(errno, EOPNOTSUPP);
	assert_int_equal(mlx5dv_dr_rule_destroy(rule), 0);
	assert_int_equal(mlx5dv_dr_matcher_destroy(matcher), 0);
	assert_int_equal(mlx5dv_dr_action_destroy(qp), 0);
	dr_fini(&d);
	raw_pair_fini(&p);
}

static void a_dump_lists_tables_matchers_and_rules(void **state)
{
	struct ibv_context *context = test_open("mlx5_0");
	struct mlx5dv_dr_action *drop = mlx5dv_dr_action_create_drop();
	struct mlx5dv_dr_rule *rule;
	char *text = NULL;
	size_t size;
	FILE *out;
	struct dr d;

	dr_init(&d, context, MLX5DV_DR_DOMAIN_TYPE_NIC_RX);
	rule = dr_rule(&d, 0x1234, drop, NULL);
	assert_non_null(rule);
	out = open_memstream(&text, &size);
	assert_int_equal(mlx5dv_dump_dr_domain(out, d.domain), 0);
	fclose(out);
	assert_non_null(strstr(text, "receive of mlx5_0 port 1"));
	assert_non_null(strstr(text, "level 1"));
	assert_non_null(strstr(text, "outer.udp_dport=0x1234 -> drop"));
	free(text);
	assert_int_equal(mlx5dv_dump_dr_domain(NULL, d.domain), EINVAL);
	assert_int_equal(mlx5dv_dr_rule_destroy(rule), 0);
	assert_int_equal(mlx5dv_dr_action_destroy(drop), 0);
	dr_fini(&d);
	test_close(context);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_flow_leads_from_a_matcher_to_a_queue_pair),
		cmocka_unit_test(flow_actions_change_outgoing_and_incoming_packets),
		cmocka_unit_test(matchers_refuse_unknown_attributes),
		cmocka_unit_test(flows_refuse_unsuitable_actions),
		cmocka_unit_test(masks_have_any_length),
		cmocka_unit_test(direct_rules_jump_through_tables),
		cmocka_unit_test(a_rule_leads_back_to_the_root_from_a_priority_on),
		cmocka_unit_test(a_destination_array_changes_each_copy_separately),
		cmocka_unit_test(vlan_tags_are_pushed_and_popped),
		cmocka_unit_test(fdb_rules_deliver_and_drop),
		cmocka_unit_test(a_frame_that_is_sent_to_its_own_function_comes_back),
		cmocka_unit_test(direct_rules_refuse_invalid_arguments),
		cmocka_unit_test(actions_must_be_in_the_order_of_the_device),
		cmocka_unit_test(an_ip_version_may_be_its_own_mask),
		cmocka_unit_test(a_dump_lists_tables_matchers_and_rules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
