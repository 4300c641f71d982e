/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Receiver not ready: the timer of the receiver, the count of the sender, and receives that come
 * late.
 */
#include "rig.h"

static struct options patient(uint8_t count, uint8_t timer)
{
	struct options o = options_of(IBV_QPT_RC);

	o.rnr_retry = count;
	o.min_rnr_timer = timer;
	return o;
}

enum {
	TIMER_10_US = 1,
	TIMER_1280_US = 14,
	TIMER_10_MS = 20,
	TIMER_328_MS = 30,
};

static void send_byte(struct end *e, uint64_t id)
{
	post(e,
	     &(struct work){ .id = id, .op = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED, .len = 1 });
}

static void a_receive_that_comes_later_takes_the_waiting_message(void)
{
	struct options o = patient(7, TIMER_1280_US);
	struct pair p = pair_open(&o);

	p.a->buf[0] = 42;
	send_byte(p.a, 1);
	for (uint64_t end = now_ns() + 20000000; now_ns() < end;)
		check_empty(p.a->scq);
	post_recv(p.b, 2, 0, 8);
	expect_ok(p.a->scq, 1);
	check_equal(expect_ok(p.b->rcq, 2).byte_len, 1);
	check_equal(p.b->buf[0], 42);
	pair_close(&p);
}

static void an_rnr_retry_count_of_7_never_expires(void)
{
	struct options o = patient(7, TIMER_10_US);
	struct pair p = pair_open(&o);

	/* hundreds of times what any count allows */
	send_byte(p.a, 1);
	for (uint64_t end = now_ns() + 100000000; now_ns() < end;)
		check_empty(p.a->scq);
	check_equal(end_state(p.a), IBV_QPS_RTS);
	post_recv(p.b, 2, 0, 8);
	expect_ok(p.a->scq, 1);
	expect_ok(p.b->rcq, 2);
	pair_close(&p);
}

static void a_count_of_zero_gives_up_at_once(void)
{
	struct options o = patient(0, TIMER_10_MS);
	struct pair p = pair_open(&o);
	struct ibv_wc wc;

	send_byte(p.a, 1);
	send_byte(p.a, 2);
	wc = expect_wc(p.a->scq, 1, IBV_WC_RNR_RETRY_EXC_ERR);
	check(wc.vendor_err != 0);
	expect_wc(p.a->scq, 2, IBV_WC_WR_FLUSH_ERR);
	check_equal(end_state(p.a), IBV_QPS_ERR);
	/* the receiver's side is none the wiser */
	check_equal(end_state(p.b), IBV_QPS_RTS);
	pair_close(&p);
}

static void progress_resets_the_retry_count(void)
{
	/* Six tries are two seconds: the receive is in time also where the test has to wait for a processor. */
	struct options o = patient(6, TIMER_328_MS);
	struct pair p = pair_open(&o);

	for (unsigned int i = 0; i < 8; i++) {
		uint64_t end = now_ns() + 330000000; /* one try is gone, maybe more */

		send_byte(p.a, i);
		while (now_ns() < end)
			check_empty(p.a->scq);
		post_recv(p.b, i, 0, 8);
		expect_ok(p.a->scq, i);
		expect_ok(p.b->rcq, i);
	}
	pair_close(&p);
}

static void requests_behind_a_message_in_rnr_wait_with_it(void)
{
	struct options o = patient(7, TIMER_1280_US);
	struct pair p = pair_open(&o);

	memset(p.b->buf + 100, 0, 8);
	for (unsigned int i = 0; i < 5; i++) {
		p.a->buf[0] = 1;
		send_byte(p.a, 2 * i);
		post(p.a, &(struct work){ .id = 2 * i + 1,
					  .op = IBV_WR_ATOMIC_FETCH_AND_ADD,
					  .flags = IBV_SEND_SIGNALED,
					  .off = 8,
					  .len = 8,
					  .raddr = p.a->to.va + 104,
					  .rkey = p.a->to.rkey,
					  .compare = 1 });
	}
	for (unsigned int i = 0; i < 5; i++) {
		for (uint64_t end = now_ns() + 5000000; now_ns() < end;) {
			check_empty(p.a->scq);
			check_equal(__atomic_load_n((uint64_t *)(p.b->buf + 104), __ATOMIC_ACQUIRE),
				    i);
		}
		post_recv(p.b, i, 0, 8);
		expect_ok(p.a->scq, 2 * i);
		expect_ok(p.a->scq, 2 * i + 1);
		expect_ok(p.b->rcq, i);
	}
	pair_close(&p);
}

static void a_write_with_immediate_waits_for_a_receive_too(void)
{
	struct options o = patient(7, TIMER_10_US);
	struct pair p = pair_open(&o);

	fill(p.a->buf, 9000, 3);
	post(p.a, &(struct work){ .id = 1,
				  .op = IBV_WR_RDMA_WRITE_WITH_IMM,
				  .flags = IBV_SEND_SIGNALED,
				  .len = 9000,
				  .raddr = p.a->to.va,
				  .rkey = p.a->to.rkey });
	for (uint64_t end = now_ns() + 5000000; now_ns() < end;)
		check_empty(p.a->scq);
	post_recv(p.b, 2, 0, 0);
	expect_ok(p.b->rcq, 2);
	check_filled(p.b->buf, 9000, 3);
	expect_ok(p.a->scq, 1);
	pair_close(&p);
}

static void a_large_message_waits_like_a_small_one(void)
{
	struct options o = patient(7, TIMER_10_US);
	struct pair p;

	o.bytes = 4 << 20;
	p = pair_open(&o);
	fill(p.a->buf, 2 << 20, 6);
	post(p.a, &(struct work){
			  .id = 1, .op = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED, .len = 2 << 20 });
	for (uint64_t end = now_ns() + 5000000; now_ns() < end;)
		check_empty(p.a->scq);
	post_recv(p.b, 2, 0, 2 << 20);
	check_equal(expect_ok(p.b->rcq, 2).byte_len, 2 << 20);
	check_filled(p.b->buf, 2 << 20, 6);
	expect_ok(p.a->scq, 1);
	pair_close(&p);
}

/* ---- two processes ---- */

static void late(int fd)
{
	struct options o = patient(7, TIMER_1280_US);
	struct end *e = end_open(&o);

	end_meet(e, fd);
	for (unsigned int i = 0; i < 10; i++) {
		hear_mark(fd, 's');
		post_recv(e, i, 0, 4096);
		check_equal(expect_ok(e->rcq, i).byte_len, 4000);
		check_filled(e->buf, 4000, i);
	}
	hear_mark(fd, 'E');
	end_close(e);
}

static void receives_posted_later_by_another_process_take_waiting_messages(void)
{
	struct peer peer = peer_start(late);
	struct options o = patient(7, TIMER_1280_US);
	struct end *e = end_open(&o);

	end_meet(e, peer.fd);
	for (unsigned int i = 0; i < 10; i++) {
		fill(e->buf, 4000, i);
		post(e,
		     &(struct work){
			     .id = i, .op = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED, .len = 4000 });
		for (uint64_t end = now_ns() + 3000000; now_ns() < end;)
			check_empty(e->scq);
		tell_mark(peer.fd, 's');
		expect_ok(e->scq, i);
	}
	tell_mark(peer.fd, 'E');
	end_close(e);
	peer_join(&peer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_receive_that_comes_later_takes_the_waiting_message),
		TEST(an_rnr_retry_count_of_7_never_expires),
		TEST(a_count_of_zero_gives_up_at_once),
		TEST(progress_resets_the_retry_count),
		TEST(requests_behind_a_message_in_rnr_wait_with_it),
		TEST(a_write_with_immediate_waits_for_a_receive_too),
		TEST(a_large_message_waits_like_a_small_one),
		TEST(receives_posted_later_by_another_process_take_waiting_messages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
