/* SPDX-License-Identifier: BSD-2-Clause */
/* Flow rules on packets of queue pairs: tables RDMA_RX and RDMA_TX, and those of the RDMA transport. */
#include "pair.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "mlx5/ifc.h"
#include "mlx5/ifc_cmd.h"
#include "mlx5/ifc_val.h"

enum {
	MISC = 2,
	BTH_OPCODE = 0x57,
	BTH_DST_QP = 0x69,
	SEND_ONLY = 0x04,
	WRITE_ONLY = 0x0a,
	UD_SEND_ONLY = 0x64
};

#define DEV "/dev/infiniband/"

static struct pair p;
static struct ibv_context *control; /* privileged: its rules are on tables of the transport, too */

struct match {
	size_t size;
	uint8_t bytes[512];
};

struct rule {
	struct mlx5dv_flow_matcher *matcher;
	struct ibv_flow *flow;
};

struct counter {
	struct mlx5dv_devx_obj *obj;
	uint32_t number;
};

static struct ibv_context *open_with(int *fds, uint32_t count)
{
	struct ibv_fd_arr arr = { .arr = fds, .count = count };
	struct mlx5dv_context_attr attr = { .flags = MLX5DV_CONTEXT_FLAGS_DEVX,
					    .comp_mask = MLX5DV_CONTEXT_ATTR_MASK_FD_ARRAY,
					    .fds = &arr };
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = mlx5dv_open_device(list[0], &attr);
	int saved = errno;

	ibv_free_device_list(list);
	errno = saved;
	return ctx;
}

static int open_control(void **state)
{
	int fds[] = { open(DEV "mlx5_perm_ctrl_local", O_RDONLY),
		      open(DEV "mlx5_perm_ctrl_other_vhca", O_RDONLY) };

	assert_true(fds[0] >= 0 && fds[1] >= 0);
	control = open_with(fds, 2);
	assert_non_null(control);
	close(fds[0]);
	close(fds[1]);
	return 0;
}

static int close_control(void **state)
{
	return ibv_close_device(control);
}

static struct counter counter(void)
{
	uint8_t in[16] = { 0 }, out[16] = { 0 };
	struct counter c;

	ifc_set(in, cmd_in, opcode, IFC_OP_ALLOC_FLOW_COUNTER);
	c.obj = mlx5dv_devx_obj_create(control, in, sizeof(in), out, sizeof(out));
	assert_non_null(c.obj);
	c.number = ifc_get(out, obj_out, number);
	return c;
}

static uint64_t counted(const struct counter *c)
{
	uint8_t in[IFC_LEN_query_flow_counter_in] = { 0 };
	uint8_t out[IFC_LEN_query_flow_counter_out + 16] = { 0 };

	ifc_set(in, cmd_in, opcode, IFC_OP_QUERY_FLOW_COUNTER);
	ifc_set(in, query_flow_counter_in, flow_counter_id, c->number);
	assert_int_equal(mlx5dv_devx_obj_query(c->obj, in, sizeof(in), out, sizeof(out)), 0);
	return ifc_load(out, 8 * IFC_LEN_query_flow_counter_out, 64);
}

static struct mlx5dv_flow_matcher_attr attr_of(enum mlx5dv_flow_table_type type, struct match *mask)
{
	bool transport = type == MLX5DV_FLOW_TABLE_TYPE_RDMA_TRANSPORT_RX ||
			 type == MLX5DV_FLOW_TABLE_TYPE_RDMA_TRANSPORT_TX;

	return (struct mlx5dv_flow_matcher_attr){
		.match_criteria_enable = MISC,
		.match_mask = (void *)mask,
		.comp_mask = MLX5DV_FLOW_MATCHER_MASK_FT_TYPE |
			     (transport ? MLX5DV_FLOW_MATCHER_MASK_IB_PORT : 0),
		.ft_type = type,
		.ib_port = 1,
	};
}

/* Packets with this opcode to the second queue pair. */
static struct rule rule(enum mlx5dv_flow_table_type type, uint8_t opcode,
			struct mlx5dv_flow_action_attr *actions, size_t count)
{
	struct match mask = { .size = 128 }, value = { .size = 128 };
	struct mlx5dv_flow_matcher_attr attr = attr_of(type, &mask);
	uint32_t qpn = p.qp[1]->qp_num;
	struct rule r;

	mask.bytes[BTH_OPCODE] = 0xff;
	value.bytes[BTH_OPCODE] = opcode;
	for (int i = 0; i < 3; i++) {
		mask.bytes[BTH_DST_QP + i] = 0xff;
		value.bytes[BTH_DST_QP + i] = qpn >> 8 * (2 - i);
	}
	r.matcher = mlx5dv_create_flow_matcher(control, &attr);
	assert_non_null(r.matcher);
	r.flow = mlx5dv_create_flow(r.matcher, (void *)&value, count, actions);
	assert_non_null(r.flow);
	return r;
}

static void unrule(struct rule *r)
{
	assert_int_equal(ibv_destroy_flow(r->flow), 0);
	assert_int_equal(mlx5dv_destroy_flow_matcher(r->matcher), 0);
}

static int make(void **state)
{
	pair_make(&p, &(struct pair_wish){ .type = IBV_QPT_RC, .sig_all = true });
	return 0;
}

static int drop(void **state)
{
	pair_drop(&p);
	return 0;
}

static enum ibv_wc_status send_one(void)
{
	struct ibv_sge sge = pair_sge(&p, 0, 100);
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .sg_list = &sge, .num_sge = 1 };

	pair_fill_wr(&p, &wr, 0);
	pair_post(&p, &wr);
	return pair_wait(p.cq[0]).status;
}

static enum ibv_wc_status write_one(size_t to)
{
	struct ibv_sge sge = pair_sge(&p, 0, 100);
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE, .sg_list = &sge, .num_sge = 1 };

	pair_fill_wr(&p, &wr, to);
	pair_post(&p, &wr);
	return pair_wait(p.cq[0]).status;
}

static const enum mlx5dv_flow_table_type types[] = {
	MLX5DV_FLOW_TABLE_TYPE_RDMA_RX,
	MLX5DV_FLOW_TABLE_TYPE_RDMA_TX,
	MLX5DV_FLOW_TABLE_TYPE_RDMA_TRANSPORT_RX,
	MLX5DV_FLOW_TABLE_TYPE_RDMA_TRANSPORT_TX,
};

/* Also where an ordinary write needs no packet, between processes of a host. */
static void a_rule_counts_what_it_matches_and_lets_it_pass(void **state)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		struct counter sends = counter(), writes = counter();
		struct mlx5dv_flow_action_attr a[2] = {
			{ .type = MLX5DV_FLOW_ACTION_COUNTERS_DEVX, .obj = sends.obj },
			{ .type = MLX5DV_FLOW_ACTION_DEFAULT_MISS },
		};
		struct rule r = rule(types[i], SEND_ONLY, a, 2), w;

		a[0].obj = writes.obj;
		w = rule(types[i], WRITE_ONLY, a, 2);
		memset(p.buf, i + 1, 100);
		memset(p.buf + PAIR_BUF / 2, 0, 200);
		pair_post_recv(&p, 1, 5, PAIR_BUF / 2, 100);
		assert_int_equal(send_one(), IBV_WC_SUCCESS);
		pair_expect(p.cq[1], IBV_WC_RECV, 5);
		assert_int_equal(write_one(PAIR_BUF / 2 + 100), IBV_WC_SUCCESS);
		assert_int_equal(write_one(PAIR_BUF / 2 + 100), IBV_WC_SUCCESS);
		assert_memory_equal(p.buf, p.buf + PAIR_BUF / 2, 100);
		assert_memory_equal(p.buf, p.buf + PAIR_BUF / 2 + 100, 100);
		assert_int_equal(counted(&sends), 1);
		assert_int_equal(counted(&writes), 2);
		unrule(&w);
		unrule(&r);
		assert_int_equal(write_one(PAIR_BUF / 2), IBV_WC_SUCCESS);
		assert_int_equal(counted(&writes), 2);
		assert_int_equal(mlx5dv_devx_obj_destroy(sends.obj), 0);
		assert_int_equal(mlx5dv_devx_obj_destroy(writes.obj), 0);
	}
}

static void a_request_that_a_rule_drops_is_never_acknowledged(void **state)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		struct mlx5dv_flow_action_attr a = { .type = MLX5DV_FLOW_ACTION_DROP };
		struct rule r;

		make(NULL);
		r = rule(types[i], WRITE_ONLY, &a, 1);
		memset(p.buf, 7, 100);
		memset(p.buf + PAIR_BUF / 2, 0, 100);
		pair_post_recv(&p, 1, 5, PAIR_BUF / 2 + 200, 100);
		assert_int_equal(send_one(), IBV_WC_SUCCESS); /* another opcode */
		assert_int_equal(write_one(PAIR_BUF / 2), IBV_WC_RETRY_EXC_ERR);
		assert_int_equal(p.buf[PAIR_BUF / 2], 0);
		unrule(&r);
		drop(NULL);
	}
}

/* The sender does not hear of it; the next datagram arrives. */
static void a_datagram_that_a_rule_drops_is_lost(void **state)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		struct mlx5dv_flow_action_attr a[2] = {
			{ .type = MLX5DV_FLOW_ACTION_COUNTERS_DEVX },
			{ .type = MLX5DV_FLOW_ACTION_DROP },
		};
		struct counter c;
		struct rule r;

		pair_make(&p, &(struct pair_wish){ .type = IBV_QPT_UD, .sig_all = true });
		c = counter();
		a[0].obj = c.obj;
		r = rule(types[i], UD_SEND_ONLY, a, 2);
		pair_post_recv(&p, 1, 5, PAIR_BUF / 2, 200);
		p.buf[0] = 1;
		assert_int_equal(send_one(), IBV_WC_SUCCESS);
		while (counted(&c) < 1)
			assert_int_equal(ibv_poll_cq(p.cq[1], 1, &(struct ibv_wc){ 0 }), 0);
		unrule(&r);
		p.buf[0] = 2;
		assert_int_equal(send_one(), IBV_WC_SUCCESS);
		pair_expect(p.cq[1], IBV_WC_RECV, 5);
		assert_int_equal(p.buf[PAIR_BUF / 2 + 40], 2);
		assert_int_equal(counted(&c), 1);
		assert_int_equal(mlx5dv_devx_obj_destroy(c.obj), 0);
		drop(NULL);
	}
}

/* As rdma-core's suite builds them: everything goes to a table of commands, whose entry drops. */
static void a_table_of_commands_drops(void **state)
{
	static const unsigned int numbers[] = { IFC_TABLE_NIC_RX_RDMA, IFC_TABLE_NIC_TX_RDMA };

	for (size_t i = 0; i < 2; i++) {
		uint8_t in[IFC_LEN_create_flow_table_in] = { 0 }, out[16] = { 0 };
		uint8_t group[IFC_LEN_create_flow_group_in] = { 0 },
			fte[IFC_LEN_set_fte_in] = { 0 };
		uint8_t *fc = ifc_ptr(fte, set_fte_in, flow_context);
		struct mlx5dv_flow_action_attr a = { .type = MLX5DV_FLOW_ACTION_DEST_DEVX };
		struct mlx5dv_devx_obj *table, *g, *entry;
		uint32_t id;
		struct rule r;

		ifc_set(in, cmd_in, opcode, IFC_OP_CREATE_FLOW_TABLE);
		ifc_set(in, flow_cmd_in, table_type, numbers[i]);
		ifc_set(ifc_ptr(in, create_flow_table_in, flow_table_context), flow_table_context,
			level, 200);
		table = mlx5dv_devx_obj_create(control, in, sizeof(in), out, sizeof(out));
		assert_non_null(table);
		id = ifc_get(out, create_flow_table_out, table_id);
		ifc_set(group, cmd_in, opcode, IFC_OP_CREATE_FLOW_GROUP);
		ifc_set(group, flow_cmd_in, table_type, numbers[i]);
		ifc_set(group, flow_cmd_in, table_id, id);
		g = mlx5dv_devx_obj_create(control, group, sizeof(group), out, sizeof(out));
		assert_non_null(g);
		ifc_set(fte, cmd_in, opcode, IFC_OP_SET_FLOW_TABLE_ENTRY);
		ifc_set(fte, flow_cmd_in, table_type, numbers[i]);
		ifc_set(fte, flow_cmd_in, table_id, id);
		ifc_set(fc, flow_context, group_id, ifc_get(out, create_flow_group_out, group_id));
		ifc_set(fc, flow_context, action, IFC_FLOW_DROP);
		entry = mlx5dv_devx_obj_create(control, fte, sizeof(fte), out, sizeof(out));
		assert_non_null(entry);
		a.obj = table;
		r = rule(types[i], SEND_ONLY, &a, 1);
		assert_int_equal(send_one(), IBV_WC_RETRY_EXC_ERR);
		unrule(&r);
		assert_int_equal(mlx5dv_devx_obj_destroy(entry), 0);
		assert_int_equal(mlx5dv_devx_obj_destroy(g), 0);
		assert_int_equal(mlx5dv_devx_obj_destroy(table), 0);
		drop(NULL);
		make(NULL);
	}
}

static void matchers_and_rules_that_rdma_tables_cannot_have_are_refused(void **state)
{
	struct match mask = { .size = 128 }, value = { .size = 128 };
	struct mlx5dv_flow_matcher_attr attr;
	struct mlx5dv_flow_matcher *m;
	struct mlx5dv_flow_action_attr tag[2] = { { .type = MLX5DV_FLOW_ACTION_TAG,
						    .tag_value = 1 },
						  { .type = MLX5DV_FLOW_ACTION_DROP } };

	for (size_t i = 2; i < 4; i++) {
		attr = attr_of(types[i], &mask);
		attr.comp_mask = MLX5DV_FLOW_MATCHER_MASK_FT_TYPE;
		assert_null(mlx5dv_create_flow_matcher(control, &attr));
		assert_int_equal(errno, EINVAL);
		attr = attr_of(types[i], &mask);
		attr.ib_port = 9;
		assert_null(mlx5dv_create_flow_matcher(control, &attr));
		assert_int_equal(errno, EINVAL);
	}
	attr = attr_of(MLX5DV_FLOW_TABLE_TYPE_RDMA_RX, &mask);
	attr.comp_mask |= MLX5DV_FLOW_MATCHER_MASK_IB_PORT;
	assert_null(mlx5dv_create_flow_matcher(control, &attr));
	assert_int_equal(errno, EINVAL);
	attr = attr_of(MLX5DV_FLOW_TABLE_TYPE_RDMA_RX, &mask);
	m = mlx5dv_create_flow_matcher(control, &attr);
	assert_non_null(m);
	assert_null(mlx5dv_create_flow(m, (void *)&value, 2, tag));
	assert_int_equal(errno, EINVAL);
	assert_null(mlx5dv_create_flow(m, (void *)&value, 0, tag));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(mlx5dv_destroy_flow_matcher(m), 0);
}

/* The tables of the transport lie nearer to the queue pairs: behind RDMA_RX, and before RDMA_TX. */
static void tables_of_the_transport_come_last_in_and_first_out(void **state)
{
	static const enum mlx5dv_flow_table_type order[2][2] = {
		{ MLX5DV_FLOW_TABLE_TYPE_RDMA_RX, MLX5DV_FLOW_TABLE_TYPE_RDMA_TRANSPORT_RX },
		{ MLX5DV_FLOW_TABLE_TYPE_RDMA_TRANSPORT_TX, MLX5DV_FLOW_TABLE_TYPE_RDMA_TX },
	};

	for (size_t i = 0; i < 2; i++) {
		struct mlx5dv_flow_action_attr drops = { .type = MLX5DV_FLOW_ACTION_DROP };
		struct mlx5dv_flow_action_attr counts[2] = {
			{ .type = MLX5DV_FLOW_ACTION_COUNTERS_DEVX },
			{ .type = MLX5DV_FLOW_ACTION_DEFAULT_MISS },
		};
		struct counter c = counter();
		struct rule first, second;

		make(NULL);
		counts[0].obj = c.obj;
		second = rule(order[i][1], WRITE_ONLY, counts, 2);
		assert_int_equal(write_one(PAIR_BUF / 2), IBV_WC_SUCCESS);
		assert_int_equal(counted(&c), 1);
		first = rule(order[i][0], WRITE_ONLY, &drops, 1);
		assert_int_equal(write_one(PAIR_BUF / 2), IBV_WC_RETRY_EXC_ERR);
		assert_int_equal(counted(&c), 1);
		unrule(&first);
		unrule(&second);
		assert_int_equal(mlx5dv_devx_obj_destroy(c.obj), 0);
		drop(NULL);
	}
}

/* ---- privileges ---- */

static struct mlx5dv_devx_obj *declare_control(struct ibv_context *ctx, unsigned int function,
					       uint8_t *status)
{
	uint8_t in[IFC_LEN_general_obj_in_cmd_hdr + IFC_LEN_rdma_ctrl] = { 0 }, out[16] = { 0 };
	struct mlx5dv_devx_obj *obj;

	ifc_set(in, cmd_in, opcode, IFC_OP_CREATE_GENERAL_OBJECT);
	ifc_set(in, general_obj_in_cmd_hdr, obj_type, IFC_OBJ_RDMA_CTRL);
	ifc_set(in + IFC_LEN_general_obj_in_cmd_hdr, rdma_ctrl, other_vhca_id, function);
	obj = mlx5dv_devx_obj_create(ctx, in, sizeof(in), out, sizeof(out));
	*status = ifc_get(out, cmd_out, status);
	return obj;
}

static void query(struct ibv_context *ctx, unsigned int page, uint8_t *out, size_t size)
{
	uint8_t in[IFC_LEN_query_hca_cap_in] = { 0 };

	ifc_set(in, cmd_in, opcode, IFC_OP_QUERY_HCA_CAP);
	ifc_set(in, cmd_in, op_mod, IFC_CAP_OP_MOD(page, true));
	assert_int_equal(mlx5dv_devx_general_cmd(ctx, in, sizeof(in), out, size), 0);
}

/* Of an InfiniBand port, too, which has no others. */
static void capabilities_tell_of_the_tables(void **state)
{
	static uint8_t out[IFC_LEN_query_hca_cap_out];
	const uint8_t *cap = ifc_cptr(out, query_hca_cap_out, capability);
	struct ibv_port_attr port;
	const uint8_t *table;

	assert_int_equal(ibv_query_port(p.ctx, 1, &port), 0);
	query(p.ctx, IFC_CAP_NIC_FLOW_TABLE, out, sizeof(out));
	table = ifc_cptr(cap, flow_table_nic_cap, flow_table_properties_nic_receive_rdma);
	assert_int_equal(ifc_get(table, flow_table_prop_layout, ft_support), 1);
	table = ifc_cptr(cap, flow_table_nic_cap, flow_table_properties_nic_receive);
	assert_int_equal(ifc_get(table, flow_table_prop_layout, ft_support),
			 port.link_layer == IBV_LINK_LAYER_ETHERNET);
	query(p.ctx, IFC_CAP_ADV_RDMA, out, sizeof(out));
	table = ifc_cptr(cap, adv_rdma_cap, rdma_transport_rx_flow_table_properties);
	assert_int_equal(ifc_get(table, flow_table_prop_layout, ft_support), 1);
}

static void a_descriptor_of_the_device_gives_its_privilege(void **state)
{
	static uint8_t out[IFC_LEN_query_hca_cap_out];
	const uint8_t *cap = ifc_cptr(out, query_hca_cap_out, capability);
	struct match mask = { .size = 128 };
	struct mlx5dv_flow_matcher_attr attr =
		attr_of(MLX5DV_FLOW_TABLE_TYPE_RDMA_TRANSPORT_RX, &mask);
	unsigned int function;
	struct mlx5dv_devx_obj *obj;
	uint8_t status;

	query(p.ctx, IFC_CAP_GENERAL, out, sizeof(out));
	assert_int_equal(ifc_get(cap, cmd_hca_cap, uctx_cap), 1 << 3 | 1 << 4);
	function = ifc_get(cap, cmd_hca_cap, vhca_id);
	query(p.ctx, IFC_CAP_GENERAL_2, out, sizeof(out));
	assert_true(ifc_get(cap, cmd_hca_cap_2, general_obj_types_127_64) >>
			    (IFC_OBJ_RDMA_CTRL - 64) &
		    1);
	/* an ordinary context has none */
	assert_null(mlx5dv_create_flow_matcher(p.ctx, &attr));
	assert_int_equal(errno, EOPNOTSUPP);
	assert_null(declare_control(p.ctx, function, &status));
	assert_int_equal(errno, EREMOTEIO);
	assert_int_equal(status, IFC_STATUS_BAD_OP);
	/* with it, the own function only, as there is no other */
	assert_null(declare_control(control, function + 1, &status));
	assert_int_equal(status, IFC_STATUS_BAD_PARAM);
	obj = declare_control(control, function, &status);
	assert_non_null(obj);
	assert_int_equal(mlx5dv_devx_obj_destroy(obj), 0);
}

static void other_descriptors_give_no_context(void **state)
{
	int other = open(DEV "mlx5_perm_ctrl_other_vhca", O_RDONLY);
	int fds[] = { other, open("/dev/null", O_RDONLY) }, closed = 1000;
	struct match mask = { .size = 128 };
	struct mlx5dv_flow_matcher_attr attr =
		attr_of(MLX5DV_FLOW_TABLE_TYPE_RDMA_TRANSPORT_RX, &mask);
	struct ibv_context *ctx;

	assert_null(open_with(fds, 2));
	assert_int_equal(errno, EINVAL);
	assert_null(open_with(&closed, 1));
	assert_int_equal(errno, EBADF);
	assert_null(open_with(NULL, 1));
	assert_int_equal(errno, EFAULT);
	/* the other privilege is for switches in switchdev mode */
	ctx = open_with(fds, 1);
	assert_non_null(ctx);
	assert_null(mlx5dv_create_flow_matcher(ctx, &attr));
	assert_int_equal(errno, EOPNOTSUPP);
	assert_int_equal(ibv_close_device(ctx), 0);
	ctx = open_with(NULL, 0);
	assert_non_null(ctx);
	assert_int_equal(ibv_close_device(ctx), 0);
	close(fds[0]);
	close(fds[1]);
}

#define T(test) cmocka_unit_test_setup_teardown(test, make, drop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_rule_counts_what_it_matches_and_lets_it_pass),
		cmocka_unit_test(a_request_that_a_rule_drops_is_never_acknowledged),
		cmocka_unit_test(a_datagram_that_a_rule_drops_is_lost),
		T(a_table_of_commands_drops),
		T(matchers_and_rules_that_rdma_tables_cannot_have_are_refused),
		cmocka_unit_test(tables_of_the_transport_come_last_in_and_first_out),
		T(capabilities_tell_of_the_tables),
		T(a_descriptor_of_the_device_gives_its_privilege),
		T(other_descriptors_give_no_context),
	};

	return cmocka_run_group_tests(tests, open_control, close_control);
}
