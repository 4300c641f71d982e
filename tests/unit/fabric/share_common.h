/* SPDX-License-Identifier: BSD-2-Clause */
/* What the tests of shared memory have in common. */
#ifndef TESTS_SHARE_COMMON_H
#define TESTS_SHARE_COMMON_H

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "fabric/share.h"
#include "fabric/share_alloc.h"
#include "fabric/share_types.h"
#include "fabric/share_view.h"

#define PAGE 4096u

/* Its runtime has a thread of its own, and keeps the address space to itself. */
static inline bool under_tsan(void)
{
	return !strcmp(VB_SANITIZE, "thread");
}

/* Containers forbid it at times; then only a lone thread can share memory. */
static inline bool has_userfaultfd(void)
{
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | 1 /* user mode only */);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

#define need_userfaultfd()                                                                         \
	do {                                                                                       \
		if (!has_userfaultfd())                                                            \
			skip();                                                                    \
	} while (0)

/* For code in a child process, where cmocka's asserts would go on with the parent's tests. */
#define check(x)                                                                                   \
	do {                                                                                       \
		if (!(x)) {                                                                        \
			fprintf(stderr, "%s:%d: %s (errno %d)\n", __FILE__, __LINE__, #x, errno);  \
			_exit(99);                                                                 \
		}                                                                                  \
	} while (0)

static inline void assert_exits_well(pid_t pid)
{
	int status;

	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* Runs fn in a process of its own, which may change what it likes about itself. */
static inline void in_child(void (*fn)(void))
{
	pid_t pid = fork();

	if (!pid) {
		alarm(120);
		fn();
		_exit(0);
	}
	assert_exits_well(pid);
}

static inline uint8_t *map_anon(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	return p;
}

/* The memfd's bytes at the place of an address. */
static inline uint8_t file_byte(const void *va)
{
	uint8_t b = 0;

	if (pread(share_fd(), &b, 1, (off_t)(uintptr_t)va) != 1)
		abort();
	return b;
}

static inline long file_blocks(void)
{
	struct stat st;

	if (fstat(share_fd(), &st))
		abort();
	return (long)st.st_blocks;
}

static inline unsigned int count_lines(const char *path)
{
	static char buf[65536];
	unsigned int n = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got;

	while ((got = read(fd, buf, sizeof(buf))) > 0)
		for (ssize_t i = 0; i < got; i++)
			n += buf[i] == '\n';
	close(fd);
	return n;
}

static inline unsigned int count_maps(void)
{
	return count_lines("/proc/self/maps");
}

static inline unsigned int count_fds(void)
{
	struct stat st;
	unsigned int n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += !fstat(fd, &st);
	return n;
}

/* An ordinary user's process, with an ordinary user's userfaultfd. */
static inline void become_nobody(void)
{
	if (!geteuid())
		check(!setresgid(65534, 65534, 65534) && !setresuid(65534, 65534, 65534));
	check(!prctl(PR_SET_DUMPABLE, 1));
}

/*
 * What a container does, or a kernel that is out of something: from now on the call fails, always
 * (arg < 0), or when the low half of one argument has this value.
 */
static inline int filter_call(long nr, int arg, uint32_t value, unsigned int action,
			      unsigned int flags)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned int)nr, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args) +
							   8 * (unsigned int)(arg < 0 ? 0 : arg)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { .len = 6, .filter = filter };

	if (arg < 0)
		filter[3] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action);
	check(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &prog);
}

static inline void forbid(long nr, int arg, uint32_t value, unsigned int action)
{
	check(!filter_call(nr, arg, value, action, 0));
}

#define FAIL_WITH(err) (SECCOMP_RET_ERRNO | (err))

#endif
