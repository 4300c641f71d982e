/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Send queues that are drained (SQD) or broken (SQE).
 */
#include "rig.h"

static void go(struct end *e, enum ibv_qp_state state, bool notify)
{
	struct ibv_qp_attr attr = { .qp_state = state, .en_sqd_async_notify = notify };

	check_ok(ibv_modify_qp(e->qp, &attr,
			       IBV_QP_STATE | (notify ? IBV_QP_EN_SQD_ASYNC_NOTIFY : 0)));
}

static bool is_draining(struct end *e)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	check_ok(ibv_query_qp(e->qp, &attr, IBV_QP_STATE, &init));
	check_equal(attr.qp_state, IBV_QPS_SQD);
	return attr.sq_draining;
}

static void send_byte(struct end *e, uint64_t id)
{
	post(e,
	     &(struct work){ .id = id, .op = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED, .len = 1 });
}

static void an_idle_queue_is_drained_at_once(void)
{
	struct pair p = pair_open(NULL);
	struct ibv_async_event got;

	go(p.a, IBV_QPS_SQD, true);
	got = wait_event(p.a->ctx);
	check_equal(got.event_type, IBV_EVENT_SQ_DRAINED);
	check(got.element.qp == p.a->qp);
	check(!is_draining(p.a));
	check(!event_is_there(p.a->ctx));
	pair_close(&p);
}

static void without_asking_there_is_no_drained_event(void)
{
	struct pair p = pair_open(NULL);

	go(p.a, IBV_QPS_SQD, false);
	check(!is_draining(p.a));
	check(!event_is_there(p.a->ctx));
	pair_close(&p);
}

static void requests_posted_while_drained_wait_for_rts(void)
{
	struct pair p = pair_open(NULL);

	for (unsigned int i = 0; i < 5; i++)
		post_recv(p.b, i, 0, 8);
	go(p.a, IBV_QPS_SQD, false);
	for (unsigned int i = 0; i < 5; i++)
		send_byte(p.a, i);
	for (uint64_t end = now_ns() + 20000000; now_ns() < end;) {
		check_empty(p.a->scq);
		check_empty(p.b->rcq);
	}
	go(p.a, IBV_QPS_RTS, false);
	for (unsigned int i = 0; i < 5; i++) {
		expect_ok(p.a->scq, i);
		expect_ok(p.b->rcq, i);
	}
	pair_close(&p);
}

static void a_drained_queue_still_receives(void)
{
	struct pair p = pair_open(NULL);

	go(p.a, IBV_QPS_SQD, false);
	post_recv(p.a, 1, 0, 8);
	send_byte(p.b, 2);
	expect_ok(p.b->scq, 2);
	expect_ok(p.a->rcq, 1);
	post(p.b, &(struct work){ .id = 3,
				  .op = IBV_WR_RDMA_READ,
				  .flags = IBV_SEND_SIGNALED,
				  .len = 8,
				  .raddr = p.b->to.va,
				  .rkey = p.b->to.rkey });
	expect_ok(p.b->scq, 3);
	pair_close(&p);
}

/* A message that the receiver was not ready for has begun: draining means to end it. */
static void draining_ends_what_was_begun(void)
{
	struct pair p = pair_open(NULL);
	struct ibv_async_event got;

	send_byte(p.a, 1);
	/* it is out, and refused at least once */
	for (uint64_t end = now_ns() + 10000000; now_ns() < end;)
		check_empty(p.a->scq);
	go(p.a, IBV_QPS_SQD, true);
	send_byte(p.a, 2);
	for (uint64_t end = now_ns() + 20000000; now_ns() < end;) {
		check(!event_is_there(p.a->ctx));
		check(is_draining(p.a));
	}
	post_recv(p.b, 8, 0, 8);
	post_recv(p.b, 9, 0, 8);
	expect_ok(p.b->rcq, 8);
	expect_ok(p.a->scq, 1);
	got = wait_event(p.a->ctx);
	check_equal(got.event_type, IBV_EVENT_SQ_DRAINED);
	check(!is_draining(p.a));
	check_empty(p.b->rcq);
	go(p.a, IBV_QPS_RTS, false);
	expect_ok(p.a->scq, 2);
	expect_ok(p.b->rcq, 9);
	pair_close(&p);
}

static void attributes_may_change_while_drained(void)
{
	struct pair p = pair_open(NULL);
	struct ibv_qp_attr attr = { .rnr_retry = 0, .min_rnr_timer = 20 };

	go(p.a, IBV_QPS_SQD, false);
	check_ok(ibv_modify_qp(p.a->qp, &attr, IBV_QP_RNR_RETRY | IBV_QP_MIN_RNR_TIMER));
	go(p.a, IBV_QPS_RTS, false);
	send_byte(p.a, 1);
	expect_wc(p.a->scq, 1, IBV_WC_RNR_RETRY_EXC_ERR);
	pair_close(&p);
}

static void a_drained_queue_can_fail(void)
{
	struct pair p = pair_open(NULL);

	go(p.a, IBV_QPS_SQD, false);
	send_byte(p.a, 1);
	end_to_error(p.a);
	expect_wc(p.a->scq, 1, IBV_WC_WR_FLUSH_ERR);
	pair_close(&p);
}

/* ---- SQE ---- */

static void send_wrong(struct end *e, uint64_t id, struct ibv_ah *ah, uint32_t qpn)
{
	struct ibv_sge sge = { (uintptr_t)e->buf, 8, e->mr->lkey ^ 0x100 };
	struct ibv_send_wr *bad,
		wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND };

	if (ah) {
		wr.wr.ud.ah = ah;
		wr.wr.ud.remote_qpn = qpn;
		wr.wr.ud.remote_qkey = e->o.qkey;
	}
	check_ok(ibv_post_send(e->qp, &wr, &bad));
}

static void a_bad_request_stops_sending_but_not_receiving(enum ibv_qp_type type)
{
	struct options o = options_of(type);
	struct pair p = pair_open(&o);
	struct ibv_ah *to_b = NULL, *to_a = NULL;
	struct work to = { .id = 2, .op = IBV_WR_SEND, .len = 4 }, back = to;
	uint32_t qpn = 0;

	if (type == IBV_QPT_UD) {
		struct address a = end_address(p.a), b = end_address(p.b);
		struct ibv_ah_attr attr;

		address_to_ah_attr(&b, &attr);
		to_b = must(ibv_create_ah(p.a->pd, &attr));
		address_to_ah_attr(&a, &attr);
		to_a = must(ibv_create_ah(p.b->pd, &attr));
		qpn = b.qpn;
		to.ah = to_b;
		to.qpn = b.qpn;
		back.ah = to_a;
		back.qpn = a.qpn;
		to.qkey = back.qkey = o.qkey;
	}
	back.flags = IBV_SEND_SIGNALED;
	send_wrong(p.a, 1, to_b, qpn);
	post(p.a, &to);
	expect_wc(p.a->scq, 1, IBV_WC_LOC_PROT_ERR);
	expect_wc(p.a->scq, 2, IBV_WC_WR_FLUSH_ERR);
	check_equal(end_state(p.a), IBV_QPS_SQE);
	/* posted now: flushed, too */
	to.id = 3;
	post(p.a, &to);
	expect_wc(p.a->scq, 3, IBV_WC_WR_FLUSH_ERR);
	/* receiving works */
	post_recv(p.a, 4, 0, 64);
	post(p.b, &back);
	expect_ok(p.b->scq, 2);
	expect_ok(p.a->rcq, 4);
	/* and sending, after a word */
	go(p.a, IBV_QPS_RTS, false);
	post_recv(p.b, 5, 0, 64);
	to.id = 6;
	to.flags = IBV_SEND_SIGNALED;
	post(p.a, &to);
	expect_ok(p.a->scq, 6);
	expect_ok(p.b->rcq, 5);
	if (to_a)
		check_ok(ibv_destroy_ah(to_a));
	if (to_b)
		check_ok(ibv_destroy_ah(to_b));
	pair_close(&p);
}

static void a_bad_request_on_uc_stops_sending_only(void)
{
	a_bad_request_stops_sending_but_not_receiving(IBV_QPT_UC);
}

static void a_bad_request_on_ud_stops_sending_only(void)
{
	a_bad_request_stops_sending_but_not_receiving(IBV_QPT_UD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_idle_queue_is_drained_at_once),
		TEST(without_asking_there_is_no_drained_event),
		TEST(requests_posted_while_drained_wait_for_rts),
		TEST(a_drained_queue_still_receives),
		TEST(draining_ends_what_was_begun),
		TEST(attributes_may_change_while_drained),
		TEST(a_drained_queue_can_fail),
		TEST(a_bad_request_on_uc_stops_sending_only),
		TEST(a_bad_request_on_ud_stops_sending_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
