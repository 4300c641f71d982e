/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared receive queues. */
#include "pair.h"

#include <errno.h>

#define HALF (PAIR_BUF / 2)

static struct pair p;

static int drop(void **state)
{
	pair_drop(&p);
	return 0;
}

static void make(void)
{
	pair_make(&p, &(struct pair_wish){ .type = IBV_QPT_RC, .srq = true });
}

static void send_one(uint64_t wr_id)
{
	struct ibv_sge sge = pair_sge(&p, 0, 16);
	struct ibv_send_wr wr = { .wr_id = wr_id,
				  .opcode = IBV_WR_SEND,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .send_flags = IBV_SEND_SIGNALED };

	pair_post(&p, &wr);
	pair_expect(p.cq[0], IBV_WC_SEND, wr_id);
}

static struct ibv_srq *make_srq(uint32_t max_wr, uint32_t max_sge, struct ibv_srq_attr *out)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = max_wr, .max_sge = max_sge } };
	struct ibv_srq *srq = ibv_create_srq(p.pd, &init);

	*out = init.attr;
	return srq;
}

static void sizes_are_rounded_as_the_real_driver_does(void **state)
{
	const uint32_t rows[][4] = { { 1, 1, 1, 1 },
				     { 100, 1, 127, 1 },
				     { 127, 2, 127, 3 },
				     { 128, 3, 255, 3 },
				     { 32767, 31, 32767, 31 } };
	struct ibv_srq_attr got;
	struct ibv_srq *srq;

	make();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		srq = make_srq(rows[i][0], rows[i][1], &got);
		assert_non_null(srq);
		assert_int_equal(got.max_wr, rows[i][2]);
		assert_int_equal(got.max_sge, rows[i][3]);
		assert_int_equal(ibv_destroy_srq(srq), 0);
	}
	errno = 0;
	assert_null(make_srq(32768, 1, &got));
	assert_int_equal(errno, EINVAL);
	errno = 0;
	assert_null(make_srq(1, 32, &got));
	assert_int_equal(errno, EINVAL);
}

static void entries_are_used_in_the_order_of_posting(void **state)
{
	uint64_t posted = 0, taken = 0;

	make();
	for (int round = 0; round < 300; round++) {
		for (int i = 0; i < 1 + round % 9; i++)
			pair_post_recv(&p, 1, posted++, HALF, 64);
		while (taken < posted) {
			send_one(taken);
			pair_expect(p.cq[1], IBV_WC_RECV, taken++);
		}
	}
}

static void a_full_queue_refuses_and_goes_on(void **state)
{
	struct ibv_sge sge;
	struct ibv_recv_wr wr[3] = { { .wr_id = 1, .next = &wr[1], .sg_list = &sge, .num_sge = 1 },
				     { .wr_id = 2, .next = &wr[2], .sg_list = &sge, .num_sge = 1 },
				     { .wr_id = 3, .sg_list = &sge, .num_sge = 1 } };
	struct ibv_recv_wr *bad = NULL;
	struct ibv_srq_attr attr;
	uint32_t room;

	make();
	sge = pair_sge(&p, HALF, 64);
	assert_int_equal(ibv_query_srq(p.srq, &attr), 0);
	room = attr.max_wr;
	for (uint32_t i = 0; i < room - 1; i++)
		pair_post_recv(&p, 1, 100 + i, HALF, 64);
	assert_int_equal(ibv_post_srq_recv(p.srq, wr, &bad), ENOMEM);
	assert_ptr_equal(bad, &wr[1]);
	send_one(5);
	pair_expect(p.cq[1], IBV_WC_RECV, 100);
	assert_int_equal(ibv_post_srq_recv(p.srq, &wr[2], &bad), 0);
	for (uint32_t i = 1; i < room - 1; i++) {
		send_one(5);
		pair_expect(p.cq[1], IBV_WC_RECV, 100 + i);
	}
	send_one(5);
	pair_expect(p.cq[1], IBV_WC_RECV, 1);
	send_one(5);
	pair_expect(p.cq[1], IBV_WC_RECV, 3);
}

static void too_many_elements_are_refused(void **state)
{
	struct ibv_sge sge[4] = { 0 };
	struct ibv_recv_wr wr = { .sg_list = sge, .num_sge = 4 }, *bad = NULL;

	make();
	assert_int_equal(ibv_post_srq_recv(p.srq, &wr, &bad), EINVAL);
	assert_ptr_equal(bad, &wr);
}

/* Completions that were not polled hold entries; they come back when their QP is destroyed. */
static void a_dead_qp_gives_its_entries_back(void **state)
{
	struct ibv_srq_attr attr;

	make();
	assert_int_equal(ibv_query_srq(p.srq, &attr), 0);
	for (int lap = 0; lap < 5; lap++) {
		for (uint32_t i = 0; i < attr.max_wr; i++) {
			pair_post_recv(&p, 1, i, HALF, 64);
			send_one(i);
		}
		pair_to_reset(p.qp[0]);
		pair_to_reset(p.qp[1]);
		pair_connect(&p);
	}
	pair_post_recv(&p, 1, 77, HALF, 64);
	send_one(1);
	pair_expect(p.cq[1], IBV_WC_RECV, 77);
}

#define T(name) cmocka_unit_test_teardown(name, drop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(sizes_are_rounded_as_the_real_driver_does),
		T(entries_are_used_in_the_order_of_posting),
		T(a_full_queue_refuses_and_goes_on),
		T(too_many_elements_are_refused),
		T(a_dead_qp_gives_its_entries_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
