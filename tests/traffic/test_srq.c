/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared receive queues: several queue pairs take from one queue; limits and last entries are told.
 */
#include "rig.h"

static struct options shared(void)
{
	struct options o = options_of(IBV_QPT_RC);

	o.srq = true;
	return o;
}

static void send_one(struct end *e, uint64_t id, uint32_t len)
{
	fill(e->buf, len, id);
	post(e,
	     &(struct work){ .id = id, .op = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED, .len = len });
}

static void several_queue_pairs_take_from_one_queue(void)
{
	enum { MANY = 5 };
	struct options o = shared();
	struct end *hub[MANY], *leaf[MANY];

	for (int i = 0; i < MANY; i++) {
		hub[i] = i ? end_twin(hub[0]) : end_open(&o);
		leaf[i] = end_open(NULL);
		ends_connect(hub[i], leaf[i]);
	}
	for (unsigned int i = 0; i < 40; i++)
		post_recv(hub[0], i, i * 512, 512);
	for (unsigned int i = 0; i < 40; i++) {
		struct ibv_wc wc;

		send_one(leaf[i % MANY], 100 + i, 17 + i);
		expect_ok(leaf[i % MANY]->scq, 100 + i);
		wc = expect_ok(hub[0]->rcq, i);
		check_equal(wc.byte_len, 17 + i);
		check_equal(wc.qp_num, hub[i % MANY]->qp->qp_num);
		check_filled(hub[0]->buf + i * 512, 17 + i, 100 + i);
	}
	for (int i = MANY - 1; i >= 0; i--) {
		if (i)
			twin_close(hub[i]);
		else
			end_close(hub[0]);
		end_close(leaf[i]);
	}
}

/* Entries come back in any order: the list is no ring. */
static void entries_are_posted_again_in_any_order(void)
{
	struct options o = shared();
	struct pair p;
	uint64_t held[8];
	unsigned int n = 0;

	o.recv_wr = 16;
	p = pair_open(&o);
	for (unsigned int i = 0; i < 16; i++)
		post_recv(p.b, i, i * 64, 64);
	for (unsigned int i = 0; i < 2000; i++) {
		struct ibv_wc wc;

		send_one(p.a, i, 30);
		wc = wait_wc(p.b->rcq);
		check_equal(wc.status, IBV_WC_SUCCESS);
		check_filled(p.b->buf + wc.wr_id * 64, 30, i);
		expect_ok(p.a->scq, i);
		held[n++] = wc.wr_id;
		if (n < 8)
			continue;
		/* last come, first posted; every second time the other way round */
		while (n) {
			unsigned int at = (i / 8) % 2 ? n - 1 : 0;

			post_recv(p.b, held[at], held[at] * 64, 64);
			n--;
			if (!at)
				memmove(held, held + 1, n * sizeof(held[0]));
		}
	}
	pair_close(&p);
}

static void an_empty_queue_makes_senders_wait(void)
{
	struct options o = shared();
	struct pair p = pair_open(&o);

	send_one(p.a, 1, 8);
	for (uint64_t end = now_ns() + 10000000; now_ns() < end;)
		check_empty(p.a->scq);
	post_recv(p.b, 2, 0, 64);
	expect_ok(p.b->rcq, 2);
	expect_ok(p.a->scq, 1);
	pair_close(&p);
}

static void a_full_queue_refuses(void)
{
	struct options o = shared();
	struct end *e;
	struct ibv_recv_wr *bad = NULL, wr = { .wr_id = 1 };
	struct ibv_srq_attr attr;
	unsigned int n = 0;

	o.recv_wr = 32;
	e = end_open(&o);
	check_ok(ibv_query_srq(e->srq, &attr));
	check(attr.max_wr >= 32 && attr.max_sge >= o.recv_sge);
	check_equal(attr.srq_limit, 0);
	while (!ibv_post_srq_recv(e->srq, &wr, &bad))
		check(++n < 4096);
	check(n >= 32);
	check(bad == &wr);
	check_equal(ibv_post_srq_recv(e->srq, &wr, &bad), ENOMEM);
	end_close(e);
}

static void the_limit_event_is_raised_once_when_the_limit_is_crossed(void)
{
	struct options o = shared();
	struct pair p = pair_open(&o);
	struct ibv_srq_attr attr = { .srq_limit = 5 }, now;
	struct ibv_async_event got;

	for (unsigned int i = 0; i < 10; i++)
		post_recv(p.b, i, 0, 64);
	check_ok(ibv_modify_srq(p.b->srq, &attr, IBV_SRQ_LIMIT));
	check_ok(ibv_query_srq(p.b->srq, &now));
	check_equal(now.srq_limit, 5);
	for (unsigned int i = 0; i < 5; i++) {
		send_one(p.a, i, 8);
		expect_ok(p.a->scq, i);
		expect_ok(p.b->rcq, i);
	}
	check(!event_is_there(p.b->ctx)); /* five are left: not fewer */
	send_one(p.a, 5, 8);
	expect_ok(p.b->rcq, 5);
	got = wait_event(p.b->ctx);
	check_equal(got.event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
	check(got.element.srq == p.b->srq);
	check_ok(ibv_query_srq(p.b->srq, &now));
	check_equal(now.srq_limit, 0);
	send_one(p.a, 6, 8);
	expect_ok(p.b->rcq, 6);
	check(!event_is_there(p.b->ctx));
	pair_close(&p);
}

static void a_limit_above_the_posted_receives_raises_the_event_at_once(void)
{
	struct options o = shared();
	struct end *e = end_open(&o);
	struct ibv_srq_attr attr = { .srq_limit = 3 };

	post_recv(e, 1, 0, 64);
	check_ok(ibv_modify_srq(e->srq, &attr, IBV_SRQ_LIMIT));
	check_equal(wait_event(e->ctx).event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
	attr.srq_limit = 1 << 20;
	check_equal(ibv_modify_srq(e->srq, &attr, IBV_SRQ_LIMIT), EINVAL);
	end_close(e);
}

static void a_failed_queue_pair_raises_last_wqe_reached(void)
{
	struct options o = shared();
	struct pair p = pair_open(&o);
	struct end *other = end_twin(p.b), *c = end_open(NULL);
	struct ibv_async_event got;

	ends_connect(other, c);
	post_recv(p.b, 1, 0, 64);
	post_recv(p.b, 2, 0, 64);
	end_to_error(p.b);
	got = wait_event(p.b->ctx);
	check_equal(got.event_type, IBV_EVENT_QP_LAST_WQE_REACHED);
	check(got.element.qp == p.b->qp);
	/* what is posted stays for the others */
	check_empty(p.b->rcq);
	send_one(c, 5, 8);
	expect_ok(c->scq, 5);
	check_equal(expect_ok(p.b->rcq, 1).qp_num, other->qp->qp_num);
	check(!event_is_there(p.b->ctx));
	twin_close(other);
	end_close(c);
	pair_close(&p);
}

static void a_queue_in_use_is_busy(void)
{
	struct options o = shared();
	struct end *e = end_open(&o);

	check_equal(ibv_destroy_srq(e->srq), EBUSY);
	check_equal(ibv_dealloc_pd(e->pd), EBUSY);
	post_recv(e, 1, 0, 64);
	end_close(e);
}

static void a_bad_entry_fails_the_queue_pair_that_took_it(void)
{
	struct options o = shared();
	struct pair p = pair_open(&o);
	struct end *other = end_twin(p.b), *c = end_open(NULL);
	struct ibv_sge sge = { (uintptr_t)p.b->buf, 64, p.b->mr->lkey ^ 0x100 };
	struct ibv_recv_wr *bad, wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1 };

	ends_connect(other, c);
	check_ok(ibv_post_srq_recv(p.b->srq, &wr, &bad));
	post_recv(p.b, 2, 0, 64);
	send_one(p.a, 3, 8);
	expect_wc(p.b->rcq, 1, IBV_WC_LOC_PROT_ERR);
	expect_wc(p.a->scq, 3, IBV_WC_REM_OP_ERR);
	check_equal(end_state(p.b), IBV_QPS_ERR);
	check_equal(end_state(other), IBV_QPS_RTS);
	send_one(c, 4, 8);
	expect_ok(c->scq, 4);
	expect_ok(p.b->rcq, 2);
	twin_close(other);
	end_close(c);
	pair_close(&p);
}

static void datagrams_take_from_a_shared_queue_too(void)
{
	struct options o = options_of(IBV_QPT_UD);
	struct ibv_ah_attr attr;
	struct address b;
	struct ibv_ah *ah;
	struct pair p;

	o.srq = true;
	p = pair_open(&o);
	b = end_address(p.b);
	address_to_ah_attr(&b, &attr);
	ah = must(ibv_create_ah(p.a->pd, &attr));
	for (unsigned int i = 0; i < 20; i++) {
		post_recv(p.b, i, 0, 256);
		fill(p.a->buf, 60, i);
		post(p.a, &(struct work){ .id = i,
					  .op = IBV_WR_SEND,
					  .flags = IBV_SEND_SIGNALED,
					  .len = 60,
					  .ah = ah,
					  .qpn = b.qpn,
					  .qkey = o.qkey });
		expect_ok(p.a->scq, i);
		check_equal(expect_ok(p.b->rcq, i).byte_len, 100);
		check_filled(p.b->buf + 40, 60, i);
	}
	check_ok(ibv_destroy_ah(ah));
	pair_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(several_queue_pairs_take_from_one_queue),
		TEST(entries_are_posted_again_in_any_order),
		TEST(an_empty_queue_makes_senders_wait),
		TEST(a_full_queue_refuses),
		TEST(the_limit_event_is_raised_once_when_the_limit_is_crossed),
		TEST(a_limit_above_the_posted_receives_raises_the_event_at_once),
		TEST(a_failed_queue_pair_raises_last_wqe_reached),
		TEST(a_queue_in_use_is_busy),
		TEST(a_bad_entry_fails_the_queue_pair_that_took_it),
		TEST(datagrams_take_from_a_shared_queue_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
