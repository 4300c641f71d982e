/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One packet of every kind, at least, for decode.py, which captures them and tells us by faults which
 * one is lost. Each case has a pair of queue pairs of its own, and prints a line: its name, the
 * numbers of both, and what else their packets must have in them.
 */
#include "rig.h"

#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

#define IMM     0x12345678u
#define LOST    1001u /* the PSN that decode.py has the wire lose */
#define COMPARE 0x1122334455667788ull
#define SWAP    0x99aabbccddeeff01ull
#define HALF    8192u

static const uint32_t lengths[] = { 64, 2048, 3072 }; /* only; first and last; one between */

static void say(const char *name, const struct end *a, const struct end *b, uint32_t srqn)
{
	printf("%s 0x%x 0x%x 0x%x 0x%" PRIx64 " 0x%x\n", name, a->qp->qp_num, b->qp->qp_num,
	       b->mr->rkey, (uint64_t)(uintptr_t)b->buf, srqn);
}

/* ---- every opcode ---- */

static void run(struct end *a, struct end *b, struct ibv_srq *srq, enum ibv_wr_opcode op,
		uint32_t len, uint32_t inv)
{
	bool takes = op == IBV_WR_SEND || op == IBV_WR_SEND_WITH_IMM ||
		     op == IBV_WR_SEND_WITH_INV || op == IBV_WR_RDMA_WRITE_WITH_IMM;
	struct ibv_sge sge = { (uintptr_t)a->buf, len, a->mr->lkey };
	struct ibv_sge to = { (uintptr_t)b->buf + HALF, HALF, b->mr->lkey };
	struct ibv_recv_wr *bad_recv, recv = { .wr_id = 2, .sg_list = &to, .num_sge = 1 };
	struct ibv_send_wr *bad, wr = { .wr_id = 1,
					.sg_list = &sge,
					.num_sge = 1,
					.opcode = op,
					.send_flags = IBV_SEND_SIGNALED,
					.imm_data = htobe32(IMM) };

	wr.wr.rdma.remote_addr = a->to.va;
	wr.wr.rdma.rkey = a->to.rkey;
	if (op == IBV_WR_SEND_WITH_INV)
		wr.invalidate_rkey = inv;
	if (op == IBV_WR_ATOMIC_CMP_AND_SWP || op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = a->to.va;
		wr.wr.atomic.rkey = a->to.rkey;
		wr.wr.atomic.compare_add = COMPARE;
		wr.wr.atomic.swap = SWAP;
	}
	if (srq) {
		check_ok(ibv_get_srq_num(srq, &wr.qp_type.xrc.remote_srqn));
		if (takes)
			check_ok(ibv_post_srq_recv(srq, &recv, &bad_recv));
	} else if (takes) {
		check_ok(ibv_post_recv(b->qp, &recv, &bad_recv));
	}
	fill(a->buf, len, 3);
	fill(b->buf, HALF, 5);
	check_ok(ibv_post_send(a->qp, &wr, &bad));
	expect_ok(a->scq, 1);
	if (takes)
		expect_ok(b->rcq, 2);
}

static void run_all(struct end *a, struct end *b, struct ibv_srq *srq, bool reliable)
{
	static const enum ibv_wr_opcode always[] = { IBV_WR_SEND, IBV_WR_SEND_WITH_IMM,
						     IBV_WR_RDMA_WRITE,
						     IBV_WR_RDMA_WRITE_WITH_IMM };

	for (size_t i = 0; i < array_size(lengths); i++) {
		for (size_t k = 0; k < array_size(always); k++)
			run(a, b, srq, always[k], lengths[i], 0);
		if (reliable)
			run(a, b, srq, IBV_WR_RDMA_READ, lengths[i], 0);
	}
	if (reliable) {
		run(a, b, srq, IBV_WR_ATOMIC_CMP_AND_SWP, 8, 0);
		run(a, b, srq, IBV_WR_ATOMIC_FETCH_AND_ADD, 8, 0);
	}
}

/* The key of a window on b's memory, good for one message that ends it. */
static uint32_t bind(struct end *b, struct ibv_mw *mw)
{
	struct ibv_send_wr *bad,
		wr = { .wr_id = 1, .opcode = IBV_WR_BIND_MW, .send_flags = IBV_SEND_SIGNALED };

	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
	wr.bind_mw.bind_info = (struct ibv_mw_bind_info){
		.mr = b->mr,
		.addr = (uintptr_t)b->buf,
		.length = HALF,
		.mw_access_flags = IBV_ACCESS_REMOTE_WRITE,
	};
	check_ok(ibv_post_send(b->qp, &wr, &bad));
	expect_ok(b->scq, 1);
	mw->rkey = wr.bind_mw.rkey;
	return mw->rkey;
}

static void every_rc(void)
{
	struct options o = options_of(IBV_QPT_RC);
	struct ibv_mw *mw;
	struct pair p;

	o.mr_access |= IBV_ACCESS_MW_BIND;
	p = pair_open(&o);
	mw = must(ibv_alloc_mw(p.b->pd, IBV_MW_TYPE_2));
	say("rc", p.a, p.b, 0);
	run_all(p.a, p.b, NULL, true);
	for (size_t i = 0; i < array_size(lengths); i++)
		run(p.a, p.b, NULL, IBV_WR_SEND_WITH_INV, lengths[i], bind(p.b, mw));
	check_ok(ibv_dealloc_mw(mw));
	pair_close(&p);
}

static void every_uc(void)
{
	struct options o = options_of(IBV_QPT_UC);
	struct pair p = pair_open(&o);

	say("uc", p.a, p.b, 0);
	run_all(p.a, p.b, NULL, false);
	pair_close(&p);
}

static void every_ud(void)
{
	static const enum ibv_wr_opcode ops[] = { IBV_WR_SEND, IBV_WR_SEND_WITH_IMM };
	struct options o = options_of(IBV_QPT_UD);
	struct pair p = pair_open(&o);
	struct address to = end_address(p.b);
	struct ibv_ah_attr attr;
	struct ibv_ah *ah;

	address_to_ah_attr(&to, &attr);
	ah = must(ibv_create_ah(p.a->pd, &attr));
	say("ud", p.a, p.b, 0);
	fill(p.a->buf, 100, 3);
	for (size_t i = 0; i < array_size(ops); i++) {
		post_recv(p.b, 2, 0, 200);
		post(p.a, &(struct work){ .id = 1,
					  .op = ops[i],
					  .flags = IBV_SEND_SIGNALED,
					  .len = 100,
					  .imm = IMM,
					  .ah = ah,
					  .qpn = p.b->qp->qp_num,
					  .qkey = p.b->o.qkey });
		expect_ok(p.a->scq, 1);
		expect_ok(p.b->rcq, 2);
	}
	check_ok(ibv_destroy_ah(ah));
	pair_close(&p);
}

/* ---- XRC ---- */

static struct end *half(enum ibv_qp_type type, struct ibv_xrcd *xrcd)
{
	struct end *e = end_open(NULL);
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = type,
		.comp_mask = type == IBV_QPT_XRC_RECV ? IBV_QP_INIT_ATTR_XRCD : IBV_QP_INIT_ATTR_PD,
		.send_cq = type == IBV_QPT_XRC_SEND ? e->scq : NULL,
		.cap = { .max_send_wr = 8, .max_send_sge = 1 },
		.pd = e->pd,
		.xrcd = xrcd,
	};

	end_drop_qp(e);
	e->o.type = type;
	e->qp = must(ibv_create_qp_ex(e->ctx, &attr));
	return e;
}

static void every_xrc(void)
{
	struct ibv_xrcd_init_attr domain = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
		.oflags = O_CREAT,
	};
	struct ibv_xrcd *xrcd = must(ibv_open_xrcd(rig_context(), &domain));
	struct end *a = half(IBV_QPT_XRC_SEND, xrcd), *b = half(IBV_QPT_XRC_RECV, xrcd);
	struct address to_a = end_address(a), to_b = end_address(b);
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = 8, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_XRCD |
			     IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_PD,
		.srq_type = IBV_SRQT_XRC,
		.pd = b->pd,
		.xrcd = xrcd,
		.cq = b->rcq,
	};
	struct ibv_srq *srq = must(ibv_create_srq_ex(b->ctx, &attr));
	uint32_t srqn;

	end_connect(a, &to_b);
	end_connect(b, &to_a);
	check_ok(ibv_get_srq_num(srq, &srqn));
	say("xrc", a, b, srqn);
	run_all(a, b, srq, true);
	end_drop_qp(b);
	check_ok(ibv_destroy_srq(srq));
	end_close(a);
	end_close(b);
	check_ok(ibv_close_xrcd(xrcd));
}

/* ---- refusals ---- */

static void send_some(struct end *e, uint32_t len)
{
	fill(e->buf, len, 3);
	post(e,
	     &(struct work){ .id = 1, .op = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED, .len = len });
}

static void not_ready(void)
{
	struct options o = options_of(IBV_QPT_RC);
	struct pair p;

	o.min_rnr_timer = 14;
	p = pair_open(&o);
	say("rnr", p.a, p.b, 0);
	send_some(p.a, 64);
	/* a message the other way comes after the refusal */
	post_recv(p.a, 2, HALF, HALF);
	send_some(p.b, 64);
	expect_ok(p.a->rcq, 2);
	post_recv(p.b, 2, HALF, HALF);
	expect_ok(p.b->rcq, 2);
	expect_ok(p.a->scq, 1);
	pair_close(&p);
}

static void out_of_order(void)
{
	struct options o = options_of(IBV_QPT_RC);
	struct pair p;

	o.psn = LOST - 1;
	p = pair_open(&o);
	say("sequence", p.a, p.b, 0);
	for (unsigned int i = 0; i < 3; i++)
		post_recv(p.b, 2, HALF, HALF);
	for (unsigned int i = 0; i < 3; i++)
		send_some(p.a, 64);
	for (unsigned int i = 0; i < 3; i++)
		expect_ok(p.a->scq, 1);
	pair_close(&p);
}

static void too_long(void)
{
	struct pair p = pair_open(NULL);

	say("invalid", p.a, p.b, 0);
	post_recv(p.b, 2, HALF, 32);
	send_some(p.a, 64);
	expect_wc(p.a->scq, 1, IBV_WC_REM_INV_REQ_ERR);
	pair_close(&p);
}

static void wrong_key(void)
{
	struct pair p = pair_open(NULL);

	say("access", p.a, p.b, 0);
	fill(p.a->buf, 64, 3);
	post(p.a, &(struct work){ .id = 1,
				  .op = IBV_WR_RDMA_WRITE,
				  .len = 64,
				  .raddr = p.a->to.va + p.a->to.len - 8,
				  .rkey = p.a->to.rkey });
	expect_wc(p.a->scq, 1, IBV_WC_REM_ACCESS_ERR);
	pair_close(&p);
}

static void bad_receive(void)
{
	struct pair p = pair_open(NULL);
	struct ibv_sge sge = { (uintptr_t)p.b->buf, HALF, p.b->mr->lkey ^ 0x5500 };
	struct ibv_recv_wr *bad, wr = { .wr_id = 2, .sg_list = &sge, .num_sge = 1 };

	say("operational", p.a, p.b, 0);
	check_ok(ibv_post_recv(p.b->qp, &wr, &bad));
	send_some(p.a, 64);
	expect_wc(p.a->scq, 1, IBV_WC_REM_OP_ERR);
	pair_close(&p);
}

/* With the mark that a switch would set. */
static void congested(void)
{
	struct options o = options_of(IBV_QPT_RC);
	struct pair p;

	o.traffic_class = 3;
	p = pair_open(&o);
	say("congestion", p.a, p.b, 0);
	fill(p.a->buf, HALF, 3);
	post(p.a, &(struct work){ .id = 1,
				  .op = IBV_WR_RDMA_WRITE,
				  .flags = IBV_SEND_SIGNALED,
				  .len = HALF,
				  .raddr = p.a->to.va,
				  .rkey = p.a->to.rkey });
	expect_ok(p.a->scq, 1);
	pair_close(&p);
}

int main(void)
{
	every_rc();
	every_uc();
	every_ud();
	every_xrc();
	not_ready();
	out_of_order();
	too_long();
	wrong_key();
	bad_receive();
	congested();
	return 0;
}
