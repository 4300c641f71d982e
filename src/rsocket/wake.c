/* SPDX-License-Identifier: BSD-2-Clause */
#include "rsocket/wake.h"

#include <errno.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "rsocket/state.h"
#include "util/explain.h"

/* So many are kept for the next call that sleeps. */
#define POOL_MAX 64

int rs_wake_fd_get(void)
{
	int fd = -1;

	pthread_mutex_lock(&rs_state.lock);
	if (rs_state.wake_fds.count)
		fd = rs_state.wake_fds.data[--rs_state.wake_fds.count];
	pthread_mutex_unlock(&rs_state.lock);
	if (fd >= 0)
		return fd;
	fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (fd < 0)
		return explain(errno, "no descriptor to sleep on: eventfd() failed");
	return fd;
}

void rs_wake_fd_clear(int fd)
{
	eventfd_t count;

	/* Without a wake-up since, the read fails with EAGAIN, and the eventfd is clear all the same. */
	if (eventfd_read(fd, &count))
		errno = 0;
}

void rs_wake_fd_put(int fd)
{
	int full;

	pthread_mutex_lock(&rs_state.lock);
	full = rs_state.wake_fds.count >= POOL_MAX || array_push(&rs_state.wake_fds, fd);
	pthread_mutex_unlock(&rs_state.lock);
	if (full)
		close(fd);
}

void rs_wake_others(const struct rs_sleepers *sleepers, int but_fd)
{
	const struct rs_sleeper *sleeper;

	LIST_FOREACH(sleeper, sleepers, link)
		if (sleeper->wake_fd != but_fd)
			eventfd_write(sleeper->wake_fd, 1);
}
