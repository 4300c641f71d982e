/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "fabric/memfd.h"

#define SIZE  (256ull << 20)
#define START (SIZE / 2)

enum { HOLES_KEPT, HOLES_FILLED, NOT_ALLOWED, BROKEN };

static uint64_t bytes_in(int fd)
{
	struct stat st;

	return fstat(fd, &st) ? UINT64_MAX : (uint64_t)st.st_blocks * 512;
}

/* In a process of its own: locks are for all that is mapped later. */
static int map_when_locked(void)
{
	void *base = NULL;
	int fd;

	if (mlockall(MCL_FUTURE))
		return NOT_ALLOWED;
	if (fabric_memfd_create("test", SIZE, &fd))
		return BROKEN;
	if (fabric_memfd_map(fd, START, SIZE - START, &base))
		return NOT_ALLOWED; /* more than may be locked */
	((char *)base)[SIZE - START - 1] = 1;
	if (pwrite(fd, "x", 1, START) != 1 || ((char *)base)[0] != 'x')
		return BROKEN;
	return bytes_in(fd) < SIZE / 16 ? HOLES_KEPT : HOLES_FILLED;
}

static void holes_stay_holes_in_a_program_that_locks_its_memory(void **state)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid)
		_exit(map_when_locked());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == NOT_ALLOWED) {
		print_message("memory may not be locked here\n");
		skip();
	}
	assert_int_equal(WEXITSTATUS(status), HOLES_KEPT);
}

static void a_range_that_cannot_be_mapped_is_an_error(void **state)
{
	void *base = state;
	int fd;

	assert_int_equal(fabric_memfd_create("test", SIZE, &fd), 0);
	assert_true(fabric_memfd_map(fd, 1, 4096, &base) < 0);
	assert_true(fabric_memfd_map(-1, 0, 4096, &base) < 0);
	assert_ptr_equal(base, state);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(holes_stay_holes_in_a_program_that_locks_its_memory),
		cmocka_unit_test(a_range_that_cannot_be_mapped_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
