/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory that cannot be shared: it is refused, and stays as it was. */
#include <pthread.h>
#include <sys/auxv.h>

#include "share_common.h"

/* What sharing needs for itself is mapped once, and would count as left behind. */
static int share_once(void **state)
{
	uint8_t *p = map_anon(PAGE);

	if (!share_range_get(p, PAGE))
		share_range_put(p, PAGE);
	munmap(p, PAGE);
	return 0;
}

/* The thread of TSan's runtime maps memory at any time, but not at every attempt. */
static void assert_refused(void *p, size_t n, int err)
{
	unsigned int maps, tries = under_tsan() ? 10 : 1;
	struct share_stats s;

	do {
		maps = count_maps();
		assert_int_equal(share_range_get(p, n), err);
		share_stats(&s);
		assert_int_equal(s.bytes, 0);
	} while (count_maps() != maps && --tries);
	assert_true(tries > 0);
}

static void the_callers_stack_is_refused(void **state)
{
	uint8_t here[PAGE];

	here[0] = 1;
	assert_refused(here, sizeof(here), -EOPNOTSUPP);
	assert_refused((void *)((uintptr_t)here - 16 * PAGE), PAGE, -EOPNOTSUPP);
}

static pthread_barrier_t barrier;

static void *show_stack(void *arg)
{
	uint8_t here[3 * PAGE];

	*(uint8_t **)arg = here;
	here[0] = 1;
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	return NULL;
}

static void another_threads_stack_is_refused(void **state)
{
	pthread_t thread;
	uint8_t *there;

	pthread_barrier_init(&barrier, NULL, 2);
	assert_int_equal(pthread_create(&thread, NULL, show_stack, &there), 0);
	pthread_barrier_wait(&barrier);
	assert_refused(there, 1, -EOPNOTSUPP);
	assert_refused(there - 100 * PAGE, PAGE, -EOPNOTSUPP);
	/* Its control block is at the upper end. */
	assert_refused((void *)thread, 1, -EOPNOTSUPP);
	pthread_barrier_wait(&barrier);
	pthread_join(thread, NULL);
}

/* The caller's stack has memory of the program right above it. */
static void *share_what_is_above(void *arg)
{
	return (void *)(intptr_t)share_range_get(arg, 3 * PAGE);
}

static void memory_right_above_a_stack_is_not_the_stack(void **state)
{
	size_t n = 1u << 20;
	uint8_t *p = map_anon(n + 3 * PAGE);
	pthread_attr_t attr;
	pthread_t thread;
	void *err;

	need_userfaultfd();
	memset(p + n, 9, 3 * PAGE);
	/* A mapping of its own, as a stack of libc's is. */
	assert_int_equal(madvise(p, n, MADV_NOHUGEPAGE), 0);
	pthread_attr_init(&attr);
	assert_int_equal(pthread_attr_setstack(&attr, p, n), 0);
	assert_int_equal(pthread_create(&thread, &attr, share_what_is_above, p + n), 0);
	pthread_join(thread, &err);
	pthread_attr_destroy(&attr);
	assert_null(err);
	assert_int_equal(file_byte(p + n), 9);
	share_range_put(p + n, 3 * PAGE);
	munmap(p, n + 3 * PAGE);
}

static void the_main_threads_control_block_is_refused(void **state)
{
	assert_refused((void *)pthread_self(), 1, -EOPNOTSUPP);
	assert_refused(&errno, 4, -EOPNOTSUPP);
}

static void files_and_shared_mappings_are_refused(void **state)
{
	char path[] = "/tmp/vb-share-XXXXXX";
	int fd = mkstemp(path);
	uint8_t *p, *q = map_anon(4 * PAGE);

	assert_int_equal(ftruncate(fd, 4 * PAGE), 0);
	p = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	p[0] = 1;
	assert_refused(p, 4 * PAGE, -EOPNOTSUPP);
	munmap(p, 4 * PAGE);
	p = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_refused(p, PAGE, -EOPNOTSUPP);
	munmap(p, 4 * PAGE);
	p = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_refused(p, PAGE, -EOPNOTSUPP);
	munmap(p, 4 * PAGE);
	/* Half of it would do, but half a range is no range. */
	p = mmap(q + 2 * PAGE, 2 * PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0);
	assert_ptr_equal(p, q + 2 * PAGE);
	assert_refused(q, 4 * PAGE, -EOPNOTSUPP);
	munmap(q, 4 * PAGE);
	unlink(path);
	close(fd);
}

static void huge_and_executable_and_kernel_pages_are_refused(void **state)
{
	void *vdso = (void *)getauxval(AT_SYSINFO_EHDR);
	uint8_t *p = map_anon(PAGE);

	if (vdso)
		assert_refused(vdso, PAGE, -EOPNOTSUPP);
	assert_int_equal(mprotect(p, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC), 0);
	assert_refused(p, PAGE, -EOPNOTSUPP);
	munmap(p, PAGE);
	p = mmap(NULL, 2u << 20, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_NORESERVE, -1, 0);
	if (p != MAP_FAILED) {
		assert_refused(p, PAGE, -EOPNOTSUPP);
		munmap(p, 2u << 20);
	}
}

static void a_range_that_is_not_mapped_is_a_fault(void **state)
{
	uint8_t *p = map_anon(4 * PAGE);

	munmap(p + PAGE, PAGE);
	assert_refused(p + PAGE, 1, -EFAULT);
	assert_refused(p, 4 * PAGE, -EFAULT);
	assert_refused(NULL, 10, -EFAULT);
	assert_refused((void *)UINTPTR_MAX, 10, -EFAULT);
	assert_refused(p, SIZE_MAX, -EFAULT);
	assert_int_equal(mprotect(p, PAGE, PROT_NONE), 0);
	assert_refused(p, 1, -EFAULT);
	munmap(p, 4 * PAGE);
}

static void share_nothing(void)
{
	uint8_t *p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	setenv("VERBENA_SHARE", "off", 1);
	check(share_range_get(p, PAGE) == -EOPNOTSUPP);
	check(!share_covers(p, 1));
	share_range_put(p, PAGE);
	/* Memory of our own is still to be had, just not shared. */
	p = share_alloc(3 * PAGE);
	check(p && !p[0] && !p[3 * PAGE - 1]);
	p[1] = 1;
	check(!share_covers(p, 1));
	share_free(p);
	/* The adapter's memory is not the user's to keep private. */
	p = share_alloc_device(3 * PAGE);
	check(p && share_covers(p, 3 * PAGE));
	share_free(p);
}

static void nothing_is_shared_when_the_user_says_so(void **state)
{
	in_child(share_nothing);
}

/* A program that closes whatever it does not know, and opens something else in its place. */
static void lose_descriptors(void)
{
	uint8_t *p =
		mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = share_fd();

	p[0] = 12;
	check(!share_range_get(p, PAGE));
	for (int i = 3; i < 100; i++)
		close(i);
	while (open("/dev/zero", O_RDWR) < fd)
		;
	check(share_range_get(p + PAGE, PAGE) == -EOPNOTSUPP);
	check(p[0] == 12);
	p[0]++;
	share_range_put(p, PAGE);
	check(p[0] == 13);
}

static void losing_the_descriptor_is_no_disaster(void **state)
{
	in_child(lose_descriptors);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_callers_stack_is_refused),
		cmocka_unit_test(another_threads_stack_is_refused),
		cmocka_unit_test(memory_right_above_a_stack_is_not_the_stack),
		cmocka_unit_test(the_main_threads_control_block_is_refused),
		cmocka_unit_test(files_and_shared_mappings_are_refused),
		cmocka_unit_test(huge_and_executable_and_kernel_pages_are_refused),
		cmocka_unit_test(a_range_that_is_not_mapped_is_a_fault),
		cmocka_unit_test(nothing_is_shared_when_the_user_says_so),
		cmocka_unit_test(losing_the_descriptor_is_no_disaster),
	};

	return cmocka_run_group_tests(tests, share_once, NULL);
}
