/* SPDX-License-Identifier: BSD-2-Clause */
/* A receiving queue pair of XRC that one process has made and another has opened. */
#include "xrc.h"

static void expect_event(struct ibv_context *ctx, const struct ibv_qp *qp, enum ibv_event_type type)
{
	struct ibv_async_event event = wait_event(ctx);

	check_equal(event.event_type, type);
	check(event.element.qp == qp);
}

/* Makes the queue pair, leaves the rest to the other, and goes as it is told. */
static void maker(int fd)
{
	struct ibv_xrcd *xrcd;
	struct address mine;
	struct end *e;
	char order;

	xrc_need();
	xrcd = xrc_open_domain(rig_context());
	e = xrc_open_half(IBV_QPT_XRC_RECV, xrcd);
	mine = end_address(e);
	tell(fd, &mine, sizeof(mine));
	hear(fd, &order, 1);
	if (order == 'V') {
		expect_event(e->ctx, e->qp, IBV_EVENT_QP_ACCESS_ERR);
		tell_mark(fd, 'v');
		hear(fd, &order, 1);
	}
	if (order == 'D') {
		end_close(e);
		check_ok(ibv_close_xrcd(xrcd));
		check_ok(ibv_close_device(rig_context()));
		tell_mark(fd, 'd');
		hear_mark(fd, 'E');
		rig_forget();
		return;
	}
	hear_mark(fd, 'E');
	end_close(e);
	check_ok(ibv_close_xrcd(xrcd));
}

static struct ibv_qp *open_qp(struct ibv_context *ctx, struct ibv_xrcd *xrcd, uint32_t qpn)
{
	struct ibv_qp_open_attr attr = {
		.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE,
		.qp_num = qpn,
		.xrcd = xrcd,
		.qp_type = IBV_QPT_XRC_RECV,
	};

	return ibv_open_qp(ctx, &attr);
}

/* Opens the queue pair, connects it, and has the queue that messages are for. */
static void opener(int fd)
{
	struct address at_maker, mine, theirs;
	struct ibv_xrcd *xrcd, *domain;
	struct ibv_context *again;
	struct ibv_srq *srq;
	struct ibv_qp *twin;
	struct end *e;
	char order;

	xrc_need();
	hear(fd, &at_maker, sizeof(at_maker));
	xrcd = xrc_open_domain(rig_context());
	again = rig_open();
	domain = xrc_open_domain(again);
	e = xrc_open_half(IBV_QPT_XRC_RECV, xrcd);
	end_drop_qp(e);
	check_refused(open_qp(e->ctx, xrcd, at_maker.qpn + 1), EINVAL);
	e->qp = must(open_qp(e->ctx, xrcd, at_maker.qpn));
	check_equal(e->qp->qp_num, at_maker.qpn);
	twin = must(open_qp(again, domain, at_maker.qpn));
	check_equal(ibv_close_xrcd(xrcd), EBUSY);
	check_equal(end_state(e), IBV_QPS_RESET);
	srq = xrc_make_srq(e, xrcd);
	mine = end_address(e);
	check_ok(ibv_get_srq_num(srq, &mine.srqn));
	for (unsigned int i = 0; i < 30; i++)
		xrc_post(srq, e, i, i * 2048, 2048);
	tell(fd, &mine, sizeof(mine));
	hear(fd, &theirs, sizeof(theirs));
	end_connect(e, &theirs);
	check_equal(end_state(e), IBV_QPS_RTS);
	tell_mark(fd, 'p');
	for (unsigned int i = 0;; i++) {
		hear(fd, &order, 1);
		if (order == 'E')
			break;
		if (order == 'V' || order == 'F') {
			expect_event(e->ctx, e->qp,
				     order == 'V' ? IBV_EVENT_QP_ACCESS_ERR : IBV_EVENT_QP_FATAL);
			expect_event(again, twin,
				     order == 'V' ? IBV_EVENT_QP_ACCESS_ERR : IBV_EVENT_QP_FATAL);
			tell_mark(fd, 'v');
			continue;
		}
		check_equal(expect_ok(e->rcq, i).byte_len, 100);
		check_filled(e->buf + i * 2048, 100, i);
	}
	end_drop_qp(e);
	check_ok(ibv_destroy_qp(twin));
	tell_mark(fd, 'e');
	check_ok(ibv_destroy_srq(srq));
	end_close(e);
	check_ok(ibv_close_xrcd(xrcd));
	check_ok(ibv_close_xrcd(domain));
	check_ok(ibv_close_device(again));
}

struct handed_on {
	struct peer maker, opener;
	struct address at_maker, at_opener;
	struct end *e;
	unsigned int sent;
};

static struct handed_on hand_on(void)
{
	struct handed_on h = { 0 };
	struct address mine;

	xrc_make_file();
	h.maker = peer_start(maker);
	h.opener = peer_start(opener);
	xrc_need();
	hear(h.maker.fd, &h.at_maker, sizeof(h.at_maker));
	tell(h.opener.fd, &h.at_maker, sizeof(h.at_maker));
	hear(h.opener.fd, &h.at_opener, sizeof(h.at_opener));
	h.e = xrc_open_half(IBV_QPT_XRC_SEND, NULL);
	h.e->o.timeout = 14;
	h.e->o.retry_cnt = 3;
	mine = end_address(h.e);
	tell(h.opener.fd, &mine, sizeof(mine));
	hear_mark(h.opener.fd, 'p');
	end_connect(h.e, &h.at_opener);
	return h;
}

static void dismiss_opener(struct handed_on *h)
{
	tell_mark(h->opener.fd, 'E');
	hear_mark(h->opener.fd, 'e');
	peer_join(&h->opener);
}

static void dismiss_maker(struct handed_on *h)
{
	tell_mark(h->maker.fd, 'E');
	peer_join(&h->maker);
}

static void hand_on_end(struct handed_on *h)
{
	end_close(h->e);
	xrc_remove_file();
}

static void send_through(struct handed_on *h)
{
	fill(h->e->buf, 100, h->sent);
	xrc_send(h->e, h->at_opener.srqn, IBV_WR_SEND, h->sent, 100);
	expect_ok(h->e->scq, h->sent);
	h->sent++;
	tell_mark(h->opener.fd, 'm');
}

static void a_queue_pair_of_another_process_is_opened_and_changed(void)
{
	struct handed_on h = hand_on();

	for (int i = 0; i < 10; i++)
		send_through(&h);
	dismiss_opener(&h);
	/* Its maker still has it. */
	tell_mark(h.maker.fd, 'S');
	dismiss_maker(&h);
	hand_on_end(&h);
}

static void events_of_a_queue_pair_reach_every_process_that_opened_it(void)
{
	struct handed_on h = hand_on();

	send_through(&h);
	h.e->to.rkey++;
	xrc_send(h.e, h.at_opener.srqn, IBV_WR_RDMA_WRITE, 98, 100);
	expect_wc(h.e->scq, 98, IBV_WC_REM_ACCESS_ERR);
	tell_mark(h.maker.fd, 'V');
	tell_mark(h.opener.fd, 'V');
	hear_mark(h.maker.fd, 'v');
	hear_mark(h.opener.fd, 'v');
	dismiss_opener(&h);
	tell_mark(h.maker.fd, 'S');
	dismiss_maker(&h);
	hand_on_end(&h);
}

static void a_queue_pair_lives_until_its_last_opener_closes_it(void)
{
	struct handed_on h = hand_on();

	send_through(&h);
	tell_mark(h.maker.fd, 'D');
	hear_mark(h.maker.fd, 'd');
	for (int i = 0; i < 10; i++)
		send_through(&h);
	tell_mark(h.opener.fd, 'E');
	hear_mark(h.opener.fd, 'e');
	xrc_send(h.e, h.at_opener.srqn, IBV_WR_SEND, 99, 100);
	expect_wc(h.e->scq, 99, IBV_WC_RETRY_EXC_ERR);
	peer_join(&h.opener);
	dismiss_maker(&h);
	hand_on_end(&h);
}

static void a_killed_opener_no_longer_keeps_the_queue_pair(void)
{
	struct handed_on h = hand_on();
	struct ibv_wc wc;

	send_through(&h);
	tell_mark(h.maker.fd, 'D');
	hear_mark(h.maker.fd, 'd');
	peer_kill(&h.opener);
	xrc_send(h.e, h.at_opener.srqn, IBV_WR_SEND, 99, 100);
	wc = wait_wc(h.e->scq);
	check(wc.status == IBV_WC_RETRY_EXC_ERR || wc.status == IBV_WC_REM_INV_REQ_ERR);
	dismiss_maker(&h);
	hand_on_end(&h);
}

/* A queue pair lives in the process that made it, and cannot outlive that. */
static void the_queue_pair_of_a_killed_creator_is_destroyed(void)
{
	struct handed_on h = hand_on();

	send_through(&h);
	peer_kill(&h.maker);
	xrc_send(h.e, h.at_opener.srqn, IBV_WR_SEND, 99, 100);
	expect_wc(h.e->scq, 99, IBV_WC_RETRY_EXC_ERR);
	tell_mark(h.opener.fd, 'F');
	hear_mark(h.opener.fd, 'v');
	dismiss_opener(&h);
	hand_on_end(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_queue_pair_of_another_process_is_opened_and_changed),
		TEST(events_of_a_queue_pair_reach_every_process_that_opened_it),
		TEST(a_queue_pair_lives_until_its_last_opener_closes_it),
		TEST(a_killed_opener_no_longer_keeps_the_queue_pair),
		TEST(the_queue_pair_of_a_killed_creator_is_destroyed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
