/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Extended reliable connections: one receiving queue pair, any shared receive queue of its domain.
 */
#include "xrc.h"

static void a_message_names_the_receive_queue_it_is_for(void)
{
	struct ibv_xrcd *xrcd;
	struct ibv_srq *srq[2];
	uint32_t srqn[2];
	struct end *a, *b;

	xrc_need();
	xrc_make_file();
	xrcd = xrc_open_domain(rig_context());
	a = xrc_open_half(IBV_QPT_XRC_SEND, xrcd);
	b = xrc_open_half(IBV_QPT_XRC_RECV, xrcd);
	ends_connect(a, b);
	for (int i = 0; i < 2; i++) {
		srq[i] = xrc_make_srq(b, xrcd);
		check_ok(ibv_get_srq_num(srq[i], &srqn[i]));
	}
	check(srqn[0] != srqn[1]);
	for (unsigned int i = 0; i < 20; i++) {
		int which = i % 3 == 0;
		uint32_t len = 10 + i * 700;
		struct ibv_wc wc;

		xrc_post(srq[which], b, i, 16384, 16384);
		fill(a->buf, len, i);
		xrc_send(a, srqn[which], IBV_WR_SEND, i, len);
		wc = expect_ok(b->rcq, i);
		check_equal(wc.byte_len, len);
		check_filled(b->buf + 16384, len, i);
		expect_ok(a->scq, i);
	}
	/* one-sided work goes by the domain of the receive queue that is named */
	fill(a->buf, 3000, 99);
	xrc_send(a, srqn[0], IBV_WR_RDMA_WRITE, 50, 3000);
	expect_ok(a->scq, 50);
	memset(a->buf, 0, 3000);
	xrc_send(a, srqn[0], IBV_WR_RDMA_READ, 51, 3000);
	expect_ok(a->scq, 51);
	check_filled(a->buf, 3000, 99);
	end_drop_qp(b);
	for (int i = 0; i < 2; i++)
		check_ok(ibv_destroy_srq(srq[i]));
	end_close(a);
	end_close(b);
	check_ok(ibv_close_xrcd(xrcd));
	xrc_remove_file();
}

static void a_queue_of_another_domain_is_out_of_reach(void)
{
	struct ibv_xrcd *xrcd, *other;
	struct ibv_srq *srq;
	struct end *a, *b;
	uint32_t srqn;

	xrc_need();
	xrc_make_file();
	xrcd = xrc_open_domain(rig_context());
	xrc_remove_file();
	xrc_make_file();
	other = xrc_open_domain(rig_context());
	a = xrc_open_half(IBV_QPT_XRC_SEND, xrcd);
	b = xrc_open_half(IBV_QPT_XRC_RECV, xrcd);
	ends_connect(a, b);
	srq = xrc_make_srq(b, other);
	check_ok(ibv_get_srq_num(srq, &srqn));
	xrc_post(srq, b, 1, 0, 64);
	xrc_send(a, srqn, IBV_WR_SEND, 2, 8);
	check(wait_wc(a->scq).status != IBV_WC_SUCCESS);
	check_empty(b->rcq);
	end_drop_qp(b);
	check_ok(ibv_destroy_srq(srq));
	end_close(a);
	end_close(b);
	check_ok(ibv_close_xrcd(xrcd));
	check_ok(ibv_close_xrcd(other));
	xrc_remove_file();
}

static void a_domain_in_use_is_busy(void)
{
	struct ibv_xrcd *xrcd;
	struct end *e;

	xrc_need();
	xrc_make_file();
	xrcd = xrc_open_domain(rig_context());
	e = xrc_open_half(IBV_QPT_XRC_RECV, xrcd);
	check_equal(ibv_close_xrcd(xrcd), EBUSY);
	end_close(e);
	check_ok(ibv_close_xrcd(xrcd));
	xrc_remove_file();
}

/* Two contexts of one process open the same file: one domain. */
static void contexts_share_a_domain_by_its_file(void)
{
	struct ibv_context *second;
	struct ibv_xrcd *xrcd, *same;
	struct ibv_srq *srq;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct end *a, *b;
	char *buf = pages(4096);
	uint32_t srqn;

	xrc_need();
	xrc_make_file();
	xrcd = xrc_open_domain(rig_context());
	second = rig_open();
	same = xrc_open_domain(second);
	a = xrc_open_half(IBV_QPT_XRC_SEND, xrcd);
	b = xrc_open_half(IBV_QPT_XRC_RECV, xrcd);
	ends_connect(a, b);
	pd = must(ibv_alloc_pd(second));
	cq = must(ibv_create_cq(second, 16, NULL, NULL, 0));
	mr = must(ibv_reg_mr(pd, buf, 4096, IBV_ACCESS_LOCAL_WRITE));
	{
		struct end there = { .ctx = second, .pd = pd, .rcq = cq, .buf = buf, .mr = mr };

		srq = xrc_make_srq(&there, same);
		check_ok(ibv_get_srq_num(srq, &srqn));
		xrc_post(srq, &there, 1, 0, 64);
	}
	fill(a->buf, 50, 4);
	xrc_send(a, srqn, IBV_WR_SEND, 2, 50);
	expect_ok(a->scq, 2);
	check_equal(expect_ok(cq, 1).byte_len, 50);
	check_filled(buf, 50, 4);
	end_drop_qp(b);
	check_ok(ibv_destroy_srq(srq));
	check_ok(ibv_dereg_mr(mr));
	check_ok(ibv_destroy_cq(cq));
	check_ok(ibv_dealloc_pd(pd));
	check_ok(ibv_close_xrcd(same));
	check_ok(ibv_close_device(second));
	end_close(a);
	end_close(b);
	check_ok(ibv_close_xrcd(xrcd));
	xrc_remove_file();
}

/* ---- two processes: a sender, and a receiver with its queue ---- */

static void receiver(int fd)
{
	struct address mine, theirs;
	struct ibv_xrcd *xrcd;
	struct ibv_srq *srq;
	struct end *e;

	xrc_need();
	xrcd = xrc_open_domain(rig_context());
	e = xrc_open_half(IBV_QPT_XRC_RECV, xrcd);
	srq = xrc_make_srq(e, xrcd);
	mine = end_address(e);
	check_ok(ibv_get_srq_num(srq, &mine.srqn));
	tell(fd, &mine, sizeof(mine));
	hear(fd, &theirs, sizeof(theirs));
	end_connect(e, &theirs);
	for (unsigned int i = 0; i < 20; i++)
		xrc_post(srq, e, i, i * 2048, 2048);
	tell_mark(fd, 'p');
	for (unsigned int i = 0; i < 20; i++) {
		check_equal(expect_ok(e->rcq, i).byte_len, 100 * i);
		check_filled(e->buf + i * 2048, 100 * i, i);
	}
	hear_mark(fd, 'E');
	end_drop_qp(e);
	check_ok(ibv_destroy_srq(srq));
	end_close(e);
	check_ok(ibv_close_xrcd(xrcd));
}

static void messages_cross_processes(void)
{
	struct address mine, theirs;
	struct peer peer;
	struct end *e;

	xrc_make_file();
	peer = peer_start(receiver);
	xrc_need();
	e = xrc_open_half(IBV_QPT_XRC_SEND, NULL);
	mine = end_address(e);
	hear(peer.fd, &theirs, sizeof(theirs));
	end_connect(e, &theirs);
	tell(peer.fd, &mine, sizeof(mine));
	hear_mark(peer.fd, 'p');
	for (unsigned int i = 0; i < 20; i++) {
		fill(e->buf, 100 * i, i);
		xrc_send(e, theirs.srqn, IBV_WR_SEND, i, 100 * i);
		expect_ok(e->scq, i);
	}
	tell_mark(peer.fd, 'E');
	end_close(e);
	peer_join(&peer);
	xrc_remove_file();
}

/* ---- three: a sender, one that has the queue pair, and one that has the queue ---- */

#define BIG   100000u
#define PART  (BIG + 1000)
#define TURNS 12

/* Has a queue pair in the domain, and a queue of its own. */
static void host(int fd)
{
	struct address mine, theirs;
	struct ibv_xrcd *xrcd;
	struct ibv_srq *srq;
	struct end *e;
	uint32_t id = 0;

	xrcd = xrc_open_domain(rig_context());
	e = xrc_open_half(IBV_QPT_XRC_RECV, xrcd);
	srq = xrc_make_srq(e, xrcd);
	mine = end_address(e);
	check_ok(ibv_get_srq_num(srq, &mine.srqn));
	tell(fd, &mine, sizeof(mine));
	hear(fd, &theirs, sizeof(theirs));
	end_connect(e, &theirs);
	tell_mark(fd, 'c');
	/* does nothing but what its own queue needs */
	for (char mark; hear(fd, &mark, 1), mark != 'E';) {
		xrc_post(srq, e, id, 0, 4096);
		tell_mark(fd, 'p');
		check_equal(expect_ok(e->rcq, id).byte_len, 77);
		check_filled(e->buf, 77, id);
		id++;
		tell_mark(fd, 'g');
	}
	end_drop_qp(e);
	check_ok(ibv_destroy_srq(srq));
	end_close(e);
	check_ok(ibv_close_xrcd(xrcd));
}

struct job {
	bool end;
	bool late; /* the receive is posted when the message has been refused once */
	enum ibv_wr_opcode op;
	uint32_t len, seed;
};

/* Has a queue in the domain, and no queue pair. */
static void keeper(int fd)
{
	struct options o = options_of(IBV_QPT_RC);
	struct ibv_xrcd *xrcd = xrc_open_domain(rig_context());
	struct address mine;
	struct ibv_srq *srq;
	struct job job;
	struct end *e;

	o.bytes = 4 * PART;
	if (rig_is_mlx5())
		o.mr_access |= IBV_ACCESS_FLUSH_GLOBAL;
	e = end_open(&o);
	end_drop_qp(e);
	srq = xrc_make_srq(e, xrcd);
	mine = (struct address){ .rkey = e->mr->rkey, .va = (uintptr_t)e->buf };
	check_ok(ibv_get_srq_num(srq, &mine.srqn));
	tell(fd, &mine, sizeof(mine));
	for (hear(fd, &job, sizeof(job)); !job.end; hear(fd, &job, sizeof(job))) {
		struct ibv_wc wc;

		if (!job.late)
			xrc_post(srq, e, job.seed, 0, PART);
		tell_mark(fd, 'p');
		if (job.late) {
			hear_mark(fd, 'n');
			xrc_post(srq, e, job.seed, 0, PART);
		}
		wc = expect_ok(e->rcq, job.seed);
		check_equal(wc.byte_len, job.len);
		if (job.op == IBV_WR_SEND)
			check_filled(e->buf, job.len, job.seed);
		else
			check_filled(e->buf + PART, job.len, job.seed);
		check_empty(e->rcq);
		tell_mark(fd, 'g');
	}
	check_ok(ibv_destroy_srq(srq));
	end_close(e);
	check_ok(ibv_close_xrcd(xrcd));
}

struct trio {
	struct peer host, keeper;
	struct address at_host, at_keeper;
	struct end *e;
};

static struct trio trio_open(void)
{
	struct trio t;
	struct address mine;

	xrc_make_file();
	t.host = peer_start(host);
	t.keeper = peer_start(keeper);
	xrc_need();
	t.e = xrc_open_half(IBV_QPT_XRC_SEND, NULL);
	mine = end_address(t.e);
	hear(t.host.fd, &t.at_host, sizeof(t.at_host));
	hear(t.keeper.fd, &t.at_keeper, sizeof(t.at_keeper));
	end_connect(t.e, &t.at_host);
	tell(t.host.fd, &mine, sizeof(mine));
	hear_mark(t.host.fd, 'c');
	t.e->to.rkey = t.at_keeper.rkey;
	t.e->to.va = t.at_keeper.va + PART;
	return t;
}

static void trio_close(struct trio *t)
{
	struct job end = { .end = true };

	tell_mark(t->host.fd, 'E');
	tell(t->keeper.fd, &end, sizeof(end));
	peer_join(&t->host);
	peer_join(&t->keeper);
	end_close(t->e);
	xrc_remove_file();
}

static void send_to_keeper(struct trio *t, enum ibv_wr_opcode op, uint32_t len, uint32_t seed)
{
	struct job job = { .op = op, .len = len, .seed = seed };

	tell(t->keeper.fd, &job, sizeof(job));
	hear_mark(t->keeper.fd, 'p');
	fill(t->e->buf, len, seed);
	xrc_send(t->e, t->at_keeper.srqn, op, seed, len);
	expect_ok(t->e->scq, seed);
	hear_mark(t->keeper.fd, 'g');
}

static void a_queue_pair_of_one_process_serves_the_queue_of_another(void)
{
	struct trio t = trio_open();

	for (uint32_t i = 0; i < TURNS; i++) {
		send_to_keeper(&t, IBV_WR_SEND, i % 3 ? 100 * i : 30000 + i, 2 * i);
		send_to_keeper(&t, IBV_WR_RDMA_WRITE_WITH_IMM, 1000 + i, 2 * i + 1);
		/* in turns with the process that has the queue pair */
		tell_mark(t.host.fd, 'r');
		hear_mark(t.host.fd, 'p');
		fill(t.e->buf, 77, i);
		xrc_send(t.e, t.at_host.srqn, IBV_WR_SEND, i, 77);
		expect_ok(t.e->scq, i);
		hear_mark(t.host.fd, 'g');
	}
	trio_close(&t);
}

static void messages_to_different_processes_are_posted_at_once(void)
{
	struct trio t = trio_open();
	struct job job = { .op = IBV_WR_SEND, .len = 500, .seed = 9 };

	tell(t.keeper.fd, &job, sizeof(job));
	hear_mark(t.keeper.fd, 'p');
	tell_mark(t.host.fd, 'r');
	hear_mark(t.host.fd, 'p');
	fill(t.e->buf, 500, 9);
	xrc_send(t.e, t.at_keeper.srqn, IBV_WR_SEND, 1, 500);
	expect_ok(t.e->scq, 1);
	hear_mark(t.keeper.fd, 'g');
	job.seed = 0;
	tell(t.keeper.fd, &job, sizeof(job));
	hear_mark(t.keeper.fd, 'p');
	fill(t.e->buf, 500, 0);
	xrc_send(t.e, t.at_keeper.srqn, IBV_WR_SEND, 2, 500);
	xrc_send(t.e, t.at_host.srqn, IBV_WR_SEND, 3, 77);
	expect_ok(t.e->scq, 2);
	expect_ok(t.e->scq, 3);
	hear_mark(t.keeper.fd, 'g');
	hear_mark(t.host.fd, 'g');
	trio_close(&t);
}

static void a_sender_waits_for_receives_in_a_queue_of_another_process(void)
{
	struct trio t = trio_open();
	struct job job = { .op = IBV_WR_SEND, .len = 200, .seed = 5, .late = true };

	tell(t.keeper.fd, &job, sizeof(job));
	hear_mark(t.keeper.fd, 'p');
	fill(t.e->buf, 200, 5);
	xrc_send(t.e, t.at_keeper.srqn, IBV_WR_SEND, 5, 200);
	for (int i = 0; i < 1000; i++)
		check_empty(t.e->scq);
	tell_mark(t.keeper.fd, 'n');
	expect_ok(t.e->scq, 5);
	hear_mark(t.keeper.fd, 'g');
	trio_close(&t);
}

static void reads_and_atomics_reach_the_memory_of_the_queues_process(void)
{
	struct trio t = trio_open();
	struct end *e = t.e;
	uint64_t value;

	send_to_keeper(&t, IBV_WR_RDMA_WRITE_WITH_IMM, 60000, 3);
	memset(e->buf, 0, 60000);
	xrc_send(e, t.at_keeper.srqn, IBV_WR_RDMA_READ, 1, 60000);
	expect_ok(e->scq, 1);
	check_filled(e->buf, 60000, 3);
	memcpy(&value, e->buf, 8);
	{
		struct ibv_sge sge = { (uintptr_t)e->buf + 8, 8, e->mr->lkey };
		struct ibv_send_wr *bad, wr = { .wr_id = 2,
						.sg_list = &sge,
						.num_sge = 1,
						.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
						.send_flags = IBV_SEND_SIGNALED };

		/* Where its process has never looked. */
		wr.wr.atomic.remote_addr = (e->to.va + PART + 7) & ~7ull;
		wr.wr.atomic.rkey = e->to.rkey;
		wr.wr.atomic.compare_add = 1;
		wr.qp_type.xrc.remote_srqn = t.at_keeper.srqn;
		e->to.va = wr.wr.atomic.remote_addr;
		xrc_send(e, t.at_keeper.srqn, IBV_WR_RDMA_READ, 3, 8);
		expect_ok(e->scq, 3);
		memcpy(&value, e->buf, 8);
		check_ok(ibv_post_send(e->qp, &wr, &bad));
		expect_ok(e->scq, 2);
		check(!memcmp(e->buf + 8, &value, 8));
		xrc_send(e, t.at_keeper.srqn, IBV_WR_RDMA_READ, 4, 8);
		expect_ok(e->scq, 4);
		value++;
		check(!memcmp(e->buf, &value, 8));
	}
	trio_close(&t);
}

static void flushes_and_atomic_writes_reach_the_memory_of_the_queues_process(void)
{
	struct trio t = trio_open();
	uint64_t value = 0x1122334455667788;
	struct ibv_qp_ex *ex;
	struct end *e = t.e;

	if (!rig_is_mlx5())
		rig_skip("a ConnectX-3 has no ibv_wr_*()");
	e->to.va = (e->to.va + 7) & ~7ull;
	ex = ibv_qp_to_qp_ex(e->qp);
	ibv_wr_start(ex);
	ex->wr_flags = IBV_SEND_SIGNALED;
	ex->wr_id = 1;
	ibv_wr_atomic_write(ex, e->to.rkey, e->to.va, &value);
	ibv_wr_set_xrc_srqn(ex, t.at_keeper.srqn);
	ex->wr_id = 2;
	ibv_wr_flush(ex, e->to.rkey, e->to.va, 8, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
	ibv_wr_set_xrc_srqn(ex, t.at_keeper.srqn);
	check_ok(ibv_wr_complete(ex));
	expect_ok(e->scq, 1);
	expect_ok(e->scq, 2);
	xrc_send(e, t.at_keeper.srqn, IBV_WR_RDMA_READ, 3, 8);
	expect_ok(e->scq, 3);
	check(!memcmp(e->buf, &value, 8));
	trio_close(&t);
}

static void a_bad_key_of_another_process_is_refused(void)
{
	struct trio t = trio_open();

	t.e->to.rkey++;
	xrc_send(t.e, t.at_keeper.srqn, IBV_WR_RDMA_WRITE, 1, 100);
	expect_wc(t.e->scq, 1, IBV_WC_REM_ACCESS_ERR);
	trio_close(&t);
}

static void a_queue_of_a_process_that_died_is_out_of_reach(void)
{
	struct trio t = trio_open();
	struct ibv_wc wc;

	send_to_keeper(&t, IBV_WR_SEND, 100, 1);
	peer_kill(&t.keeper);
	xrc_send(t.e, t.at_keeper.srqn, IBV_WR_SEND, 2, 100);
	wc = wait_wc(t.e->scq);
	check_equal(wc.wr_id, 2);
	check(wc.status == IBV_WC_REM_INV_REQ_ERR || wc.status == IBV_WC_RETRY_EXC_ERR);
	tell_mark(t.host.fd, 'E');
	peer_join(&t.host);
	end_close(t.e);
	xrc_remove_file();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_message_names_the_receive_queue_it_is_for),
		TEST(a_queue_of_another_domain_is_out_of_reach),
		TEST(a_domain_in_use_is_busy),
		TEST(contexts_share_a_domain_by_its_file),
		TEST(messages_cross_processes),
		TEST(a_queue_pair_of_one_process_serves_the_queue_of_another),
		TEST(messages_to_different_processes_are_posted_at_once),
		TEST(a_sender_waits_for_receives_in_a_queue_of_another_process),
		TEST(reads_and_atomics_reach_the_memory_of_the_queues_process),
		TEST(flushes_and_atomic_writes_reach_the_memory_of_the_queues_process),
		TEST(a_bad_key_of_another_process_is_refused),
		TEST(a_queue_of_a_process_that_died_is_out_of_reach),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
