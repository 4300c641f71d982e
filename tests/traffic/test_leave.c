/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process that has seen a message has acknowledged it, even if it ends at once: by exit(), by
 * quick_exit(), or, with the facade preloaded, by _exit(), which runs no destructors; or if it makes no
 * further call.
 */
#include "rig.h"

#include <unistd.h>

#define ROUNDS 40

static void (*volatile leave)(int status);

/* Replies at once, so that acknowledgements are delayed for replies; not to the last message. */
static void replier(int fd)
{
	struct options o = options_of(IBV_QPT_RC);
	struct end *e = end_open(&o);

	end_meet(e, fd);
	for (unsigned int i = 0; i <= ROUNDS; i++)
		post_recv(e, i, 0, 8);
	tell_mark(fd, 'r');
	for (unsigned int i = 0; i < ROUNDS; i++) {
		expect_ok(e->rcq, i);
		post(e, &(struct work){ .id = i, .op = IBV_WR_SEND, .len = 8 });
	}
	expect_ok(e->rcq, ROUNDS);
	leave(0);
}

static void last_message_is_acknowledged(void (*fn)(int status))
{
	struct options o = options_of(IBV_QPT_RC);
	struct peer peer;
	struct end *e;

	leave = fn;
	o.timeout = 14;
	peer = peer_start(replier);
	e = end_open(&o);
	end_meet(e, peer.fd);
	for (unsigned int i = 0; i < ROUNDS; i++)
		post_recv(e, i, 0, 8);
	hear_mark(peer.fd, 'r');
	for (unsigned int i = 0; i <= ROUNDS; i++) {
		post(e, &(struct work){
				.id = i, .op = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED, .len = 8 });
		expect_ok(e->scq, i);
		if (i < ROUNDS)
			expect_ok(e->rcq, i);
	}
	peer_join(&peer);
	end_close(e);
}

/* One byte to where the peer looks. */
static void write_round(struct end *e, uint8_t round)
{
	e->buf[8] = (char)round;
	post(e, &(struct work){ .id = round,
				.op = IBV_WR_RDMA_WRITE,
				.flags = IBV_SEND_SIGNALED,
				.off = 8,
				.len = 1,
				.raddr = e->to.va,
				.rkey = e->to.rkey });
	expect_ok(e->scq, round);
}

static void see_round(struct end *e, uint8_t round)
{
	wait_for(__atomic_load_n((uint8_t *)e->buf, __ATOMIC_ACQUIRE) == round);
}

static int sink;

static void stay(int status)
{
	hear_mark(sink, 'q');
	exit(status);
}

/* Polls memory only, so that the service thread takes in packets; no reply to the last message. */
static void write_replier(int fd)
{
	struct options o = options_of(IBV_QPT_RC);
	struct end *e = end_open(&o);

	sink = fd;
	end_meet(e, fd);
	for (uint8_t i = 1; i <= ROUNDS; i++) {
		see_round(e, i);
		write_round(e, i);
	}
	see_round(e, ROUNDS + 1);
	leave(0);
}

static void last_write_is_acknowledged(void (*fn)(int status))
{
	struct options o = options_of(IBV_QPT_RC);
	struct peer peer;
	struct end *e;

	leave = fn;
	o.timeout = 20; /* 4 s, and no second request: who stays must not need one */
	o.retry_cnt = 0;
	peer = peer_start(write_replier);
	e = end_open(&o);
	end_meet(e, peer.fd);
	for (uint8_t i = 1; i <= ROUNDS; i++) {
		write_round(e, i);
		see_round(e, i);
	}
	write_round(e, ROUNDS + 1);
	if (fn == stay)
		tell_mark(peer.fd, 'q');
	peer_join(&peer);
	end_close(e);
}

static void a_write_seen_in_memory_is_acknowledged_by_a_process_that_calls_exit(void)
{
	last_write_is_acknowledged(exit);
}

static void a_write_seen_in_memory_is_acknowledged_by_a_process_that_calls_quick_exit(void)
{
	last_write_is_acknowledged(quick_exit);
}

static void a_write_seen_in_memory_is_acknowledged_by_a_process_that_makes_no_further_call(void)
{
	last_write_is_acknowledged(stay);
}

static void the_last_message_is_acknowledged_by_a_process_that_calls_exit(void)
{
	last_message_is_acknowledged(exit);
}

static void the_last_message_is_acknowledged_by_a_process_that_calls_quick_exit(void)
{
	last_message_is_acknowledged(quick_exit);
}

static void the_last_message_is_acknowledged_by_a_process_that_calls__exit(void)
{
	last_message_is_acknowledged(_exit);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_last_message_is_acknowledged_by_a_process_that_calls_exit),
		TEST(the_last_message_is_acknowledged_by_a_process_that_calls_quick_exit),
		TEST(the_last_message_is_acknowledged_by_a_process_that_calls__exit),
		TEST(a_write_seen_in_memory_is_acknowledged_by_a_process_that_calls_exit),
		TEST(a_write_seen_in_memory_is_acknowledged_by_a_process_that_calls_quick_exit),
		TEST(a_write_seen_in_memory_is_acknowledged_by_a_process_that_makes_no_further_call),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
