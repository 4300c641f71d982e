/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Targets that do nothing: blocked in a system call, or busy with something else. They are served
 * all the same.
 */
#include "rig.h"

#include <unistd.h>

#define BYTES (4u << 20)

static struct options roomy(void)
{
	struct options o = options_of(IBV_QPT_RC);

	o.bytes = BYTES + 65536;
	return o;
}

/* All that can be asked of a target without its help. */
static void use_target(struct end *e)
{
	static const uint32_t sizes[] = { 1, 64, 4096, 65536, BYTES };
	uint64_t id = 1;

	for (size_t i = 0; i < array_size(sizes); i++) {
		fill(e->buf, sizes[i], i);
		post(e, &(struct work){ .id = id,
					.op = IBV_WR_RDMA_WRITE,
					.flags = IBV_SEND_SIGNALED,
					.len = sizes[i],
					.raddr = e->to.va,
					.rkey = e->to.rkey });
		expect_ok(e->scq, id++);
		memset(e->buf, 0, sizes[i]);
		post(e, &(struct work){ .id = id,
					.op = IBV_WR_RDMA_READ,
					.flags = IBV_SEND_SIGNALED,
					.len = sizes[i],
					.raddr = e->to.va,
					.rkey = e->to.rkey });
		expect_ok(e->scq, id++);
		check_filled(e->buf, sizes[i], i);
	}
	for (unsigned int i = 0; i < 50; i++) {
		post(e, &(struct work){ .id = id,
					.op = IBV_WR_ATOMIC_FETCH_AND_ADD,
					.flags = IBV_SEND_SIGNALED,
					.off = BYTES,
					.len = 8,
					.raddr = e->to.va + BYTES,
					.rkey = e->to.rkey,
					.compare = 1 });
		expect_ok(e->scq, id++);
		check_equal(*(uint64_t *)(e->buf + BYTES), i);
	}
	for (unsigned int i = 0; i < 32; i++) {
		fill(e->buf, 1000, i);
		post(e, &(struct work){ .id = id,
					.op = IBV_WR_SEND,
					.flags = IBV_SEND_SIGNALED,
					.len = 1000 });
		expect_ok(e->scq, id++);
	}
}

static void get_ready(struct end *e)
{
	for (unsigned int i = 0; i < 32; i++)
		post_recv(e, i, BYTES + 4096 + i * 1024, 1024);
}

static void check_target(struct end *e)
{
	check_filled(e->buf, BYTES, 4);
	check_equal(*(uint64_t *)(e->buf + BYTES), 50);
	for (unsigned int i = 0; i < 32; i++) {
		check_equal(expect_ok(e->rcq, i).byte_len, 1000);
		check_filled(e->buf + BYTES + 4096 + i * 1024, 1000, i);
	}
}

static void blocked_in_read(int fd)
{
	struct options o = roomy();
	struct end *e = end_open(&o);
	char mark;

	end_meet(e, fd);
	get_ready(e);
	tell_mark(fd, 'g');
	/* a blocking read, and nothing else */
	check_equal(read(fd, &mark, 1), 1);
	check_target(e);
	tell_mark(fd, 'E');
	end_close(e);
}

static void never_calls_the_library(int fd)
{
	struct options o = roomy();
	struct end *e = end_open(&o);
	volatile char *last = e->buf + o.bytes - 1;

	end_meet(e, fd);
	get_ready(e);
	tell_mark(fd, 'g');
	/* spins on memory */
	wait_for(__atomic_load_n(last, __ATOMIC_ACQUIRE) == 'x');
	check_target(e);
	tell_mark(fd, 'E');
	end_close(e);
}

static void target_of(void (*how)(int fd), bool by_memory)
{
	struct peer peer = peer_start(how);
	struct options o = roomy();
	struct end *e = end_open(&o);

	end_meet(e, peer.fd);
	hear_mark(peer.fd, 'g');
	use_target(e);
	if (by_memory) {
		e->buf[0] = 'x';
		post(e, &(struct work){ .op = IBV_WR_RDMA_WRITE,
					.len = 1,
					.raddr = e->to.va + o.bytes - 1,
					.rkey = e->to.rkey });
	} else {
		tell_mark(peer.fd, 'x');
	}
	hear_mark(peer.fd, 'E');
	end_close(e);
	peer_join(&peer);
}

static void a_target_blocked_in_a_system_call_is_served(void)
{
	target_of(blocked_in_read, false);
}

static void a_target_that_spins_on_memory_is_served(void)
{
	target_of(never_calls_the_library, true);
}

/* It stays in RTR: a pure target never needs RTS. */
static void only_ready_to_receive(int fd)
{
	struct options o = roomy();
	struct end *e = end_open(&o);
	struct address mine = end_address(e), theirs;
	char mark;

	tell(fd, &mine, sizeof(mine));
	hear(fd, &theirs, sizeof(theirs));
	end_to_init(e);
	end_to_rtr(e, &theirs);
	get_ready(e);
	tell_mark(fd, 'R');
	hear_mark(fd, 'R');
	tell_mark(fd, 'g');
	check_equal(read(fd, &mark, 1), 1);
	check_target(e);
	tell_mark(fd, 'E');
	end_close(e);
}

static void a_target_that_stays_in_rtr_is_served(void)
{
	target_of(only_ready_to_receive, false);
}

/* In one process: the target's side is never polled, and its thread sleeps. */
static void a_target_in_the_same_process_is_served(void)
{
	struct options o = roomy();
	struct pair p = pair_open(&o);

	get_ready(p.b);
	use_target(p.a);
	check_target(p.b);
	pair_close(&p);
}

/* A target whose program polls other completion queues, of other connections, is served, too. */
static void polls_another_queue(int fd)
{
	struct options o = roomy();
	struct end *e = end_open(&o);
	struct ibv_cq *other = must(ibv_create_cq(e->ctx, 16, NULL, NULL, 0));
	struct ibv_wc wc;

	end_meet(e, fd);
	get_ready(e);
	tell_mark(fd, 'g');
	wait_for(({
		check_equal(ibv_poll_cq(other, 1, &wc), 0);
		is_readable(fd, 0);
	}));
	hear_mark(fd, 'x');
	check_target(e);
	tell_mark(fd, 'E');
	check_ok(ibv_destroy_cq(other));
	end_close(e);
}

static void a_target_that_polls_something_else_is_served(void)
{
	target_of(polls_another_queue, false);
}

/* Threads of the target that poll now and then; between, the adapter's thread takes over. */
static void polls_now_and_then(int fd)
{
	struct options o = roomy();
	struct end *e = end_open(&o);
	struct ibv_wc wc;

	end_meet(e, fd);
	get_ready(e);
	tell_mark(fd, 'g');
	wait_for(({
		for (int i = 0; i < 200; i++)
			check_equal(ibv_poll_cq(e->scq, 1, &wc), 0);
		is_readable(fd, 3);
	}));
	hear_mark(fd, 'x');
	check_target(e);
	tell_mark(fd, 'E');
	end_close(e);
}

static void a_target_that_polls_now_and_then_is_served(void)
{
	target_of(polls_now_and_then, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_target_blocked_in_a_system_call_is_served),
		TEST(a_target_that_spins_on_memory_is_served),
		TEST(a_target_that_stays_in_rtr_is_served),
		TEST(a_target_in_the_same_process_is_served),
		TEST(a_target_that_polls_something_else_is_served),
		TEST(a_target_that_polls_now_and_then_is_served),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
