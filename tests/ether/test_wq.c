/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Work queues, indirection tables and queue pairs that hash over them: what they are, what is
 * refused, and which objects keep others busy.
 */
#include "verbs_test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/mlx5dv.h>

static const char *device = "mlx5_0", *neighbour = "mlx5_1";
static bool is_mlx4;
static uint8_t key[40] = { 1, 2, 3 };

struct rig {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
};

static void set_up(struct rig *r, const char *name)
{
	r->context = test_open(name);
	r->pd = ibv_alloc_pd(r->context);
	r->cq = ibv_create_cq(r->context, 256, NULL, NULL, 0);
	assert_non_null(r->pd);
	assert_non_null(r->cq);
}

static void tear_down(struct rig *r)
{
	assert_int_equal(ibv_destroy_cq(r->cq), 0);
	assert_int_equal(ibv_dealloc_pd(r->pd), 0);
	test_close(r->context);
}

static struct ibv_wq *create_wq(struct rig *r)
{
	struct ibv_wq_init_attr attr = {
		.wq_type = IBV_WQT_RQ, .max_wr = 10, .max_sge = 1, .pd = r->pd, .cq = r->cq
	};
	struct ibv_wq *wq = ibv_create_wq(r->context, &attr);

	assert_non_null(wq);
	assert_int_equal(attr.max_wr, 16);
	return wq;
}

static int modify(struct ibv_wq *wq, enum ibv_wq_state state)
{
	struct ibv_wq_attr attr = { .attr_mask = IBV_WQ_ATTR_STATE, .wq_state = state };

	return ibv_modify_wq(wq, &attr);
}

static struct ibv_rwq_ind_table *create_table(struct rig *r, struct ibv_wq **wqs, uint32_t log)
{
	struct ibv_rwq_ind_table_init_attr attr = { .log_ind_tbl_size = log, .ind_tbl = wqs };

	return ibv_create_rwq_ind_table(r->context, &attr);
}

static struct ibv_qp *create_rss(struct rig *r, struct ibv_rwq_ind_table *table, uint64_t fields)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_RAW_PACKET,
		.comp_mask =
			IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH,
		.pd = r->pd,
		.rwq_ind_tbl = table,
		.rx_hash_conf = { .rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ,
				  .rx_hash_key_len = sizeof(key),
				  .rx_hash_key = key,
				  .rx_hash_fields_mask = fields },
	};

	return ibv_create_qp_ex(r->context, &attr);
}

static void a_work_queue_starts_in_reset_with_a_number_of_its_own(void **state)
{
	struct ibv_wq *a, *b;
	struct rig r;

	set_up(&r, device);
	a = create_wq(&r);
	b = create_wq(&r);
	assert_int_equal(a->state, IBV_WQS_RESET);
	assert_true(a->wq_num && a->wq_num != b->wq_num);
	assert_ptr_equal(a->context, r.context);
	assert_ptr_equal(a->cq, r.cq);
	assert_int_equal(ibv_destroy_wq(a), 0);
	assert_int_equal(ibv_destroy_wq(b), 0);
	tear_down(&r);
}

static void only_the_documented_state_changes_are_allowed(void **state)
{
	static const bool allowed[3][3] = { { true, true, false },
					    { true, true, true },
					    { true, false, true } };
	struct rig r;

	set_up(&r, device);
	for (int from = 0; from < 3; from++)
		for (int to = 0; to < 3; to++) {
			struct ibv_wq *wq = create_wq(&r);

			if (from)
				assert_int_equal(modify(wq, IBV_WQS_RDY), 0);
			if (from == IBV_WQS_ERR)
				assert_int_equal(modify(wq, IBV_WQS_ERR), 0);
			assert_int_equal(modify(wq, to), allowed[from][to] ? 0 : EINVAL);
			assert_int_equal(wq->state, allowed[from][to] ? to : from);
			assert_int_equal(ibv_destroy_wq(wq), 0);
		}
	tear_down(&r);
}

static void modifying_refuses_unknown_attributes(void **state)
{
	struct ibv_wq_attr attr = { 0 };
	struct ibv_wq *wq;
	struct rig r;

	set_up(&r, device);
	wq = create_wq(&r);
	assert_int_equal(ibv_modify_wq(wq, &attr), EINVAL);
	attr.attr_mask = 1 << 3;
	assert_int_equal(ibv_modify_wq(wq, &attr), EINVAL);
	attr = (struct ibv_wq_attr){ .attr_mask = IBV_WQ_ATTR_STATE, .wq_state = IBV_WQS_UNKNOWN };
	assert_int_equal(ibv_modify_wq(wq, &attr), EINVAL);
	attr = (struct ibv_wq_attr){ .attr_mask = IBV_WQ_ATTR_STATE | IBV_WQ_ATTR_CURR_STATE,
				     .wq_state = IBV_WQS_RDY,
				     .curr_wq_state = IBV_WQS_ERR };
	assert_int_equal(ibv_modify_wq(wq, &attr), EINVAL);
	assert_int_equal(wq->state, IBV_WQS_RESET);
	attr = (struct ibv_wq_attr){ .attr_mask = IBV_WQ_ATTR_FLAGS,
				     .flags_mask = IBV_WQ_FLAGS_PCI_WRITE_END_PADDING };
	assert_int_equal(ibv_modify_wq(wq, &attr), EOPNOTSUPP);
	attr.flags_mask = attr.flags = IBV_WQ_FLAGS_CVLAN_STRIPPING;
	assert_int_equal(ibv_modify_wq(wq, &attr), is_mlx4 ? EOPNOTSUPP : 0);
	attr.flags_mask = attr.flags = 0;
	assert_int_equal(ibv_modify_wq(wq, &attr), is_mlx4 ? EOPNOTSUPP : 0);
	assert_int_equal(ibv_destroy_wq(wq), 0);
	tear_down(&r);
}

static void creating_refuses_invalid_attributes(void **state)
{
	struct ibv_wq_init_attr good, attr;
	struct rig r, other;

	set_up(&r, device);
	set_up(&other, neighbour);
	good = (struct ibv_wq_init_attr){ .max_wr = 4, .max_sge = 1, .pd = r.pd, .cq = r.cq };
#define REFUSED(error, ...)                                                                        \
	do {                                                                                       \
		attr = good;                                                                       \
		__VA_ARGS__;                                                                       \
		errno = 0;                                                                         \
		assert_null(ibv_create_wq(r.context, &attr));                                      \
		assert_int_equal(errno, error);                                                    \
	} while (0)
	REFUSED(EINVAL, attr.max_wr = 1 << 20);
	REFUSED(EINVAL, attr.max_sge = 1000);
	/* The words of either driver. */
	REFUSED(is_mlx4 ? EOPNOTSUPP : EINVAL, attr.wq_type = 1);
	REFUSED(is_mlx4 ? EOPNOTSUPP : EINVAL, attr.comp_mask = 2);
	if (!is_mlx4)
		REFUSED(EINVAL, attr.max_wr = 0);
	REFUSED(EINVAL, attr.pd = NULL);
	REFUSED(EINVAL, attr.cq = NULL);
	REFUSED(EINVAL, attr.pd = other.pd);
	REFUSED(EINVAL, attr.cq = other.cq);
	REFUSED(EOPNOTSUPP, attr.comp_mask = IBV_WQ_INIT_ATTR_FLAGS; attr.create_flags = 1 << 8);
	tear_down(&other);
	tear_down(&r);
}

static void receives_are_flushed_when_the_queue_fails(void **state)
{
	struct ibv_recv_wr wr = { .wr_id = 77 }, *bad;
	struct ibv_wq *wq;
	struct ibv_wc wc;
	struct rig r;

	set_up(&r, device);
	wq = create_wq(&r);
	assert_int_equal(ibv_post_wq_recv(wq, &wr, &bad), EINVAL); /* in RESET it would be lost */
	assert_ptr_equal(bad, &wr);
	assert_int_equal(modify(wq, IBV_WQS_RDY), 0);
	for (int i = 0; i < 16; i++)
		assert_int_equal(ibv_post_wq_recv(wq, &wr, &bad), 0);
	assert_int_equal(ibv_post_wq_recv(wq, &wr, &bad), ENOMEM);
	assert_int_equal(modify(wq, IBV_WQS_ERR), 0);
	for (int i = 0; i < 16; i++) {
		assert_int_equal(ibv_poll_cq(r.cq, 1, &wc), 1);
		assert_int_equal(wc.status, IBV_WC_WR_FLUSH_ERR);
		assert_int_equal(wc.wr_id, 77);
		assert_int_equal(wc.qp_num, wq->wq_num);
	}
	assert_int_equal(ibv_poll_cq(r.cq, 1, &wc), 0);
	/* Later ones at once. */
	wr.wr_id = 78;
	assert_int_equal(ibv_post_wq_recv(wq, &wr, &bad), 0);
	assert_int_equal(ibv_poll_cq(r.cq, 1, &wc), 1);
	assert_int_equal(wc.wr_id, 78);
	/* And after a reset there is nothing left of any of it. */
	assert_int_equal(ibv_post_wq_recv(wq, &wr, &bad), 0);
	assert_int_equal(modify(wq, IBV_WQS_RESET), 0);
	assert_int_equal(modify(wq, IBV_WQS_RDY), 0);
	assert_int_equal(ibv_poll_cq(r.cq, 1, &wc), 0);
	for (int i = 0; i < 16; i++)
		assert_int_equal(ibv_post_wq_recv(wq, &wr, &bad), 0);
	assert_int_equal(ibv_destroy_wq(wq), 0);
	tear_down(&r);
}

static void a_table_takes_queues_in_any_state_any_number_of_times(void **state)
{
	struct ibv_wq *wq[3], *entries[2048];
	struct ibv_device_attr_ex caps;
	struct ibv_rwq_ind_table *table;
	struct rig r;
	uint32_t log = 0;

	set_up(&r, device);
	for (int i = 0; i < 3; i++)
		wq[i] = create_wq(&r);
	modify(wq[1], IBV_WQS_RDY);
	modify(wq[2], IBV_WQS_RDY);
	modify(wq[2], IBV_WQS_ERR);
	assert_int_equal(ibv_query_device_ex(r.context, NULL, &caps), 0);
	assert_int_equal(caps.rss_caps.max_rwq_indirection_table_size, is_mlx4 ? 128 : 2048);
	for (size_t i = 0; i < 2048; i++)
		entries[i] = wq[i % 3];
	for (log = 0; 1u << log <= caps.rss_caps.max_rwq_indirection_table_size; log++) {
		table = create_table(&r, entries, log);
		assert_non_null(table);
		assert_ptr_equal(table->context, r.context);
		assert_int_equal(ibv_destroy_rwq_ind_table(table), 0);
	}
	errno = 0;
	assert_null(create_table(&r, entries, log));
	assert_int_equal(errno, EINVAL);
	errno = 0;
	assert_null(create_table(&r, entries, 40));
	assert_int_equal(errno, EINVAL);
	for (int i = 0; i < 3; i++)
		assert_int_equal(ibv_destroy_wq(wq[i]), 0);
	tear_down(&r);
}

static void a_table_refuses_null_and_destroyed_queues(void **state)
{
	struct ibv_rwq_ind_table_init_attr attr = { .log_ind_tbl_size = 1, .comp_mask = 1 };
	struct ibv_wq *entries[2], *foreign, *dead;
	struct rig r, other;

	set_up(&r, device);
	set_up(&other, neighbour);
	entries[0] = create_wq(&r);
	foreign = create_wq(&other);
	dead = create_wq(&r);
	assert_int_equal(ibv_destroy_wq(dead), 0);
	for (int i = 0; i < 3; i++) {
		entries[1] = i == 0 ? NULL : i == 1 ? foreign : dead;
		errno = 0;
		assert_null(create_table(&r, entries, 1));
		assert_int_equal(errno, EINVAL);
	}
	errno = 0;
	assert_null(create_table(&r, NULL, 0));
	assert_int_equal(errno, EINVAL);
	attr.ind_tbl = entries;
	entries[1] = entries[0];
	errno = 0;
	assert_null(ibv_create_rwq_ind_table(r.context, &attr));
	assert_int_equal(errno, EINVAL);
	/* Nothing was kept of any of these. */
	assert_int_equal(ibv_destroy_wq(entries[0]), 0);
	assert_int_equal(ibv_destroy_wq(foreign), 0);
	tear_down(&other);
	tear_down(&r);
}

static void queues_tables_and_queue_pairs_are_busy_while_used(void **state)
{
	struct ibv_rwq_ind_table *table, *second;
	struct ibv_wq *wq, *entries[4];
	struct ibv_qp *qp;
	struct rig r;

	set_up(&r, device);
	wq = create_wq(&r);
	for (int i = 0; i < 4; i++)
		entries[i] = wq;
	table = create_table(&r, entries, 2);
	second = create_table(&r, entries, 0);
	assert_non_null(table);
	assert_non_null(second);
	qp = create_rss(&r, table, IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4);
	assert_non_null(qp);
	assert_int_equal(ibv_destroy_cq(r.cq), EBUSY);
	assert_int_equal(ibv_dealloc_pd(r.pd), EBUSY);
	assert_int_equal(ibv_destroy_wq(wq), EBUSY);
	assert_int_equal(ibv_destroy_rwq_ind_table(table), EBUSY);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_wq(wq), EBUSY);
	assert_int_equal(ibv_destroy_rwq_ind_table(table), 0);
	assert_int_equal(ibv_destroy_wq(wq), EBUSY);
	assert_int_equal(ibv_destroy_rwq_ind_table(second), 0);
	assert_int_equal(ibv_destroy_wq(wq), 0);
	tear_down(&r);
}

/* A ConnectX-3 takes the first steps; elsewhere there is nothing to change or to ask. */
static void an_rss_queue_pair_has_no_attributes(void **state)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct ibv_rwq_ind_table *table;
	struct ibv_qp_init_attr init;
	struct ibv_wq *wq;
	struct ibv_qp *qp;
	struct rig r;

	set_up(&r, device);
	wq = create_wq(&r);
	table = create_table(&r, &wq, 0);
	qp = create_rss(&r, table, IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4);
	assert_non_null(qp);
	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PORT),
			 is_mlx4 ? 0 : EOPNOTSUPP);
	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX), EOPNOTSUPP);
	attr.qp_state = IBV_QPS_RTS;
	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE), EOPNOTSUPP);
	assert_int_equal(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init), EOPNOTSUPP);
	assert_int_equal(qp->state, is_mlx4 ? IBV_QPS_INIT : IBV_QPS_RESET);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_rwq_ind_table(table), 0);
	assert_int_equal(ibv_destroy_wq(wq), 0);
	tear_down(&r);
}

static void the_hash_is_toeplitz_with_a_key_of_forty_bytes(void **state)
{
	static const struct {
		uint8_t function, len;
		int error, old_error;
	} cases[] = {
		{ 0, 40, EOPNOTSUPP, EOPNOTSUPP }, { 2, 40, EOPNOTSUPP, EOPNOTSUPP },
		{ 1, 39, EINVAL, EOPNOTSUPP },     { 1, 41, EINVAL, EOPNOTSUPP },
		{ 1, 0, EINVAL, EOPNOTSUPP },
	};
	struct ibv_qp_init_attr_ex attr = { .qp_type = IBV_QPT_RAW_PACKET,
					    .comp_mask = IBV_QP_INIT_ATTR_PD |
							 IBV_QP_INIT_ATTR_IND_TABLE |
							 IBV_QP_INIT_ATTR_RX_HASH };
	struct ibv_wq *wq;
	struct rig r;

	set_up(&r, device);
	wq = create_wq(&r);
	attr.pd = r.pd;
	attr.rwq_ind_tbl = create_table(&r, &wq, 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		/* Also where there is nothing to hash. */
		for (uint64_t fields = 0; fields < 4; fields += 3) {
			attr.rx_hash_conf = (struct ibv_rx_hash_conf){ cases[i].function,
								       cases[i].len, key, fields };
			errno = 0;
			assert_null(ibv_create_qp_ex(r.context, &attr));
			assert_int_equal(errno, is_mlx4 ? cases[i].old_error : cases[i].error);
		}
	}
	assert_int_equal(ibv_destroy_rwq_ind_table(attr.rwq_ind_tbl), 0);
	assert_int_equal(ibv_destroy_wq(wq), 0);
	tear_down(&r);
}

static void connectx_3_refuses_single_hash_fields(void **state)
{
	static const struct {
		uint64_t fields;
		int error;
	} cases[] = {
		{ IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4, 0 },
		{ IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4 | IBV_RX_HASH_SRC_IPV6 |
			  IBV_RX_HASH_DST_IPV6 | IBV_RX_HASH_SRC_PORT_TCP |
			  IBV_RX_HASH_DST_PORT_TCP | IBV_RX_HASH_SRC_PORT_UDP |
			  IBV_RX_HASH_DST_PORT_UDP,
		  0 },
		{ IBV_RX_HASH_SRC_IPV4, EOPNOTSUPP },
		{ IBV_RX_HASH_SRC_PORT_TCP | IBV_RX_HASH_DST_PORT_TCP, EOPNOTSUPP },
		{ IBV_RX_HASH_IPSEC_SPI, EOPNOTSUPP },
		{ IBV_RX_HASH_INNER | IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4, EOPNOTSUPP },
	};
	struct ibv_rwq_ind_table *table;
	struct ibv_wq *wq, *entries[2];
	struct ibv_qp *qp;
	struct rig r;

	set_up(&r, "mlx4_0");
	wq = entries[0] = entries[1] = create_wq(&r);
	table = create_table(&r, entries, 1);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		errno = 0;
		qp = create_rss(&r, table, cases[i].fields);
		assert_int_equal(!qp, cases[i].error != 0);
		if (cases[i].error)
			assert_int_equal(errno, cases[i].error);
		else
			assert_int_equal(ibv_destroy_qp(qp), 0);
	}
	assert_int_equal(ibv_destroy_rwq_ind_table(table), 0);
	assert_int_equal(ibv_destroy_wq(wq), 0);
	tear_down(&r);
}

static void an_rss_queue_pair_refuses_unsupported_hash_fields(void **state)
{
	static const struct {
		uint64_t fields;
		int error;
	} cases[] = {
		{ IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4, 0 },
		{ IBV_RX_HASH_SRC_IPV6 | IBV_RX_HASH_SRC_PORT_TCP, 0 },
		{ IBV_RX_HASH_IPSEC_SPI | IBV_RX_HASH_DST_IPV4, 0 },
		{ IBV_RX_HASH_INNER | IBV_RX_HASH_DST_IPV4, 0 },
		{ IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_SRC_IPV6, EINVAL },
		{ IBV_RX_HASH_SRC_PORT_TCP | IBV_RX_HASH_SRC_PORT_UDP, EINVAL },
		{ IBV_RX_HASH_SRC_PORT_TCP | IBV_RX_HASH_IPSEC_SPI, EINVAL },
		{ 0, EINVAL }, /* but not over a table of one */
		{ 1 << 20, EOPNOTSUPP },
	};
	struct ibv_rwq_ind_table *table, *single;
	struct ibv_wq *wq, *entries[2];
	struct ibv_qp *qp;
	struct rig r;

	set_up(&r, device);
	wq = entries[0] = entries[1] = create_wq(&r);
	table = create_table(&r, entries, 1);
	single = create_table(&r, entries, 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		errno = 0;
		qp = create_rss(&r, table, cases[i].fields);
		assert_int_equal(!qp, cases[i].error != 0);
		if (cases[i].error)
			assert_int_equal(errno, cases[i].error);
		else
			assert_int_equal(ibv_destroy_qp(qp), 0);
	}
	qp = create_rss(&r, single, 0);
	assert_non_null(qp);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_rwq_ind_table(single), 0);
	errno = 0;
	assert_null(create_rss(&r, single, IBV_RX_HASH_SRC_IPV4)); /* it is gone */
	assert_int_equal(errno, EINVAL);
	assert_int_equal(ibv_destroy_rwq_ind_table(table), 0);
	assert_int_equal(ibv_destroy_wq(wq), 0);
	tear_down(&r);
}

static void a_striding_queue_must_be_within_the_reported_limits(void **state)
{
	struct mlx5dv_context caps = { .comp_mask = MLX5DV_CONTEXT_MASK_STRIDING_RQ };
	struct mlx5dv_wq_init_attr extra = { .comp_mask = MLX5DV_WQ_INIT_ATTR_MASK_STRIDING_RQ };
	struct ibv_wq_init_attr attr;
	struct ibv_wq *wq;
	struct rig r;

	set_up(&r, device);
	attr = (struct ibv_wq_init_attr){ .max_wr = 4, .max_sge = 1, .pd = r.pd, .cq = r.cq };
	assert_int_equal(mlx5dv_query_device(r.context, &caps), 0);
	assert_int_equal(caps.striding_rq_caps.supported_qpts, 1 << IBV_QPT_RAW_PACKET);
	extra.striding_rq_attrs.single_stride_log_num_of_bytes =
		caps.striding_rq_caps.min_single_stride_log_num_of_bytes;
	extra.striding_rq_attrs.single_wqe_log_num_of_strides =
		caps.striding_rq_caps.max_single_wqe_log_num_of_strides;
	wq = mlx5dv_create_wq(r.context, &attr, &extra);
	assert_non_null(wq);
	assert_int_equal(ibv_destroy_wq(wq), 0);
	extra.striding_rq_attrs.single_wqe_log_num_of_strides++;
	assert_null(mlx5dv_create_wq(r.context, &attr, &extra));
	assert_int_equal(errno, EINVAL);
	extra.striding_rq_attrs.single_wqe_log_num_of_strides--;
	extra.striding_rq_attrs.single_stride_log_num_of_bytes--;
	assert_null(mlx5dv_create_wq(r.context, &attr, &extra));
	assert_int_equal(errno, EINVAL);
	extra.comp_mask = 2;
	assert_null(mlx5dv_create_wq(r.context, &attr, &extra));
	assert_int_equal(errno, EINVAL);
	tear_down(&r);
}

int main(void)
{
	const struct CMUnitTest both[] = {
		cmocka_unit_test(a_work_queue_starts_in_reset_with_a_number_of_its_own),
		cmocka_unit_test(only_the_documented_state_changes_are_allowed),
		cmocka_unit_test(modifying_refuses_unknown_attributes),
		cmocka_unit_test(creating_refuses_invalid_attributes),
		cmocka_unit_test(receives_are_flushed_when_the_queue_fails),
		cmocka_unit_test(a_table_takes_queues_in_any_state_any_number_of_times),
		cmocka_unit_test(a_table_refuses_null_and_destroyed_queues),
		cmocka_unit_test(queues_tables_and_queue_pairs_are_busy_while_used),
		cmocka_unit_test(an_rss_queue_pair_has_no_attributes),
		cmocka_unit_test(the_hash_is_toeplitz_with_a_key_of_forty_bytes),
	};
	const struct CMUnitTest single[] = {
		cmocka_unit_test(an_rss_queue_pair_refuses_unsupported_hash_fields),
		cmocka_unit_test(connectx_3_refuses_single_hash_fields),
		cmocka_unit_test(a_striding_queue_must_be_within_the_reported_limits),
	};
	int failed = cmocka_run_group_tests_name("mlx5", both, NULL, NULL);

	failed += cmocka_run_group_tests_name("one kind", single, NULL, NULL);
	device = "mlx4_0";
	neighbour = "mlx4_1";
	is_mlx4 = true;
	return failed + cmocka_run_group_tests_name("mlx4", both, NULL, NULL);
}
