/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Extended reliable connections: one receiving queue pair, any shared receive queue of its domain.
 */
#include "rig.h"

#include <fcntl.h>
#include <unistd.h>

#define FILE_NAME "/tmp/verbena-xrc-XXXXXX"

static char file_name[64];
static int file = -1;

static void make_file(void)
{
	strcpy(file_name, FILE_NAME);
	file = mkstemp(file_name);
	check(file >= 0);
}

static struct ibv_xrcd *open_domain(struct ibv_context *ctx)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = file,
		.oflags = O_CREAT,
	};

	return must(ibv_open_xrcd(ctx, &attr));
}

static void need_xrc(void)
{
	if (!(rig_attr()->device_cap_flags & IBV_DEVICE_XRC))
		rig_skip("the adapter has no XRC");
}

static struct ibv_srq *make_srq(struct end *e, struct ibv_xrcd *xrcd)
{
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = 32, .max_sge = 2 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_XRCD |
			     IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_PD,
		.srq_type = IBV_SRQT_XRC,
		.pd = e->pd,
		.xrcd = xrcd,
		.cq = e->rcq,
	};

	return must(ibv_create_srq_ex(e->ctx, &attr));
}

static struct ibv_qp *make_recv_qp(struct end *e, struct ibv_xrcd *xrcd)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_XRC_RECV,
		.comp_mask = IBV_QP_INIT_ATTR_XRCD,
		.xrcd = xrcd,
	};

	return must(ibv_create_qp_ex(e->ctx, &attr));
}

/* An end whose queue pair is the given half of XRC. */
static struct end *open_half(enum ibv_qp_type type, struct ibv_xrcd *xrcd)
{
	struct options o = options_of(IBV_QPT_RC);
	struct end *e = end_open(&o);

	end_drop_qp(e);
	e->o.type = type;
	if (type == IBV_QPT_XRC_RECV) {
		e->qp = make_recv_qp(e, xrcd);
	} else {
		struct ibv_qp_init_attr_ex attr = {
			.qp_type = IBV_QPT_XRC_SEND,
			.send_cq = e->scq,
			.cap = { .max_send_wr = 32, .max_send_sge = 2 },
			.comp_mask = IBV_QP_INIT_ATTR_PD,
			.pd = e->pd,
		};

		e->qp = must(ibv_create_qp_ex(e->ctx, &attr));
	}
	return e;
}

static void post_srq(struct ibv_srq *srq, struct end *e, uint64_t id, size_t off, uint32_t len)
{
	struct ibv_sge sge = { (uintptr_t)e->buf + off, len, e->mr->lkey };
	struct ibv_recv_wr *bad, wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 };

	check_ok(ibv_post_srq_recv(srq, &wr, &bad));
}

static void send_to(struct end *e, uint32_t srqn, enum ibv_wr_opcode op, uint64_t id, uint32_t len)
{
	struct ibv_sge sge = { (uintptr_t)e->buf, len, e->mr->lkey };
	struct ibv_send_wr *bad, wr = { .wr_id = id,
					.sg_list = &sge,
					.num_sge = 1,
					.opcode = op,
					.send_flags = IBV_SEND_SIGNALED };

	wr.qp_type.xrc.remote_srqn = srqn;
	wr.wr.rdma.remote_addr = e->to.va;
	wr.wr.rdma.rkey = e->to.rkey;
	check_ok(ibv_post_send(e->qp, &wr, &bad));
}

static void a_message_names_the_receive_queue_it_is_for(void)
{
	struct ibv_xrcd *xrcd;
	struct ibv_srq *srq[2];
	uint32_t srqn[2];
	struct end *a, *b;
	struct address to_a, to_b;

	need_xrc();
	make_file();
	xrcd = open_domain(rig_context());
	a = open_half(IBV_QPT_XRC_SEND, xrcd);
	b = open_half(IBV_QPT_XRC_RECV, xrcd);
	to_a = end_address(a);
	to_b = end_address(b);
	end_connect(a, &to_b);
	end_connect(b, &to_a);
	for (int i = 0; i < 2; i++) {
		srq[i] = make_srq(b, xrcd);
		check_ok(ibv_get_srq_num(srq[i], &srqn[i]));
	}
	check(srqn[0] != srqn[1]);
	for (unsigned int i = 0; i < 20; i++) {
		int which = i % 3 == 0;
		uint32_t len = 10 + i * 700;
		struct ibv_wc wc;

		post_srq(srq[which], b, i, 16384, 16384);
		fill(a->buf, len, i);
		send_to(a, srqn[which], IBV_WR_SEND, i, len);
		wc = expect_ok(b->rcq, i);
		check_equal(wc.byte_len, len);
		check_filled(b->buf + 16384, len, i);
		expect_ok(a->scq, i);
	}
	/* one-sided work goes by the domain of the receive queue that is named */
	fill(a->buf, 3000, 99);
	send_to(a, srqn[0], IBV_WR_RDMA_WRITE, 50, 3000);
	expect_ok(a->scq, 50);
	memset(a->buf, 0, 3000);
	send_to(a, srqn[0], IBV_WR_RDMA_READ, 51, 3000);
	expect_ok(a->scq, 51);
	check_filled(a->buf, 3000, 99);
	end_drop_qp(b);
	for (int i = 0; i < 2; i++)
		check_ok(ibv_destroy_srq(srq[i]));
	end_close(a);
	end_close(b);
	check_ok(ibv_close_xrcd(xrcd));
	unlink(file_name);
}

static void a_queue_of_another_domain_is_out_of_reach(void)
{
	struct ibv_xrcd *xrcd, *other;
	struct ibv_srq *srq;
	struct address to_a, to_b;
	struct end *a, *b;
	uint32_t srqn;

	need_xrc();
	make_file();
	xrcd = open_domain(rig_context());
	unlink(file_name);
	make_file();
	other = open_domain(rig_context());
	a = open_half(IBV_QPT_XRC_SEND, xrcd);
	b = open_half(IBV_QPT_XRC_RECV, xrcd);
	to_a = end_address(a);
	to_b = end_address(b);
	end_connect(a, &to_b);
	end_connect(b, &to_a);
	srq = make_srq(b, other);
	check_ok(ibv_get_srq_num(srq, &srqn));
	post_srq(srq, b, 1, 0, 64);
	send_to(a, srqn, IBV_WR_SEND, 2, 8);
	check(wait_wc(a->scq).status != IBV_WC_SUCCESS);
	check_empty(b->rcq);
	end_drop_qp(b);
	check_ok(ibv_destroy_srq(srq));
	end_close(a);
	end_close(b);
	check_ok(ibv_close_xrcd(xrcd));
	check_ok(ibv_close_xrcd(other));
	unlink(file_name);
}

static void a_domain_in_use_is_busy(void)
{
	struct ibv_xrcd *xrcd;
	struct end *e;

	need_xrc();
	make_file();
	xrcd = open_domain(rig_context());
	e = open_half(IBV_QPT_XRC_RECV, xrcd);
	check_equal(ibv_close_xrcd(xrcd), EBUSY);
	end_close(e);
	check_ok(ibv_close_xrcd(xrcd));
	unlink(file_name);
}

/* Two contexts of one process open the same file: one domain. */
static void contexts_share_a_domain_by_its_file(void)
{
	struct ibv_context *second;
	struct ibv_xrcd *xrcd, *same;
	struct ibv_srq *srq;
	struct address to_a, to_b;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct end *a, *b;
	char *buf = pages(4096);
	uint32_t srqn;

	need_xrc();
	make_file();
	xrcd = open_domain(rig_context());
	second = rig_open();
	same = open_domain(second);
	a = open_half(IBV_QPT_XRC_SEND, xrcd);
	b = open_half(IBV_QPT_XRC_RECV, xrcd);
	to_a = end_address(a);
	to_b = end_address(b);
	end_connect(a, &to_b);
	end_connect(b, &to_a);
	pd = must(ibv_alloc_pd(second));
	cq = must(ibv_create_cq(second, 16, NULL, NULL, 0));
	mr = must(ibv_reg_mr(pd, buf, 4096, IBV_ACCESS_LOCAL_WRITE));
	{
		struct end there = { .ctx = second, .pd = pd, .rcq = cq, .buf = buf, .mr = mr };

		srq = make_srq(&there, same);
		check_ok(ibv_get_srq_num(srq, &srqn));
		post_srq(srq, &there, 1, 0, 64);
	}
	fill(a->buf, 50, 4);
	send_to(a, srqn, IBV_WR_SEND, 2, 50);
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
	unlink(file_name);
}

/* ---- two processes: a sender, and a receiver with its queue ---- */

static void receiver(int fd)
{
	struct address mine, theirs;
	struct ibv_xrcd *xrcd;
	struct ibv_srq *srq;
	struct end *e;

	need_xrc();
	xrcd = open_domain(rig_context());
	e = open_half(IBV_QPT_XRC_RECV, xrcd);
	srq = make_srq(e, xrcd);
	mine = end_address(e);
	check_ok(ibv_get_srq_num(srq, &mine.srqn));
	tell(fd, &mine, sizeof(mine));
	hear(fd, &theirs, sizeof(theirs));
	end_connect(e, &theirs);
	for (unsigned int i = 0; i < 20; i++)
		post_srq(srq, e, i, i * 2048, 2048);
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

	make_file();
	peer = peer_start(receiver);
	need_xrc();
	e = open_half(IBV_QPT_XRC_SEND, NULL);
	mine = end_address(e);
	hear(peer.fd, &theirs, sizeof(theirs));
	end_connect(e, &theirs);
	tell(peer.fd, &mine, sizeof(mine));
	hear_mark(peer.fd, 'p');
	for (unsigned int i = 0; i < 20; i++) {
		fill(e->buf, 100 * i, i);
		send_to(e, theirs.srqn, IBV_WR_SEND, i, 100 * i);
		expect_ok(e->scq, i);
	}
	tell_mark(peer.fd, 'E');
	end_close(e);
	peer_join(&peer);
	unlink(file_name);
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

	xrcd = open_domain(rig_context());
	e = open_half(IBV_QPT_XRC_RECV, xrcd);
	srq = make_srq(e, xrcd);
	mine = end_address(e);
	check_ok(ibv_get_srq_num(srq, &mine.srqn));
	tell(fd, &mine, sizeof(mine));
	hear(fd, &theirs, sizeof(theirs));
	end_connect(e, &theirs);
	tell_mark(fd, 'c');
	/* does nothing but what its own queue needs */
	for (char mark; hear(fd, &mark, 1), mark != 'E';) {
		post_srq(srq, e, id, 0, 4096);
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
	struct ibv_xrcd *xrcd = open_domain(rig_context());
	struct address mine;
	struct ibv_srq *srq;
	struct job job;
	struct end *e;

	o.bytes = 4 * PART;
	e = end_open(&o);
	end_drop_qp(e);
	srq = make_srq(e, xrcd);
	mine = (struct address){ .rkey = e->mr->rkey, .va = (uintptr_t)e->buf };
	check_ok(ibv_get_srq_num(srq, &mine.srqn));
	tell(fd, &mine, sizeof(mine));
	for (hear(fd, &job, sizeof(job)); !job.end; hear(fd, &job, sizeof(job))) {
		struct ibv_wc wc;

		if (!job.late)
			post_srq(srq, e, job.seed, 0, PART);
		tell_mark(fd, 'p');
		if (job.late) {
			hear_mark(fd, 'n');
			post_srq(srq, e, job.seed, 0, PART);
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

	make_file();
	t.host = peer_start(host);
	t.keeper = peer_start(keeper);
	need_xrc();
	t.e = open_half(IBV_QPT_XRC_SEND, NULL);
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
	unlink(file_name);
}

static void send_to_keeper(struct trio *t, enum ibv_wr_opcode op, uint32_t len, uint32_t seed)
{
	struct job job = { .op = op, .len = len, .seed = seed };

	tell(t->keeper.fd, &job, sizeof(job));
	hear_mark(t->keeper.fd, 'p');
	fill(t->e->buf, len, seed);
	send_to(t->e, t->at_keeper.srqn, op, seed, len);
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
		send_to(t.e, t.at_host.srqn, IBV_WR_SEND, i, 77);
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
	send_to(t.e, t.at_keeper.srqn, IBV_WR_SEND, 1, 500);
	expect_ok(t.e->scq, 1);
	hear_mark(t.keeper.fd, 'g');
	job.seed = 0;
	tell(t.keeper.fd, &job, sizeof(job));
	hear_mark(t.keeper.fd, 'p');
	fill(t.e->buf, 500, 0);
	send_to(t.e, t.at_keeper.srqn, IBV_WR_SEND, 2, 500);
	send_to(t.e, t.at_host.srqn, IBV_WR_SEND, 3, 77);
	expect_ok(t.e->scq, 2);
	expect_ok(t.e->scq, 3);
	hear_mark(t.keeper.fd, 'g');
	hear_mark(t.host.fd, 'g');
	trio_close(&t);
}

static void a_queue_of_another_process_that_is_empty_is_waited_for(void)
{
	struct trio t = trio_open();
	struct job job = { .op = IBV_WR_SEND, .len = 200, .seed = 5, .late = true };

	tell(t.keeper.fd, &job, sizeof(job));
	hear_mark(t.keeper.fd, 'p');
	fill(t.e->buf, 200, 5);
	send_to(t.e, t.at_keeper.srqn, IBV_WR_SEND, 5, 200);
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
	send_to(e, t.at_keeper.srqn, IBV_WR_RDMA_READ, 1, 60000);
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
		send_to(e, t.at_keeper.srqn, IBV_WR_RDMA_READ, 3, 8);
		expect_ok(e->scq, 3);
		memcpy(&value, e->buf, 8);
		check_ok(ibv_post_send(e->qp, &wr, &bad));
		expect_ok(e->scq, 2);
		check(!memcmp(e->buf + 8, &value, 8));
		send_to(e, t.at_keeper.srqn, IBV_WR_RDMA_READ, 4, 8);
		expect_ok(e->scq, 4);
		value++;
		check(!memcmp(e->buf, &value, 8));
	}
	trio_close(&t);
}

static void a_bad_key_of_another_process_is_refused(void)
{
	struct trio t = trio_open();

	t.e->to.rkey++;
	send_to(t.e, t.at_keeper.srqn, IBV_WR_RDMA_WRITE, 1, 100);
	expect_wc(t.e->scq, 1, IBV_WC_REM_ACCESS_ERR);
	trio_close(&t);
}

static void a_queue_of_a_process_that_died_is_out_of_reach(void)
{
	struct trio t = trio_open();
	struct ibv_wc wc;

	send_to_keeper(&t, IBV_WR_SEND, 100, 1);
	peer_kill(&t.keeper);
	send_to(t.e, t.at_keeper.srqn, IBV_WR_SEND, 2, 100);
	wc = wait_wc(t.e->scq);
	check_equal(wc.wr_id, 2);
	check(wc.status == IBV_WC_REM_INV_REQ_ERR || wc.status == IBV_WC_RETRY_EXC_ERR);
	tell_mark(t.host.fd, 'E');
	peer_join(&t.host);
	end_close(t.e);
	unlink(file_name);
}

/* ---- a queue pair that one process has made and another has opened ---- */

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

	need_xrc();
	xrcd = open_domain(rig_context());
	e = open_half(IBV_QPT_XRC_RECV, xrcd);
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

	need_xrc();
	hear(fd, &at_maker, sizeof(at_maker));
	xrcd = open_domain(rig_context());
	again = rig_open();
	domain = open_domain(again);
	e = open_half(IBV_QPT_XRC_RECV, xrcd);
	end_drop_qp(e);
	check_refused(open_qp(e->ctx, xrcd, at_maker.qpn + 1), EINVAL);
	e->qp = must(open_qp(e->ctx, xrcd, at_maker.qpn));
	check_equal(e->qp->qp_num, at_maker.qpn);
	twin = must(open_qp(again, domain, at_maker.qpn));
	check_equal(ibv_close_xrcd(xrcd), EBUSY);
	check_equal(end_state(e), IBV_QPS_RESET);
	srq = make_srq(e, xrcd);
	mine = end_address(e);
	check_ok(ibv_get_srq_num(srq, &mine.srqn));
	for (unsigned int i = 0; i < 30; i++)
		post_srq(srq, e, i, i * 2048, 2048);
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

	make_file();
	h.maker = peer_start(maker);
	h.opener = peer_start(opener);
	need_xrc();
	hear(h.maker.fd, &h.at_maker, sizeof(h.at_maker));
	tell(h.opener.fd, &h.at_maker, sizeof(h.at_maker));
	hear(h.opener.fd, &h.at_opener, sizeof(h.at_opener));
	h.e = open_half(IBV_QPT_XRC_SEND, NULL);
	h.e->o.timeout = 14;
	h.e->o.retry_cnt = 3;
	mine = end_address(h.e);
	tell(h.opener.fd, &mine, sizeof(mine));
	hear_mark(h.opener.fd, 'p');
	end_connect(h.e, &h.at_opener);
	return h;
}

static void send_through(struct handed_on *h)
{
	fill(h->e->buf, 100, h->sent);
	send_to(h->e, h->at_opener.srqn, IBV_WR_SEND, h->sent, 100);
	expect_ok(h->e->scq, h->sent);
	h->sent++;
	tell_mark(h->opener.fd, 'm');
}

static void a_queue_pair_of_another_process_is_opened_and_changed(void)
{
	struct handed_on h = hand_on();

	for (int i = 0; i < 10; i++)
		send_through(&h);
	tell_mark(h.opener.fd, 'E');
	hear_mark(h.opener.fd, 'e');
	peer_join(&h.opener);
	/* Its maker still has it. */
	tell_mark(h.maker.fd, 'S');
	tell_mark(h.maker.fd, 'E');
	peer_join(&h.maker);
	end_close(h.e);
	unlink(file_name);
}

static void events_of_a_queue_pair_reach_all_who_have_it_open(void)
{
	struct handed_on h = hand_on();

	send_through(&h);
	h.e->to.rkey++;
	send_to(h.e, h.at_opener.srqn, IBV_WR_RDMA_WRITE, 98, 100);
	expect_wc(h.e->scq, 98, IBV_WC_REM_ACCESS_ERR);
	tell_mark(h.maker.fd, 'V');
	tell_mark(h.opener.fd, 'V');
	hear_mark(h.maker.fd, 'v');
	hear_mark(h.opener.fd, 'v');
	tell_mark(h.opener.fd, 'E');
	hear_mark(h.opener.fd, 'e');
	peer_join(&h.opener);
	tell_mark(h.maker.fd, 'S');
	tell_mark(h.maker.fd, 'E');
	peer_join(&h.maker);
	end_close(h.e);
	unlink(file_name);
}

static void a_queue_pair_lives_as_long_as_somebody_has_it_open(void)
{
	struct handed_on h = hand_on();

	send_through(&h);
	tell_mark(h.maker.fd, 'D');
	hear_mark(h.maker.fd, 'd');
	for (int i = 0; i < 10; i++)
		send_through(&h);
	tell_mark(h.opener.fd, 'E');
	hear_mark(h.opener.fd, 'e');
	send_to(h.e, h.at_opener.srqn, IBV_WR_SEND, 99, 100);
	expect_wc(h.e->scq, 99, IBV_WC_RETRY_EXC_ERR);
	peer_join(&h.opener);
	tell_mark(h.maker.fd, 'E');
	peer_join(&h.maker);
	end_close(h.e);
	unlink(file_name);
}

static void a_killed_opener_has_it_open_no_more(void)
{
	struct handed_on h = hand_on();
	struct ibv_wc wc;

	send_through(&h);
	tell_mark(h.maker.fd, 'D');
	hear_mark(h.maker.fd, 'd');
	peer_kill(&h.opener);
	send_to(h.e, h.at_opener.srqn, IBV_WR_SEND, 99, 100);
	wc = wait_wc(h.e->scq);
	check(wc.status == IBV_WC_RETRY_EXC_ERR || wc.status == IBV_WC_REM_INV_REQ_ERR);
	tell_mark(h.maker.fd, 'E');
	peer_join(&h.maker);
	end_close(h.e);
	unlink(file_name);
}

/* A queue pair lives in the process that made it, and cannot outlive that. */
static void a_killed_maker_takes_the_queue_pair_along(void)
{
	struct handed_on h = hand_on();

	send_through(&h);
	peer_kill(&h.maker);
	send_to(h.e, h.at_opener.srqn, IBV_WR_SEND, 99, 100);
	expect_wc(h.e->scq, 99, IBV_WC_RETRY_EXC_ERR);
	tell_mark(h.opener.fd, 'F');
	hear_mark(h.opener.fd, 'v');
	tell_mark(h.opener.fd, 'E');
	hear_mark(h.opener.fd, 'e');
	peer_join(&h.opener);
	end_close(h.e);
	unlink(file_name);
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
		TEST(a_queue_of_another_process_that_is_empty_is_waited_for),
		TEST(reads_and_atomics_reach_the_memory_of_the_queues_process),
		TEST(a_bad_key_of_another_process_is_refused),
		TEST(a_queue_of_a_process_that_died_is_out_of_reach),
		TEST(a_queue_pair_of_another_process_is_opened_and_changed),
		TEST(events_of_a_queue_pair_reach_all_who_have_it_open),
		TEST(a_queue_pair_lives_as_long_as_somebody_has_it_open),
		TEST(a_killed_opener_has_it_open_no_more),
		TEST(a_killed_maker_takes_the_queue_pair_along),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
