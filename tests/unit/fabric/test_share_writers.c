/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads that write all the while: no update is lost, whatever way the kernel allows to move. */
#include <pthread.h>
#include <sched.h>
#include <time.h>

#include "share_common.h"

#define PAGES   1536u
#define WRITERS 3u

static atomic_bool stop;
static uint8_t *memory;

struct writer {
	pthread_t thread;
	unsigned int id;
	uint64_t count;
};

/* One counter per page and writer; all of them together must have counted every step. */
static uint64_t *counter(unsigned int page, unsigned int id)
{
	return (uint64_t *)(void *)(memory + (size_t)page * PAGE) + id * 8;
}

static void *write_all_the_time(void *arg)
{
	struct writer *w = arg;
	unsigned int seed = w->id + 1;

	while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
		uint64_t *c = counter((unsigned int)rand_r(&seed) % PAGES, w->id);

		/* Plain, as programs do: a load and a store. */
		*c += 1;
		w->count++;
	}
	return NULL;
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void writers_start(struct writer *w)
{
	memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		      0);
	check(memory != MAP_FAILED);
	atomic_store(&stop, false);
	for (unsigned int i = 0; i < WRITERS; i++) {
		w[i] = (struct writer){ .id = i };
		check(!pthread_create(&w[i].thread, NULL, write_all_the_time, &w[i]));
	}
}

static void writers_stop(struct writer *w)
{
	atomic_store(&stop, true);
	for (unsigned int i = 0; i < WRITERS; i++) {
		uint64_t sum = 0;

		pthread_join(w[i].thread, NULL);
		for (unsigned int page = 0; page < PAGES; page++)
			sum += *counter(page, w[i].id);
		if (sum != w[i].count)
			fprintf(stderr, "writer %u: %llu of %llu\n", i, (unsigned long long)sum,
				(unsigned long long)w[i].count);
		check(sum == w[i].count);
	}
	munmap(memory, PAGES * PAGE);
}

/* All of it, pieces of it, and pieces that overlap, again and again. */
static void move_under_writers(void)
{
	struct writer w[WRITERS];
	double end = seconds() + 1.5;
	unsigned int seed = 3, rounds = 0;

	writers_start(w);
	while (seconds() < end || rounds < 8) {
		size_t a = (size_t)rand_r(&seed) % (PAGES * PAGE / 2), n = PAGES * PAGE / 2;

		check(!share_range_get(memory, PAGES * PAGE));
		share_range_put(memory, PAGES * PAGE);
		check(!share_range_get(memory + a, n));
		check(!share_range_get(memory + a / 2, n));
		share_range_put(memory + a, n);
		share_range_put(memory + a / 2, n);
		rounds++;
	}
	writers_stop(w);
	check(file_blocks() == 0);
}

static void no_update_is_lost(void **state)
{
	need_userfaultfd();
	in_child(move_under_writers);
}

static void as_nobody(void)
{
	become_nobody();
	move_under_writers();
}

static void no_update_is_lost_for_an_ordinary_user(void **state)
{
	need_userfaultfd();
	in_child(as_nobody);
}

static void with_old_kernel(void)
{
	/* Neither questions about mappings nor about pages: text and tables. */
	forbid(SYS_ioctl, 1, 0xc0686611u, FAIL_WITH(ENOTTY));
	forbid(SYS_ioctl, 1, 0xc0606610u, FAIL_WITH(ENOTTY));
	move_under_writers();
}

static void no_update_is_lost_on_an_older_kernel(void **state)
{
	need_userfaultfd();
	in_child(with_old_kernel);
}

/* ---- writers in the kernel ---- */

static void *read_into_memory(void *arg)
{
	static const char pattern[8] = "pattern";
	unsigned int seed = 9;
	int pair[2];
	long failed = 0;

	check(!pipe(pair));
	while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
		uint8_t *to = memory + (size_t)rand_r(&seed) % PAGES * PAGE;

		check(write(pair[1], pattern, 8) == 8);
		if (read(pair[0], to, 8) != 8) {
			check(errno == EFAULT);
			failed++;
			check(read(pair[0], &(char[8]){ 0 }, 8) == 8);
		} else if (memcmp(to, pattern, 8)) {
			_exit(98);
		}
		memset(to, 0, 8);
	}
	return (void *)failed;
}

static void move_under_system_calls(bool may_fail)
{
	pthread_t thread;
	double end = seconds() + 1;
	void *failed;

	memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		      0);
	memset(memory, 1, PAGES * PAGE);
	atomic_store(&stop, false);
	check(!pthread_create(&thread, NULL, read_into_memory, NULL));
	while (seconds() < end) {
		check(!share_range_get(memory, PAGES * PAGE));
		share_range_put(memory, PAGES * PAGE);
	}
	atomic_store(&stop, true);
	pthread_join(thread, &failed);
	check(may_fail || !failed);
}

static void privileged_calls(void)
{
	if (!geteuid())
		move_under_system_calls(false);
}

static void system_calls_of_other_threads_wait_where_the_kernel_lets_them(void **state)
{
	need_userfaultfd();
	in_child(privileged_calls);
}

static void ordinary_calls(void)
{
	become_nobody();
	move_under_system_calls(true);
}

static void system_calls_of_other_threads_lose_nothing_that_they_report(void **state)
{
	need_userfaultfd();
	in_child(ordinary_calls);
}

/* ---- no userfaultfd ---- */

static void forbid_userfaultfd(int err)
{
	forbid(SYS_userfaultfd, -1, 0, FAIL_WITH(err));
	/* and its device */
	forbid(SYS_ioctl, 1, 0xaa00u, FAIL_WITH(EPERM));
}

static void alone_without_userfaultfd(void)
{
	uint8_t *p =
		mmap(NULL, 64 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	forbid_userfaultfd(ENOSYS);
	memset(p, 3, 64 * PAGE);
	check(!share_range_get(p, 64 * PAGE));
	check(p[5 * PAGE] == 3 && file_byte(p + 5 * PAGE) == 3);
	share_range_put(p, 64 * PAGE);
	check(p[5 * PAGE] == 3 && file_blocks() == 0);
}

static void one_thread_needs_no_userfaultfd(void **state)
{
	if (under_tsan())
		skip();
	in_child(alone_without_userfaultfd);
}

static pthread_barrier_t barrier;

static void *stand_by(void *arg)
{
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	return NULL;
}

static void two_without_userfaultfd(void)
{
	uint8_t *p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_t thread;

	forbid_userfaultfd(EPERM);
	pthread_barrier_init(&barrier, NULL, 2);
	check(!pthread_create(&thread, NULL, stand_by, NULL));
	pthread_barrier_wait(&barrier);
	p[0] = 1;
	check(share_range_get(p, PAGE) == -EOPNOTSUPP);
	p[0]++;
	pthread_barrier_wait(&barrier);
	pthread_join(thread, NULL);
	check(!share_range_get(p, PAGE));
	check(p[0] == 2);
	share_range_put(p, PAGE);
}

static void two_threads_without_userfaultfd_are_refused(void **state)
{
	if (under_tsan())
		skip();
	in_child(two_without_userfaultfd);
}

/* Comes in alone, goes out in company: the way out always exists. */
static void out_under_writers_without_userfaultfd(void)
{
	struct writer w[WRITERS];
	size_t n = PAGES * PAGE;
	uint8_t *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	forbid_userfaultfd(EPERM);
	memset(p, 0, n / 2);
	check(!share_range_get(p, n));
	memory = p;
	atomic_store(&stop, false);
	for (unsigned int i = 0; i < WRITERS; i++) {
		w[i] = (struct writer){ .id = i };
		check(!pthread_create(&w[i].thread, NULL, write_all_the_time, &w[i]));
	}
	for (double end = seconds() + 0.2; seconds() < end;)
		sched_yield();
	share_range_put(p, n);
	check(!share_covers(p, 1));
	for (double end = seconds() + 0.1; seconds() < end;)
		sched_yield();
	/* A fault that was under way may fetch its page from the file once more, and not need it. */
	check(file_blocks() <= WRITERS * PAGE / 512);
	writers_stop(w);
}

static void the_way_out_needs_no_userfaultfd(void **state)
{
	if (under_tsan())
		skip();
	in_child(out_under_writers_without_userfaultfd);
}

/* ---- when the kernel fails half-way ---- */

/* The place of the second chunk of the range, which is what fails. */
static uint8_t *second_chunk;

static void fail_copy(void)
{
	forbid(SYS_pwrite64, 3, (uint32_t)(uintptr_t)second_chunk, FAIL_WITH(ENOSPC));
}

static void fail_parking(void)
{
	forbid(SYS_mremap, 0, (uint32_t)(uintptr_t)second_chunk, FAIL_WITH(ENOMEM));
}

static void fail_mapping(void)
{
	forbid(SYS_mmap, 5, (uint32_t)(uintptr_t)second_chunk, FAIL_WITH(ENOMEM));
}

static void refused_half_way(void (*inject)(void), bool company, bool nobody)
{
	struct writer w[WRITERS];
	unsigned int maps;
	struct share_stats s;
	int err;

	if (nobody)
		become_nobody();
	memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		      0);
	memset(memory, 0, PAGES * PAGE);
	check(share_fd() >= 0);
	second_chunk = memory + (company && nobody ? 512u << 10 : 4u << 20);
	inject();
	atomic_store(&stop, false);
	for (unsigned int i = 0; company && i < WRITERS; i++) {
		w[i] = (struct writer){ .id = i };
		check(!pthread_create(&w[i].thread, NULL, write_all_the_time, &w[i]));
	}
	maps = count_maps();
	err = share_range_get(memory, PAGES * PAGE);
	check(err == (inject == fail_copy ? -ENOMEM : -EOPNOTSUPP));
	share_stats(&s);
	check(s.bytes == 0 && s.segments == 0 && s.runs == 0);
	check(s.bytes_in > 0);
	check(file_blocks() == 0);
	if (company)
		writers_stop(w);
	else
		check(count_maps() == maps);
}

static void failures_alone(void)
{
	void (*injections[])(void) = { fail_copy, fail_parking, fail_mapping };

	for (unsigned int i = 0; i < 3; i++) {
		pid_t pid = fork();
		int status;

		if (!pid) {
			refused_half_way(injections[i], false, false);
			_exit(0);
		}
		check(waitpid(pid, &status, 0) == pid && !status);
	}
}

static void a_get_that_fails_half_way_changes_nothing(void **state)
{
	in_child(failures_alone);
}

static void failures_in_company(void)
{
	void (*injections[])(void) = { fail_copy, fail_parking, fail_mapping };

	for (unsigned int i = 0; i < 6; i++) {
		pid_t pid = fork();
		int status;

		if (!pid) {
			refused_half_way(injections[i % 3], true, i >= 3);
			_exit(0);
		}
		check(waitpid(pid, &status, 0) == pid && !status);
	}
}

static void a_get_that_fails_half_way_loses_no_update(void **state)
{
	need_userfaultfd();
	in_child(failures_in_company);
}

static void cannot_go_out(void)
{
	struct share_stats s;
	uint8_t *p =
		mmap(NULL, 8 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memset(p, 4, 8 * PAGE);
	check(!share_range_get(p, 8 * PAGE));
	forbid(SYS_pread64, 3, (uint32_t)(uintptr_t)p, FAIL_WITH(ENOMEM));
	share_range_put(p, 8 * PAGE);
	/* Still there, still shared, and wanted by nobody. */
	check(share_covers(p, 8 * PAGE));
	p[0]++;
	check(p[0] == 5 && p[PAGE] == 4);
	check(!share_range_get(p + PAGE, PAGE));
	share_range_put(p + PAGE, PAGE);
	check(!share_covers(p + PAGE, 1));
	check(share_covers(p, PAGE));
	check(p[PAGE] == 4);
	munmap(p, 8 * PAGE);
	share_range_put(p, 8 * PAGE);
	share_stats(&s);
	check(s.bytes == 0);
}

static void memory_that_cannot_become_private_stays_usable(void **state)
{
	in_child(cannot_go_out);
}

/* ---- our own threads ---- */

static atomic_int own_state; /* 0 starting, 1 working, 2 resting, 3 asked to end */

static void *own_thread(void *arg)
{
	uint64_t *c = arg;

	share_thread_begin();
	atomic_store(&own_state, 1);
	while (atomic_load(&own_state) != 3) {
		/* Work that writes to the very page; then rest, in turns. */
		for (unsigned int i = 0; i < 1000; i++)
			*c += 1;
		c[1]++;
		share_thread_idle();
		sched_yield();
		share_thread_busy();
	}
	share_thread_end();
	return NULL;
}

static void with_own_thread(void)
{
	uint64_t *c = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned int shared = 0;
	pthread_t thread;

	forbid_userfaultfd(EPERM);
	check(!pthread_create(&thread, NULL, own_thread, c));
	while (!atomic_load(&own_state))
		sched_yield();
	for (unsigned int i = 0; i < 300; i++) {
		int err = share_range_get(c, PAGE);

		check(!err || err == -EOPNOTSUPP);
		if (!err)
			share_range_put(c, PAGE);
		shared += !err;
	}
	atomic_store(&own_state, 3);
	pthread_join(thread, NULL);
	check(shared > 0);
	check(*c == c[1] * 1000);
	/* A thread that ended is the program's business no more. */
	check(!share_range_get(c, PAGE));
	share_range_put(c, PAGE);
}

static void memory_moves_while_threads_of_the_library_are_idle(void **state)
{
	if (under_tsan())
		skip();
	in_child(with_own_thread);
}

static void *never_rests(void *arg)
{
	share_thread_begin();
	atomic_store(&own_state, 1);
	while (atomic_load(&own_state) != 3)
		sched_yield();
	share_thread_end();
	return NULL;
}

static void with_busy_thread(void)
{
	uint8_t *p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_t thread;

	forbid_userfaultfd(EPERM);
	atomic_store(&own_state, 0);
	check(!pthread_create(&thread, NULL, never_rests, NULL));
	while (!atomic_load(&own_state))
		sched_yield();
	check(share_range_get(p, PAGE) == -EOPNOTSUPP);
	atomic_store(&own_state, 3);
	pthread_join(thread, NULL);
}

static void a_busy_thread_of_the_library_is_not_waited_for_without_limit(void **state)
{
	in_child(with_busy_thread);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_update_is_lost),
		cmocka_unit_test(no_update_is_lost_for_an_ordinary_user),
		cmocka_unit_test(no_update_is_lost_on_an_older_kernel),
		cmocka_unit_test(system_calls_of_other_threads_wait_where_the_kernel_lets_them),
		cmocka_unit_test(system_calls_of_other_threads_lose_nothing_that_they_report),
		cmocka_unit_test(one_thread_needs_no_userfaultfd),
		cmocka_unit_test(two_threads_without_userfaultfd_are_refused),
		cmocka_unit_test(the_way_out_needs_no_userfaultfd),
		cmocka_unit_test(a_get_that_fails_half_way_changes_nothing),
		cmocka_unit_test(a_get_that_fails_half_way_loses_no_update),
		cmocka_unit_test(memory_that_cannot_become_private_stays_usable),
		cmocka_unit_test(memory_moves_while_threads_of_the_library_are_idle),
		cmocka_unit_test(a_busy_thread_of_the_library_is_not_waited_for_without_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
