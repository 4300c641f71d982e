/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel sends SIGXFSZ to the calling thread. It is blocked around the call, and taken away if
 * the call has caused it. Asking for the limit first would not do: another process may change it
 * meanwhile (prlimit).
 */
#include "util/file_limit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

#define ALLOCATE_TRIES 100

struct guard {
	sigset_t before;
	bool was_pending;
};

static void guard_enter(struct guard *g)
{
	sigset_t limit, pending;

	sigemptyset(&limit);
	sigaddset(&limit, SIGXFSZ);
	pthread_sigmask(SIG_BLOCK, &limit, &g->before);
	sigemptyset(&pending);
	sigpending(&pending);
	g->was_pending = sigismember(&pending, SIGXFSZ) == 1;
}

static int guard_leave(const struct guard *g, int err)
{
	const struct timespec at_once = { 0 };
	sigset_t limit;

	if (err == -EFBIG && !g->was_pending) {
		sigemptyset(&limit);
		sigaddset(&limit, SIGXFSZ);
		while (sigtimedwait(&limit, NULL, &at_once) < 0 && errno == EINTR)
			;
	}
	pthread_sigmask(SIG_SETMASK, &g->before, NULL);
	return err;
}

int file_resize(int fd, off_t size)
{
	struct guard g;

	guard_enter(&g);
	return guard_leave(&g, ftruncate(fd, size) ? -errno : 0);
}

int file_allocate(int fd, off_t at, off_t size)
{
	struct guard g;
	int err = EINTR;

	guard_enter(&g);
	/* A signal ends the call, which begins anew. */
	for (int i = 0; i < ALLOCATE_TRIES && err == EINTR; i++)
		err = posix_fallocate(fd, at, size);
	return guard_leave(&g, -err);
}

/* With at == -1: wherever the file stands. */
static int write_all(int fd, const char *bytes, size_t len, off_t at)
{
	while (len) {
		ssize_t n = at < 0 ? write(fd, bytes, len) : pwrite(fd, bytes, len, at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		bytes += n;
		len -= (size_t)n;
		at = at < 0 ? at : at + n;
	}
	return 0;
}

int file_write_at(int fd, const void *bytes, size_t len, off_t at)
{
	struct guard g;

	guard_enter(&g);
	return guard_leave(&g, write_all(fd, bytes, len, at));
}

int file_append(int fd, const void *bytes, size_t len)
{
	struct guard g;

	guard_enter(&g);
	return guard_leave(&g, write_all(fd, bytes, len, -1));
}
