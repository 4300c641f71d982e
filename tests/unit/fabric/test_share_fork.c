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
	/* The parent's memory is private, too, until it is shared again. */
	assert_false(share_covers(p + PAGE, 1));
	assert_int_equal(file_blocks(), 0);
	assert_int_equal(share_range_get(p + PAGE, 200 * PAGE), 0);
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
	assert_int_equal(file_byte(born), 8);
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

/* ---- the moment of the fork ---- */

static atomic_bool stop;

struct two_words {
	_Atomic uint64_t *shared, *private;
};

/* The words are equal, or the first is one ahead. */
static void *count_both(void *arg)
{
	struct two_words *w = arg;

	while (!atomic_load(&stop)) {
		atomic_fetch_add(w->shared, 1);
		atomic_fetch_add(w->private, 1);
	}
	return NULL;
}

/*
 * malloc's lists are private memory, and chunks may be on registered pages: if these were of a later
 * time in the child, the heap would be broken there.
 */
static void a_child_has_all_memory_as_of_one_moment(void **state)
{
	uint8_t *p = map_anon(64 * PAGE);
	struct two_words w = { (void *)(p + 40 * PAGE), (void *)(p + 63 * PAGE) };
	pthread_t thread;

	need_userfaultfd();
	memset(p, 0, 64 * PAGE);
	atomic_store(&stop, false);
	assert_int_equal(pthread_create(&thread, NULL, count_both, &w), 0);
	for (unsigned int i = 0; i < 30; i++) {
		uint64_t before = atomic_load(w.private);
		pid_t pid;

		/* Not every fork finds the memory shared. */
		if (i % 3)
			assert_int_equal(share_range_get(p, 60 * PAGE), 0);
		while (atomic_load(w.private) < before + 1000)
			sched_yield();
		pid = fork();
		if (!pid) {
			uint64_t ahead = atomic_load(w.shared) - atomic_load(w.private);

			check(ahead <= 1);
			_exit(0);
		}
		assert_exits_well(pid);
	}
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
	assert_int_equal(atomic_load(w.shared), atomic_load(w.private));
	munmap(p, 64 * PAGE);
}

static void pinned_pages_stay_shared_and_are_whole(void **state)
{
	uint8_t *p = map_anon(4 * PAGE);
	pid_t pid;

	memset(p, 3, 4 * PAGE);
	assert_int_equal(share_range_pin(p + 8, PAGE), -EOPNOTSUPP);
	assert_int_equal(share_range_pin(p, PAGE + 8), -EOPNOTSUPP);
	assert_int_equal(share_range_get(p + 8, 3 * PAGE), 0);
	assert_int_equal(share_range_pin(p, PAGE), 0);
	pid = fork();
	if (!pid) {
		check(!mappings_of_share());
		check(p[0] == 3 && p[PAGE] == 3);
		p[0] = 4;
		_exit(0);
	}
	assert_exits_well(pid);
	assert_true(share_covers(p, PAGE));
	assert_false(share_covers(p + PAGE, 1));
	assert_int_equal(p[0], 3);
	p[1] = 5;
	assert_int_equal(file_byte(p + 1), 5);
	/* A put of a reference that the fork has taken leaves the pin. */
	share_range_put(p + 8, 3 * PAGE);
	assert_true(share_covers(p, PAGE));
	share_range_unpin(p, PAGE);
	assert_false(share_covers(p, 1));
	assert_int_equal(file_blocks(), 0);
	munmap(p, 4 * PAGE);
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
		check(p[0] == 2 && !share_covers(p, PAGE));
		_exit(0);
	}
	assert_exits_well(pid);
	assert_int_equal(p[0], 1);
	share_range_put(p, PAGE);
	munmap(p, PAGE);
}

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

static void memory_kept_from_children_is_not_in_the_child(void **state)
{
	uint8_t *p = map_anon(4 * PAGE);
	unsigned char there[4];
	pid_t pid;

	memset(p, 5, 4 * PAGE);
	assert_int_equal(madvise(p, 4 * PAGE, MADV_DONTFORK), 0);
	assert_int_equal(share_range_get(p, 4 * PAGE), 0);
	pid = fork();
	if (!pid) {
		check(!mappings_of_share());
		check(mincore(p, 4 * PAGE, there) && errno == ENOMEM);
		_exit(0);
	}
	assert_exits_well(pid);
	assert_int_equal(p[0], 5);
	share_range_put(p, 4 * PAGE);
	munmap(p, 4 * PAGE);
}

/*
 * Children that die, or are killed, in the middle of making their copy. Where the parent waits for the copy, it does for
 * a second at least; a busy machine may be as slow now and then.
 */
static void fork_children_without_a_wait(const uint8_t *p)
{
	bool waited = true;

	for (int i = 0; i < 20 && waited; i++) {
		double begin = seconds();
		pid_t pid = fork();
		int status;

		if (!pid)
			_exit(0);
		waited = seconds() - begin >= 1;
		kill(pid, SIGKILL);
		check(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
		check(p[0] == 1);
	}
	check(!waited);
}

/* The parent cannot make the memory private for want of memory, and the child, which tries again, is killed. */
static void fork_a_child_that_dies(void)
{
	size_t n = 100 * PAGE;
	uint8_t *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memset(p, 1, n);
	check(!share_range_get(p, n));
	forbid(SYS_mremap, -1, 0, FAIL_WITH(ENOMEM));
	forbid(SYS_mmap, 3, MAP_PRIVATE | MAP_ANONYMOUS, SECCOMP_RET_KILL_PROCESS);
	fork_children_without_a_wait(p);
	check(share_touches(p, n));
}

/* Its call waits for an answer that nobody gives. */
static void fork_a_child_that_takes_long(void)
{
	uint8_t *p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memset(p, 1, PAGE);
	check(!share_range_pin(p, PAGE));
	if (filter_call(SYS_mremap, -1, 0, SECCOMP_RET_USER_NOTIF,
			SECCOMP_FILTER_FLAG_NEW_LISTENER) < 0)
		_exit(0); /* another filter has a listener */
	fork_children_without_a_wait(p);
}

static void a_fork_does_not_wait_for_the_copy_of_pinned_pages(void **state)
{
	in_child(fork_a_child_that_takes_long);
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

	assert_int_equal(share_range_pin(p, PAGE), 0);
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
	share_range_unpin(p, PAGE);
	munmap(p, PAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(child_and_parent_do_not_see_each_other),
		cmocka_unit_test(a_child_shares_nothing_until_it_asks_to),
		cmocka_unit_test(heap_neighbours_are_apart_in_the_child),
		cmocka_unit_test(a_child_has_all_memory_as_of_one_moment),
		cmocka_unit_test(pinned_pages_stay_shared_and_are_whole),
		cmocka_unit_test(children_of_children_are_apart_too),
		cmocka_unit_test(forks_amid_sharing_threads_work),
		cmocka_unit_test(memory_kept_from_children_is_not_in_the_child),
		cmocka_unit_test(a_child_that_dies_at_once_does_not_delay_its_parent),
		cmocka_unit_test(a_fork_does_not_wait_for_the_copy_of_pinned_pages),
		cmocka_unit_test(spawned_programs_cost_no_copy),
		cmocka_unit_test(a_fork_leaves_no_descriptor_behind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
