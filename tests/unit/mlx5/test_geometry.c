/* SPDX-License-Identifier: BSD-2-Clause */
/* Ring sizes, against what the real driver gives for the same capacities. */
#include "cmocka_all.h"

#include <errno.h>

#include "mlx5/geometry.h"

static const struct hca_limits limits = { .max_qp_wr = 32768, .max_inline = 828 };

struct wish {
	enum ibv_qp_type type;
	uint64_t ops; /* 0: not given */
	uint32_t wr, sge, inl;
};

static struct ibv_qp_init_attr_ex make_attr(const struct wish *row)
{
	return (struct ibv_qp_init_attr_ex){
		.qp_type = row->type,
		.cap = { .max_send_wr = row->wr,
			 .max_send_sge = row->sge,
			 .max_inline_data = row->inl },
		.comp_mask = row->ops ? IBV_QP_INIT_ATTR_SEND_OPS_FLAGS : 0,
		.send_ops_flags = row->ops,
	};
}

static void send_queues_are_as_long_as_the_real_ones(void **state)
{
	const struct {
		struct wish wish;
		uint32_t blocks, max_post, max_inline;
	} rows[] = {
		/* Without operations named, RC leaves room for binding a window: 192 bytes. */
		{ { IBV_QPT_RC, 0, 1, 1, 0 }, 4, 1, 60 },
		{ { IBV_QPT_RC, 0, 100, 1, 0 }, 512, 128, 60 },
		{ { IBV_QPT_RC, 0, 8192, 1, 0 }, 32768, 8192, 60 },
		{ { IBV_QPT_RC, 0, 128, 1, 236 }, 1024, 146, 252 },
		{ { IBV_QPT_RC, 0, 128, 1, 220 }, 1024, 146, 252 },
		{ { IBV_QPT_RC, 0, 1, 4, 0 }, 4, 1, 60 },
		{ { IBV_QPT_RC, 0, 1, 5, 0 }, 8, 1, 124 },
		{ { IBV_QPT_RC, 0, 1, 30, 0 }, 16, 1, 508 },
		{ { IBV_QPT_RC, 0, 10, 1, 828 }, 256, 16, 828 },
		{ { IBV_QPT_UC, 0, 100, 2, 64 }, 512, 102, 124 },
		{ { IBV_QPT_UD, 0, 1, 1, 0 }, 2, 1, 60 },
		{ { IBV_QPT_UD, 0, 100, 1, 188 }, 512, 128, 188 },
		{ { IBV_QPT_UD, 0, 16, 1, 956 }, 256, 16, 956 },
		{ { IBV_QPT_XRC_SEND, 0, 1, 1, 0 }, 4, 1, 44 },
		{ { IBV_QPT_XRC_SEND, 0, 1, 1, 812 }, 16, 1, 812 },
		/* With operations named, only these count. */
		{ { IBV_QPT_RC, IBV_QP_EX_WITH_SEND, 1, 1, 0 }, 1, 1, 44 },
		{ { IBV_QPT_RC, IBV_QP_EX_WITH_RDMA_WRITE, 128, 1, 0 }, 128, 128, 28 },
		{ { IBV_QPT_RC, IBV_QP_EX_WITH_RDMA_WRITE, 128, 1, 220 }, 512, 128, 220 },
		{ { IBV_QPT_RC, IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD, 100, 1, 0 }, 128, 128, 12 },
		{ { IBV_QPT_RC, IBV_QP_EX_WITH_LOCAL_INV, 1, 1, 0 }, 4, 1, 60 },
		{ { IBV_QPT_UD, IBV_QP_EX_WITH_SEND, 100, 1, 0 }, 256, 128, 60 },
	};

	for (size_t i = 0; i < array_size(rows); i++) {
		struct ibv_qp_init_attr_ex attr = make_attr(&rows[i].wish);
		struct mlx5_geometry geo;

		assert_int_equal(mlx5_geometry_compute(&attr, 0, &limits, &geo), 0);
		assert_int_equal(geo.blocks, rows[i].blocks);
		assert_int_equal(geo.max_post, rows[i].max_post);
		assert_int_equal(geo.max_inline, rows[i].max_inline);
	}
}

static void capacities_that_do_not_fit_an_entry_are_refused(void **state)
{
	const struct wish rows[] = {
		{ IBV_QPT_RC, 0, 1, 1, 829 },
		{ IBV_QPT_RC, 0, 1, 1, 0xffffffff },
		{ IBV_QPT_UD, 0, 1, 1, 957 },
		{ IBV_QPT_XRC_SEND, 0, 1, 1, 813 },
		{ IBV_QPT_RC, 0, 1, 53, 0 },
		{ IBV_QPT_RC, 0, 1, 0xffffffff, 0 },
		{ IBV_QPT_RC, 0, 8193, 1, 0 },
		{ IBV_QPT_UD, 0, 16385, 1, 0 },
		{ IBV_QPT_RC, IBV_QP_EX_WITH_SEND, 32769, 1, 0 },
		{ IBV_QPT_RC, 0, 0xffffffff, 1, 0 },
	};

	for (size_t i = 0; i < array_size(rows); i++) {
		struct ibv_qp_init_attr_ex attr = make_attr(&rows[i]);
		struct mlx5_geometry geo;

		assert_int_equal(mlx5_geometry_compute(&attr, 0, &limits, &geo), -EINVAL);
	}
}

static void a_configured_inline_limit_holds(void **state)
{
	const struct hca_limits low = { .max_qp_wr = 32768, .max_inline = 40 };
	struct ibv_qp_init_attr_ex attr = make_attr(&(struct wish){ IBV_QPT_RC, 0, 1, 1, 40 });
	struct mlx5_geometry geo;

	assert_int_equal(mlx5_geometry_compute(&attr, 0, &low, &geo), 0);
	assert_int_equal(geo.max_inline, 40);
	attr.cap.max_inline_data = 41;
	assert_int_equal(mlx5_geometry_compute(&attr, 0, &low, &geo), -EINVAL);
}

static void receive_entries_are_powers_of_two(void **state)
{
	const struct {
		uint32_t wr, sge, size, shift, max_sge;
	} rows[] = {
		{ 1, 1, 4, 4, 1 },     { 1, 0, 4, 4, 1 },         { 5, 1, 8, 4, 1 },
		{ 100, 3, 128, 6, 4 }, { 32768, 1, 32768, 4, 1 }, { 1, 32, 1, 9, 32 },
		{ 500, 2, 512, 5, 2 },
	};

	for (size_t i = 0; i < array_size(rows); i++) {
		struct ibv_qp_init_attr_ex attr = {
			.qp_type = IBV_QPT_RC,
			.cap = { .max_recv_wr = rows[i].wr, .max_recv_sge = rows[i].sge },
		};
		struct mlx5_geometry geo;

		assert_int_equal(mlx5_geometry_compute(&attr, 0, &limits, &geo), 0);
		assert_int_equal(geo.rq_size, rows[i].size);
		assert_int_equal(geo.rq_shift, rows[i].shift);
		assert_int_equal(geo.rq_max_sge, rows[i].max_sge);
		assert_int_equal(geo.bytes, rows[i].size << rows[i].shift);
	}
}

static void receive_queues_beyond_the_limits_are_refused(void **state)
{
	struct ibv_qp_init_attr_ex attr = { .qp_type = IBV_QPT_RC,
					    .cap = { .max_recv_wr = 32769, .max_recv_sge = 1 } };
	struct mlx5_geometry geo;

	assert_int_equal(mlx5_geometry_compute(&attr, 0, &limits, &geo), -EINVAL);
	attr.cap.max_recv_wr = 1;
	attr.cap.max_recv_sge = 33;
	assert_int_equal(mlx5_geometry_compute(&attr, 0, &limits, &geo), -EINVAL);
}

static void the_send_queue_follows_the_receive_queue(void **state)
{
	struct ibv_qp_init_attr_ex attr = { .qp_type = IBV_QPT_UD,
					    .cap = { .max_send_wr = 10,
						     .max_send_sge = 1,
						     .max_recv_wr = 100,
						     .max_recv_sge = 1 } };
	struct mlx5_geometry geo;

	assert_int_equal(mlx5_geometry_compute(&attr, 0, &limits, &geo), 0);
	assert_int_equal(geo.sq_offset, 128 * 16);
	assert_int_equal(geo.bytes, 128 * 16 + 32 * 64);
}

static void a_shared_receive_queue_takes_the_own_ones_place(void **state)
{
	struct ibv_srq srq;
	struct ibv_qp_init_attr_ex attr = { .qp_type = IBV_QPT_RC,
					    .srq = &srq,
					    .cap = { .max_recv_wr = 100, .max_recv_sge = 1 } };
	struct mlx5_geometry geo;

	assert_int_equal(mlx5_geometry_compute(&attr, 0, &limits, &geo), 0);
	assert_int_equal(geo.rq_size, 0);
	assert_int_equal(geo.bytes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(send_queues_are_as_long_as_the_real_ones),
		cmocka_unit_test(capacities_that_do_not_fit_an_entry_are_refused),
		cmocka_unit_test(a_configured_inline_limit_holds),
		cmocka_unit_test(receive_entries_are_powers_of_two),
		cmocka_unit_test(receive_queues_beyond_the_limits_are_refused),
		cmocka_unit_test(the_send_queue_follows_the_receive_queue),
		cmocka_unit_test(a_shared_receive_queue_takes_the_own_ones_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
