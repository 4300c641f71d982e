/* SPDX-License-Identifier: BSD-2-Clause */
/* The smaller objects and questions of direct verbs. */
#include "pair.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

static struct pair p;

static int make(void **state)
{
	pair_make(&p, &(struct pair_wish){ .type = IBV_QPT_RC, .ops = IBV_QP_EX_WITH_SEND });
	return 0;
}

static int drop(void **state)
{
	pair_drop(&p);
	return 0;
}

static void equal_rates_share_an_entry_unless_one_wants_its_own(void **state)
{
	const uint32_t slow = htobe32(100), fast = htobe32(2000);
	struct mlx5dv_pp *a = mlx5dv_pp_alloc(p.ctx, sizeof(slow), &slow, 0);
	struct mlx5dv_pp *b = mlx5dv_pp_alloc(p.ctx, sizeof(slow), &slow, 0);
	struct mlx5dv_pp *c = mlx5dv_pp_alloc(p.ctx, sizeof(fast), &fast, 0);
	struct mlx5dv_pp *own =
		mlx5dv_pp_alloc(p.ctx, sizeof(slow), &slow, MLX5DV_PP_ALLOC_FLAGS_DEDICATED_INDEX);

	assert_true(a && b && c && own);
	assert_int_equal(a->index, b->index);
	assert_int_not_equal(a->index, c->index);
	assert_int_not_equal(a->index, own->index);
	assert_int_not_equal(a->index, 0);
	mlx5dv_pp_free(own);
	mlx5dv_pp_free(c);
	mlx5dv_pp_free(b);
	mlx5dv_pp_free(a);
	assert_null(mlx5dv_pp_alloc(p.ctx, 4096, &slow, 0));
	assert_int_equal(errno, EINVAL);
	assert_null(mlx5dv_pp_alloc(p.ctx, sizeof(slow), &slow, 0x80));
	assert_int_equal(errno, EOPNOTSUPP);
}

static void a_scheduling_tree_comes_down_from_its_leaves(void **state)
{
	struct mlx5dv_sched_attr attr = { 0 };
	struct mlx5dv_sched_node *root = mlx5dv_sched_node_create(p.ctx, &attr), *node;
	struct mlx5dv_sched_leaf *leaf;

	assert_non_null(root);
	assert_null(mlx5dv_sched_leaf_create(p.ctx, &attr)); /* below what? */
	assert_int_equal(errno, EINVAL);
	attr = (struct mlx5dv_sched_attr){ .parent = root,
					   .flags = MLX5DV_SCHED_ELEM_ATTR_FLAGS_BW_SHARE,
					   .bw_share = 3 };
	node = mlx5dv_sched_node_create(p.ctx, &attr);
	assert_non_null(node);
	attr.parent = node;
	leaf = mlx5dv_sched_leaf_create(p.ctx, &attr);
	assert_non_null(leaf);
	assert_int_equal(mlx5dv_sched_leaf_modify(leaf, &attr), 0);
	assert_int_equal(mlx5dv_sched_node_modify(root, &attr), EINVAL);
	assert_int_equal(mlx5dv_sched_leaf_modify(leaf, NULL), EINVAL);
	assert_null(mlx5dv_sched_node_create(p.ctx, NULL));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(mlx5dv_modify_qp_sched_elem(p.qp[0], leaf, leaf), 0);
	assert_int_equal(mlx5dv_sched_leaf_destroy(leaf), EBUSY);
	assert_int_equal(mlx5dv_modify_qp_sched_elem(p.qp[0], NULL, leaf), 0);
	assert_int_equal(mlx5dv_sched_leaf_destroy(leaf), EBUSY);
	assert_int_equal(mlx5dv_modify_qp_sched_elem(p.qp[0], NULL, NULL), 0);

	assert_int_equal(mlx5dv_sched_node_destroy(root), EBUSY);
	assert_int_equal(mlx5dv_sched_node_destroy(node), EBUSY);
	assert_int_equal(mlx5dv_sched_leaf_destroy(leaf), 0);
	assert_int_equal(mlx5dv_sched_node_destroy(node), 0);
	assert_int_equal(mlx5dv_sched_node_destroy(root), 0);
}

static void queue_pairs_are_scheduled_by_type_and_state(void **state)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_UD,
					 .send_cq = p.cq[0],
					 .recv_cq = p.cq[0],
					 .cap = { .max_send_wr = 1, .max_send_sge = 1 } };
	struct ibv_qp_attr to = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct mlx5dv_sched_attr attr = { 0 };
	struct mlx5dv_sched_node *root = mlx5dv_sched_node_create(p.ctx, &attr);
	struct mlx5dv_sched_leaf *leaf;
	struct ibv_qp *qp = ibv_create_qp(p.pd, &init);

	assert_non_null(qp);
	attr.parent = root;
	leaf = mlx5dv_sched_leaf_create(p.ctx, &attr);
	assert_non_null(leaf);
	assert_int_equal(mlx5dv_modify_qp_sched_elem(qp, leaf, NULL), EOPNOTSUPP); /* RESET */
	assert_int_equal(
		ibv_modify_qp(qp, &to,
			      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY),
		0);
	assert_int_equal(mlx5dv_modify_qp_sched_elem(qp, leaf, leaf), EINVAL);
	assert_int_equal(mlx5dv_modify_qp_sched_elem(qp, leaf, NULL), 0);
	assert_int_equal(mlx5dv_sched_leaf_destroy(leaf), EBUSY);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(mlx5dv_sched_leaf_destroy(leaf), 0);
	assert_int_equal(mlx5dv_sched_node_destroy(root), 0);
}

static void doorbell_areas_of_virtio_are_mapped_through_the_context(void **state)
{
	struct mlx5dv_var *a = mlx5dv_alloc_var(p.ctx, 0), *b = mlx5dv_alloc_var(p.ctx, 0);
	uint32_t *map;

	assert_true(a && b);
	assert_int_not_equal(a->page_id, b->page_id);
	assert_int_not_equal(a->mmap_off, b->mmap_off);
	map = mmap(NULL, a->length, PROT_READ | PROT_WRITE, MAP_SHARED, p.ctx->cmd_fd, a->mmap_off);
	assert_ptr_not_equal(map, MAP_FAILED);
	*map = 5; /* the doorbell of no queue: no effect */
	munmap(map, a->length);
	mlx5dv_free_var(a);
	mlx5dv_free_var(b);
}

/* Emulation of PCIe devices is not for adapters that manage none. */
static void only_areas_of_virtio_are_given(void **state)
{
	errno = 0;
	assert_null(mlx5dv_alloc_var(p.ctx, MLX5DV_VAR_ALLOC_FLAG_TLP));
	assert_int_equal(errno, EOPNOTSUPP);
	errno = 0;
	assert_null(mlx5dv_alloc_var(p.ctx, 2));
	assert_int_equal(errno, EOPNOTSUPP);
}

static void an_area_is_shared_by_contexts_that_import_it(void **state)
{
	struct mlx5dv_var *var = mlx5dv_alloc_var(p.ctx, 0), *same;
	struct mlx5dv_export_sizes sizes;
	struct ibv_context *other = ibv_import_device(dup(p.ctx->cmd_fd));
	volatile uint32_t *a, *b;
	uint8_t data[256];

	assert_true(var && other);
	memset(&sizes, 0xff, sizeof(sizes));
	mlx5dv_get_export_sizes(&sizes);
	assert_true(sizes.var_attrs_size && sizes.var_attrs_size <= sizeof(data));
	memset(data, 0x5a, sizeof(data));
	assert_int_equal(mlx5dv_var_export(var, data), 0);
	assert_int_equal(data[sizes.var_attrs_size], 0x5a);
	same = mlx5dv_var_import(other, data);
	assert_non_null(same);
	assert_int_equal(same->page_id, var->page_id);
	assert_int_equal(same->length, var->length);
	a = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, p.ctx->cmd_fd, var->mmap_off);
	b = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, other->cmd_fd, same->mmap_off);
	assert_true(a != MAP_FAILED && b != MAP_FAILED);
	*a = 0x1234;
	assert_int_equal(*b, 0x1234);
	munmap((void *)a, 4096);
	munmap((void *)b, 4096);
	mlx5dv_var_unimport(same);
	memset(data, 0, sizeof(data));
	assert_null(mlx5dv_var_import(other, data));
	assert_int_equal(errno, EINVAL);
	mlx5dv_free_var(var);
	assert_int_equal(ibv_close_device(other), 0);
}

static void a_reserved_number_is_no_queue_pairs(void **state)
{
	uint32_t a, b;

	assert_int_equal(mlx5dv_reserved_qpn_alloc(p.ctx, &a), 0);
	assert_int_equal(mlx5dv_reserved_qpn_alloc(p.ctx, &b), 0);
	assert_int_not_equal(a, b);
	assert_int_not_equal(a, p.qp[0]->qp_num);
	assert_int_equal(mlx5dv_reserved_qpn_dealloc(p.ctx, a), 0);
	assert_int_equal(mlx5dv_reserved_qpn_dealloc(p.ctx, a), EINVAL);
	assert_int_equal(mlx5dv_reserved_qpn_dealloc(p.ctx, p.qp[0]->qp_num), EINVAL);
	assert_int_equal(mlx5dv_reserved_qpn_dealloc(p.ctx, b), 0);
}

static void set_state(enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	assert_int_equal(ibv_modify_qp(p.qp[0], &attr, IBV_QP_STATE), 0);
}

/* A cancelled request completes, and does nothing. */
static void requests_that_have_not_begun_can_be_cancelled(void **state)
{
	struct mlx5dv_qp_ex *dv = mlx5dv_qp_ex_from_ibv_qp_ex(ibv_qp_to_qp_ex(p.qp[0]));
	struct ibv_sge sge = pair_sge(&p, 0, 8);
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED };

	assert_int_equal(mlx5dv_qp_cancel_posted_send_wrs(dv, 7), -EINVAL);
	set_state(IBV_QPS_SQD);
	for (int i = 0; i < 4; i++) {
		wr.wr_id = i == 1 || i == 2 ? 7 : i;
		pair_post(&p, &wr);
	}
	assert_int_equal(mlx5dv_qp_cancel_posted_send_wrs(dv, 7), 2);
	assert_int_equal(mlx5dv_qp_cancel_posted_send_wrs(dv, 7), 0);
	assert_int_equal(mlx5dv_qp_cancel_posted_send_wrs(dv, 99), 0);
	for (int i = 0; i < 2; i++)
		pair_post_recv(&p, 1, 50 + i, PAIR_BUF / 2, 64);
	set_state(IBV_QPS_RTS);
	for (int i = 0; i < 4; i++) {
		struct ibv_wc wc = pair_wait(p.cq[0]);

		assert_int_equal(wc.status, IBV_WC_SUCCESS);
		assert_int_equal(wc.wr_id, i == 1 || i == 2 ? 7 : i);
	}
	pair_expect(p.cq[1], IBV_WC_RECV, 50);
	pair_expect(p.cq[1], IBV_WC_RECV, 51);
}

static void a_work_queues_ring_is_handed_out(void **state)
{
	struct ibv_wq_init_attr attr = {
		.wq_type = IBV_WQT_RQ, .max_wr = 64, .max_sge = 1, .pd = p.pd, .cq = p.cq[0]
	};
	struct ibv_wq *wq = ibv_create_wq(p.ctx, &attr);
	struct mlx5dv_rwq out = { .comp_mask = 0 };
	struct mlx5dv_obj obj = { .rwq = { .in = wq, .out = &out } };

	assert_non_null(wq);
	assert_int_equal(mlx5dv_init_obj(&obj, MLX5DV_OBJ_RWQ), 0);
	assert_non_null(out.buf);
	assert_non_null(out.dbrec);
	assert_true(out.wqe_cnt >= 64 && !(out.wqe_cnt & (out.wqe_cnt - 1)));
	assert_true(out.stride >= 16);
	assert_int_equal(ibv_destroy_wq(wq), 0);
	assert_int_equal(mlx5dv_init_obj(&obj, 1u << 20), EINVAL);
}

static void features_of_hardware_alone_are_refused_with_a_reason(void **state)
{
	struct mlx5dv_alloc_dm_attr steering = { .type = MLX5DV_DM_TYPE_STEERING_SW_ICM };
	struct mlx5dv_alloc_dm_attr plain = { .type = MLX5DV_DM_TYPE_MEMIC };
	struct ibv_alloc_dm_attr attr = { .length = 256 };
	struct mlx5dv_port port;
	struct ibv_dm *dm;
	uint8_t number, active;
	char path[64];

	assert_null(mlx5dv_alloc_dm(p.ctx, &attr, &steering));
	assert_int_equal(errno, EOPNOTSUPP);
	dm = mlx5dv_alloc_dm(p.ctx, &attr, &plain);
	assert_non_null(dm);
	assert_int_equal(ibv_free_dm(dm), 0);
	assert_int_equal(mlx5dv_query_qp_lag_port(p.qp[0], &number, &active), EOPNOTSUPP);
	assert_int_equal(mlx5dv_modify_qp_lag_port(p.qp[0], 1), EOPNOTSUPP);
	assert_int_equal(mlx5dv_get_data_direct_sysfs_path(p.ctx, path, sizeof(path)), ENODEV);
	assert_int_equal(mlx5dv_map_ah_to_qp(p.ah, p.qp[1]->qp_num), 0);
	assert_int_equal(mlx5dv_map_ah_to_qp(p.ah, 1u << 24), EINVAL);
	p.ah->handle ^= 0x100000;
	assert_int_equal(mlx5dv_map_ah_to_qp(p.ah, p.qp[1]->qp_num), ENOENT);
	p.ah->handle ^= 0x100000;
	memset(&port, 0xff, sizeof(port));
	assert_int_equal(mlx5dv_query_port(p.ctx, 1, &port), 0);
	assert_int_equal(port.flags, 0);
	assert_int_equal(mlx5dv_query_port(p.ctx, 2, &port), EINVAL);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, make, drop)
	const struct CMUnitTest tests[] = {
		T(equal_rates_share_an_entry_unless_one_wants_its_own),
		T(a_scheduling_tree_comes_down_from_its_leaves),
		T(queue_pairs_are_scheduled_by_type_and_state),
		T(doorbell_areas_of_virtio_are_mapped_through_the_context),
		T(only_areas_of_virtio_are_given),
		T(an_area_is_shared_by_contexts_that_import_it),
		T(a_reserved_number_is_no_queue_pairs),
		T(requests_that_have_not_begun_can_be_cancelled),
		T(a_work_queues_ring_is_handed_out),
		T(features_of_hardware_alone_are_refused_with_a_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
