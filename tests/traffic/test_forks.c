/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Forks beside traffic: registered memory becomes private for each of them and is shared again a moment later
 * (hca/memory/mr_suspend.h), and peers must not notice.
 */
#include "rig.h"

#include <sys/wait.h>
#include <unistd.h>

#define BYTES (1u << 20)
#define LONG  (32u << 10) /* sent by reference */

/* Where things are in the buffers. */
enum { COUNTER = 0, WORD = 64, LOCAL = 128, IN = 256 << 10, OUT = 512 << 10 };

static struct options wide(void)
{
	struct options o = options_of(IBV_QPT_RC);

	o.bytes = BYTES;
	return o;
}

static void one_sided(struct end *e, enum ibv_wr_opcode op, uint64_t id, size_t off, size_t remote)
{
	post(e, &(struct work){ .id = id,
				.op = op,
				.flags = IBV_SEND_SIGNALED,
				.off = off,
				.len = 8,
				.raddr = e->to.va + remote,
				.rkey = e->to.rkey,
				.compare = 1 });
	expect_ok(e->scq, id);
}

/* Works on the memory of a process that forks, until it is told to stop; then says how often. */
static void worker(int fd)
{
	struct options o = wide();
	struct end *e = end_open(&o);
	uint64_t n = 0, *word = (uint64_t *)(void *)(e->buf + LOCAL);

	end_meet(e, fd);
	for (; !is_readable(fd, 0); n++) {
		*word = n;
		one_sided(e, IBV_WR_RDMA_WRITE, 1, LOCAL, WORD);
		*word = UINT64_MAX;
		one_sided(e, IBV_WR_RDMA_READ, 2, LOCAL, WORD);
		check_equal(*word, n);
		one_sided(e, IBV_WR_ATOMIC_FETCH_AND_ADD, 3, LOCAL, COUNTER);
		check_equal(*word, n);
	}
	tell(fd, &n, sizeof(n));
	hear_mark(fd, 'E');
	hear_mark(fd, 'E');
	end_close(e);
}

/* The first forks follow each other; before the others, memory has been shared again. */
static void fork_at_some_time(int i)
{
	fork_once();
	if (i >= 10)
		usleep(120000);
}

static void work_of_peers_reaches_a_process_that_forks(void)
{
	struct peer peer = peer_start(worker);
	struct options o = wide();
	struct end *e = end_open(&o);
	uint64_t done;

	end_meet(e, peer.fd);
	for (int i = 0; i < 16; i++)
		fork_at_some_time(i);
	tell_mark(peer.fd, 'E');
	hear(peer.fd, &done, sizeof(done));
	check(done > 0);
	check_equal(*(uint64_t *)(void *)(e->buf + COUNTER), done);
	check_equal(*(uint64_t *)(void *)(e->buf + WORD), done - 1);
	tell_mark(peer.fd, 'E');
	peer_join(&peer);
	end_close(e);
}

/* Checks long messages, and answers with such of its own. */
static void echoes(int fd)
{
	struct options o = wide();
	struct end *e = end_open(&o);

	end_meet(e, fd);
	for (unsigned int i = 0;; i++) {
		post_recv(e, i, IN, LONG);
		tell_mark(fd, 'r');
		expect_ok(e->rcq, i);
		if (!*(unsigned int *)(void *)(e->buf + IN))
			break;
		check_filled(e->buf + IN + 4, LONG - 4, i);
		fill(e->buf + OUT, LONG, i + 1000);
		post(e, &(struct work){ .id = i,
					.op = IBV_WR_SEND,
					.flags = IBV_SEND_SIGNALED,
					.off = OUT,
					.len = LONG });
		expect_ok(e->scq, i);
	}
	end_close(e);
}

static void long_messages_of_a_process_that_forks_are_whole(void)
{
	struct peer peer = peer_start(echoes);
	struct options o = wide();
	struct end *e = end_open(&o);

	end_meet(e, peer.fd);
	for (unsigned int i = 0; i < 16; i++) {
		post_recv(e, i, IN, LONG);
		hear_mark(peer.fd, 'r');
		/* Before the fork, and read by the peer at any time after it. */
		*(unsigned int *)(void *)(e->buf + OUT) = 1;
		fill(e->buf + OUT + 4, LONG - 4, i);
		post(e, &(struct work){ .id = i,
					.op = IBV_WR_SEND,
					.flags = IBV_SEND_SIGNALED,
					.off = OUT,
					.len = LONG });
		fork_at_some_time((int)i);
		expect_ok(e->scq, i);
		expect_ok(e->rcq, i);
		check_filled(e->buf + IN, LONG, i + 1000);
	}
	hear_mark(peer.fd, 'r');
	*(unsigned int *)(void *)(e->buf + OUT) = 0;
	post(e, &(struct work){ .id = 99, .op = IBV_WR_SEND, .off = OUT, .len = LONG });
	peer_join(&peer);
	end_close(e);
}

/* Registered, changed and deregistered while memory is suspended, and used by the peer after it. */
static void regions_that_change_around_forks_are_shared_in_the_end(void)
{
	struct options o = wide();
	struct pair p = pair_open(&o);
	char *other = pages(BYTES);
	struct ibv_mr *mr[8];

	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 8; i++) {
			if (i % 3 == round)
				fork_once();
			mr[i] = must(ibv_reg_mr(p.b->pd, other + i * 5000, 9000,
						IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE));
		}
		fork_once();
		check_ok(ibv_rereg_mr(mr[0], IBV_REREG_MR_CHANGE_TRANSLATION, NULL,
				      other + 8 * 5000, 9000, 0));
		if (round)
			usleep(150000);
		for (int i = 0; i < 8; i++) {
			char *at = i ? other + i * 5000 : other + 8 * 5000;

			fill(p.a->buf, 9000, (unsigned int)(i + round));
			post(p.a, &(struct work){ .id = 1,
						  .op = IBV_WR_RDMA_WRITE,
						  .flags = IBV_SEND_SIGNALED,
						  .len = 9000,
						  .raddr = (uintptr_t)at,
						  .rkey = mr[i]->rkey });
			expect_ok(p.a->scq, 1);
			check_filled(at, 9000, (unsigned int)(i + round));
			if (i == 4)
				fork_once();
		}
		for (int i = 0; i < 8; i++)
			check_ok(ibv_dereg_mr(mr[i]));
	}
	pair_close(&p);
}

/* ---- children that go on with the device ---- */

static void exchange(struct pair *p)
{
	post_recv(p->b, 1, 0, 64);
	post(p->a,
	     &(struct work){ .id = 1, .op = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED, .len = 8 });
	expect_ok(p->a->scq, 1);
	expect_ok(p->b->rcq, 1);
}

static void in_child(void (*fn)(struct pair *inherited), struct pair *p)
{
	pid_t pid = fork();
	int status;

	check(pid >= 0);
	if (!pid) {
		fn(p);
		_exit(0);
	}
	wait_for(waitpid(pid, &status, WNOHANG) == pid);
	check_equal(status, 0);
}

/* In the context that it inherited. */
static void replace_all(struct pair *inherited)
{
	for (int i = 0; i < 3; i++) {
		pair_close(inherited);
		*inherited = pair_open(NULL);
		for (int k = 0; k < 5; k++)
			exchange(inherited);
	}
}

/* In a context of its own. */
static void open_anew(struct pair *inherited)
{
	struct pair own;

	pair_close(inherited);
	check_ok(ibv_close_device(rig_context()));
	rig_forget();
	own = pair_open(NULL);
	for (int k = 0; k < 5; k++)
		exchange(&own);
	pair_close(&own);
}

/* Regions are the parent's: their keys name memory of its. */
static void register_anew(struct end *e)
{
	check_ok(ibv_dereg_mr(e->mr));
	e->mr = must(ibv_reg_mr(e->pd, e->buf, e->o.bytes, e->o.mr_access));
}

/* New queue pairs first, in the inherited domain and with inherited completion queues. */
static void add_and_remove(struct pair *inherited)
{
	struct pair twins;

	register_anew(inherited->a);
	register_anew(inherited->b);
	twins = (struct pair){ end_twin(inherited->a), end_twin(inherited->b) };
	ends_connect(twins.a, twins.b);
	exchange(&twins);
	end_drop_qp(inherited->a);
	end_drop_qp(inherited->b);
	for (int k = 0; k < 5; k++)
		exchange(&twins);
	twin_close(twins.a);
	twin_close(twins.b);
}

static void try_in_child(void (*fn)(struct pair *inherited))
{
	struct pair p;

	rig_skip_under_qemu("it aborts when a child of a process with threads starts threads");
	p = pair_open(NULL);
	exchange(&p);
	in_child(fn, &p);
	exchange(&p);
	pair_close(&p);
}

static void a_child_replaces_queue_pairs_that_it_inherited(void)
{
	try_in_child(replace_all);
}

static void a_child_closes_all_that_it_inherited_and_opens_the_device(void)
{
	try_in_child(open_anew);
}

static void a_child_adds_queue_pairs_to_queues_that_it_inherited(void)
{
	try_in_child(add_and_remove);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(work_of_peers_reaches_a_process_that_forks),
		TEST(long_messages_of_a_process_that_forks_are_whole),
		TEST(regions_that_change_around_forks_are_shared_in_the_end),
		TEST(a_child_replaces_queue_pairs_that_it_inherited),
		TEST(a_child_closes_all_that_it_inherited_and_opens_the_device),
		TEST(a_child_adds_queue_pairs_to_queues_that_it_inherited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
