/* SPDX-License-Identifier: BSD-2-Clause */
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <time.h>

#include "share_common.h"

extern char **environ;

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Two pipes, to take turns between a child and its parent. */
static int to_child[2], to_parent[2];

static void turns_open(void)
{
	assert_int_equal(pipe2(to_child, O_CLOEXEC), 0);
	assert_int_equal(pipe2(to_parent, O_CLOEXEC), 0);
}

static void turns_close(void)
{
	for (int i = 0; i < 2; i++) {
		close(to_child[i]);
		close(to_parent[i]);
	}
}

static void pass(int fds[2])
{
	char c = 0;

	check(write(fds[1], &c, 1) == 1);
}

static void take(int fds[2])
{
	char c;

	check(read(fds[0], &c, 1) == 1);
}

static unsigned int mappings_of_share(void)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char line[512];
	unsigned int n = 0;

	while (fgets(line, sizeof(line), f))
		n += strstr(line, "verbena-share") != NULL;
	fclose(f);
	return n;
}

static void child_and_parent_do_not_see_each_other(void **state)
{
	size_t n = 300 * PAGE;
	uint8_t *p = map_anon(n);
	pid_t pid;

	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)(i / 7);
	assert_int_equal(share_range_get(p + PAGE, 200 * PAGE), 0);
	turns_open();
	pid = fork();
	if (!pid) {
		alarm(120);
		for (size_t i = 0; i < n; i++)
			check(p[i] == (uint8_t)(i / 7));
		memset(p, 0xcc, n);
		pass(to_parent);
		take(to_child);
		for (size_t i = 0; i < n; i++)
			check(p[i] == 0xcc);
		_exit(0);
	}
	/* At once, before the child had a chance to run. */
	memset(p, 0xaa, n);
	take(to_parent);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(p[i], 0xaa);
	pass(to_child);
	assert_exits_well(pid);
	/* The parent shares as before. */
	assert_true(share_covers(p + PAGE, 200 * PAGE));
	p[50 * PAGE] = 1;
	assert_int_equal(file_byte(p + 50 * PAGE), 1);
	share_range_put(p + PAGE, 200 * PAGE);
	assert_int_equal(file_blocks(), 0);
	turns_close();
	munmap(p, n);
}

static void a_child_shares_nothing_until_it_asks_to(void **state)
{
	uint8_t *p = map_anon(8 * PAGE), *born = share_alloc(2 * PAGE);
	ino_t ino;
	struct stat st;
	pid_t pid;

	memset(p, 9, 8 * PAGE);
	born[0] = 8;
	assert_int_equal(share_range_get(p, 8 * PAGE), 0);
	assert_int_equal(fstat(share_fd(), &st), 0);
	ino = st.st_ino;
	pid = fork();
	if (!pid) {
		struct share_stats s;

		share_stats(&s);
		check(s.bytes == 0 && s.segments == 0);
		check(!share_covers(p, 1) && !share_covers(born, 1));
		check(!mappings_of_share());
		check(!share_range_get(p, 3 * PAGE));
		check(!fstat(share_fd(), &st));
		check(st.st_ino != ino);
		check(p[0] == 9 && file_byte(p) == 9);
		p[0] = 10;
		check(file_byte(p) == 10);
		/* What the parent had shared is not the child's to give back. */
		share_range_put(p, 8 * PAGE);
		check(p[0] == 10 && file_blocks() == 0);
		born[0]++;
		share_free(born);
		_exit(0);
	}
	assert_exits_well(pid);
	assert_int_equal(p[0], 9);
	assert_int_equal(born[0], 8);
	assert_int_equal(file_byte(p), 9);
	share_range_put(p, 8 * PAGE);
	share_free(born);
	munmap(p, 8 * PAGE);
}

static void heap_neighbours_are_apart_in_the_child(void **state)
{
	char *mine = malloc(100), *neighbour = malloc(100);
	pid_t pid;

	strcpy(mine, "registered");
	strcpy(neighbour, "not registered");
	assert_int_equal(share_range_get(mine, 100), 0);
	turns_open();
	pid = fork();
	if (!pid) {
		alarm(120);
		/* malloc's own books are on the same page. */
		for (unsigned int i = 0; i < 1000; i++)
			free(malloc(i));
		check(!strcmp(neighbour, "not registered"));
		strcpy(neighbour, "the child's");
		strcpy(mine, "the child's");
		pass(to_parent);
		take(to_child);
		free(neighbour);
		free(mine);
		_exit(0);
	}
	take(to_parent);
	for (unsigned int i = 0; i < 1000; i++)
		free(malloc(i));
	assert_string_equal(neighbour, "not registered");
	assert_string_equal(mine, "registered");
	pass(to_child);
	assert_exits_well(pid);
	share_range_put(mine, 100);
	free(mine);
	free(neighbour);
	turns_close();
}

/* ---- arenas of malloc ---- */

#define ARENA_BYTES ((uintptr_t)64 << 20)

static void *first_malloc(void *arg)
{
	/* The thread keeps its arena until the test is over. */
	*(void **)arg = malloc(3000);
	pass(to_parent);
	take(to_child);
	free(*(void **)arg);
	return NULL;
}

/*
 * fork() resets the arenas in the child before handlers run: a lock that a thread of the parent holds, or
 * waits for, would be reset there, too.
 */
static void the_control_block_of_an_arena_is_never_shared(void **state)
{
	pthread_t thread;
	char *p;

	if (*VB_SANITIZE)
		skip(); /* another allocator */
	need_userfaultfd();
	turns_open();
	assert_int_equal(pthread_create(&thread, NULL, first_malloc, &p), 0);
	take(to_parent);
	assert_true((uintptr_t)p % ARENA_BYTES < PAGE);
	assert_int_equal(share_range_get(p, 3000), -EOPNOTSUPP);
	/* Later pages of the arena have none. */
	assert_int_equal(share_range_get(p + PAGE, 100), 0);
	share_range_put(p + PAGE, 100);
	pass(to_child);
	pthread_join(thread, NULL);
	turns_close();
}

static void children_of_children_are_apart_too(void **state)
{
	uint8_t *p = map_anon(PAGE);
	pid_t pid;

	p[0] = 1;
	assert_int_equal(share_range_get(p, PAGE), 0);
	pid = fork();
	if (!pid) {
		pid_t second;
		int status;

		alarm(120);
		check(!share_range_get(p, PAGE));
		p[0] = 2;
		second = fork();
		if (!second) {
			check(p[0] == 2);
			p[0] = 3;
			_exit(0);
		}
		check(waitpid(second, &status, 0) == second && !status);
		check(p[0] == 2 && file_byte(p) == 2);
		_exit(0);
	}
	assert_exits_well(pid);
	assert_int_equal(p[0], 1);
	share_range_put(p, PAGE);
	munmap(p, PAGE);
}

static atomic_bool stop;

static void *share_all_the_time(void *arg)
{
	uint8_t *p = arg;

	while (!atomic_load(&stop)) {
		p[0]++;
		if (share_range_get(p, 4 * PAGE))
			_exit(97);
		p[1]++;
		share_range_put(p, 4 * PAGE);
	}
	return NULL;
}

static void forks_amid_sharing_threads_work(void **state)
{
	uint8_t *a = map_anon(4 * PAGE), *b = map_anon(4 * PAGE), *held = map_anon(20 * PAGE);
	pthread_t one, two;

	need_userfaultfd();
	memset(held, 7, 20 * PAGE);
	assert_int_equal(share_range_get(held, 20 * PAGE), 0);
	atomic_store(&stop, false);
	assert_int_equal(pthread_create(&one, NULL, share_all_the_time, a), 0);
	assert_int_equal(pthread_create(&two, NULL, share_all_the_time, b), 0);
	for (unsigned int i = 0; i < 30; i++) {
		pid_t pid = fork();

		if (!pid) {
			alarm(120);
			for (size_t k = 0; k < 20 * PAGE; k++)
				check(held[k] == 7);
			/* The locks are free, whatever the other threads were at. */
			check(!share_range_get(a, 8));
			a[0] = a[1] = 1;
			share_range_put(a, 8);
			memset(held, 1, 20 * PAGE);
			_exit(0);
		}
		assert_exits_well(pid);
	}
	atomic_store(&stop, true);
	pthread_join(one, NULL);
	pthread_join(two, NULL);
	assert_int_equal(a[0], a[1]);
	assert_int_equal(b[0], b[1]);
	assert_int_equal(held[0], 7);
	share_range_put(held, 20 * PAGE);
	munmap(held, 20 * PAGE);
	munmap(a, 4 * PAGE);
	munmap(b, 4 * PAGE);
}

static void memory_kept_from_children_is_not_the_parents_in_the_child(void **state)
{
	uint8_t *p = map_anon(4 * PAGE);
	pid_t pid;

	memset(p, 5, 4 * PAGE);
	assert_int_equal(madvise(p, 4 * PAGE, MADV_DONTFORK), 0);
	assert_int_equal(share_range_get(p, 4 * PAGE), 0);
	pid = fork();
	if (!pid) {
		check(!mappings_of_share());
		p[0] = 6;
		_exit(0);
	}
	assert_exits_well(pid);
	assert_int_equal(p[0], 5);
	share_range_put(p, 4 * PAGE);
	munmap(p, 4 * PAGE);
}

/* The child dies in the middle of making its copy, for which the parent waits a second at least. */
static void fork_a_child_that_dies(void)
{
	size_t n = 100 * PAGE;
	uint8_t *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool waited = true;

	memset(p, 1, n);
	check(!share_range_get(p, n));
	forbid(SYS_mremap, -1, 0, SECCOMP_RET_KILL_PROCESS);
	/* A busy machine may be as slow now and then. */
	for (int i = 0; i < 20 && waited; i++) {
		double begin = seconds();
		pid_t pid = fork();
		int status;

		if (!pid)
			_exit(0);
		waited = seconds() - begin >= 1;
		check(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
		check(p[0] == 1);
	}
	check(!waited);
}

static void a_child_that_dies_at_once_does_not_delay_its_parent(void **state)
{
	in_child(fork_a_child_that_dies);
}

static void spawned_programs_cost_no_copy(void **state)
{
	char *argv[] = { "true", NULL };
	uint8_t *p = map_anon(16 * PAGE);
	struct share_stats before, after;
	pid_t pid;

	memset(p, 6, 16 * PAGE);
	assert_int_equal(share_range_get(p, 16 * PAGE), 0);
	share_stats(&before);
	assert_int_equal(posix_spawnp(&pid, "true", NULL, NULL, argv, environ), 0);
	assert_exits_well(pid);
	share_stats(&after);
	assert_int_equal(before.bytes_out, after.bytes_out);
	assert_true(share_covers(p, 16 * PAGE));
	assert_int_equal(p[0], 6);
	share_range_put(p, 16 * PAGE);
	munmap(p, 16 * PAGE);
}

static void a_fork_leaves_no_descriptor_behind(void **state)
{
	uint8_t *p = map_anon(PAGE);
	unsigned int fds;

	assert_int_equal(share_range_get(p, PAGE), 0);
	fds = count_fds();
	for (unsigned int i = 0; i < 20; i++) {
		pid_t pid = fork();

		if (!pid) {
			/* Neither the parent's memfd nor anything else. */
			check(count_fds() <= fds - 1);
			_exit(0);
		}
		assert_exits_well(pid);
	}
	assert_int_equal(count_fds(), fds);
	share_range_put(p, PAGE);
	munmap(p, PAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(child_and_parent_do_not_see_each_other),
		cmocka_unit_test(a_child_shares_nothing_until_it_asks_to),
		cmocka_unit_test(heap_neighbours_are_apart_in_the_child),
		cmocka_unit_test(the_control_block_of_an_arena_is_never_shared),
		cmocka_unit_test(children_of_children_are_apart_too),
		cmocka_unit_test(forks_amid_sharing_threads_work),
		cmocka_unit_test(memory_kept_from_children_is_not_the_parents_in_the_child),
		cmocka_unit_test(a_child_that_dies_at_once_does_not_delay_its_parent),
		cmocka_unit_test(spawned_programs_cost_no_copy),
		cmocka_unit_test(a_fork_leaves_no_descriptor_behind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
