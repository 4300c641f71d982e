/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rings of the sizes that libmlx4 computes. Expected values come from its documented arithmetic:
 * entries of a power of two from 64 bytes on, 2 KiB and a slot of headroom, the queue of longer
 * entries first in the buffer.
 */
#include "cmocka_all.h"

#include <errno.h>
#include <string.h>

#include "mlx4/geometry.h"
#include "util/explain.h"

static const struct hca_limits limits = { .max_qp_wr = 16351, .max_sge = 32, .max_inline = 900 };

struct row {
	enum ibv_qp_type type;
	struct ibv_qp_cap cap; /* send_wr, recv_wr, send_sge, recv_sge, inline */
	uint32_t sq_size, sq_shift, max_post, max_sge, max_inline;
	uint32_t rq_size, rq_shift, recv_sge;
	size_t sq_offset, rq_offset;
};

static const struct row rows[] = {
	/* the smallest that there is: an atomic fits, and 28 bytes inline */
	{ IBV_QPT_RC, { 1, 1, 1, 1, 0 }, 64, 6, 31, 2, 28, 1, 4, 1, 0, 4096 },
	{ IBV_QPT_RC, { 31, 1, 1, 1, 28 }, 64, 6, 31, 2, 28, 1, 4, 1, 0, 4096 },
	{ IBV_QPT_RC, { 32, 500, 1, 1, 0 }, 128, 6, 95, 2, 28, 512, 4, 1, 0, 8192 },
	/* a byte more inline takes a second chunk, and twice the slot */
	{ IBV_QPT_RC, { 1, 1, 1, 1, 29 }, 32, 7, 15, 6, 88, 1, 4, 1, 0, 4096 },
	{ IBV_QPT_RC, { 128, 128, 1, 1, 236 }, 256, 9, 251, 30, 448, 128, 4, 1, 0, 131072 },
	{ IBV_QPT_RC, { 16351, 16351, 1, 1, 0 }, 16384, 6, 16351, 2, 28, 16384, 4, 1, 0, 1 << 20 },
	/* receive entries longer than send entries come first */
	{ IBV_QPT_UC, { 10, 10, 1, 9, 0 }, 64, 6, 31, 2, 28, 16, 8, 16, 4096, 0 },
	{ IBV_QPT_UC, { 10, 10, 32, 32, 0 }, 16, 10, 13, 61, 900, 16, 9, 32, 0, 16384 },
	/* datagrams start their data at a multiple of 64 */
	{ IBV_QPT_UD, { 10, 3, 1, 1, 0 }, 32, 7, 15, 4, 60, 4, 4, 1, 0, 4096 },
	{ IBV_QPT_UD, { 10, 3, 4, 2, 188 }, 16, 9, 11, 28, 420, 4, 5, 2, 0, 8192 },
	{ IBV_QPT_UD, { 10, 3, 4, 2, 180 }, 32, 8, 23, 12, 180, 4, 5, 2, 0, 8192 },
	{ IBV_QPT_XRC_SEND, { 10, 10, 1, 1, 0 }, 64, 6, 31, 2, 28, 0, 4, 0, 0, 4096 },
	{ IBV_QPT_XRC_RECV, { 10, 10, 1, 1, 0 }, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0 },
	/* the longest: 1008 bytes of a slot of 1024 can be told */
	{ IBV_QPT_RC, { 1, 1, 1, 1, 900 }, 4, 10, 1, 61, 900, 1, 4, 1, 0, 4096 },
	{ IBV_QPT_UD, { 1, 1, 1, 1, 884 }, 4, 10, 1, 59, 884, 1, 4, 1, 0, 4096 },
};

static void rings_are_as_libmlx4_makes_them(void **state)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *r = &rows[i];
		struct ibv_qp_init_attr_ex attr = { .qp_type = r->type, .cap = r->cap };
		struct mlx4_geometry g;

		print_message("row %zu\n", i);
		assert_int_equal(mlx4_geometry_compute(&attr, 0, &limits, &g), 0);
		assert_int_equal(g.sq_size, r->sq_size);
		assert_int_equal(g.sq_shift, r->sq_shift);
		assert_int_equal(g.max_post, r->max_post);
		assert_int_equal(g.max_send_sge, r->max_sge);
		assert_int_equal(g.max_inline, r->max_inline);
		assert_int_equal(g.rq_size, r->rq_size);
		assert_int_equal(g.rq_shift, r->rq_shift);
		assert_int_equal(g.max_recv_sge, r->recv_sge);
		assert_int_equal(g.sq_offset, r->sq_offset);
		if (r->rq_size)
			assert_int_equal(g.rq_offset, r->rq_offset);
		assert_int_equal(g.bytes, ((size_t)g.sq_size << g.sq_shift) +
						  ((size_t)g.rq_size << g.rq_shift));
	}
}

static void a_shared_receive_queue_leaves_no_ring_of_its_own(void **state)
{
	struct ibv_srq srq;
	struct ibv_qp_init_attr_ex attr = { .qp_type = IBV_QPT_RC,
					    .srq = &srq,
					    .cap = { 1, 100, 1, 1, 0 } };
	struct mlx4_geometry g;

	assert_int_equal(mlx4_geometry_compute(&attr, 0, &limits, &g), 0);
	assert_int_equal(g.rq_size, 0);
	assert_int_equal(g.bytes, 4096);
}

static void capacities_that_do_not_fit_are_refused_with_the_limit(void **state)
{
	static const struct {
		enum ibv_qp_type type;
		struct ibv_qp_cap cap;
		const char *limit;
	} bad[] = {
		{ IBV_QPT_RC, { 16352, 1, 1, 1, 0 }, "16351" },
		{ IBV_QPT_RC, { 1, 16352, 1, 1, 0 }, "16351" },
		{ IBV_QPT_RC, { 1, 1, 33, 1, 0 }, "32" },
		{ IBV_QPT_RC, { 1, 1, 1, 33, 0 }, "32" },
		{ IBV_QPT_RC, { 1, 1, 1, 1, 901 }, "900" },
		{ IBV_QPT_RC, { 1, 1, 1, 1, UINT32_MAX }, "900" },
		{ IBV_QPT_UD, { 1, 1, 1, 1, 885 }, "884" },
	};
	struct mlx4_geometry g;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct ibv_qp_init_attr_ex attr = { .qp_type = bad[i].type, .cap = bad[i].cap };

		assert_int_equal(mlx4_geometry_compute(&attr, 0, &limits, &g), -EINVAL);
		assert_non_null(strstr(explain_last(), bad[i].limit));
	}
}

static void a_lower_limit_of_inline_data_holds(void **state)
{
	struct hca_limits low = limits;
	struct ibv_qp_init_attr_ex attr = { .qp_type = IBV_QPT_RC, .cap = { 1, 1, 1, 1, 17 } };
	struct mlx4_geometry g;

	low.max_inline = 16;
	assert_int_equal(mlx4_geometry_compute(&attr, 0, &low, &g), -EINVAL);
	attr.cap.max_inline_data = 16;
	assert_int_equal(mlx4_geometry_compute(&attr, 0, &low, &g), 0);
	assert_int_equal(g.max_inline, 16);
}

static void inline_receive_makes_receive_entries_longer(void **state)
{
	struct ibv_qp_init_attr_ex attr = { .qp_type = IBV_QPT_RC, .cap = { 1, 1, 1, 1, 0 } };
	struct mlx4_geometry g;

	assert_int_equal(mlx4_geometry_compute(&attr, 100, &limits, &g), 0);
	assert_int_equal(g.rq_shift, 7);
	assert_int_equal(mlx4_geometry_compute(&attr, 512, &limits, &g), 0);
	assert_int_equal(g.rq_shift, 9);
	assert_int_equal(mlx4_geometry_compute(&attr, 513, &limits, &g), -EINVAL);
}

static void shared_entries_have_a_link_before_their_list(void **state)
{
	assert_int_equal(mlx4_srq_shift(0), 5);
	assert_int_equal(mlx4_srq_shift(1), 5);
	assert_int_equal(mlx4_srq_shift(2), 6);
	assert_int_equal(mlx4_srq_shift(3), 6);
	assert_int_equal(mlx4_srq_shift(31), 9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rings_are_as_libmlx4_makes_them),
		cmocka_unit_test(a_shared_receive_queue_leaves_no_ring_of_its_own),
		cmocka_unit_test(capacities_that_do_not_fit_are_refused_with_the_limit),
		cmocka_unit_test(a_lower_limit_of_inline_data_holds),
		cmocka_unit_test(inline_receive_makes_receive_entries_longer),
		cmocka_unit_test(shared_entries_have_a_link_before_their_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
