/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Properties of a ConnectX-3 alone: capacities that it grants, features that it lacks, and rings
 * whose completions outlive queues.
 */
#include "rig.h"

#include <infiniband/mlx4dv.h>

static struct ibv_qp *create(struct end *e, struct ibv_qp_cap *cap, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = type, .send_cq = e->scq, .recv_cq = e->rcq, .cap = *cap
	};
	struct ibv_qp *qp = ibv_create_qp(e->pd, &attr);

	*cap = attr.cap;
	return qp;
}

static void capacities_are_granted_as_libmlx4_does(void)
{
	static const struct {
		enum ibv_qp_type type;
		struct ibv_qp_cap asked, granted;
	} all[] = {
		{ IBV_QPT_RC, { 1, 1, 1, 1, 0 }, { 31, 1, 2, 1, 28 } },
		{ IBV_QPT_RC, { 32, 500, 1, 3, 0 }, { 95, 512, 2, 4, 28 } },
		{ IBV_QPT_UC, { 128, 128, 1, 1, 236 }, { 251, 128, 30, 1, 448 } },
		{ IBV_QPT_UD, { 10, 3, 1, 1, 0 }, { 15, 4, 4, 1, 60 } },
		{ IBV_QPT_RC, { 16351, 16351, 32, 32, 900 }, { 16381, 16384, 61, 32, 900 } },
	};
	struct options o = options_of(IBV_QPT_RC);
	struct end *e = end_open(&o);

	for (size_t i = 0; i < array_size(all); i++) {
		struct ibv_qp_cap cap = all[i].asked;
		struct ibv_qp *qp = must(create(e, &cap, all[i].type));
		struct ibv_qp_init_attr init;
		struct ibv_qp_attr attr;

		check(!memcmp(&cap, &all[i].granted, sizeof(cap)));
		check_ok(ibv_query_qp(qp, &attr, IBV_QP_CAP, &init));
		check(!memcmp(&init.cap, &cap, sizeof(cap)));
		check_ok(ibv_destroy_qp(qp));
	}
	end_close(e);
}

static void the_granted_requests_fit_and_not_one_more(void)
{
	struct options o = options_of(IBV_QPT_RC);
	struct pair p;

	o.send_wr = 1;
	o.send_sge = 1;
	o.inline_bytes = 0;
	o.recv_wr = 3;
	p = pair_open(&o);
	for (int i = 0; i < 31; i++)
		post(p.a, &(struct work){ .id = i,
					  .op = IBV_WR_RDMA_WRITE,
					  .len = 1,
					  .raddr = p.a->to.va,
					  .rkey = p.a->to.rkey,
					  .flags = i == 30 ? IBV_SEND_SIGNALED : 0 });
	check_equal(try_post(p.a, &(struct work){ .op = IBV_WR_SEND }), ENOMEM);
	expect_ok(p.a->scq, 30);
	check_equal(try_post(p.a, &(struct work){ .op = IBV_WR_RDMA_WRITE,
						  .raddr = p.a->to.va,
						  .rkey = p.a->to.rkey }),
		    0);
	for (int i = 0; i < 4; i++)
		post_recv(p.b, i, 0, 8);
	check_equal(
		ibv_post_recv(p.b->qp, &(struct ibv_recv_wr){ 0 }, &(struct ibv_recv_wr *){ 0 }),
		ENOMEM);
	pair_close(&p);
}

static void there_is_no_builder_interface(void)
{
	struct options o = options_of(IBV_QPT_RC);
	struct end *e = end_open(&o);
	struct ibv_qp_init_attr_ex attr = { .qp_type = IBV_QPT_RC,
					    .send_cq = e->scq,
					    .recv_cq = e->rcq,
					    .pd = e->pd,
					    .cap = { 1, 1, 1, 1, 0 },
					    .comp_mask = IBV_QP_INIT_ATTR_PD |
							 IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
					    .send_ops_flags = IBV_QP_EX_WITH_SEND };

	check_refused(ibv_create_qp_ex(e->ctx, &attr), EOPNOTSUPP);
	attr.comp_mask = IBV_QP_INIT_ATTR_PD;
	attr.qp_type = IBV_QPT_RAW_PACKET;
	check_refused(ibv_create_qp_ex(e->ctx, &attr), EOPNOTSUPP);
	end_close(e);
}

static struct ibv_cq_ex *create_cq(uint64_t wc_flags, uint32_t flags)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 10,
					    .wc_flags = wc_flags,
					    .comp_mask = flags ? IBV_CQ_INIT_ATTR_MASK_FLAGS : 0,
					    .flags = flags };

	return ibv_create_cq_ex(rig_context(), &attr);
}

static void completion_queues_have_what_the_adapter_has(void)
{
	struct ibv_cq_ex *cq =
		must(create_cq(IBV_WC_STANDARD_FLAGS, IBV_CREATE_CQ_ATTR_SINGLE_THREADED));

	check(cq->read_byte_len && cq->read_imm_data && cq->read_qp_num && cq->read_src_qp);
	check(cq->read_slid && cq->read_sl && cq->read_dlid_path_bits && !cq->read_completion_ts);
	check(!cq->read_cvlan && !cq->read_flow_tag && !cq->read_tm_info &&
	      !cq->read_completion_wallclock_ns);
	check_equal(ibv_cq_ex_to_cq(cq)->cqe, 15);
	check_ok(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)));

	cq = must(create_cq(IBV_WC_EX_WITH_COMPLETION_TIMESTAMP, 0));
	check(cq->read_completion_ts && !cq->read_sl);
	check_ok(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)));

	check_refused(create_cq(IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | IBV_WC_EX_WITH_SL, 0),
		      EOPNOTSUPP);
	check_refused(create_cq(IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | IBV_WC_EX_WITH_SLID, 0),
		      EOPNOTSUPP);
	check_refused(create_cq(IBV_WC_EX_WITH_CVLAN, 0), EOPNOTSUPP);
	check_refused(create_cq(IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK, 0), EOPNOTSUPP);
	check_refused(create_cq(0, IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN), EOPNOTSUPP);
}

/* Two pairs whose receives complete into one queue. */
struct crowd {
	struct end *a, *b; /* b has the queue */
	struct end *a2, *b2;
};

static struct crowd crowd_open(struct options *o)
{
	struct crowd c = { .a = end_open(o), .b = end_open(o) };
	struct address at;

	c.a2 = end_twin(c.a);
	c.b2 = end_twin(c.b);
	at = end_address(c.b);
	end_connect(c.a, &at);
	at = end_address(c.a);
	end_connect(c.b, &at);
	at = end_address(c.b2);
	end_connect(c.a2, &at);
	at = end_address(c.a2);
	end_connect(c.b2, &at);
	return c;
}

static void crowd_close(struct crowd *c)
{
	twin_close(c->b2);
	twin_close(c->a2);
	end_close(c->b);
	end_close(c->a);
}

static void send_one(struct end *from, struct end *to, uint64_t id)
{
	struct ibv_wc wc;

	post_recv(to, id, 0, 64);
	post(from,
	     &(struct work){ .id = id, .op = IBV_WR_SEND, .len = 8, .flags = IBV_SEND_SIGNALED });
	wait_for(ibv_poll_cq(from->scq, 1, &wc) == 1);
	check_equal(wc.status, IBV_WC_SUCCESS);
}

static void a_reset_takes_its_own_completions_only(void)
{
	struct options o = options_of(IBV_QPT_RC);
	struct crowd c;

	o.cqe = 31;
	o.recv_wr = 16;
	c = crowd_open(&o);
	/* several laps of the ring, with entries of both waiting when one goes to RESET */
	for (int lap = 0; lap < 12; lap++) {
		struct address at;

		for (int i = 0; i < 10; i++) {
			bool first = i % 3 != 1;

			send_one(first ? c.a : c.a2, first ? c.b : c.b2, 100 * first + i);
		}
		end_reset(c.b2);
		end_reset(c.a2);
		for (int i = 0; i < 10; i++)
			if (i % 3 != 1)
				expect_ok(c.b->rcq, 100 + i);
		check_empty(c.b->rcq);
		at = end_address(c.b2);
		end_connect(c.a2, &at);
		at = end_address(c.a2);
		end_connect(c.b2, &at);
	}
	crowd_close(&c);
}

static void a_destroyed_queue_pair_gives_shared_entries_back(void)
{
	struct options o = options_of(IBV_QPT_RC);
	struct ibv_srq_attr srq;
	struct pair p;

	o.srq = true;
	o.recv_wr = 7;
	p = pair_open(&o);
	for (int i = 0; i < 5; i++)
		send_one(p.a, p.b, i);
	/* five completions that were not polled hold an entry each; then they are gone */
	end_drop_qp(p.b);
	check_empty(p.b->rcq);
	check_ok(ibv_query_srq(p.b->srq, &srq));
	for (uint32_t i = 0; i < srq.max_wr; i++)
		post_recv(p.b, i, 0, 64);
	check_equal(ibv_post_srq_recv(p.b->srq, &(struct ibv_recv_wr){ 0 },
				      &(struct ibv_recv_wr *){ 0 }),
		    ENOMEM);
	end_close(p.b);
	end_close(p.a);
}

static void a_resized_queue_keeps_what_waits_in_any_lap(void)
{
	static const int sizes[] = { 15, 63, 31, 127, 15 };
	struct options o = options_of(IBV_QPT_RC);
	struct pair p;
	int id = 0, expected = 0;

	o.cqe = 15;
	o.recv_wr = 16;
	p = pair_open(&o);
	for (int round = 0; round < 40; round++) {
		for (int i = 0; i < 9; i++)
			send_one(p.a, p.b, id++);
		for (int i = 0; i < round % 9; i++)
			expect_ok(p.b->rcq, expected++);
		check_ok(ibv_resize_cq(p.b->rcq, sizes[round % array_size(sizes)]));
		check_equal(p.b->rcq->cqe, sizes[round % array_size(sizes)]);
		/* eight fit into the smallest ring, nine do not into seven */
		if (!(round % 9))
			check_equal(ibv_resize_cq(p.b->rcq, 3), EINVAL);
		send_one(p.a, p.b, id++);
		while (expected < id)
			expect_ok(p.b->rcq, expected++);
		check_empty(p.b->rcq);
	}
	pair_close(&p);
}

static void posting_too_early_is_refused(void)
{
	struct options o = options_of(IBV_QPT_RC);
	struct end *e = end_open(&o);
	struct ibv_recv_wr *bad = NULL, wr = { 0 };

	check_equal(ibv_post_recv(e->qp, &wr, &bad), EINVAL);
	check(bad == &wr);
	check_equal(try_post(e, &(struct work){ .op = IBV_WR_SEND }), EINVAL);
	end_to_init(e);
	check_ok(ibv_post_recv(e->qp, &wr, &bad));
	check_equal(try_post(e, &(struct work){ .op = IBV_WR_SEND }), EINVAL);
	end_close(e);
}

static void the_first_bad_request_of_a_chain_is_named(void)
{
	struct options o = options_of(IBV_QPT_RC);
	struct pair p = pair_open(&o);
	struct ibv_send_wr wr[3], *bad = NULL;

	memset(wr, 0, sizeof(wr));
	for (int i = 0; i < 3; i++) {
		wr[i].wr_id = i;
		wr[i].next = i < 2 ? &wr[i + 1] : NULL;
		wr[i].opcode = IBV_WR_RDMA_WRITE;
		wr[i].send_flags = IBV_SEND_SIGNALED;
		wr[i].wr.rdma.remote_addr = p.a->to.va;
		wr[i].wr.rdma.rkey = p.a->to.rkey;
	}
	wr[1].opcode = (enum ibv_wr_opcode)99;
	check_equal(ibv_post_send(p.a->qp, wr, &bad), EINVAL);
	check(bad == &wr[1]);
	expect_ok(p.a->scq, 0);
	check_empty(p.a->scq);
	/* nothing is left of the rest */
	check_ok(ibv_post_send(p.a->qp, &wr[2], &bad));
	expect_ok(p.a->scq, 2);
	pair_close(&p);
}

static void time_stamps_grow(void)
{
	const uint64_t mask = 0xffffffffffff;
	struct ibv_cq_ex *cq = must(create_cq(IBV_WC_EX_WITH_COMPLETION_TIMESTAMP, 0));
	struct options o = options_of(IBV_QPT_RC);
	struct end *e = end_open(&o), stamped = *e;
	struct ibv_qp_cap cap = { 4, 4, 1, 1, 0 };
	struct ibv_poll_cq_attr none = { 0 };
	struct address self;
	uint64_t last = 0;

	stamped.scq = ibv_cq_ex_to_cq(cq);
	stamped.qp = must(create(&stamped, &cap, IBV_QPT_RC));
	self = end_address(&stamped);
	end_connect(&stamped, &self);
	for (int i = 0; i < 40; i++) {
		struct ibv_values_ex now = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };
		uint64_t stamp;

		post(&stamped, &(struct work){ .id = i,
					       .op = IBV_WR_RDMA_WRITE,
					       .raddr = self.va,
					       .rkey = self.rkey,
					       .flags = IBV_SEND_SIGNALED });
		wait_for(ibv_start_poll(cq, &none) == 0);
		check_equal(cq->wr_id, i);
		check_equal(cq->status, IBV_WC_SUCCESS);
		stamp = ibv_wc_read_completion_ts(cq);
		ibv_end_poll(cq);
		check_ok(ibv_query_rt_values_ex(rig_context(), &now));
		check(stamp > last && stamp <= ((uint64_t)now.raw_clock.tv_nsec & mask));
		last = stamp;
	}
	check_ok(ibv_destroy_qp(stamped.qp));
	check_ok(ibv_destroy_cq(stamped.scq));
	end_close(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(capacities_are_granted_as_libmlx4_does),
		TEST(the_granted_requests_fit_and_not_one_more),
		TEST(there_is_no_builder_interface),
		TEST(completion_queues_have_what_the_adapter_has),
		TEST(a_reset_takes_its_own_completions_only),
		TEST(a_destroyed_queue_pair_gives_shared_entries_back),
		TEST(a_resized_queue_keeps_what_waits_in_any_lap),
		TEST(posting_too_early_is_refused),
		TEST(the_first_bad_request_of_a_chain_is_named),
		TEST(time_stamps_grow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
