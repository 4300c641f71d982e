/* SPDX-License-Identifier: BSD-2-Clause */
/* Completion queues: sizes, cursors, resizing, and what becomes of a dead QP's completions. */
#include "pair.h"

#include <errno.h>
#include <time.h>

#define HALF (PAIR_BUF / 2)

static struct pair p;

static int drop(void **state)
{
	pair_drop(&p);
	return 0;
}

static void poke(struct ibv_qp *qp, uint64_t wr_id)
{
	struct ibv_sge sge = pair_sge(&p, 0, 8);
	struct ibv_send_wr wr = { .wr_id = wr_id,
				  .opcode = IBV_WR_RDMA_WRITE,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .send_flags = IBV_SEND_SIGNALED },
			   *bad;

	pair_fill_wr(&p, &wr, HALF);
	assert_int_equal(ibv_post_send(qp, &wr, &bad), 0);
}

/* Connected and used once: from then on a write to oneself is done when its posting returns. */
static void make(int cqe)
{
	pair_make(&p, &(struct pair_wish){ .type = IBV_QPT_RC, .cqe = cqe });
	poke(p.qp[0], 99);
	pair_expect(p.cq[0], IBV_WC_RDMA_WRITE, 99);
}

static void a_cq_is_rounded_up_to_a_power_of_two_less_one(void **state)
{
	const int sizes[][2] = { { 1, 1 },     { 2, 3 },     { 3, 3 },
				 { 100, 127 }, { 128, 255 }, { 4194303, 4194303 } };

	make(0);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct ibv_cq *cq = ibv_create_cq(p.ctx, sizes[i][0], NULL, NULL, 0);

		assert_non_null(cq);
		assert_int_equal(cq->cqe, sizes[i][1]);
		assert_int_equal(ibv_destroy_cq(cq), 0);
	}
	errno = 0;
	assert_null(ibv_create_cq(p.ctx, 4194304, NULL, NULL, 0));
	assert_int_equal(errno, EINVAL);
	assert_null(ibv_create_cq(p.ctx, 0, NULL, NULL, 0));
}

static void completions_come_in_order_over_many_laps(void **state)
{
	struct ibv_wc wc[5];
	uint64_t next = 0;

	make(7);
	for (uint64_t i = 0; i < 1000; i++) {
		poke(p.qp[0], i);
		if (i % 5 == 4) {
			assert_int_equal(ibv_poll_cq(p.cq[0], 5, wc), 5);
			for (int k = 0; k < 5; k++)
				assert_int_equal(wc[k].wr_id, next++);
		}
	}
}

static void resizing_keeps_the_completions_in_the_queue(void **state)
{
	const int sizes[] = { 100, 20, 500, 15, 16, 2000, 15 };
	uint64_t posted = 0, polled = 0;

	make(31);
	for (int round = 0; round < 20; round++)
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			while (posted - polled < 12)
				poke(p.qp[0], posted++);
			assert_int_equal(ibv_resize_cq(p.cq[0], sizes[i]), 0);
			assert_true(p.cq[0]->cqe >= sizes[i]);
			for (int k = 0; k < 5; k++)
				pair_expect(p.cq[0], IBV_WC_RDMA_WRITE, polled++);
		}
}

static void a_cq_does_not_shrink_below_what_it_holds(void **state)
{
	make(31);
	for (int i = 0; i < 10; i++)
		poke(p.qp[0], i);
	assert_int_equal(ibv_resize_cq(p.cq[0], 7), EINVAL);
	assert_int_equal(p.cq[0]->cqe, 31);
	assert_int_equal(ibv_resize_cq(p.cq[0], 5000000), EINVAL);
	for (int i = 0; i < 10; i++)
		pair_expect(p.cq[0], IBV_WC_RDMA_WRITE, i);
}

static void a_reset_qp_takes_its_completions_along(void **state)
{
	struct ibv_wc wc;

	make(0);
	/* Both QPs complete into one CQ, in turns. */
	for (int lap = 0; lap < 30; lap++) {
		struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC,
						 .send_cq = p.cq[0],
						 .recv_cq = p.cq[0],
						 .cap = { 8, 8, 1, 1, 0 } };
		struct ibv_qp *other = ibv_create_qp(p.pd, &init), *kept = p.qp[1];
		struct ibv_recv_wr recv = { .wr_id = 500 }, *bad;
		struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };

		assert_non_null(other);
		assert_int_equal(ibv_modify_qp(other, &attr,
					       IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
						       IBV_QP_ACCESS_FLAGS),
				 0);
		for (int i = 0; i < 4; i++)
			assert_int_equal(ibv_post_recv(other, &recv, &bad), 0);
		poke(p.qp[0], 1);
		pair_to_error(other);
		poke(p.qp[0], 2);
		if (lap & 1)
			pair_to_reset(other);
		assert_int_equal(ibv_destroy_qp(other), 0);
		poke(p.qp[0], 3);
		for (uint64_t i = 1; i <= 3; i++)
			pair_expect(p.cq[0], IBV_WC_RDMA_WRITE, i);
		assert_int_equal(ibv_poll_cq(p.cq[0], 1, &wc), 0);
		p.qp[1] = kept;
	}
}

static void a_reset_qp_starts_anew(void **state)
{
	make(0);
	for (int lap = 0; lap < 5; lap++) {
		for (int i = 0; i < 37; i++) {
			pair_post_recv(&p, 1, i, HALF, 64);
			poke(p.qp[0], i);
			pair_expect(p.cq[0], IBV_WC_RDMA_WRITE, i);
		}
		pair_to_reset(p.qp[0]);
		pair_to_reset(p.qp[1]);
		pair_connect(&p);
	}
}

static void the_cursor_reads_what_poll_reports(void **state)
{
	struct ibv_poll_cq_attr attr = { 0 };
	struct ibv_send_wr wr = { .wr_id = 6,
				  .opcode = IBV_WR_SEND_WITH_IMM,
				  .send_flags = IBV_SEND_SIGNALED,
				  .imm_data = htobe32(77) };
	struct ibv_sge sge;
	struct ibv_cq_ex *cq;

	pair_make(&p, &(struct pair_wish){ .type = IBV_QPT_UD, .wc_flags = IBV_WC_STANDARD_FLAGS });
	cq = (struct ibv_cq_ex *)p.cq[1];
	assert_int_equal(ibv_start_poll(cq, &attr), ENOENT);
	sge = pair_sge(&p, 0, 30);
	wr.sg_list = &sge;
	wr.num_sge = 1;
	pair_fill_wr(&p, &wr, 0);
	for (int i = 0; i < 3; i++) {
		pair_post_recv(&p, 1, i, HALF, 100);
		pair_post(&p, &wr);
		pair_expect(p.cq[0], IBV_WC_SEND, 6);
	}
	while (ibv_start_poll(cq, &attr))
		;
	for (int i = 0; i < 3; i++) {
		if (i)
			while (ibv_next_poll(cq))
				;
		assert_int_equal(cq->wr_id, i);
		assert_int_equal(cq->status, IBV_WC_SUCCESS);
		assert_int_equal(ibv_wc_read_opcode(cq), IBV_WC_RECV);
		assert_int_equal(ibv_wc_read_byte_len(cq), 70);
		assert_int_equal(ibv_wc_read_imm_data(cq), htobe32(77));
		assert_int_equal(ibv_wc_read_qp_num(cq), p.qp[1]->qp_num);
		assert_int_equal(ibv_wc_read_src_qp(cq), p.qp[0]->qp_num);
		assert_int_equal(ibv_wc_read_wc_flags(cq), IBV_WC_GRH | IBV_WC_WITH_IMM);
		assert_int_equal(ibv_wc_read_vendor_err(cq), 0);
		assert_int_equal(ibv_wc_read_slid(cq), 0);
		assert_int_equal(ibv_wc_read_sl(cq), 0);
	}
	assert_int_equal(ibv_next_poll(cq), ENOENT);
	ibv_end_poll(cq);
	attr.comp_mask = 1;
	assert_int_equal(ibv_start_poll(cq, &attr), EINVAL);
}

static void the_cursor_tells_what_went_wrong(void **state)
{
	struct ibv_poll_cq_attr attr = { 0 };
	struct ibv_cq_ex *cq;

	make(0);
	cq = (struct ibv_cq_ex *)p.cq[0];
	pair_to_error(p.qp[0]);
	poke(p.qp[0], 4);
	while (ibv_start_poll(cq, &attr))
		;
	assert_int_equal(cq->wr_id, 4);
	assert_int_equal(cq->status, IBV_WC_WR_FLUSH_ERR);
	assert_int_not_equal(ibv_wc_read_vendor_err(cq), 0);
	ibv_end_poll(cq);
}

static uint64_t wall_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static void time_stamps_lie_between_posting_and_polling(void **state)
{
	const uint64_t flags = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
			       IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
	struct ibv_values_ex values = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };
	struct ibv_poll_cq_attr attr = { 0 };
	uint64_t before, wall, stamp, last = 0;
	struct ibv_cq_ex *cq;

	pair_make(&p, &(struct pair_wish){ .type = IBV_QPT_RC, .wc_flags = flags });
	cq = (struct ibv_cq_ex *)p.cq[0];
	for (int i = 0; i < 20; i++) {
		assert_int_equal(ibv_query_rt_values_ex(p.ctx, &values), 0);
		before = values.raw_clock.tv_sec * 1000000000ull + values.raw_clock.tv_nsec;
		wall = wall_ns();
		poke(p.qp[0], 1);
		while (ibv_start_poll(cq, &attr))
			;
		stamp = ibv_wc_read_completion_ts(cq);
		assert_true(stamp >= before && stamp >= last);
		last = stamp;
		/* The two clocks are read one after the other: a little less is as good. */
		assert_true(ibv_wc_read_completion_wallclock_ns(cq) + 1000000 >= wall);
		assert_true(ibv_wc_read_completion_wallclock_ns(cq) <= wall_ns() + 1000000);
		ibv_end_poll(cq);
	}
}

static void a_single_threaded_cq_works_alike(void **state)
{
	pair_make(&p, &(struct pair_wish){ .type = IBV_QPT_RC,
					   .cqe = 7,
					   .cq_flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED });
	for (int i = 0; i < 100; i++) {
		poke(p.qp[0], i);
		pair_expect(p.cq[0], IBV_WC_RDMA_WRITE, i);
	}
}

static void an_armed_cq_tells_its_channel(void **state)
{
	struct ibv_comp_channel *channel;
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_UD, .cap = { 1, 1, 1, 1, 0 } };
	struct ibv_recv_wr recv = { .wr_id = 3 }, *bad;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = 1 };
	struct ibv_cq *cq, *of;
	struct ibv_qp *qp;
	void *context;

	make(0);
	channel = ibv_create_comp_channel(p.ctx);
	assert_non_null(channel);
	cq = ibv_create_cq(p.ctx, 4, &p, channel, 0);
	assert_non_null(cq);
	init.send_cq = init.recv_cq = cq;
	qp = ibv_create_qp(p.pd, &init);
	assert_non_null(qp);
	assert_int_equal(
		ibv_modify_qp(qp, &attr,
			      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY),
		0);
	assert_int_equal(ibv_post_recv(qp, &recv, &bad), 0);
	assert_int_equal(ibv_req_notify_cq(cq, 0), 0);
	pair_to_error(qp);
	assert_int_equal(ibv_get_cq_event(channel, &of, &context), 0);
	assert_ptr_equal(of, cq);
	assert_ptr_equal(context, &p);
	assert_int_equal(pair_wait(cq).wr_id, 3);
	ibv_ack_cq_events(cq, 1);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	assert_int_equal(ibv_destroy_comp_channel(channel), 0);
}

#define T(name) cmocka_unit_test_teardown(name, drop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_cq_is_rounded_up_to_a_power_of_two_less_one),
		T(completions_come_in_order_over_many_laps),
		T(resizing_keeps_the_completions_in_the_queue),
		T(a_cq_does_not_shrink_below_what_it_holds),
		T(a_reset_qp_takes_its_completions_along),
		T(a_reset_qp_starts_anew),
		T(the_cursor_reads_what_poll_reports),
		T(the_cursor_tells_what_went_wrong),
		T(time_stamps_lie_between_posting_and_polling),
		T(a_single_threaded_cq_works_alike),
		T(an_armed_cq_tells_its_channel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
