/* SPDX-License-Identifier: BSD-2-Clause */
/* Sharing ranges: what comes and goes, and what is left behind. */
#include <pthread.h>
#include <sched.h>
#include <sys/time.h>
#include <time.h>

#include "share_common.h"

static void fill(uint8_t *p, size_t n, unsigned int seed)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)(i * 31 + i / 251 + seed);
}

static void assert_filled(const uint8_t *p, size_t n, unsigned int seed)
{
	for (size_t i = 0; i < n; i++)
		if (p[i] != (uint8_t)(i * 31 + i / 251 + seed))
			fail_msg("byte %zu is %u", i, p[i]);
}

/* ---- coming and going ---- */

static void sharing_keeps_contents_and_connects_memory_with_the_file(void **state)
{
	size_t n = 37 * PAGE;
	uint8_t *p = map_anon(n);
	uint8_t b = 77;

	fill(p, n, 1);
	assert_int_equal(share_range_get(p, n), 0);
	assert_true(share_covers(p, n));
	assert_filled(p, n, 1);
	assert_int_equal(file_byte(p + 12345), p[12345]);
	p[12345] = 99;
	assert_int_equal(file_byte(p + 12345), 99);
	assert_int_equal(pwrite(share_fd(), &b, 1, (off_t)(uintptr_t)(p + n - 1)), 1);
	assert_int_equal(p[n - 1], 77);
	share_range_put(p, n);
	assert_int_equal(p[12345], 99);
	assert_int_equal(p[n - 1], 77);
	munmap(p, n);
}

static void the_last_put_makes_memory_private_again(void **state)
{
	size_t n = 64 * PAGE;
	uint8_t *p = map_anon(n), b = 200;
	unsigned int maps;

	fill(p, n, 2);
	/* The first use creates what stays; it does not count. */
	assert_int_equal(share_range_get(p, n), 0);
	share_range_put(p, n);
	maps = count_maps();
	assert_int_equal(share_range_get(p + 20 * PAGE, 10 * PAGE), 0);
	assert_true(count_maps() > maps);
	share_range_put(p + 20 * PAGE, 10 * PAGE);
	assert_false(share_covers(p + 20 * PAGE, 1));
	assert_int_equal(count_maps(), maps);
	assert_int_equal(file_blocks(), 0);
	assert_filled(p, n, 2);
	/* A process that still has the file cannot reach the memory. */
	assert_int_equal(pwrite(share_fd(), &b, 1, (off_t)(uintptr_t)(p + 20 * PAGE)), 1);
	assert_filled(p, n, 2);
	assert_int_equal(fallocate(share_fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
				   (off_t)(uintptr_t)(p + 20 * PAGE), PAGE),
			 0);
	munmap(p, n);
}

static void foreign_bytes_in_the_file_do_not_show(void **state)
{
	uint8_t *p = map_anon(4 * PAGE), b = 66;

	assert_int_equal(pwrite(share_fd(), &b, 1, (off_t)(uintptr_t)(p + PAGE)), 1);
	assert_int_equal(share_range_get(p, 4 * PAGE), 0);
	for (size_t i = 0; i < 4 * PAGE; i++)
		assert_int_equal(p[i], 0);
	share_range_put(p, 4 * PAGE);
	munmap(p, 4 * PAGE);
}

static void ranges_nest_overlap_and_touch(void **state)
{
	uint8_t *p = map_anon(10 * PAGE);
	struct share_stats s;

	fill(p, 10 * PAGE, 3);
	assert_int_equal(share_range_get(p + 2 * PAGE + 5, 100), 0);
	assert_true(share_covers(p + 2 * PAGE, PAGE));
	assert_false(share_covers(p + 2 * PAGE, PAGE + 1));
	assert_int_equal(share_range_get(p, 5 * PAGE), 0);
	assert_int_equal(share_range_get(p + 4 * PAGE + 1, 4 * PAGE), 0);
	share_stats(&s);
	assert_int_equal(s.bytes, 9 * PAGE);
	assert_int_equal(s.runs, 1);
	share_range_put(p, 5 * PAGE);
	assert_false(share_covers(p, PAGE));
	assert_true(share_covers(p + 2 * PAGE, PAGE));
	assert_false(share_covers(p + 3 * PAGE, PAGE));
	assert_true(share_covers(p + 4 * PAGE, 5 * PAGE));
	share_range_put(p + 4 * PAGE + 1, 4 * PAGE);
	assert_true(share_covers(p + 2 * PAGE, PAGE));
	share_range_put(p + 2 * PAGE + 5, 100);
	share_stats(&s);
	assert_int_equal(s.bytes, 0);
	assert_int_equal(s.segments, 0);
	assert_int_equal(s.runs, 0);
	assert_filled(p, 10 * PAGE, 3);
	munmap(p, 10 * PAGE);
}

static void any_sequence_of_ranges_agrees_with_counting(void **state)
{
	enum { PAGES = 48, LIVE = 40 };
	struct {
		size_t at, n;
	} live[LIVE];
	unsigned int refs[PAGES] = { 0 }, seed = 7, used = 0, maps;
	uint8_t *p = map_anon(PAGES * PAGE);
	struct share_stats s;

	fill(p, PAGES * PAGE, 4);
	maps = count_maps();
	for (unsigned int step = 0; step < 3000; step++) {
		unsigned int i = used;

		if (used && (used == LIVE || rand_r(&seed) % 2)) {
			i = (unsigned int)rand_r(&seed) % used;
			share_range_put(p + live[i].at, live[i].n);
		} else {
			live[i].at = (size_t)rand_r(&seed) % (PAGES * PAGE - 1);
			live[i].n = 1 + (size_t)rand_r(&seed) % (PAGES * PAGE - live[i].at);
			if (rand_r(&seed) % 2)
				live[i].n = live[i].n % (3 * PAGE) + 1;
			if (live[i].at + live[i].n > PAGES * PAGE)
				live[i].n = PAGES * PAGE - live[i].at;
			assert_int_equal(share_range_get(p + live[i].at, live[i].n), 0);
		}
		for (size_t k = live[i].at / PAGE; k * PAGE < live[i].at + live[i].n; k++)
			refs[k] += i == used ? 1 : -1;
		if (i == used)
			used++;
		else
			live[i] = live[--used];
		for (size_t k = 0; k < PAGES; k++)
			assert_int_equal(share_covers(p + k * PAGE, PAGE), refs[k] != 0);
		/* Write now and then: unchanged contents would prove little. */
		p[(size_t)rand_r(&seed) % PAGES * PAGE] ^= 0;
	}
	while (used) {
		used--;
		share_range_put(p + live[used].at, live[used].n);
	}
	assert_filled(p, PAGES * PAGE, 4);
	share_stats(&s);
	assert_int_equal(s.segments, 0);
	assert_int_equal(s.runs, 0);
	assert_int_equal(file_blocks(), 0);
	assert_int_equal(count_maps(), maps);
	munmap(p, PAGES * PAGE);
}

static void ten_thousand_cycles_leave_nothing(void **state)
{
	uint8_t *p = map_anon(16 * PAGE);
	unsigned int maps, fds;

	fill(p, 16 * PAGE, 5);
	assert_int_equal(share_range_get(p, 16 * PAGE), 0);
	share_range_put(p, 16 * PAGE);
	maps = count_maps();
	fds = count_fds();
	for (unsigned int i = 0; i < 10000; i++) {
		size_t at = i % 13 * PAGE + i % 100, n = 1 + i % (2 * PAGE);

		assert_int_equal(share_range_get(p + at, n), 0);
		share_range_put(p + at, n);
	}
	assert_int_equal(count_maps(), maps);
	assert_int_equal(count_fds(), fds);
	assert_int_equal(file_blocks(), 0);
	assert_filled(p, 16 * PAGE, 5);
	munmap(p, 16 * PAGE);
}

static double seconds(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Of this thread: what other processes do meanwhile does not count. */
static double cpu_seconds(void)
{
	return seconds(CLOCK_THREAD_CPUTIME_ID);
}

static void an_untouched_gigabyte_costs_neither_time_nor_memory(void **state)
{
	size_t n = 1u << 30;
	uint8_t *p = map_anon(n);
	double begin = cpu_seconds();
	long rss_before, rss_after;
	struct share_stats s;

	rss_before = file_blocks();
	assert_int_equal(share_range_get(p, n), 0);
	/* Touching it would take a hundred times as long. */
	assert_true(cpu_seconds() - begin < 0.1);
	rss_after = file_blocks();
	assert_int_equal(rss_before, rss_after);
	share_stats(&s);
	assert_int_equal(s.bytes, n);
	/* A page that is touched now exists for both. */
	p[n / 2] = 5;
	assert_int_equal(file_byte(p + n / 2), 5);
	assert_in_range(file_blocks(), 1, 64);
	begin = cpu_seconds();
	share_range_put(p, n);
	assert_true(cpu_seconds() - begin < 0.1);
	assert_int_equal(p[n / 2], 5);
	assert_int_equal(p[n / 2 + PAGE], 0);
	assert_int_equal(file_blocks(), 0);
	munmap(p, n);
}

static void pages_in_huge_pages_come_and_go(void **state)
{
	size_t n = 8u << 20;
	uint8_t *p = map_anon(n);

	if (madvise(p, n, MADV_HUGEPAGE)) {
		munmap(p, n);
		skip();
	}
	fill(p, n, 6);
	for (unsigned int i = 0; i < 3; i++) {
		assert_int_equal(share_range_get(p + PAGE * 3, n / 2), 0);
		assert_filled(p, n, 6);
		share_range_put(p + PAGE * 3, n / 2);
	}
	assert_filled(p, n, 6);
	munmap(p, n);
}

/* More than one stretch, with holes and with bytes that a peer left in the file. */
static void large_memory_comes_and_goes_in_parts(void **state)
{
	size_t n = 21u << 20;
	uint8_t *p = map_anon(n), b = 66;

	fill(p, n - (3u << 20), 12);
	assert_int_equal(pwrite(share_fd(), &b, 1, (off_t)(uintptr_t)(p + n - PAGE)), 1);
	assert_int_equal(pwrite(share_fd(), &b, 1, (off_t)(uintptr_t)(p + n / 2)), 1);
	assert_int_equal(share_range_get(p, n), 0);
	assert_filled(p, n - (3u << 20), 12);
	for (size_t i = n - (3u << 20); i < n; i++)
		assert_int_equal(p[i], 0);
	p[n - 1] = 5;
	assert_int_equal(file_byte(p + n - 1), 5);
	assert_int_equal(file_byte(p + 12345), p[12345]);
	/* What goes need not be whole blocks. */
	assert_int_equal(share_range_get(p + (5u << 20) + PAGE, 7u << 20), 0);
	share_range_put(p, n);
	assert_false(share_covers(p + (5u << 20), 1));
	assert_true(share_covers(p + (6u << 20), 6u << 20));
	assert_filled(p, n - (3u << 20), 12);
	assert_int_equal(p[n - 1], 5);
	assert_int_equal(file_byte(p + (6u << 20)), p[6u << 20]);
	share_range_put(p + (5u << 20) + PAGE, 7u << 20);
	assert_filled(p, n - (3u << 20), 12);
	assert_int_equal(file_blocks(), 0);
	munmap(p, n);
}

static void the_program_may_close_descriptors_that_it_does_not_know(void **state)
{
	uint8_t *p = map_anon(4 * PAGE);
	char path[32], name[64];
	int null = -1;

	fill(p, 4 * PAGE, 13);
	assert_int_equal(share_range_check(p, 4 * PAGE, true), 0);
	for (int fd = 3; fd < 64; fd++) {
		ssize_t len;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		len = readlink(path, name, sizeof(name) - 1);
		name[len > 0 ? len : 0] = 0;
		if (len > 0 && strstr(name, "/maps")) {
			null = open("/dev/null", O_RDWR | O_CLOEXEC);
			assert_int_equal(dup2(null, fd), fd);
			close(null);
			null = fd;
		}
	}
	assert_int_equal(share_range_check(p, 4 * PAGE, true), 0);
	assert_int_equal(share_range_check(p, 5000u * PAGE, true), -EFAULT);
	assert_int_equal(share_range_get(p, 4 * PAGE), 0);
	assert_filled(p, 4 * PAGE, 13);
	share_range_put(p, 4 * PAGE);
	if (null >= 0)
		assert_int_equal(close(null), 0);
	assert_int_equal(share_range_check(p, 4 * PAGE, true), 0);
	munmap(p, 4 * PAGE);
}

static void protections_are_kept_and_may_change_meanwhile(void **state)
{
	uint8_t *p = map_anon(6 * PAGE);
	char line[256], want[64];
	FILE *f;
	bool found = false;

	fill(p, 6 * PAGE, 7);
	assert_int_equal(mprotect(p + PAGE, PAGE, PROT_READ), 0);
	assert_int_equal(share_range_get(p, 6 * PAGE), 0);
	assert_filled(p, 6 * PAGE, 7);
	p[0] ^= 0;
	/* From outside it can be written, here it cannot: a read into it says so. */
	assert_int_equal(pwrite(share_fd(), p, 1, (off_t)(uintptr_t)(p + PAGE)), 1);
	p[PAGE * 2] ^= 0;
	assert_int_equal(pread(share_fd(), p + PAGE, 1, (off_t)(uintptr_t)p), -1);
	assert_int_equal(errno, EFAULT);
	assert_int_equal(mprotect(p + 4 * PAGE, PAGE, PROT_READ), 0);
	share_range_put(p, 6 * PAGE);
	snprintf(want, sizeof(want), "%lx-%lx r--p", (unsigned long)(p + 4 * PAGE),
		 (unsigned long)(p + 5 * PAGE));
	f = fopen("/proc/self/maps", "r");
	while (fgets(line, sizeof(line), f))
		found |= !strncmp(line, want, strlen(want));
	fclose(f);
	assert_true(found);
	munmap(p, 6 * PAGE);
}

static unsigned long locked_kib(void)
{
	FILE *f = fopen("/proc/self/status", "re");
	unsigned long kib = 0;
	char line[256];

	while (fgets(line, sizeof(line), f))
		sscanf(line, "VmLck: %lu", &kib);
	fclose(f);
	return kib;
}

static void locked_memory_stays_locked(void **state)
{
	uint8_t *p = map_anon(16 * PAGE);
	unsigned long before;

	fill(p, 16 * PAGE, 11);
	if (mlock(p, 16 * PAGE))
		skip();
	before = locked_kib();
	assert_int_equal(share_range_get(p, 16 * PAGE), 0);
	assert_true(locked_kib() >= before);
	share_range_put(p, 16 * PAGE);
	assert_int_equal(locked_kib(), before);
	assert_filled(p, 16 * PAGE, 11);
	munmap(p, 16 * PAGE);
}

/* Each thread has ranges of its own that overlap everybody else's. */
static void *share_and_write(void *arg)
{
	uint8_t *p = *(uint8_t **)arg;
	unsigned int id = (unsigned int)((uint8_t **)arg)[1][0], seed = id;
	uint8_t mine = 0;

	for (unsigned int i = 0; i < 300; i++) {
		size_t at = (size_t)rand_r(&seed) % (20 * PAGE);
		size_t n = 1 + (size_t)rand_r(&seed) % (8 * PAGE);

		if (share_range_get(p + at, n))
			return p;
		for (size_t k = 0; k < 28; k++)
			p[k * PAGE + id] = (uint8_t)(mine + 1);
		mine++;
		if (!share_covers(p + at, n))
			return p;
		share_range_put(p + at, n);
		for (size_t k = 0; k < 28; k++)
			if (p[k * PAGE + id] != mine)
				return p;
	}
	return NULL;
}

static void threads_share_overlapping_ranges(void **state)
{
	uint8_t *p = map_anon(28 * PAGE), ids[] = { 1, 2, 3, 4 };
	uint8_t *args[4][2];
	pthread_t thread[4];
	struct share_stats s;

	need_userfaultfd();
	for (unsigned int i = 0; i < 4; i++) {
		args[i][0] = p;
		args[i][1] = &ids[i];
		assert_int_equal(pthread_create(&thread[i], NULL, share_and_write, args[i]), 0);
	}
	for (unsigned int i = 0; i < 4; i++) {
		void *bad;

		pthread_join(thread[i], &bad);
		assert_null(bad);
	}
	share_stats(&s);
	assert_int_equal(s.segments, 0);
	assert_int_equal(file_blocks(), 0);
	munmap(p, 28 * PAGE);
}

/* ---- memory that goes away ---- */

static void memory_unmapped_while_shared_is_forgotten(void **state)
{
	uint8_t *p = map_anon(8 * PAGE);
	unsigned int maps = count_maps();
	struct share_stats s;

	fill(p, 8 * PAGE, 8);
	assert_int_equal(share_range_get(p, 8 * PAGE), 0);
	munmap(p + 2 * PAGE, 3 * PAGE);
	share_range_put(p, 8 * PAGE);
	share_stats(&s);
	assert_int_equal(s.segments, 0);
	assert_int_equal(file_blocks(), 0);
	assert_filled(p, 2 * PAGE, 8);
	assert_int_equal(munmap(p, 8 * PAGE), 0);
	assert_true(count_maps() <= maps);
}

static void memory_mapped_anew_while_shared_is_shared_anew(void **state)
{
	uint8_t *p = map_anon(8 * PAGE), *q;
	struct share_stats s;

	fill(p, 8 * PAGE, 9);
	assert_int_equal(share_range_get(p, 8 * PAGE), 0);
	q = mmap(p + PAGE, 2 * PAGE, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	assert_ptr_equal(q, p + PAGE);
	q[0] = 42;
	assert_int_equal(share_range_get(p, 4 * PAGE), 0);
	assert_int_equal(q[0], 42);
	assert_int_equal(q[1], 0);
	assert_int_equal(file_byte(q), 42);
	q[1] = 43;
	assert_int_equal(file_byte(q + 1), 43);
	share_range_put(p, 8 * PAGE);
	assert_true(share_covers(p, 4 * PAGE));
	assert_false(share_covers(p + 4 * PAGE, 1));
	share_range_put(p, 4 * PAGE);
	assert_int_equal(q[0], 42);
	assert_int_equal(q[1], 43);
	share_stats(&s);
	assert_int_equal(s.segments, 0);
	assert_int_equal(file_blocks(), 0);
	munmap(p, 8 * PAGE);
}

static void memory_moved_while_shared_keeps_its_contents(void **state)
{
	uint8_t *p = map_anon(8 * PAGE), *room = map_anon(32 * PAGE), *q;

	fill(p, 8 * PAGE, 10);
	assert_int_equal(share_range_get(p, 8 * PAGE), 0);
	q = mremap(p, 8 * PAGE, 8 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, room + 4 * PAGE);
	assert_ptr_equal(q, room + 4 * PAGE);
	share_range_put(p, 8 * PAGE);
	assert_filled(q, 8 * PAGE, 10);
	assert_int_equal(file_blocks(), 0);
	q[0]++;
	assert_int_equal(file_byte(p), 0);
	munmap(room, 32 * PAGE);
}

/* ---- memory of malloc ---- */

static void malloced_memory_lives_on(void **state)
{
	static const size_t sizes[] = { 24, 1000, 5000, 100000, 200000, 3000000 };

	for (unsigned int round = 0; round < 6; round++)
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			size_t n = sizes[i];
			uint8_t *p = malloc(n), *other;

			fill(p, n, round);
			assert_int_equal(share_range_get(p, n), 0);
			/* malloc goes on around it, on the same pages. */
			other = malloc(n);
			memset(other, 1, n);
			free(other);
			assert_filled(p, n, round);
			assert_int_equal(file_byte(p + n - 1), p[n - 1]);
			share_range_put(p, n);
			p = realloc(p, n * 2);
			assert_non_null(p);
			assert_filled(p, n, round);
			free(p);
		}
}

static void memory_freed_before_its_put_does_no_harm(void **state)
{
	struct share_stats s;

	for (unsigned int round = 0; round < 16; round++) {
		size_t n = round % 2 ? 3000 : 1u << 20;
		uint8_t *p = malloc(n), *q;
		volatile uintptr_t was = (uintptr_t)p;

		fill(p, n, round);
		assert_int_equal(share_range_get(p, n), 0);
		free(p);
		q = malloc(n);
		fill(q, n, round + 1);
		share_range_put((void *)was, n);
		assert_filled(q, n, round + 1);
		free(q);
	}
	share_stats(&s);
	assert_int_equal(s.segments, 0);
	assert_int_equal(file_blocks(), 0);
}

static atomic_bool stop;

static void *malloc_all_the_time(void *arg)
{
	unsigned int seed = (unsigned int)(uintptr_t)arg;
	uint8_t *p[64] = { 0 };
	size_t n[64] = { 0 };
	void *bad = NULL;

	while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
		unsigned int i = (unsigned int)rand_r(&seed) % 64;

		for (size_t k = 0; k < n[i]; k++)
			if (p[i][k] != (uint8_t)i)
				bad = p[i];
		free(p[i]);
		n[i] = 1 + (size_t)rand_r(&seed) % 3000;
		p[i] = malloc(n[i]);
		memset(p[i], (int)i, n[i]);
	}
	for (unsigned int i = 0; i < 64; i++)
		free(p[i]);
	return bad;
}

static void heaps_of_busy_threads_can_be_shared(void **state)
{
	pthread_t thread[2];
	uint8_t *p[40];

	need_userfaultfd();
	atomic_store(&stop, false);
	for (uintptr_t i = 0; i < 2; i++)
		assert_int_equal(
			pthread_create(&thread[i], NULL, malloc_all_the_time, (void *)(i + 1)), 0);
	for (unsigned int round = 0; round < 10; round++) {
		for (unsigned int i = 0; i < 40; i++) {
			p[i] = malloc(100 + i * 177);
			fill(p[i], 100 + i * 177, i);
			assert_int_equal(share_range_get(p[i], 100 + i * 177), 0);
		}
		for (unsigned int i = 0; i < 40; i++) {
			assert_filled(p[i], 100 + i * 177, i);
			share_range_put(p[i], 100 + i * 177);
			assert_filled(p[i], 100 + i * 177, i);
			free(p[i]);
		}
	}
	atomic_store(&stop, true);
	for (unsigned int i = 0; i < 2; i++) {
		void *bad;

		pthread_join(thread[i], &bad);
		assert_null(bad);
	}
}

/* ---- born shared ---- */

static void allocated_memory_is_shared_from_the_start(void **state)
{
	uint8_t *p = share_alloc(100000), *q = share_alloc(1);
	struct share_stats s;

	assert_non_null(p);
	assert_non_null(q);
	assert_true(share_covers(p, 100000));
	for (size_t i = 0; i < 100000; i++)
		assert_int_equal(p[i], 0);
	p[5000] = 3;
	assert_int_equal(file_byte(p + 5000), 3);
	/* A region on it comes and goes; the memory stays shared. */
	assert_int_equal(share_range_get(p, 100000), 0);
	share_range_put(p, 100000);
	assert_true(share_covers(p, 100000));
	assert_int_equal(p[5000], 3);
	/* A region that outlives it keeps nothing but its place in the books. */
	assert_int_equal(share_range_get(p + PAGE, PAGE), 0);
	share_free(p);
	assert_true(share_covers(p + PAGE, PAGE));
	share_range_put(p + PAGE, PAGE);
	share_free(q);
	share_free(NULL);
	share_stats(&s);
	assert_int_equal(s.segments, 0);
	assert_int_equal(file_blocks(), 0);
	assert_null(share_alloc(0));
	assert_null(share_alloc(SIZE_MAX));
}

/* ---- many ---- */

static void a_hundred_thousand_regions_side_by_side(void **state)
{
	enum { N = 100000 };
	uint8_t *p = map_anon((size_t)N * 64);
	struct share_stats s;
	unsigned int maps = count_maps();

	memset(p, 5, (size_t)N * 64);
	for (size_t i = 0; i < N; i++)
		assert_int_equal(share_range_get(p + i * 64, 64), 0);
	share_stats(&s);
	assert_int_equal(s.bytes, ((uint64_t)N * 64 + PAGE - 1) & ~(uint64_t)(PAGE - 1));
	assert_int_equal(s.runs, 1);
	/* Parked mappings are neighbours, too, where there is room to choose their place. */
	assert_true(under_tsan() || count_maps() < maps + 10);
	for (size_t i = 0; i < N; i++)
		share_range_put(p + i * 64, 64);
	share_stats(&s);
	assert_int_equal(s.segments, 0);
	assert_int_equal(count_maps(), maps);
	munmap(p, (size_t)N * 64);
}

static void the_program_keeps_its_share_of_mappings(void **state)
{
	enum { N = 40000 };
	uint8_t *p = map_anon((size_t)N * 2 * PAGE), *q;
	size_t got;

	for (got = 0; got < N; got++) {
		int err = share_range_get(p + got * 2 * PAGE, 1);

		if (err) {
			assert_int_equal(err, -EOPNOTSUPP);
			break;
		}
	}
	assert_in_range(got, 2000, N);
	/* It can still map things, and regions next to others can still be shared. */
	for (unsigned int i = 0; i < 1000; i++) {
		q = mmap(NULL, PAGE, i % 2 ? PROT_READ : PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);
		assert_ptr_not_equal(q, MAP_FAILED);
	}
	while (got--)
		share_range_put(p + got * 2 * PAGE, 1);
	munmap(p, (size_t)N * 2 * PAGE);
}

/* ---- signals ---- */

static volatile uint32_t *signal_word;

static void count_signal(int sig)
{
	*signal_word = *signal_word + 1;
}

static void signal_handlers_may_use_the_memory(void **state)
{
	struct itimerval often = { { 0, 200 }, { 0, 200 } }, never = { 0 };
	size_t n = 256 * PAGE;
	uint8_t *p = map_anon(n);
	double end = seconds(CLOCK_MONOTONIC) + 0.5;
	uint32_t seen;

	memset(p, 1, n);
	signal_word = (volatile uint32_t *)(void *)(p + n / 2);
	*signal_word = 0;
	signal(SIGALRM, count_signal);
	setitimer(ITIMER_REAL, &often, NULL);
	/* On a busy machine some come late. */
	while (seconds(CLOCK_MONOTONIC) < end ||
	       (*signal_word <= 10 && seconds(CLOCK_MONOTONIC) < end + 30)) {
		assert_int_equal(share_range_get(p, n), 0);
		share_range_put(p, n);
	}
	setitimer(ITIMER_REAL, &never, NULL);
	seen = *signal_word;
	assert_true(seen > 10);
	signal(SIGALRM, SIG_DFL);
	munmap(p, n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sharing_keeps_contents_and_connects_memory_with_the_file),
		cmocka_unit_test(the_last_put_makes_memory_private_again),
		cmocka_unit_test(foreign_bytes_in_the_file_do_not_show),
		cmocka_unit_test(ranges_nest_overlap_and_touch),
		cmocka_unit_test(any_sequence_of_ranges_agrees_with_counting),
		cmocka_unit_test(ten_thousand_cycles_leave_nothing),
		cmocka_unit_test(an_untouched_gigabyte_costs_neither_time_nor_memory),
		cmocka_unit_test(pages_in_huge_pages_come_and_go),
		cmocka_unit_test(large_memory_comes_and_goes_in_parts),
		cmocka_unit_test(the_program_may_close_descriptors_that_it_does_not_know),
		cmocka_unit_test(protections_are_kept_and_may_change_meanwhile),
		cmocka_unit_test(locked_memory_stays_locked),
		cmocka_unit_test(threads_share_overlapping_ranges),
		cmocka_unit_test(memory_unmapped_while_shared_is_forgotten),
		cmocka_unit_test(memory_mapped_anew_while_shared_is_shared_anew),
		cmocka_unit_test(memory_moved_while_shared_keeps_its_contents),
		cmocka_unit_test(malloced_memory_lives_on),
		cmocka_unit_test(memory_freed_before_its_put_does_no_harm),
		cmocka_unit_test(heaps_of_busy_threads_can_be_shared),
		cmocka_unit_test(allocated_memory_is_shared_from_the_start),
		cmocka_unit_test(a_hundred_thousand_regions_side_by_side),
		cmocka_unit_test(the_program_keeps_its_share_of_mappings),
		cmocka_unit_test(signal_handlers_may_use_the_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
