/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every error completion, with its status on both sides, the events that go with it, and what
 * happens to the rest of the queues.
 */
#include "rig.h"

/* ---- errors of the sender's own memory ---- */

static void expect_local_error(struct pair *p, const struct ibv_sge *sge, enum ibv_wr_opcode op)
{
	struct ibv_send_wr *bad,
		wr = { .wr_id = 5, .sg_list = (struct ibv_sge *)sge, .num_sge = 1, .opcode = op };
	struct ibv_wc wc;

	wr.wr.rdma.remote_addr = p->a->to.va;
	wr.wr.rdma.rkey = p->a->to.rkey;
	post_recv(p->b, 9, 0, 4096);
	check_ok(ibv_post_send(p->a->qp, &wr, &bad));
	wc = expect_wc(p->a->scq, 5, IBV_WC_LOC_PROT_ERR);
	check(wc.vendor_err != 0);
	check_equal(wc.qp_num, p->a->qp->qp_num);
	check_equal(end_state(p->a), IBV_QPS_ERR);
	/* nothing reached the other side */
	check_equal(end_state(p->b), IBV_QPS_RTS);
	check_empty(p->b->rcq);
}

static void each_local(void (*bend)(struct pair *p, struct ibv_sge *sge))
{
	static const enum ibv_wr_opcode ops[] = { IBV_WR_SEND, IBV_WR_RDMA_WRITE,
						  IBV_WR_RDMA_READ };

	for (size_t i = 0; i < array_size(ops); i++) {
		struct pair p = pair_open(NULL);
		struct ibv_sge sge = { (uintptr_t)p.a->buf, 16, p.a->mr->lkey };

		bend(&p, &sge);
		expect_local_error(&p, &sge, ops[i]);
		pair_close(&p);
	}
}

static void bend_key(struct pair *p, struct ibv_sge *sge)
{
	sge->lkey ^= 0x100;
}

static void bend_variant(struct pair *p, struct ibv_sge *sge)
{
	sge->lkey ^= 1;
}

static void bend_domain(struct pair *p, struct ibv_sge *sge)
{
	sge->addr = (uintptr_t)p->b->buf;
	sge->lkey = p->b->mr->lkey;
}

static void bend_end(struct pair *p, struct ibv_sge *sge)
{
	sge->addr = (uintptr_t)p->a->buf + p->a->o.bytes - 15;
}

static void bend_start(struct pair *p, struct ibv_sge *sge)
{
	sge->addr = (uintptr_t)p->a->buf - 1;
}

static void bend_wrap(struct pair *p, struct ibv_sge *sge)
{
	sge->addr = UINT64_MAX - 3;
}

static void an_unknown_local_key_is_a_local_protection_error(void)
{
	each_local(bend_key);
	each_local(bend_variant);
}

static void a_local_key_of_another_domain_is_a_local_protection_error(void)
{
	each_local(bend_domain);
}

static void local_memory_outside_the_region_is_a_local_protection_error(void)
{
	each_local(bend_end);
	each_local(bend_start);
	each_local(bend_wrap);
}

static void a_read_into_memory_without_local_write_is_refused(void)
{
	struct pair p = pair_open(NULL);
	struct ibv_mr *mr = must(ibv_reg_mr(p.a->pd, p.a->buf, 4096, 0));
	struct ibv_sge sge = { (uintptr_t)p.a->buf, 16, mr->lkey };

	fill(p.b->buf, 16, 1);
	memset(p.a->buf, 0, 16);
	expect_local_error(&p, &sge, IBV_WR_RDMA_READ);
	check(is_all(p.a->buf, 16, 0));
	end_drop_qp(p.a);
	check_ok(ibv_dereg_mr(mr));
	pair_close(&p);
}

/* The local key is needed when the answer comes, so the refusal of the target comes first. */
static void a_refusal_comes_before_a_bad_local_key(void)
{
	static const enum ibv_wr_opcode ops[] = { IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP,
						  IBV_WR_ATOMIC_FETCH_AND_ADD };

	for (size_t i = 0; i < array_size(ops); i++) {
		struct pair p = pair_open(NULL);
		struct ibv_sge sge = { (uintptr_t)p.a->buf, 8, p.a->mr->lkey ^ 0x100 };
		struct ibv_send_wr *bad,
			wr = { .wr_id = 5, .sg_list = &sge, .num_sge = 1, .opcode = ops[i] };

		if (ops[i] == IBV_WR_RDMA_READ) {
			wr.wr.rdma.remote_addr = p.a->to.va;
			wr.wr.rdma.rkey = p.a->to.rkey ^ 0x100;
		} else {
			wr.wr.atomic.remote_addr = p.a->to.va;
			wr.wr.atomic.rkey = p.a->to.rkey ^ 0x100;
		}
		check_ok(ibv_post_send(p.a->qp, &wr, &bad));
		expect_wc(p.a->scq, 5, IBV_WC_REM_ACCESS_ERR);
		check_equal(end_state(p.b), IBV_QPS_ERR);
		pair_close(&p);
	}
}

/* The target has done its part when the answer finds no place. */
static void an_atomic_with_a_bad_local_key_is_carried_out(void)
{
	struct pair p = pair_open(NULL);
	struct ibv_sge sge = { (uintptr_t)p.a->buf, 8, p.a->mr->lkey ^ 0x100 };
	struct ibv_send_wr *bad, wr = {
		.wr_id = 5, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD
	};

	memset(p.b->buf, 0, 8);
	wr.wr.atomic.remote_addr = p.a->to.va;
	wr.wr.atomic.rkey = p.a->to.rkey;
	wr.wr.atomic.compare_add = 1;
	check_ok(ibv_post_send(p.a->qp, &wr, &bad));
	expect_wc(p.a->scq, 5, IBV_WC_LOC_PROT_ERR);
	check_equal(*(uint64_t *)p.b->buf, 1);
	check_equal(end_state(p.b), IBV_QPS_RTS);
	pair_close(&p);
}

static void memory_without_local_write_may_be_sent_from(void)
{
	struct pair p = pair_open(NULL);
	struct ibv_mr *mr = must(ibv_reg_mr(p.a->pd, p.a->buf, 4096, 0)), *old = p.a->mr;

	p.a->mr = mr;
	post_recv(p.b, 1, 0, 64);
	post(p.a,
	     &(struct work){ .id = 1, .op = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED, .len = 64 });
	expect_ok(p.a->scq, 1);
	expect_ok(p.b->rcq, 1);
	p.a->mr = old;
	check_ok(ibv_dereg_mr(mr));
	pair_close(&p);
}

static void a_key_is_dead_after_deregistration(void)
{
	struct pair p = pair_open(NULL);
	struct ibv_mr *mr = must(ibv_reg_mr(p.a->pd, p.a->buf, 4096, IBV_ACCESS_LOCAL_WRITE));
	struct ibv_sge sge = { (uintptr_t)p.a->buf, 16, mr->lkey };

	check_ok(ibv_dereg_mr(mr));
	expect_local_error(&p, &sge, IBV_WR_SEND);
	pair_close(&p);
}

/* ---- errors of the receiver's own entry ---- */

static void expect_receive_error(struct pair *p, const struct ibv_sge *sge, uint32_t len,
				 enum ibv_wc_status recv_status, enum ibv_wc_status send_status,
				 enum ibv_event_type event)
{
	struct ibv_recv_wr *bad,
		wr = { .wr_id = 3, .sg_list = (struct ibv_sge *)sge, .num_sge = 1 };
	struct ibv_async_event got;
	struct ibv_wc wc;

	check_ok(ibv_post_recv(p->b->qp, &wr, &bad));
	post_recv(p->b, 4, 0, 64);
	post(p->a,
	     &(struct work){ .id = 1, .op = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED, .len = len });
	wc = expect_wc(p->b->rcq, 3, recv_status);
	check(wc.vendor_err != 0);
	expect_wc(p->b->rcq, 4, IBV_WC_WR_FLUSH_ERR);
	wc = expect_wc(p->a->scq, 1, send_status);
	check(wc.vendor_err != 0);
	check_equal(end_state(p->a), IBV_QPS_ERR);
	check_equal(end_state(p->b), IBV_QPS_ERR);
	got = wait_event(p->b->ctx);
	check(got.element.qp == p->b->qp);
	check_equal(got.event_type, event);
}

static void a_message_too_long_for_the_receive_fails_on_both_sides(void)
{
	static const uint32_t lengths[] = { 17, 1000, 5000, 40000 };

	for (size_t i = 0; i < array_size(lengths); i++) {
		struct pair p = pair_open(NULL);
		struct ibv_sge sge = { (uintptr_t)p.b->buf, 16, p.b->mr->lkey };

		memset(p.b->buf + 16, 0xee, 4096);
		expect_receive_error(&p, &sge, lengths[i], IBV_WC_LOC_LEN_ERR,
				     IBV_WC_REM_INV_REQ_ERR, IBV_EVENT_QP_REQ_ERR);
		check(is_all(p.b->buf + 16, 4096, 0xee));
		pair_close(&p);
	}
}

static void a_receive_with_a_bad_key_fails_on_both_sides(void)
{
	struct pair p = pair_open(NULL);
	struct ibv_sge sge = { (uintptr_t)p.b->buf, 64, p.b->mr->lkey ^ 0x100 };

	expect_receive_error(&p, &sge, 8, IBV_WC_LOC_PROT_ERR, IBV_WC_REM_OP_ERR,
			     IBV_EVENT_QP_FATAL);
	pair_close(&p);
}

static void a_receive_into_memory_without_local_write_fails(void)
{
	struct pair p = pair_open(NULL);
	struct ibv_mr *mr = must(ibv_reg_mr(p.b->pd, p.b->buf, 4096, IBV_ACCESS_REMOTE_READ));
	struct ibv_sge sge = { (uintptr_t)p.b->buf, 64, mr->lkey };

	memset(p.b->buf, 0, 64);
	memset(p.a->buf, 9, 8);
	expect_receive_error(&p, &sge, 8, IBV_WC_LOC_PROT_ERR, IBV_WC_REM_OP_ERR,
			     IBV_EVENT_QP_FATAL);
	check(is_all(p.b->buf, 64, 0));
	end_drop_qp(p.b);
	check_ok(ibv_dereg_mr(mr));
	pair_close(&p);
}

/*
 * Packets are checked one by one (IBTA volume 1, 9.7.4.1): the first one has the key, and the last one the immediate data, for
 * which a receive is taken. So a message of several packets to a wrong key takes none, and one is not missed.
 */
static void a_long_write_to_a_wrong_key_takes_no_receive(void)
{
	for (int receives = 0; receives < 2; receives++) {
		struct pair p = pair_open(NULL);
		struct work w = { .id = 1,
				  .op = IBV_WR_RDMA_WRITE_WITH_IMM,
				  .len = 5000,
				  .raddr = p.a->to.va,
				  .rkey = p.a->to.rkey ^ 0x100 };

		if (receives)
			post_recv(p.b, 7, 0, 64);
		post(p.a, &w);
		expect_wc(p.a->scq, 1, IBV_WC_REM_ACCESS_ERR);
		if (receives)
			expect_wc(p.b->rcq, 7, IBV_WC_WR_FLUSH_ERR);
		pair_close(&p);
	}
}

/* An adapter translates the bytes that it touches; perftest rounds its receives up. */
static void a_receive_may_reach_beyond_its_region(void)
{
	static const uint32_t lengths[] = { 0, 8, 2049, 4096 };
	struct pair p = pair_open(NULL);
	struct ibv_mr *mr = must(ibv_reg_mr(p.b->pd, p.b->buf, 4096, IBV_ACCESS_LOCAL_WRITE));
	struct ibv_sge sge[] = {
		{ (uintptr_t)p.b->buf, 1u << 20, mr->lkey },
		{ (uintptr_t)p.b->buf, 64, mr->lkey ^ 0x100 },
	};
	struct ibv_recv_wr *bad, wr = { .wr_id = 5, .sg_list = sge, .num_sge = 2 };

	for (size_t i = 0; i < array_size(lengths); i++) {
		memset(p.b->buf, 0, 4096);
		fill(p.a->buf, lengths[i], i + 1);
		check_ok(ibv_post_recv(p.b->qp, &wr, &bad));
		post(p.a, &(struct work){ .id = 1,
					  .op = IBV_WR_SEND,
					  .flags = IBV_SEND_SIGNALED,
					  .len = lengths[i] });
		check_equal(expect_ok(p.b->rcq, 5).byte_len, lengths[i]);
		expect_ok(p.a->scq, 1);
		check_filled(p.b->buf, lengths[i], i + 1);
	}
	memset(p.b->buf + 4096, 0xee, 64);
	expect_receive_error(&p, sge, 4097, IBV_WC_LOC_PROT_ERR, IBV_WC_REM_OP_ERR,
			     IBV_EVENT_QP_FATAL);
	check(is_all(p.b->buf + 4096, 64, 0xee));
	end_drop_qp(p.b);
	check_ok(ibv_dereg_mr(mr));
	pair_close(&p);
}

/* ---- remote access ---- */

struct target {
	struct end *e;
	struct ibv_pd *other_pd;
	struct ibv_mr *mr; /* extra region, or NULL */
};

struct region {
	int qp_access, mr_access;
	bool other_pd;
	bool dead;
	uint32_t key_xor;
	int64_t shift; /* of the address */
};

#define ALL_REMOTE (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)
#define LW         IBV_ACCESS_LOCAL_WRITE

/* `ops`: which of write, read, fetch-and-add the case is wrong for. */
enum { WRITE = 1, READ = 2, ATOMIC = 4, ANY = 7 };

static const struct remote_case {
	const char *name;
	int ops;
	struct region r;
} remote_cases[] = {
	{ "unknown key",
	  ANY,
	  { .qp_access = ALL_REMOTE, .mr_access = LW | ALL_REMOTE, .key_xor = 0x10000 } },
	{ "key variant",
	  ANY,
	  { .qp_access = ALL_REMOTE, .mr_access = LW | ALL_REMOTE, .key_xor = 1 } },
	{ "dead key",
	  ANY,
	  { .qp_access = ALL_REMOTE, .mr_access = LW | ALL_REMOTE, .dead = true } },
	{ "other domain",
	  ANY,
	  { .qp_access = ALL_REMOTE, .mr_access = LW | ALL_REMOTE, .other_pd = true } },
	{ "half past the end",
	  WRITE | READ,
	  { .qp_access = ALL_REMOTE, .mr_access = LW | ALL_REMOTE, .shift = 4096 - 8 } },
	{ "behind the end",
	  ANY,
	  { .qp_access = ALL_REMOTE, .mr_access = LW | ALL_REMOTE, .shift = 4096 } },
	{ "far past the end",
	  ANY,
	  { .qp_access = ALL_REMOTE, .mr_access = LW | ALL_REMOTE, .shift = 1ll << 40 } },
	{ "before the start",
	  ANY,
	  { .qp_access = ALL_REMOTE, .mr_access = LW | ALL_REMOTE, .shift = -8 } },
	{ "no remote write",
	  WRITE,
	  { .qp_access = ALL_REMOTE, .mr_access = LW | (ALL_REMOTE & ~IBV_ACCESS_REMOTE_WRITE) } },
	{ "no remote read",
	  READ,
	  { .qp_access = ALL_REMOTE, .mr_access = LW | (ALL_REMOTE & ~IBV_ACCESS_REMOTE_READ) } },
	{ "no remote atomic",
	  ATOMIC,
	  { .qp_access = ALL_REMOTE, .mr_access = LW | (ALL_REMOTE & ~IBV_ACCESS_REMOTE_ATOMIC) } },
	{ "local only", ANY, { .qp_access = ALL_REMOTE, .mr_access = LW } },
	{ "queue pair without remote write",
	  WRITE,
	  { .qp_access = ALL_REMOTE & ~IBV_ACCESS_REMOTE_WRITE, .mr_access = LW | ALL_REMOTE } },
	{ "queue pair without remote read",
	  READ,
	  { .qp_access = ALL_REMOTE & ~IBV_ACCESS_REMOTE_READ, .mr_access = LW | ALL_REMOTE } },
	{ "queue pair without remote atomic",
	  ATOMIC,
	  { .qp_access = ALL_REMOTE & ~IBV_ACCESS_REMOTE_ATOMIC, .mr_access = LW | ALL_REMOTE } },
};

/* A queue pair without the right does not have the operation; the request is an invalid one. */
static bool lacks_right(const struct region *r)
{
	return r->qp_access != ALL_REMOTE;
}

static struct target target_open(const struct region *r, struct address *address)
{
	struct options o = options_of(IBV_QPT_RC);
	struct target t = { 0 };

	o.qp_access = r->qp_access;
	t.e = end_open(&o);
	t.other_pd = must(ibv_alloc_pd(t.e->ctx));
	t.mr = must(ibv_reg_mr(r->other_pd ? t.other_pd : t.e->pd, t.e->buf + 4096, 4096,
			       r->mr_access));
	*address = end_address(t.e);
	address->va += 4096 + r->shift;
	address->rkey = t.mr->rkey ^ r->key_xor;
	if (r->dead) {
		check_ok(ibv_dereg_mr(t.mr));
		t.mr = NULL;
	}
	fill(t.e->buf, 3 * 4096, 1);
	return t;
}

/* After the attempt: nothing changed, the queue pair is in error and said so, its receive is
 * flushed. */
static void target_check(struct target *t, const struct region *r)
{
	struct ibv_async_event got = wait_event(t->e->ctx);

	check(got.element.qp == t->e->qp);
	check_equal(got.event_type,
		    lacks_right(r) ? IBV_EVENT_QP_REQ_ERR : IBV_EVENT_QP_ACCESS_ERR);
	expect_wc(t->e->rcq, 77, IBV_WC_WR_FLUSH_ERR);
	check_equal(end_state(t->e), IBV_QPS_ERR);
	check_filled(t->e->buf, 3 * 4096, 1);
}

static void target_close(struct target *t)
{
	end_drop_qp(t->e);
	if (t->mr)
		check_ok(ibv_dereg_mr(t->mr));
	check_ok(ibv_dealloc_pd(t->other_pd));
	end_close(t->e);
}

static const enum ibv_wr_opcode op_of[] = { IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ,
					    IBV_WR_ATOMIC_FETCH_AND_ADD };

static void attempt(struct end *e, enum ibv_wr_opcode op, const struct region *r)
{
	struct ibv_wc wc;

	memset(e->buf, 0, 64);
	post(e, &(struct work){ .id = 1,
				.op = op,
				.flags = IBV_SEND_SIGNALED,
				.len = op == IBV_WR_ATOMIC_FETCH_AND_ADD ? 8 : 16,
				.raddr = e->to.va,
				.rkey = e->to.rkey,
				.compare = 1 });
	post(e, &(struct work){ .id = 2, .op = IBV_WR_SEND, .len = 8 });
	wc = expect_wc(e->scq, 1, lacks_right(r) ? IBV_WC_REM_INV_REQ_ERR : IBV_WC_REM_ACCESS_ERR);
	check(wc.vendor_err != 0);
	expect_wc(e->scq, 2, IBV_WC_WR_FLUSH_ERR);
	check_equal(end_state(e), IBV_QPS_ERR);
	check(is_all(e->buf, 64, 0));
}

static void remote_access_is_refused_whatever_is_wrong(void)
{
	for (size_t i = 0; i < array_size(remote_cases); i++)
		for (int k = 0; k < 3; k++) {
			struct address to, from;
			struct target t;
			struct end *e;

			if (!(remote_cases[i].ops & 1 << k))
				continue;
			printf("%s, operation %d\n", remote_cases[i].name, k);
			t = target_open(&remote_cases[i].r, &to);
			e = end_open(NULL);
			from = end_address(e);
			end_connect(t.e, &from);
			post_recv(t.e, 77, 0, 64);
			end_connect(e, &to);
			attempt(e, op_of[k], &remote_cases[i].r);
			target_check(&t, &remote_cases[i].r);
			/* the requester's side is told by its completion alone */
			check(!event_is_there(e->ctx));
			end_close(e);
			target_close(&t);
		}
}

static void guarded(int fd)
{
	for (size_t i = 0; i < array_size(remote_cases); i++)
		for (int k = 0; k < 3; k++) {
			struct address mine, theirs;
			struct target t;

			if (!(remote_cases[i].ops & 1 << k))
				continue;
			t = target_open(&remote_cases[i].r, &mine);
			hear(fd, &theirs, sizeof(theirs));
			end_connect(t.e, &theirs);
			post_recv(t.e, 77, 0, 64);
			tell(fd, &mine, sizeof(mine));
			target_check(&t, &remote_cases[i].r);
			target_close(&t);
		}
	tell_mark(fd, 'E');
}

static void remote_access_is_refused_between_processes(void)
{
	struct peer peer = peer_start(guarded);

	for (size_t i = 0; i < array_size(remote_cases); i++)
		for (int k = 0; k < 3; k++) {
			struct address mine, theirs;
			struct end *e;

			if (!(remote_cases[i].ops & 1 << k))
				continue;
			e = end_open(NULL);
			mine = end_address(e);
			tell(peer.fd, &mine, sizeof(mine));
			hear(peer.fd, &theirs, sizeof(theirs));
			end_connect(e, &theirs);
			attempt(e, op_of[k], &remote_cases[i].r);
			end_close(e);
		}
	hear_mark(peer.fd, 'E');
	peer_join(&peer);
}

/* ---- no answer ---- */

static struct options hasty(void)
{
	struct options o = options_of(IBV_QPT_RC);

	o.timeout = 10; /* 4 ms */
	o.retry_cnt = 2;
	return o;
}

static void expect_silence(struct end *e)
{
	struct ibv_wc wc;

	post(e, &(struct work){ .id = 1, .op = IBV_WR_SEND, .len = 8 });
	post(e, &(struct work){ .id = 2,
				.op = IBV_WR_RDMA_WRITE,
				.len = 8,
				.raddr = e->to.va,
				.rkey = e->to.rkey });
	wc = expect_wc(e->scq, 1, IBV_WC_RETRY_EXC_ERR);
	check(wc.vendor_err != 0);
	expect_wc(e->scq, 2, IBV_WC_WR_FLUSH_ERR);
	check_equal(end_state(e), IBV_QPS_ERR);
}

static void a_peer_that_is_not_ready_exceeds_the_retries(void)
{
	struct options o = hasty();

	for (int state = 0; state < 3; state++) {
		struct end *a = end_open(&o), *b = end_open(&o);
		struct address to_b = end_address(b);

		if (state)
			end_to_init(b);
		if (state == 2)
			end_to_error(b);
		end_connect(a, &to_b);
		expect_silence(a);
		end_close(a);
		end_close(b);
	}
}

static void a_peer_that_was_destroyed_exceeds_the_retries(void)
{
	struct options o = hasty();
	struct pair p = pair_open(&o);

	end_drop_qp(p.b);
	expect_silence(p.a);
	pair_close(&p);
}

/* Requests are lost, and so are answers. */
static void a_lid_that_no_port_has_exceeds_the_retries(void)
{
	struct options o = hasty();

	if (rig_is_ethernet())
		rig_skip("LIDs are of InfiniBand");
	for (int lost = 0; lost < 2; lost++) {
		struct end *a = end_open(&o), *b = end_open(&o);
		struct address to_a = end_address(a), to_b = end_address(b);

		if (lost)
			to_a.lid = 0xbfff;
		else
			to_b.lid = 0xbfff;
		end_connect(b, &to_a);
		end_connect(a, &to_b);
		post_recv(b, 9, 0, 64);
		expect_silence(a);
		if (!lost)
			check_empty(b->rcq);
		end_close(a);
		end_close(b);

		/* One-sided work fails likewise. */
		a = end_open(&o);
		b = end_open(&o);
		to_b.qpn = b->qp->qp_num;
		to_a.qpn = a->qp->qp_num;
		end_connect(b, &to_a);
		end_connect(a, &to_b);
		post(a, &(struct work){ .id = 1,
					.op = IBV_WR_RDMA_WRITE,
					.flags = IBV_SEND_SIGNALED,
					.len = 8,
					.raddr = (uintptr_t)b->buf,
					.rkey = b->mr->rkey });
		expect_wc(a->scq, 1, IBV_WC_RETRY_EXC_ERR);
		end_close(a);
		end_close(b);
	}
}

static void a_peer_connected_to_another_queue_pair_exceeds_the_retries(void)
{
	struct options o = hasty();
	struct end *a, *b, *c;
	struct address to_a, to_b;

	if (rig_on_wire())
		rig_skip("packets of connections do not say which queue pair sent them");
	a = end_open(&o);
	b = end_open(&o);
	c = end_open(&o);
	to_a = end_address(a);
	to_b = end_address(b);
	end_connect(b, &to_a);
	end_connect(a, &to_b);
	end_connect(c, &to_b);
	memset(b->buf, 0, 64);
	c->buf[0] = 1;
	post(c, &(struct work){ .id = 1,
				.op = IBV_WR_RDMA_WRITE,
				.len = 8,
				.raddr = c->to.va,
				.rkey = c->to.rkey });
	expect_wc(c->scq, 1, IBV_WC_RETRY_EXC_ERR);
	check(is_all(b->buf, 64, 0));
	/* the connected peer is served as before */
	post_recv(b, 2, 0, 8);
	post(a, &(struct work){ .id = 2, .op = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED, .len = 8 });
	expect_ok(a->scq, 2);
	expect_ok(b->rcq, 2);
	end_close(a);
	end_close(b);
	end_close(c);
}

static void packet_numbers_that_do_not_agree_exceed_the_retries(void)
{
	static const enum ibv_wr_opcode ops[] = { IBV_WR_SEND, IBV_WR_RDMA_WRITE };

	for (size_t i = 0; i < array_size(ops); i++) {
		struct options o = hasty();
		struct end *a = end_open(&o), *b = end_open(&o);
		struct address to_a = end_address(a), to_b = end_address(b);

		to_a.psn += 100;
		end_connect(b, &to_a);
		end_connect(a, &to_b);
		post_recv(b, 1, 0, 64);
		memset(b->buf, 0, 64);
		a->buf[0] = 1;
		post(a, &(struct work){ .id = 1,
					.op = ops[i],
					.len = 8,
					.raddr = a->to.va,
					.rkey = a->to.rkey });
		expect_wc(a->scq, 1, IBV_WC_RETRY_EXC_ERR);
		check_empty(b->rcq);
		check(is_all(b->buf, 64, 0));
		end_close(a);
		end_close(b);
	}
}

/* ---- after an error ---- */

static void a_queue_pair_in_error_flushes_in_order(void)
{
	struct pair p = pair_open(NULL);

	for (unsigned int i = 0; i < 10; i++)
		post_recv(p.a, 100 + i, 0, 8);
	for (unsigned int i = 0; i < 10; i++)
		post(p.a, &(struct work){ .id = i, .op = IBV_WR_SEND, .len = 8 });
	end_to_error(p.a);
	for (unsigned int i = 0; i < 10; i++) {
		struct ibv_wc wc = expect_wc(p.a->scq, i, IBV_WC_WR_FLUSH_ERR);

		check(wc.vendor_err != 0);
		check_equal(wc.qp_num, p.a->qp->qp_num);
	}
	for (unsigned int i = 0; i < 10; i++)
		expect_wc(p.a->rcq, 100 + i, IBV_WC_WR_FLUSH_ERR);
	/* what is posted from now on is flushed as well */
	for (unsigned int i = 0; i < 200; i++) {
		post_recv(p.a, 300 + i, 0, 8);
		post(p.a, &(struct work){ .id = 200 + i, .op = IBV_WR_SEND, .len = 8 });
		expect_wc(p.a->rcq, 300 + i, IBV_WC_WR_FLUSH_ERR);
		expect_wc(p.a->scq, 200 + i, IBV_WC_WR_FLUSH_ERR);
	}
	pair_close(&p);
}

static void a_reset_drops_the_queues_without_completions(void)
{
	struct pair p = pair_open(NULL);
	struct address b = end_address(p.b), a = end_address(p.a);

	for (unsigned int i = 0; i < 10; i++) {
		post_recv(p.a, i, 0, 8);
		post(p.a, &(struct work){ .id = i, .op = IBV_WR_SEND, .len = 8 });
	}
	end_reset(p.a);
	check_empty(p.a->scq);
	check_empty(p.a->rcq);
	/* and the queue pair is as good as new */
	end_reset(p.b);
	end_connect(p.a, &b);
	end_connect(p.b, &a);
	for (unsigned int i = 0; i < 100; i++) {
		post_recv(p.b, i, 0, 8);
		post(p.a,
		     &(struct work){
			     .id = i, .op = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED, .len = 8 });
		expect_ok(p.a->scq, i);
		expect_ok(p.b->rcq, i);
		post_recv(p.a, i, 0, 8);
		post(p.b,
		     &(struct work){
			     .id = i, .op = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED, .len = 8 });
		expect_ok(p.b->scq, i);
		expect_ok(p.a->rcq, i);
	}
	pair_close(&p);
}

static void completions_of_a_destroyed_queue_pair_are_gone(void)
{
	struct pair p = pair_open(NULL);

	post_recv(p.b, 1, 0, 8);
	post(p.a,
	     &(struct work){ .id = 1, .op = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED, .len = 8 });
	expect_ok(p.b->rcq, 1);
	/* a read and back again: the send's completion has had its time to come */
	post(p.b, &(struct work){ .id = 2,
				  .op = IBV_WR_RDMA_READ,
				  .flags = IBV_SEND_SIGNALED,
				  .len = 8,
				  .raddr = p.b->to.va,
				  .rkey = p.b->to.rkey });
	expect_ok(p.b->scq, 2);
	end_drop_qp(p.a);
	check_empty(p.a->scq);
	pair_close(&p);
}

static void one_broken_connection_leaves_the_others_alone(void)
{
	struct pair p = pair_open(NULL), q = pair_open(NULL);

	post(p.a, &(struct work){ .id = 1,
				  .op = IBV_WR_RDMA_WRITE,
				  .len = 8,
				  .raddr = p.a->to.va,
				  .rkey = 0x12345600 });
	expect_wc(p.a->scq, 1, IBV_WC_REM_ACCESS_ERR);
	for (unsigned int i = 0; i < 20; i++) {
		post_recv(q.b, i, 0, 8);
		post(q.a,
		     &(struct work){
			     .id = i, .op = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED, .len = 8 });
		expect_ok(q.a->scq, i);
		expect_ok(q.b->rcq, i);
	}
	pair_close(&p);
	pair_close(&q);
}

static void the_first_message_in_rtr_is_reported(void)
{
	struct end *a = end_open(NULL), *b = end_open(NULL);
	struct address to_a = end_address(a), to_b = end_address(b);
	struct ibv_async_event got;

	end_to_init(b);
	end_to_rtr(b, &to_a);
	post_recv(b, 1, 0, 8);
	end_connect(a, &to_b);
	post(a, &(struct work){ .id = 1, .op = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED, .len = 8 });
	expect_ok(b->rcq, 1);
	got = wait_event(b->ctx);
	check_equal(got.event_type, IBV_EVENT_COMM_EST);
	check(got.element.qp == b->qp);
	expect_ok(a->scq, 1);
	end_close(a);
	end_close(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_unknown_local_key_is_a_local_protection_error),
		TEST(a_local_key_of_another_domain_is_a_local_protection_error),
		TEST(local_memory_outside_the_region_is_a_local_protection_error),
		TEST(a_read_into_memory_without_local_write_is_refused),
		TEST(a_refusal_comes_before_a_bad_local_key),
		TEST(an_atomic_with_a_bad_local_key_is_carried_out),
		TEST(memory_without_local_write_may_be_sent_from),
		TEST(a_key_is_dead_after_deregistration),
		TEST(a_message_too_long_for_the_receive_fails_on_both_sides),
		TEST(a_receive_with_a_bad_key_fails_on_both_sides),
		TEST(a_receive_into_memory_without_local_write_fails),
		TEST(a_long_write_to_a_wrong_key_takes_no_receive),
		TEST(a_receive_may_reach_beyond_its_region),
		TEST(remote_access_is_refused_whatever_is_wrong),
		TEST(remote_access_is_refused_between_processes),
		TEST(a_peer_that_is_not_ready_exceeds_the_retries),
		TEST(a_peer_that_was_destroyed_exceeds_the_retries),
		TEST(a_lid_that_no_port_has_exceeds_the_retries),
		TEST(a_peer_connected_to_another_queue_pair_exceeds_the_retries),
		TEST(packet_numbers_that_do_not_agree_exceed_the_retries),
		TEST(a_queue_pair_in_error_flushes_in_order),
		TEST(a_reset_drops_the_queues_without_completions),
		TEST(completions_of_a_destroyed_queue_pair_are_gone),
		TEST(one_broken_connection_leaves_the_others_alone),
		TEST(the_first_message_in_rtr_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
