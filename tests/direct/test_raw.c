/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Programs that drive the adapter's queues themselves: entries, records and completions by hand,
 * with no call into the library while traffic flows.
 */
#include "raw.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct pair open_small(struct raw *a, struct raw *b)
{
	struct options o = options_of(IBV_QPT_RC);
	struct pair p;

	o.send_wr = o.recv_wr = 8;
	o.cqe = 7;
	o.inline_bytes = 64;
	o.events = true;
	p = pair_open(&o);
	*a = raw_open(p.a);
	*b = raw_open(p.b);
	return p;
}

static struct raw_work remote(const struct raw *r, enum raw_op op, size_t off, uint32_t len)
{
	return (struct raw_work){
		.op = op, .off = off, .len = len, .raddr = r->e->to.va + off, .rkey = r->e->to.rkey
	};
}

static void check_good(const struct raw *r, const struct raw_cqe *cqe)
{
	check(!cqe->error);
	check_equal(cqe->qpn, r->e->qp->qp_num);
}

static void writes_by_hand_go_over_many_laps(void)
{
	struct raw a, b;
	struct pair p = open_small(&a, &b);

	for (int i = 0; i < 300; i++) {
		struct raw_work w = remote(&a, RAW_WRITE, i, 100 + i);
		uint16_t slot = a.post;
		struct raw_cqe cqe;

		fill(p.a->buf + i, w.len, i);
		a.ops->post(&a, &w);
		cqe = raw_wait(&a, &a.send);
		check_good(&a, &cqe);
		check_equal(cqe.counter, slot);
		check_filled(p.b->buf + i, w.len, i);
	}
	pair_close(&p);
}

static void reads_by_hand_bring_the_data(void)
{
	struct raw a, b;
	struct pair p = open_small(&a, &b);

	for (int i = 0; i < 50; i++) {
		struct raw_work w = remote(&a, RAW_READ, 64, 5000);
		struct raw_cqe cqe;

		fill(p.b->buf + 64, w.len, i);
		a.ops->post(&a, &w);
		cqe = raw_wait(&a, &a.send);
		check_good(&a, &cqe);
		check_filled(p.a->buf + 64, w.len, i);
	}
	pair_close(&p);
}

static void atomics_by_hand_answer_with_what_there_was(void)
{
	struct raw a, b;
	struct pair p = open_small(&a, &b);
	uint64_t *here = (uint64_t *)(p.a->buf + 128), *there = (uint64_t *)(p.b->buf + 128);
	struct raw_work last = remote(&a, RAW_SWAP, 128, 8);

	*there = 999;
	for (uint64_t i = 0; i < 40; i++) {
		struct raw_work w = remote(&a, i % 2 ? RAW_SWAP : RAW_ADD, 128, 8);
		struct raw_cqe cqe;

		w.swap_add = i % 2 ? 1000 + i : 7;
		w.compare = 1005 + i; /* what the addition before has made of it */
		*here = 0;
		a.ops->post(&a, &w);
		cqe = raw_wait(&a, &a.send);
		check_good(&a, &cqe);
		check_equal(*here, i % 2 ? w.compare : 999 + i);
		check_equal(*there, i % 2 ? 1000 + i : *here + 7);
	}
	/* a comparison that fails changes nothing */
	last.compare = 1;
	last.swap_add = 2;
	a.ops->post(&a, &last);
	raw_wait(&a, &a.send);
	check_equal(*there, 1039);
	pair_close(&p);
}

static void inline_data_needs_no_key(void)
{
	struct raw a, b;
	struct pair p = open_small(&a, &b);

	for (uint32_t len = 1; len <= 64; len++) {
		struct raw_work w = remote(&a, RAW_WRITE, 256, len);
		struct raw_cqe cqe;

		w.inlined = true;
		fill(p.a->buf + 256, len, len);
		a.ops->post(&a, &w);
		/* the entry has the data; the memory is free at once */
		memset(p.a->buf + 256, 0, len);
		cqe = raw_wait(&a, &a.send);
		check_good(&a, &cqe);
		check_filled(p.b->buf + 256, len, len);
	}
	pair_close(&p);
}

static void sends_meet_receives_when_both_are_by_hand(void)
{
	struct raw a, b;
	struct pair p = open_small(&a, &b);

	for (int i = 0; i < 200; i++) {
		struct raw_work w = { .op = RAW_SEND, .len = 1 + i % 60, .inlined = i & 1 };
		struct raw_cqe cqe;

		fill(p.a->buf, w.len, i);
		b.ops->post_recv(&b, 1000, 64);
		a.ops->post(&a, &w);
		if (w.inlined) /* the entry has it already */
			memset(p.a->buf, 0xee, w.len);
		cqe = raw_wait(&b, &b.recv);
		check_good(&b, &cqe);
		check_equal(cqe.bytes, w.len);
		check_filled(p.b->buf + 1000, w.len, i);
		cqe = raw_wait(&a, &a.send);
		check_good(&a, &cqe);
	}
	pair_close(&p);
}

static void several_entries_complete_in_order(void)
{
	struct raw a, b;
	struct pair p = open_small(&a, &b);

	for (int i = 0; i < 60; i++) {
		uint16_t slot[4];

		for (int k = 0; k < 4; k++) {
			struct raw_work w = remote(&a, RAW_WRITE, 8 * k, 8);

			slot[k] = a.post;
			a.ops->post(&a, &w);
		}
		for (int k = 0; k < 4; k++) {
			struct raw_cqe cqe = raw_wait(&a, &a.send);

			check_good(&a, &cqe);
			check_equal(cqe.counter, slot[k]);
		}
	}
	pair_close(&p);
}

/* Local QP operation error, and everything after it flushed: receives, too. */
static void a_malformed_entry_ends_in_an_error(void)
{
	struct raw a, b;
	struct pair p = open_small(&a, &b);
	struct raw_work w = remote(&a, RAW_WRITE, 0, 16);
	struct raw_cqe cqe;

	a.ops->post(&a, &(struct raw_work){ .op = RAW_NONSENSE, .len = 16 });
	cqe = raw_wait(&a, &a.send);
	check(cqe.error);
	check_equal(cqe.syndrome, 2);
	check(cqe.vendor != 0);
	check_equal(cqe.counter, 0);
	check_equal(end_state(p.a), IBV_QPS_ERR);
	a.ops->post(&a, &w);
	cqe = raw_wait(&a, &a.send);
	check(cqe.error);
	check_equal(cqe.syndrome, 5);
	a.ops->post_recv(&a, 0, 64);
	cqe = raw_wait(&a, &a.recv);
	check(cqe.error);
	check_equal(cqe.syndrome, 5);
	pair_close(&p);
}

static void a_key_that_is_not_there_ends_in_an_error(void)
{
	struct raw a, b;
	struct pair p = open_small(&a, &b);
	struct raw_work w = remote(&a, RAW_WRITE, 0, 16);
	struct raw_cqe cqe;

	w.rkey ^= 0x5500;
	a.ops->post(&a, &w);
	cqe = raw_wait(&a, &a.send);
	check(cqe.error);
	check_equal(cqe.syndrome, 0x13);
	pair_close(&p);
}

static void arming_by_hand_gives_an_event(void)
{
	struct raw a, b;
	struct pair p = open_small(&a, &b);

	for (int i = 0; i < 12; i++) {
		struct raw_work w = remote(&a, RAW_WRITE, 0, 16);
		struct raw_cqe cqe;
		struct ibv_cq *cq;
		void *context;

		a.ops->arm(&a.send, false);
		check(!is_readable(p.a->channel->fd, 0));
		a.ops->post(&a, &w);
		check(is_readable(p.a->channel->fd, WAIT_MS));
		check_ok(ibv_get_cq_event(p.a->channel, &cq, &context));
		check(cq == p.a->scq);
		ibv_ack_cq_events(cq, 1);
		cqe = raw_wait(&a, &a.send);
		check_good(&a, &cqe);
	}
	pair_close(&p);
}

/* What came before the request counts as well, and one request gives one event. */
static void arming_late_gives_the_event_at_once(void)
{
	struct raw a, b;
	struct pair p = open_small(&a, &b);
	struct raw_work w = remote(&a, RAW_WRITE, 0, 16);
	struct ibv_cq *cq;
	void *context;

	a.ops->post(&a, &w);
	wait_for(a.ops->ready(&a.send));
	a.ops->arm(&a.send, false);
	check(is_readable(p.a->channel->fd, WAIT_MS));
	check_ok(ibv_get_cq_event(p.a->channel, &cq, &context));
	ibv_ack_cq_events(cq, 1);
	raw_wait(&a, &a.send);
	a.ops->post(&a, &w);
	raw_wait(&a, &a.send);
	check(!is_readable(p.a->channel->fd, 0));
	pair_close(&p);
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* The pause is what is measured; nothing waits for it. */
static bool is_idle(void)
{
	const struct timespec pause = { .tv_nsec = 500000000 };
	uint64_t before = cpu_ns();

	nanosleep(&pause, NULL);
	return cpu_ns() - before < 500000000 / 10;
}

static void an_idle_process_uses_hardly_any_processor(void)
{
	struct raw a, b;
	struct pair p = open_small(&a, &b);
	struct raw_work w = remote(&a, RAW_WRITE, 0, 16);

	a.ops->post(&a, &w);
	raw_wait(&a, &a.send);
	/* On a busy machine it may be a while until there is nothing left to do. */
	for (int tries = 0; !is_idle(); tries++)
		check(tries < 20);
	/* and it still hears the bell */
	a.ops->post(&a, &w);
	raw_wait(&a, &a.send);
	pair_close(&p);
}

/* A ring for each round trip: between two of them the adapter closes what it was told by. */
static void a_queue_that_is_not_polled_can_be_destroyed_after_a_ring(void)
{
	for (int i = 0; i < 10; i++) {
		struct raw a, b;
		struct pair p = open_small(&a, &b);
		struct raw_work w = remote(&a, RAW_WRITE, 0, 16);

		fill(p.a->buf, 16, i);
		a.ops->post(&a, &w);
		wait_for(__atomic_load_n(p.b->buf + 15, __ATOMIC_ACQUIRE) == p.a->buf[15]);
		pair_close(&p);
	}
}

struct watcher {
	struct raw r; /* the polling thread's own */
	_Atomic uint32_t taken;
	uint32_t count;
};

static void *take_all(void *arg)
{
	struct watcher *w = arg;

	for (uint32_t i = 0; i < w->count; i++) {
		struct raw_cqe cqe = raw_wait(&w->r, &w->r.send);

		check_good(&w->r, &cqe);
		atomic_store(&w->taken, i + 1);
	}
	return NULL;
}

static void one_thread_rings_while_another_polls(void)
{
	struct raw a, b;
	struct pair p = open_small(&a, &b);
	struct watcher w = { .r = a, .count = 500 };
	pthread_t thread;

	check_ok(pthread_create(&thread, NULL, take_all, &w));
	for (uint32_t i = 0; i < w.count; i++) {
		struct raw_work work = remote(&a, RAW_WRITE, 0, 16);

		/* One at a time, and now and then as many as there is room for. */
		wait_for(i - atomic_load(&w.taken) < (i / 100 % 2 ? 4u : 1u));
		a.ops->post(&a, &work);
	}
	check_ok(pthread_join(thread, NULL));
	pair_close(&p);
}

static void a_fork_leaves_the_parents_rings_at_work(void)
{
	struct raw a, b;
	struct pair p = open_small(&a, &b);
	struct raw_work w = remote(&a, RAW_WRITE, 0, 16);
	int status;
	pid_t child;

	for (int i = 0; i < 5; i++) {
		a.ops->post(&a, &w);
		if (i & 1) /* with a queue that was polled, and with one that was not */
			raw_wait(&a, &a.send);
		child = fork();
		check(child >= 0);
		if (!child)
			_exit(0);
		check_equal(waitpid(child, &status, 0), child);
		check(WIFEXITED(status) && !WEXITSTATUS(status));
		if (!(i & 1))
			raw_wait(&a, &a.send);
	}
	pair_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(writes_by_hand_go_over_many_laps),
		TEST(reads_by_hand_bring_the_data),
		TEST(atomics_by_hand_answer_with_what_there_was),
		TEST(inline_data_needs_no_key),
		TEST(sends_meet_receives_when_both_are_by_hand),
		TEST(several_entries_complete_in_order),
		TEST(a_malformed_entry_ends_in_an_error),
		TEST(a_key_that_is_not_there_ends_in_an_error),
		TEST(arming_by_hand_gives_an_event),
		TEST(arming_late_gives_the_event_at_once),
		TEST(an_idle_process_uses_hardly_any_processor),
		TEST(a_queue_that_is_not_polled_can_be_destroyed_after_a_ring),
		TEST(one_thread_rings_while_another_polls),
		TEST(a_fork_leaves_the_parents_rings_at_work),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
