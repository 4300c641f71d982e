/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "fabric/memfd.h"
#include "fabric/sysv.h"
#include "util/explain.h"

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

/* ---- limits of file sizes ---- */

static bool limit_files(uint64_t bytes)
{
	return !setrlimit(RLIMIT_FSIZE, &(struct rlimit){ bytes, bytes });
}

/* The memory of the descriptor, mapped twice, and in parts. */
static int map_under_limit(void)
{
	char *whole = NULL, *part = NULL, *fixed;
	void *at;
	int fd;

	if (!limit_files(8192) || fabric_memfd_create("test", 1 << 20, &fd) ||
	    fabric_memfd_map(fd, 0, 1 << 20, &at))
		return BROKEN;
	whole = at;
	if (fabric_memfd_check(fd, 1 << 20) || !fabric_memfd_check(fd, 1 << 21) ||
	    !fabric_memfd_check(fd, 0))
		return BROKEN;
	if (fabric_memfd_map(fd, 65536, 4096, &at))
		return BROKEN;
	part = at;
	fixed = mmap(NULL, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (fabric_memfd_map_at(fd, 65536, 4096, fixed) ||
	    fabric_memfd_map_at(fd, 65536, 4096, fixed + 4096) ||
	    !fabric_memfd_map_at(fd, 1 << 20, 4096, fixed) ||
	    !fabric_memfd_map(fd, 65536, 1 << 20, &at))
		return BROKEN;
	whole[65536] = 7;
	if (part[0] != 7 || fixed[0] != 7 || fixed[4096] != 7 || whole[65537] || whole[0])
		return BROKEN;
	/* A copy of its own, with what was there. */
	fabric_memfd_make_private(fd, whole, 1 << 20);
	if (whole[65536] != 7 || whole[0])
		return BROKEN;
	whole[65536] = 8;
	return part[0] == 7 ? HOLES_KEPT : BROKEN;
}

static bool write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return done;
}

static int no_memory_at_all(void)
{
	int fd = -1;

	if (unshare(CLONE_NEWIPC) || !write_text("/proc/sys/kernel/shmmni", "0"))
		return NOT_ALLOWED;
	if (!limit_files(8192) || fabric_memfd_create("test", 1 << 20, &fd) != -EFBIG || fd != -1)
		return BROKEN;
	return strstr(explain_last(), "ulimit -f") ? HOLES_KEPT : BROKEN;
}

static int status_of(int (*fn)(void))
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid)
		_exit(fn());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void memory_under_a_limit_of_file_sizes_is_mapped_like_any_other(void **state)
{
	assert_int_equal(status_of(map_under_limit), HOLES_KEPT);
}

static void a_limit_without_system_v_memory_is_explained(void **state)
{
	int status = status_of(no_memory_at_all);

	if (status == NOT_ALLOWED) {
		print_message("System V memory cannot be forbidden here\n");
		skip();
	}
	assert_int_equal(status, HOLES_KEPT);
}

static void a_peer_cannot_pass_off_other_memory(void **state)
{
	int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_true(fd >= 0);
	assert_true(fabric_memfd_check(fd, 4096) < 0);
	assert_int_equal(lseek(fd, 0x7fffffff, SEEK_SET), 0x7fffffff);
	assert_true(fabric_memfd_check(fd, 4096) < 0);
	assert_int_equal(lseek(fd, 0x100000000, SEEK_SET), 0x100000000);
	assert_true(fabric_memfd_check(fd, 4096) < 0);
	close(fd);
}

/* ---- processes that are killed before they attach what they have made ---- */

/* The ids, for the process that waits. */
static struct made {
	int ours, foreign;
} * made;

static int make_and_die(void)
{
	made->foreign = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);
	return sysv_create(1 << 20, &made->ours) || made->foreign < 0 ? BROKEN : HOLES_KEPT;
}

static bool is_there(int id)
{
	struct shmid_ds ds;

	return !shmctl(id, IPC_STAT, &ds);
}

/* As a process that joins under a limit does. */
static int make_a_segment(void)
{
	void *base;
	int fd;

	if (!limit_files(8192))
		return BROKEN;
	return fabric_memfd_create_owned("test", 1 << 20, &fd, &base) ? BROKEN : HOLES_KEPT;
}

static void memory_that_was_never_attached_is_removed_after_its_process(void **state)
{
	int own;

	made = mmap(NULL, sizeof(*made), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(made, MAP_FAILED);
	assert_int_equal(sysv_create(1 << 20, &own), 0);
	assert_int_equal(status_of(make_and_die), HOLES_KEPT);
	assert_true(is_there(made->ours));
	assert_int_equal(status_of(make_a_segment), HOLES_KEPT);
	assert_false(is_there(made->ours));
	/* That of a process which is alive, and that of another program. */
	assert_true(is_there(own));
	assert_true(is_there(made->foreign));
	assert_int_equal(shmctl(own, IPC_RMID, NULL), 0);
	assert_int_equal(shmctl(made->foreign, IPC_RMID, NULL), 0);
	munmap(made, sizeof(*made));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(holes_stay_holes_in_a_program_that_locks_its_memory),
		cmocka_unit_test(a_range_that_cannot_be_mapped_is_an_error),
		cmocka_unit_test(memory_under_a_limit_of_file_sizes_is_mapped_like_any_other),
		cmocka_unit_test(a_limit_without_system_v_memory_is_explained),
		cmocka_unit_test(a_peer_cannot_pass_off_other_memory),
		cmocka_unit_test(memory_that_was_never_attached_is_removed_after_its_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
