/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory windows: bound by call (type 1) and by request (type 2), invalidated from here and from
 * there.
 */
#include "rig.h"

#define BIND_ACCESS (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)

/* b has a region that may be bound to; a writes through the window. */
static struct pair open_pair(void)
{
	struct options o = options_of(IBV_QPT_RC);

	o.mr_access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND;
	return pair_open(&o);
}

static struct ibv_mw *window(struct end *e, enum ibv_mw_type type)
{
	struct ibv_mw *mw = ibv_alloc_mw(e->pd, type);

	if (!mw && errno == EOPNOTSUPP)
		rig_skip("the adapter has no such windows");
	return must(mw);
}

static void bind_type1(struct end *e, struct ibv_mw *mw, size_t off, size_t len, int access)
{
	struct ibv_mw_bind bind = {
		.wr_id = 40,
		.send_flags = IBV_SEND_SIGNALED,
		.bind_info = { .mr = e->mr,
			       .addr = (uintptr_t)e->buf + off,
			       .length = len,
			       .mw_access_flags = access },
	};

	check_ok(ibv_bind_mw(e->qp, mw, &bind));
}

static uint32_t bind_type2(struct end *e, struct ibv_mw *mw, size_t off, size_t len, int access)
{
	struct ibv_send_wr *bad, wr = {
		.wr_id = 41,
		.opcode = IBV_WR_BIND_MW,
		.send_flags = IBV_SEND_SIGNALED,
		.bind_mw = { .mw = mw,
			     .rkey = ibv_inc_rkey(mw->rkey),
			     .bind_info = { .mr = e->mr,
					    .addr = (uintptr_t)e->buf + off,
					    .length = len,
					    .mw_access_flags = access } },
	};

	check_ok(ibv_post_send(e->qp, &wr, &bad));
	return wr.bind_mw.rkey;
}

static void write_by(struct end *e, uint32_t rkey, uint64_t raddr, uint32_t len, uint64_t id)
{
	fill(e->buf, len, id);
	post(e, &(struct work){ .id = id,
				.op = IBV_WR_RDMA_WRITE,
				.flags = IBV_SEND_SIGNALED,
				.len = len,
				.raddr = raddr,
				.rkey = rkey });
}

static void a_type_1_window_gives_access_to_its_part_only(void)
{
	struct pair p = open_pair();
	struct ibv_mw *mw = window(p.b, IBV_MW_TYPE_1);
	struct ibv_wc wc;

	bind_type1(p.b, mw, 1000, 500, BIND_ACCESS);
	wc = expect_ok(p.b->scq, 40);
	check_equal(wc.opcode, IBV_WC_BIND_MW);
	write_by(p.a, mw->rkey, p.a->to.va + 1000, 500, 1);
	expect_ok(p.a->scq, 1);
	check_filled(p.b->buf + 1000, 500, 1);
	write_by(p.a, mw->rkey, p.a->to.va + 1001, 500, 2);
	expect_wc(p.a->scq, 2, IBV_WC_REM_ACCESS_ERR);
	check_filled(p.b->buf + 1000, 500, 1);
	check_ok(ibv_dealloc_mw(mw));
	pair_close(&p);
}

static void a_window_gives_the_rights_it_was_bound_with(void)
{
	struct pair p = open_pair();
	struct ibv_mw *mw = window(p.b, IBV_MW_TYPE_1);

	bind_type1(p.b, mw, 0, 4096, IBV_ACCESS_REMOTE_READ);
	expect_ok(p.b->scq, 40);
	fill(p.b->buf, 100, 7);
	post(p.a, &(struct work){ .id = 1,
				  .op = IBV_WR_RDMA_READ,
				  .flags = IBV_SEND_SIGNALED,
				  .len = 100,
				  .raddr = p.a->to.va,
				  .rkey = mw->rkey });
	expect_ok(p.a->scq, 1);
	check_filled(p.a->buf, 100, 7);
	write_by(p.a, mw->rkey, p.a->to.va, 8, 2);
	expect_wc(p.a->scq, 2, IBV_WC_REM_ACCESS_ERR);
	check_filled(p.b->buf, 100, 7);
	check_ok(ibv_dealloc_mw(mw));
	pair_close(&p);
}

static void a_new_bind_makes_the_old_key_invalid(void)
{
	struct pair p = open_pair();
	struct ibv_mw *mw = window(p.b, IBV_MW_TYPE_1);
	uint32_t old;

	bind_type1(p.b, mw, 0, 100, BIND_ACCESS);
	expect_ok(p.b->scq, 40);
	old = mw->rkey;
	bind_type1(p.b, mw, 200, 100, BIND_ACCESS);
	expect_ok(p.b->scq, 40);
	check(mw->rkey != old);
	write_by(p.a, mw->rkey, p.a->to.va + 200, 100, 1);
	expect_ok(p.a->scq, 1);
	memset(p.b->buf, 0, 100);
	write_by(p.a, old, p.a->to.va, 8, 2);
	expect_wc(p.a->scq, 2, IBV_WC_REM_ACCESS_ERR);
	check(is_all(p.b->buf, 100, 0));
	check_ok(ibv_dealloc_mw(mw));
	pair_close(&p);
}

static void a_bind_of_no_bytes_unbinds(void)
{
	struct pair p = open_pair();
	struct ibv_mw *mw = window(p.b, IBV_MW_TYPE_1);

	bind_type1(p.b, mw, 0, 100, BIND_ACCESS);
	expect_ok(p.b->scq, 40);
	bind_type1(p.b, mw, 0, 0, 0);
	expect_ok(p.b->scq, 40);
	write_by(p.a, mw->rkey, p.a->to.va, 8, 2);
	expect_wc(p.a->scq, 2, IBV_WC_REM_ACCESS_ERR);
	/* the region is free again */
	check_ok(ibv_dereg_mr(p.b->mr));
	p.b->mr = NULL;
	check_ok(ibv_dealloc_mw(mw));
	pair_close(&p);
}

static void a_region_with_a_window_is_busy(void)
{
	struct pair p = open_pair();
	struct ibv_mw *mw = window(p.b, IBV_MW_TYPE_1);

	bind_type1(p.b, mw, 0, 100, BIND_ACCESS);
	expect_ok(p.b->scq, 40);
	check_equal(ibv_dereg_mr(p.b->mr), EBUSY);
	check_equal(ibv_dealloc_pd(p.b->pd), EBUSY);
	/* nothing changed */
	write_by(p.a, mw->rkey, p.a->to.va, 8, 1);
	expect_ok(p.a->scq, 1);
	check_ok(ibv_dealloc_mw(mw));
	pair_close(&p);
}

static void a_bind_without_the_right_to_bind_fails(void)
{
	struct pair p = pair_open(NULL); /* its region was not registered for windows */
	struct ibv_mw *mw = window(p.b, IBV_MW_TYPE_1);
	struct ibv_mw_bind bind = {
		.wr_id = 40,
		.send_flags = IBV_SEND_SIGNALED,
		.bind_info = { .mr = p.b->mr,
			       .addr = (uintptr_t)p.b->buf,
			       .length = 100,
			       .mw_access_flags = BIND_ACCESS },
	};

	/* at once, or by its completion */
	if (!ibv_bind_mw(p.b->qp, mw, &bind))
		expect_wc(p.b->scq, 40, IBV_WC_MW_BIND_ERR);
	check_ok(ibv_dealloc_mw(mw));
	pair_close(&p);
}

/* ---- type 2 ---- */

static void a_type_2_window_is_bound_by_a_request(void)
{
	struct pair p = open_pair();
	struct ibv_mw *mw = window(p.b, IBV_MW_TYPE_2);
	uint32_t rkey = bind_type2(p.b, mw, 64, 640, BIND_ACCESS);

	check_equal(expect_ok(p.b->scq, 41).opcode, IBV_WC_BIND_MW);
	write_by(p.a, rkey, p.a->to.va + 64, 640, 1);
	expect_ok(p.a->scq, 1);
	check_filled(p.b->buf + 64, 640, 1);
	check_ok(ibv_dealloc_mw(mw));
	pair_close(&p);
}

static void a_type_2_window_belongs_to_its_queue_pair(void)
{
	struct pair p = open_pair();
	struct end *c = end_open(NULL), *d = end_twin(p.b);
	struct ibv_mw *mw = window(p.b, IBV_MW_TYPE_2);
	struct address to_c = end_address(c), to_d = end_address(d);
	uint32_t rkey;

	end_connect(c, &to_d);
	end_connect(d, &to_c);
	rkey = bind_type2(p.b, mw, 0, 640, BIND_ACCESS);
	expect_ok(p.b->scq, 41);
	memset(p.b->buf, 0, 64);
	/* the same domain, another queue pair */
	write_by(c, rkey, c->to.va, 8, 1);
	expect_wc(c->scq, 1, IBV_WC_REM_ACCESS_ERR);
	check(is_all(p.b->buf, 64, 0));
	write_by(p.a, rkey, p.a->to.va, 8, 2);
	expect_ok(p.a->scq, 2);
	check_ok(ibv_dealloc_mw(mw));
	twin_close(d);
	end_close(c);
	pair_close(&p);
}

static void a_local_invalidate_ends_a_window(void)
{
	struct pair p = open_pair();
	struct ibv_mw *mw = window(p.b, IBV_MW_TYPE_2);
	uint32_t rkey = bind_type2(p.b, mw, 0, 640, BIND_ACCESS);

	expect_ok(p.b->scq, 41);
	post(p.b,
	     &(struct work){
		     .id = 42, .op = IBV_WR_LOCAL_INV, .flags = IBV_SEND_SIGNALED, .imm = rkey });
	check_equal(expect_ok(p.b->scq, 42).opcode, IBV_WC_LOCAL_INV);
	memset(p.b->buf, 0, 64);
	write_by(p.a, rkey, p.a->to.va, 8, 1);
	expect_wc(p.a->scq, 1, IBV_WC_REM_ACCESS_ERR);
	check(is_all(p.b->buf, 64, 0));
	check_ok(ibv_dealloc_mw(mw));
	pair_close(&p);
}

static void an_invalidated_window_may_be_bound_again(void)
{
	struct pair p = open_pair();
	struct ibv_mw *mw = window(p.b, IBV_MW_TYPE_2);

	for (unsigned int i = 0; i < 300; i++) {
		uint32_t rkey = bind_type2(p.b, mw, i, 100, BIND_ACCESS);

		expect_ok(p.b->scq, 41);
		mw->rkey = rkey;
		write_by(p.a, rkey, p.a->to.va + i, 100, i);
		expect_ok(p.a->scq, i);
		check_filled(p.b->buf + i, 100, i);
		post(p.b, &(struct work){ .id = 42,
					  .op = IBV_WR_LOCAL_INV,
					  .flags = IBV_SEND_SIGNALED,
					  .imm = rkey });
		expect_ok(p.b->scq, 42);
	}
	check_ok(ibv_dealloc_mw(mw));
	pair_close(&p);
}

static void a_send_with_invalidate_ends_the_receivers_window(void)
{
	struct pair p = open_pair();
	struct ibv_mw *mw = window(p.b, IBV_MW_TYPE_2);
	uint32_t rkey = bind_type2(p.b, mw, 0, 640, BIND_ACCESS);
	struct ibv_wc wc;

	expect_ok(p.b->scq, 41);
	post_recv(p.b, 5, 1024, 64);
	fill(p.a->buf, 20, 3);
	post(p.a, &(struct work){ .id = 1,
				  .op = IBV_WR_SEND_WITH_INV,
				  .flags = IBV_SEND_SIGNALED,
				  .imm = rkey,
				  .len = 20 });
	wc = expect_ok(p.b->rcq, 5);
	check(wc.wc_flags & IBV_WC_WITH_INV);
	check_equal(wc.invalidated_rkey, rkey);
	check_equal(wc.byte_len, 20);
	check_filled(p.b->buf + 1024, 20, 3);
	expect_ok(p.a->scq, 1);
	memset(p.b->buf, 0, 64);
	write_by(p.a, rkey, p.a->to.va, 8, 2);
	expect_wc(p.a->scq, 2, IBV_WC_REM_ACCESS_ERR);
	check(is_all(p.b->buf, 64, 0));
	check_ok(ibv_dealloc_mw(mw));
	pair_close(&p);
}

/*
 * IBTA volume 1, 9.9.6.3, class J: the receiver fails and sends no NAK, so the sender hears nothing until its
 * retries are exceeded.
 */
static void a_key_that_cannot_be_invalidated_fails_the_receiver_and_draws_no_nak(void)
{
	for (int kind = 0; kind < 3; kind++) {
		struct options o = options_of(IBV_QPT_RC);
		struct ibv_mw *mw;
		struct pair p;

		o.timeout = 10; /* 4 ms */
		o.retry_cnt = 1;
		p = pair_open(&o);
		mw = window(p.b, IBV_MW_TYPE_2);
		post_recv(p.b, 5, 0, 64);
		post_recv(p.b, 6, 0, 64);
		post(p.a, &(struct work){ .id = 1,
					  .op = IBV_WR_SEND_WITH_INV,
					  .flags = IBV_SEND_SIGNALED,
					  /* no key; that of a region; an unbound window */
					  .imm = kind == 0   ? 0x12345600
						 : kind == 1 ? p.b->mr->rkey
							     : mw->rkey,
					  .len = 20 });
		expect_wc(p.b->rcq, 5, IBV_WC_LOC_ACCESS_ERR);
		expect_wc(p.b->rcq, 6, IBV_WC_WR_FLUSH_ERR);
		check_equal(end_state(p.b), IBV_QPS_ERR);
		expect_wc(p.a->scq, 1, IBV_WC_RETRY_EXC_ERR);
		check_ok(ibv_dealloc_mw(mw));
		pair_close(&p);
	}
}

/* Sending again what a receiver was not ready for does not repeat what stands between. */
static void binds_between_queued_sends_happen_once(void)
{
	struct pair p = open_pair();
	struct ibv_mw *mw = window(p.b, IBV_MW_TYPE_2);
	uint32_t rkey;

	for (unsigned int i = 0; i < 3; i++) {
		/* b sends, a is not ready */
		post(p.b,
		     &(struct work){
			     .id = 1, .op = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED, .len = 8 });
		rkey = bind_type2(p.b, mw, 0, 640, BIND_ACCESS);
		mw->rkey = rkey;
		post(p.b,
		     &(struct work){
			     .id = 2, .op = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED, .len = 8 });
		post(p.b, &(struct work){ .id = 3,
					  .op = IBV_WR_LOCAL_INV,
					  .flags = IBV_SEND_SIGNALED,
					  .imm = rkey });
		for (uint64_t end = now_ns() + 5000000; now_ns() < end;)
			check_empty(p.b->scq);
		post_recv(p.a, 4, 0, 64);
		expect_ok(p.b->scq, 1);
		expect_ok(p.b->scq, 41);
		for (uint64_t end = now_ns() + 5000000; now_ns() < end;)
			check_empty(p.b->scq);
		post_recv(p.a, 5, 0, 64);
		expect_ok(p.b->scq, 2);
		expect_ok(p.b->scq, 3);
		expect_ok(p.a->rcq, 4);
		expect_ok(p.a->rcq, 5);
	}
	check_ok(ibv_dealloc_mw(mw));
	pair_close(&p);
}

/* ---- between processes ---- */

static void owner(int fd)
{
	struct options o = options_of(IBV_QPT_RC);
	struct ibv_mw *mw;
	struct end *e;
	uint32_t rkey;

	o.mr_access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND;
	e = end_open(&o);
	end_meet(e, fd);
	mw = window(e, IBV_MW_TYPE_2);
	rkey = bind_type2(e, mw, 128, 256, BIND_ACCESS);
	expect_ok(e->scq, 41);
	post_recv(e, 5, 4096, 64);
	tell(fd, &rkey, sizeof(rkey));
	check_equal(expect_ok(e->rcq, 5).invalidated_rkey, rkey);
	check_filled(e->buf + 128, 256, 1);
	memset(e->buf, 0, 1024);
	tell_mark(fd, 'i');
	hear_mark(fd, 'E');
	check(is_all(e->buf, 1024, 0));
	check_ok(ibv_dealloc_mw(mw));
	end_close(e);
}

static void a_window_works_and_ends_between_processes(void)
{
	struct peer peer = peer_start(owner);
	struct end *e;
	uint32_t rkey;

	e = end_open(NULL);
	check_ok(ibv_dealloc_mw(window(e, IBV_MW_TYPE_2))); /* or there is nothing to test */
	end_meet(e, peer.fd);
	hear(peer.fd, &rkey, sizeof(rkey));
	write_by(e, rkey, e->to.va + 128, 256, 1);
	expect_ok(e->scq, 1);
	post(e, &(struct work){ .id = 2,
				.op = IBV_WR_SEND_WITH_INV,
				.flags = IBV_SEND_SIGNALED,
				.imm = rkey,
				.len = 8 });
	expect_ok(e->scq, 2);
	hear_mark(peer.fd, 'i');
	write_by(e, rkey, e->to.va + 128, 8, 3);
	expect_wc(e->scq, 3, IBV_WC_REM_ACCESS_ERR);
	tell_mark(peer.fd, 'E');
	end_close(e);
	peer_join(&peer);
}

#define HUGE_BYTES (8u << 20)
#define ROUNDS     12

/* Writes through every window that it is told of until that is refused. */
static void writer(int fd)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct options o = options_of(IBV_QPT_RC);
		struct ibv_wc wc;
		struct end *e;
		uint32_t rkey;

		o.bytes = HUGE_BYTES;
		e = end_open(&o);
		end_meet(e, fd);
		memset(e->buf, 1, HUGE_BYTES);
		hear(fd, &rkey, sizeof(rkey));
		do {
			post(e, &(struct work){ .id = 1,
						.op = IBV_WR_RDMA_WRITE,
						.flags = IBV_SEND_SIGNALED,
						.len = HUGE_BYTES,
						.raddr = e->to.va,
						.rkey = rkey });
			wc = wait_wc(e->scq);
		} while (wc.status == IBV_WC_SUCCESS);
		check_equal(wc.status, IBV_WC_REM_ACCESS_ERR);
		tell_mark(fd, 'x');
		end_close(e);
	}
}

static void no_write_lands_through_a_window_after_its_invalidation_has_completed(void)
{
	struct peer peer = peer_start(writer);
	struct ibv_mw *mw;

	for (int i = 0; i < ROUNDS; i++) {
		struct options o = options_of(IBV_QPT_RC);
		struct end *e;
		uint32_t rkey;

		o.bytes = HUGE_BYTES;
		o.mr_access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND;
		e = end_open(&o);
		end_meet(e, peer.fd);
		mw = window(e, IBV_MW_TYPE_2);
		rkey = bind_type2(e, mw, 0, HUGE_BYTES, BIND_ACCESS);
		expect_ok(e->scq, 41);
		tell(peer.fd, &rkey, sizeof(rkey));
		wait_for(*(volatile char *)e->buf == 1); /* it is at work */
		post(e, &(struct work){ .id = 2,
					.op = IBV_WR_LOCAL_INV,
					.flags = IBV_SEND_SIGNALED,
					.imm = rkey });
		expect_ok(e->scq, 2);
		memset(e->buf, 2, HUGE_BYTES);
		hear_mark(peer.fd, 'x');
		check(is_all(e->buf, HUGE_BYTES, 2));
		check_ok(ibv_dealloc_mw(mw));
		end_close(e);
	}
	peer_join(&peer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_type_1_window_gives_access_to_its_part_only),
		TEST(a_window_gives_the_rights_it_was_bound_with),
		TEST(a_new_bind_makes_the_old_key_invalid),
		TEST(a_bind_of_no_bytes_unbinds),
		TEST(a_region_with_a_window_is_busy),
		TEST(a_bind_without_the_right_to_bind_fails),
		TEST(a_type_2_window_is_bound_by_a_request),
		TEST(a_type_2_window_belongs_to_its_queue_pair),
		TEST(a_local_invalidate_ends_a_window),
		TEST(an_invalidated_window_may_be_bound_again),
		TEST(a_send_with_invalidate_ends_the_receivers_window),
		TEST(a_key_that_cannot_be_invalidated_fails_the_receiver_and_draws_no_nak),
		TEST(binds_between_queued_sends_happen_once),
		TEST(a_window_works_and_ends_between_processes),
		TEST(no_write_lands_through_a_window_after_its_invalidation_has_completed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
