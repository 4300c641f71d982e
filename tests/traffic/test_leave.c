/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process that has been told of a message has acknowledged it, however it leaves: by exit(), by
 * quick_exit(), or, with the facade preloaded, by _exit(), which runs nothing of ours by itself.
 */
#include "rig.h"

#include <unistd.h>

#define ROUNDS 40

static void (*volatile leave)(int status);

/* Replies at once, so that acknowledgements come to wait for replies; not to the last one. */
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

static void by_exit(void)
{
	last_message_is_acknowledged(exit);
}

static void by_quick_exit(void)
{
	last_message_is_acknowledged(quick_exit);
}

static void by__exit(void)
{
	last_message_is_acknowledged(_exit);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(by_exit),
		TEST(by_quick_exit),
		TEST(by__exit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
