/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes under a limit of file sizes (ulimit -f). Memory files have it, too, and a larger one
 * raises SIGXFSZ; everything works nevertheless, whatever the limit, between processes with and
 * without one.
 */
#include "rig.h"

#include <sched.h>
#include <signal.h>
#include <sys/ipc.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

#define BYTES (1 << 20)
#define LEN   100000u

static void limit_to(rlim_t bytes)
{
	check_ok(setrlimit(RLIMIT_FSIZE, &(struct rlimit){ bytes, bytes }));
}

static struct options big(void)
{
	struct options o = options_of(IBV_QPT_RC);

	o.bytes = BYTES;
	return o;
}

/* Receives a message, and waits until its memory has been read, written and added to. */
static void serve(int fd)
{
	struct options o = big();
	struct end *e = end_open(&o);

	fill(e->buf + BYTES / 2, LEN, 2);
	end_meet(e, fd);
	post_recv(e, 1, 0, LEN);
	expect_ok(e->rcq, 1);
	check_filled(e->buf, LEN, 1);
	hear_mark(fd, 'd');
	check_filled(e->buf + LEN, LEN, 1);
	tell_mark(fd, 'd');
	end_close(e);
}

static void serve_without_limit(int fd)
{
	serve(fd);
}

static void serve_with_none(int fd)
{
	limit_to(0);
	serve(fd);
}

static void serve_with_a_page(int fd)
{
	limit_to(4096);
	serve(fd);
}

static void serve_with_1m(int fd)
{
	limit_to(1 << 20);
	serve(fd);
}

static void serve_with_64m(int fd)
{
	limit_to(64 << 20);
	serve(fd);
}

static void serve_with_1g(int fd)
{
	limit_to(1 << 30);
	serve(fd);
}

static void work_with(struct peer *peer)
{
	struct options o = big();
	struct end *e = end_open(&o);

	end_meet(e, peer->fd);
	fill(e->buf, LEN, 1);
	post(e,
	     &(struct work){ .id = 1, .op = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED, .len = LEN });
	expect_ok(e->scq, 1);
	post(e, &(struct work){ .id = 2,
				.op = IBV_WR_RDMA_WRITE,
				.flags = IBV_SEND_SIGNALED,
				.len = LEN,
				.raddr = e->to.va + LEN,
				.rkey = e->to.rkey });
	expect_ok(e->scq, 2);
	post(e, &(struct work){ .id = 3,
				.op = IBV_WR_RDMA_READ,
				.flags = IBV_SEND_SIGNALED,
				.off = LEN,
				.len = LEN,
				.raddr = e->to.va + BYTES / 2,
				.rkey = e->to.rkey });
	expect_ok(e->scq, 3);
	check_filled(e->buf + LEN, LEN, 2);
	post(e, &(struct work){ .id = 4,
				.op = IBV_WR_ATOMIC_FETCH_AND_ADD,
				.flags = IBV_SEND_SIGNALED,
				.len = 8,
				.compare = 1,
				.raddr = e->to.va + BYTES - 8,
				.rkey = e->to.rkey });
	expect_ok(e->scq, 4);
	tell_mark(peer->fd, 'd');
	hear_mark(peer->fd, 'd');
	end_close(e);
}

static bool ipc_is_ours;

/* System V memory of all programs in the IPC namespace. */
static int memories(void)
{
	struct shm_info info;

	check(shmctl(0, SHM_INFO, (struct shmid_ds *)(void *)&info) >= 0);
	return info.used_ids;
}

static void meet(rlim_t bytes)
{
	static void (*const others[])(int) = {
		serve_without_limit, serve_with_none, serve_with_a_page,
		serve_with_1m,       serve_with_64m,  serve_with_1g,
	};
	struct peer peer[array_size(others)];

	/* The peers are first in the host directory, one after another; later ones find it. */
	for (size_t i = 0; i < array_size(others); i++)
		peer[i] = peer_start(others[i]);
	if (bytes != RLIM_INFINITY)
		limit_to(bytes);
	for (size_t i = 0; i < array_size(others); i++) {
		work_with(&peer[i]);
		peer_join(&peer[i]);
	}
}

static void no_bytes_in_files_are_enough(void)
{
	meet(0);
}

static void a_page_is_enough(void)
{
	meet(4096);
}

static void one_mebibyte_is_enough(void)
{
	meet(1 << 20);
}

static void sixty_four_mebibytes_are_enough(void)
{
	meet(64 << 20);
}

static void a_gibibyte_is_enough(void)
{
	meet(1 << 30);
}

static void peers_may_have_a_limit_that_this_process_lacks(void)
{
	meet(RLIM_INFINITY);
}

/* The soft limit counts, and is not changed. */
static void a_soft_limit_below_the_hard_one_is_kept(void)
{
	struct peer peer = peer_start(serve_without_limit);
	struct rlimit limit;

	check_ok(getrlimit(RLIMIT_FSIZE, &limit));
	limit.rlim_cur = 100000;
	check_ok(setrlimit(RLIMIT_FSIZE, &limit));
	work_with(&peer);
	peer_join(&peer);
	check_ok(getrlimit(RLIMIT_FSIZE, &limit));
	check_equal(limit.rlim_cur, 100000);
}

static volatile sig_atomic_t signals;

static void count_signal(int number)
{
	signals++;
}

static void no_signal_is_sent_and_the_program_still_gets_its_own(void)
{
	struct pair p;
	char name[] = "/tmp/verbena-limit-XXXXXX";
	int fd = mkstemp(name);

	check(fd >= 0);
	unlink(name);
	signal(SIGXFSZ, count_signal);
	limit_to(0);
	p = pair_open(NULL);
	check_equal(signals, 0);
	check(write(fd, "x", 1) < 0);
	check_equal(signals, 1);
	pair_close(&p);
	check_equal(signals, 1);
	close(fd);
}

/* Has memory, and a link to the process that started it. */
static void victim(int fd)
{
	struct options o = big();
	struct end *e;

	limit_to(0);
	e = end_open(&o);
	end_meet(e, fd);
	tell_mark(fd, 'k');
	for (;;)
		pause();
}

/* Is killed itself when its peer is. */
static void survivor(int fd)
{
	struct peer peer = peer_start(victim);
	struct options o = big();
	struct end *e;
	int known;

	limit_to(0);
	e = end_open(&o);
	end_meet(e, peer.fd);
	hear_mark(peer.fd, 'k');
	post(e, &(struct work){ .id = 2,
				.op = IBV_WR_RDMA_WRITE,
				.flags = IBV_SEND_SIGNALED,
				.len = LEN,
				.raddr = e->to.va,
				.rkey = e->to.rkey });
	expect_ok(e->scq, 2);
	known = memories();
	tell(fd, &known, sizeof(known));
	peer_kill(&peer);
	tell_mark(fd, 'd');
	for (;;)
		pause();
}

static void memory_goes_with_processes_that_are_killed(void)
{
	int before = memories(), during;
	struct peer peer;

	if (!ipc_is_ours)
		rig_skip("no IPC namespace of its own, in which only this test has memory");
	peer = peer_start(survivor);
	hear(peer.fd, &during, sizeof(during));
	check(during > before);
	hear_mark(peer.fd, 'd');
	peer_kill(&peer);
	wait_for(memories() <= before);
}

static void contexts_are_imported(void)
{
	struct ibv_context *ctx, *again;
	struct ibv_pd *pd, *same;
	int fd;

	limit_to(0);
	ctx = rig_context();
	fd = dup(ctx->cmd_fd);
	check(fd >= 0);
	again = must(ibv_import_device(fd));
	pd = must(ibv_alloc_pd(ctx));
	same = must(ibv_import_pd(again, pd->handle));
	ibv_unimport_pd(same);
	check_ok(ibv_dealloc_pd(pd));
	check_ok(ibv_close_device(again));
}

static void the_child_of_a_fork_works_too(void)
{
	struct pair p;
	int status;
	pid_t pid;

	limit_to(0);
	p = pair_open(NULL);
	pid = fork();
	check(pid >= 0);
	if (!pid) {
		rig_forget();
		p = pair_open(NULL);
		pair_close(&p);
		_exit(0);
	}
	check_equal(waitpid(pid, &status, 0), pid);
	check_equal(status, 0);
	pair_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(no_bytes_in_files_are_enough),
		TEST(a_page_is_enough),
		TEST(one_mebibyte_is_enough),
		TEST(sixty_four_mebibytes_are_enough),
		TEST(a_gibibyte_is_enough),
		TEST(peers_may_have_a_limit_that_this_process_lacks),
		TEST(a_soft_limit_below_the_hard_one_is_kept),
		TEST(no_signal_is_sent_and_the_program_still_gets_its_own),
		TEST(memory_goes_with_processes_that_are_killed),
		TEST(contexts_are_imported),
		TEST(the_child_of_a_fork_works_too),
	};

	ipc_is_ours = !unshare(CLONE_NEWIPC);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
