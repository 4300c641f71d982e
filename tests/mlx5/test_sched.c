/* SPDX-License-Identifier: BSD-2-Clause */
/* Scheduling elements hold back what is sent through them: never faster than they say. */
#include "pair.h"

#include <errno.h>
#include <time.h>

enum { MESSAGE = 10000, COUNT = 12, MBPS = 8 };

static struct pair p;
static struct mlx5dv_sched_node *root, *node;
static struct mlx5dv_sched_leaf *leaf;

static struct mlx5dv_sched_attr limit(struct mlx5dv_sched_node *parent, uint32_t mbps)
{
	return (struct mlx5dv_sched_attr){ .parent = parent,
					   .flags = MLX5DV_SCHED_ELEM_ATTR_FLAGS_MAX_AVG_BW,
					   .max_avg_bw = mbps };
}

/* A tree with a limit at the node, or at the leaf below it. */
static void grow(uint32_t at_node, uint32_t at_leaf)
{
	struct mlx5dv_sched_attr attr = { 0 };

	root = mlx5dv_sched_node_create(p.ctx, &attr);
	attr = limit(root, at_node);
	node = mlx5dv_sched_node_create(p.ctx, &attr);
	attr = limit(node, at_leaf);
	leaf = mlx5dv_sched_leaf_create(p.ctx, &attr);
	assert_true(root && node && leaf);
}

static void fell(void)
{
	assert_int_equal(mlx5dv_sched_leaf_destroy(leaf), 0);
	assert_int_equal(mlx5dv_sched_node_destroy(node), 0);
	assert_int_equal(mlx5dv_sched_node_destroy(root), 0);
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double send_all(enum ibv_wr_opcode opcode)
{
	struct ibv_sge sge = pair_sge(&p, 0, MESSAGE);
	double start = now_s();

	for (uint64_t i = 0; i < COUNT; i++) {
		struct ibv_send_wr wr = { .wr_id = i,
					  .sg_list = &sge,
					  .num_sge = 1,
					  .opcode = opcode,
					  .send_flags = IBV_SEND_SIGNALED };

		if (opcode == IBV_WR_SEND)
			pair_post_recv(&p, 1, i, PAIR_BUF / 2, MESSAGE);
		pair_fill_wr(&p, &wr, PAIR_BUF / 2);
		pair_post(&p, &wr);
	}
	for (uint64_t i = 0; i < COUNT; i++)
		pair_expect(p.cq[0], opcode == IBV_WR_SEND ? IBV_WC_SEND : IBV_WC_RDMA_WRITE, i);
	if (opcode == IBV_WR_SEND)
		for (uint64_t i = 0; i < COUNT; i++)
			pair_expect(p.cq[1], IBV_WC_RECV, i);
	return now_s() - start;
}

/* All but the first one have to wait for those before them; a little may have been saved up. */
static double least(uint32_t mbps)
{
	return (COUNT - 1) * MESSAGE * 8.0 / (mbps * 1e6) - 0.005;
}

static int make(void **state)
{
	pair_make(&p, &(struct pair_wish){ .type = IBV_QPT_RC });
	return 0;
}

static int drop(void **state)
{
	pair_drop(&p);
	return 0;
}

static void a_leafs_limit_is_kept(void **state)
{
	grow(0, MBPS);
	assert_int_equal(mlx5dv_modify_qp_sched_elem(p.qp[0], leaf, NULL), 0);
	assert_true(send_all(IBV_WR_SEND) >= least(MBPS));
	assert_true(send_all(IBV_WR_RDMA_WRITE) >= least(MBPS));
	assert_int_equal(mlx5dv_sched_leaf_destroy(leaf), EBUSY);
	assert_int_equal(mlx5dv_modify_qp_sched_elem(p.qp[0], NULL, NULL), 0);
	send_all(IBV_WR_SEND);
	fell();
}

static void a_nodes_limit_holds_for_what_is_below(void **state)
{
	struct mlx5dv_sched_attr attr;

	grow(MBPS, 10 * MBPS);
	assert_int_equal(mlx5dv_modify_qp_sched_elem(p.qp[0], leaf, NULL), 0);
	assert_true(send_all(IBV_WR_SEND) >= least(MBPS));
	/* Slower still, from now on. */
	attr = limit(root, MBPS / 2);
	assert_int_equal(mlx5dv_sched_node_modify(node, &attr), 0);
	assert_true(send_all(IBV_WR_RDMA_WRITE) >= least(MBPS / 2));
	assert_int_equal(mlx5dv_modify_qp_sched_elem(p.qp[0], NULL, NULL), 0);
	fell();
}

static void a_queue_pair_that_goes_frees_its_leaf(void **state)
{
	grow(0, MBPS);
	assert_int_equal(mlx5dv_modify_qp_sched_elem(p.qp[1], leaf, leaf), 0);
	assert_int_equal(mlx5dv_sched_leaf_destroy(leaf), EBUSY);
	assert_int_equal(ibv_destroy_qp(p.qp[1]), 0);
	p.qp[1] = NULL;
	fell();
}

static void a_queue_pair_in_reset_gets_no_scheduling_element(void **state)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };

	grow(0, MBPS);
	assert_int_equal(ibv_modify_qp(p.qp[0], &attr, IBV_QP_STATE), 0);
	assert_int_equal(mlx5dv_modify_qp_sched_elem(p.qp[0], leaf, NULL), EOPNOTSUPP);
	fell();
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, make, drop)
	const struct CMUnitTest tests[] = {
		T(a_leafs_limit_is_kept),
		T(a_nodes_limit_holds_for_what_is_below),
		T(a_queue_pair_that_goes_frees_its_leaf),
		T(a_queue_pair_in_reset_gets_no_scheduling_element),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
