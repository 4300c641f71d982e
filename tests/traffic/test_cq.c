/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completion queues: laps, overrun, resizing with entries inside, and the extended interface.
 */
#include "rig.h"

#include <arpa/inet.h>

static void write_one(struct end *e, uint64_t id)
{
	post(e, &(struct work){ .id = id,
				.op = IBV_WR_RDMA_WRITE,
				.flags = IBV_SEND_SIGNALED,
				.len = 8,
				.raddr = e->to.va,
				.rkey = e->to.rkey });
}

static void the_ring_goes_round_many_times(void)
{
	struct options o = options_of(IBV_QPT_RC);
	struct pair p;

	o.cqe = 7;
	o.send_wr = 8;
	p = pair_open(&o);
	for (unsigned int i = 0; i < 1000; i++) {
		struct ibv_wc wc[7];
		unsigned int n = 1 + i % 7;
		int got = 0;

		for (unsigned int k = 0; k < n; k++)
			write_one(p.a, 10 * i + k);
		wait_for((got += ibv_poll_cq(p.a->scq, 7 - got, wc + got)) == (int)n);
		for (unsigned int k = 0; k < n; k++) {
			check_equal(wc[k].wr_id, 10 * i + k);
			check_equal(wc[k].status, IBV_WC_SUCCESS);
		}
	}
	check_empty(p.a->scq);
	pair_close(&p);
}

static void a_queue_holds_at_least_what_was_asked_for(void)
{
	static const int depths[] = { 1, 2, 3, 15, 16, 17, 100, 255, 256, 257, 1000 };

	for (unsigned int i = 0; i < array_size(depths); i++) {
		struct options o = options_of(IBV_QPT_RC);
		struct pair p;

		o.cqe = depths[i];
		o.send_wr = 1024;
		p = pair_open(&o);
		check(p.a->scq->cqe >= depths[i]);
		for (int k = 0; k < depths[i]; k++)
			write_one(p.a, k);
		for (int k = 0; k < depths[i]; k++)
			expect_ok(p.a->scq, k);
		check(!event_is_there(p.a->ctx));
		pair_close(&p);
	}
}

static void depths_out_of_range_are_refused(void)
{
	struct ibv_context *ctx = rig_context();

	check_refused(ibv_create_cq(ctx, 0, NULL, NULL, 0), EINVAL);
	check_refused(ibv_create_cq(ctx, -1, NULL, NULL, 0), EINVAL);
	check_refused(ibv_create_cq(ctx, rig_attr()->max_cqe + 1, NULL, NULL, 0), EINVAL);
	check_refused(ibv_create_cq(ctx, 16, NULL, NULL, ctx->num_comp_vectors), EINVAL);
	check_refused(ibv_create_cq(ctx, 16, NULL, NULL, -1), EINVAL);
}

static void an_overrun_raises_cq_err(void)
{
	struct options o = options_of(IBV_QPT_RC);
	struct ibv_async_event got;
	struct pair p;

	o.cqe = 4;
	o.send_wr = 64;
	p = pair_open(&o);
	for (unsigned int i = 0; i < 60; i++)
		write_one(p.a, i);
	got = wait_event(p.a->ctx);
	check_equal(got.event_type, IBV_EVENT_CQ_ERR);
	check(got.element.cq == p.a->scq);
	pair_close(&p);
}

static void several_queue_pairs_complete_into_one_queue(void)
{
	struct options o = options_of(IBV_QPT_RC);
	struct pair p = pair_open(&o);
	struct end *twin = end_twin(p.a), *c = end_open(&o);
	struct address to_c = end_address(c), to_twin = end_address(twin);
	unsigned int mine = 0, other = 0;

	end_connect(twin, &to_c);
	end_connect(c, &to_twin);
	for (unsigned int i = 0; i < 30; i++) {
		write_one(p.a, i);
		write_one(twin, 100 + i);
	}
	for (unsigned int i = 0; i < 60; i++) {
		struct ibv_wc wc = wait_wc(p.a->scq);

		check_equal(wc.status, IBV_WC_SUCCESS);
		if (wc.qp_num == p.a->qp->qp_num)
			check_equal(wc.wr_id, mine++);
		else
			check_equal(wc.wr_id, 100 + other++);
	}
	check_equal(mine, 30);
	check_equal(other, 30);
	twin_close(twin);
	end_close(c);
	pair_close(&p);
}

static void a_queue_in_use_is_busy(void)
{
	struct end *e = end_open(NULL);

	check_equal(ibv_destroy_cq(e->scq), EBUSY);
	check_equal(ibv_destroy_cq(e->rcq), EBUSY);
	end_close(e);
}

/* ---- resizing ---- */

static void a_queue_grows_and_shrinks_with_entries_inside(void)
{
	struct options o = options_of(IBV_QPT_RC);
	static const int depths[] = { 40, 100, 500, 64, 35, 33, 200 };
	unsigned int id = 0, seen = 0;
	struct pair p;

	o.cqe = 33;
	p = pair_open(&o);
	for (unsigned int round = 0; round < 10; round++)
		for (unsigned int i = 0; i < array_size(depths); i++) {
			/* some are there, some have been taken before */
			for (unsigned int k = 0; k < 20; k++)
				write_one(p.a, id++);
			for (unsigned int k = 0; k < 7; k++)
				expect_ok(p.a->scq, seen++);
			check_ok(ibv_resize_cq(p.a->scq, depths[i]));
			check(p.a->scq->cqe >= depths[i]);
			while (seen < id)
				expect_ok(p.a->scq, seen++);
			check_empty(p.a->scq);
		}
	pair_close(&p);
}

static void a_queue_does_not_shrink_below_what_it_holds(void)
{
	struct options o = options_of(IBV_QPT_RC);
	struct pair p;

	o.cqe = 64;
	p = pair_open(&o);
	for (unsigned int i = 0; i < 40; i++)
		write_one(p.a, i);
	pair_settle(&p);
	check(ibv_resize_cq(p.a->scq, 4) != 0);
	check(ibv_resize_cq(p.a->scq, 0) != 0);
	check(ibv_resize_cq(p.a->scq, rig_attr()->max_cqe + 1) != 0);
	for (unsigned int i = 0; i < 40; i++)
		expect_ok(p.a->scq, i);
	check_empty(p.a->scq);
	pair_close(&p);
}

/* ---- the extended interface ---- */

#define WANTED                                                                                     \
	(IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_IMM | IBV_WC_EX_WITH_QP_NUM |                    \
	 IBV_WC_EX_WITH_SRC_QP | IBV_WC_EX_WITH_SLID | IBV_WC_EX_WITH_SL |                         \
	 IBV_WC_EX_WITH_DLID_PATH_BITS)

static struct ibv_cq_ex *make_ex(uint64_t more)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 64, .wc_flags = WANTED | more };

	return ibv_create_cq_ex(rig_context(), &attr);
}

/* An end that receives into an extended queue. */
static struct end *open_ex(struct ibv_cq_ex *cq)
{
	struct end *e = end_open(NULL);
	struct ibv_qp_init_attr attr = {
		.send_cq = ibv_cq_ex_to_cq(cq),
		.recv_cq = ibv_cq_ex_to_cq(cq),
		.cap = { 64, 64, 2, 2, 0 },
		.qp_type = IBV_QPT_RC,
	};

	end_drop_qp(e);
	e->qp = must(ibv_create_qp(e->pd, &attr));
	return e;
}

static void start_poll(struct ibv_cq_ex *cq)
{
	struct ibv_poll_cq_attr attr = { 0 };
	int err;

	wait_for((err = ibv_start_poll(cq, &attr)) != ENOENT);
	check_equal(err, 0);
}

static void every_field_of_an_extended_completion_is_read(void)
{
	struct ibv_cq_ex *cq = make_ex(0);
	struct end *a, *b;

	if (!cq)
		rig_skip("no extended completion queues");
	a = end_open(NULL);
	b = open_ex(cq);
	ends_connect(a, b);
	post_recv(b, 11, 0, 128);
	post_recv(b, 12, 0, 128);
	post(a, &(struct work){ .op = IBV_WR_SEND, .len = 30 });
	post(a, &(struct work){ .id = 1,
				.op = IBV_WR_SEND_WITH_IMM,
				.flags = IBV_SEND_SIGNALED,
				.imm = 0x777,
				.len = 31 });
	expect_ok(a->scq, 1);
	start_poll(cq);
	check_equal(cq->wr_id, 11);
	check_equal(cq->status, IBV_WC_SUCCESS);
	check_equal(ibv_wc_read_opcode(cq), IBV_WC_RECV);
	check_equal(ibv_wc_read_byte_len(cq), 30);
	check_equal(ibv_wc_read_qp_num(cq), b->qp->qp_num);
	check_equal(ibv_wc_read_wc_flags(cq) & IBV_WC_WITH_IMM, 0);
	check_equal(ibv_wc_read_vendor_err(cq), 0);
	check_ok(ibv_next_poll(cq));
	check_equal(cq->wr_id, 12);
	check_equal(ibv_wc_read_byte_len(cq), 31);
	check_equal(ibv_wc_read_wc_flags(cq) & IBV_WC_WITH_IMM, IBV_WC_WITH_IMM);
	check_equal(ntohl(ibv_wc_read_imm_data(cq)), 0x777);
	check_equal(ibv_next_poll(cq), ENOENT);
	ibv_end_poll(cq);
	/* sends, and errors, complete into it as well */
	post(b, &(struct work){ .id = 13,
				.op = IBV_WR_RDMA_READ,
				.flags = IBV_SEND_SIGNALED,
				.len = 16,
				.raddr = b->to.va,
				.rkey = b->to.rkey });
	post(b, &(struct work){ .id = 14,
				.op = IBV_WR_RDMA_READ,
				.len = 16,
				.raddr = b->to.va,
				.rkey = b->to.rkey ^ 0x100 });
	start_poll(cq);
	check_equal(cq->wr_id, 13);
	check_equal(ibv_wc_read_opcode(cq), IBV_WC_RDMA_READ);
	ibv_end_poll(cq);
	start_poll(cq);
	check_equal(cq->wr_id, 14);
	check_equal(cq->status, IBV_WC_REM_ACCESS_ERR);
	check(ibv_wc_read_vendor_err(cq) != 0);
	ibv_end_poll(cq);
	end_drop_qp(b);
	check_ok(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)));
	end_close(a);
	end_close(b);
}

static void completions_carry_times_that_grow(void)
{
	struct ibv_cq_ex *cq = make_ex(IBV_WC_EX_WITH_COMPLETION_TIMESTAMP);
	struct ibv_values_ex values = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };
	uint64_t before = 0, now;
	struct end *a, *b;

	if (!cq)
		rig_skip("no timestamps");
	a = end_open(NULL);
	b = open_ex(cq);
	ends_connect(a, b);
	check_ok(ibv_query_rt_values_ex(rig_context(), &values));
	before = values.raw_clock.tv_nsec;
	for (unsigned int i = 0; i < 20; i++) {
		post(b, &(struct work){ .id = i,
					.op = IBV_WR_RDMA_WRITE,
					.flags = IBV_SEND_SIGNALED,
					.len = 8,
					.raddr = b->to.va,
					.rkey = b->to.rkey });
		start_poll(cq);
		now = ibv_wc_read_completion_ts(cq);
		check(now >= before);
		before = now;
		ibv_end_poll(cq);
	}
	check_ok(ibv_query_rt_values_ex(rig_context(), &values));
	check((uint64_t)values.raw_clock.tv_nsec >= before);
	end_drop_qp(b);
	check_ok(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)));
	end_close(a);
	end_close(b);
}

static void moderation_is_accepted_and_loses_nothing(void)
{
	struct ibv_modify_cq_attr attr = {
		.attr_mask = IBV_CQ_ATTR_MODERATE,
		.moderate = { .cq_count = 4, .cq_period = 1000 },
	};
	struct options o = options_of(IBV_QPT_RC);
	struct pair p;
	struct ibv_cq *cq;
	void *context;

	o.events = true;
	p = pair_open(&o);
	if (ibv_modify_cq(p.a->scq, &attr))
		rig_skip("no moderation");
	check_ok(ibv_req_notify_cq(p.a->scq, 0));
	write_one(p.a, 1); /* alone: the time must bring the event */
	check(is_readable(p.a->channel->fd, WAIT_MS));
	check_ok(ibv_get_cq_event(p.a->channel, &cq, &context));
	ibv_ack_cq_events(cq, 1);
	expect_ok(p.a->scq, 1);
	pair_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_ring_goes_round_many_times),
		TEST(a_queue_holds_at_least_what_was_asked_for),
		TEST(depths_out_of_range_are_refused),
		TEST(an_overrun_raises_cq_err),
		TEST(several_queue_pairs_complete_into_one_queue),
		TEST(a_queue_in_use_is_busy),
		TEST(a_queue_grows_and_shrinks_with_entries_inside),
		TEST(a_queue_does_not_shrink_below_what_it_holds),
		TEST(every_field_of_an_extended_completion_is_read),
		TEST(completions_carry_times_that_grow),
		TEST(moderation_is_accepted_and_loses_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
