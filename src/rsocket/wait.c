/* SPDX-License-Identifier: BSD-2-Clause */
#include "rsocket/wait.h"

#include <errno.h>
#include <poll.h>
#include <time.h>

#include "rsocket/state.h"

static uint64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000ull + now.tv_nsec / 1000;
}

/* Other threads get a chance at the lock in between. */
static bool spin(struct rs_socket *s, rs_condition holds)
{
	const uint64_t end = now_us() + rs_state.config.polling_us;

	do {
		pthread_mutex_unlock(&s->lock);
		pthread_mutex_lock(&s->lock);
		s->ops->progress(s);
		if (holds(s))
			return true;
	} while (now_us() <= end);
	return false;
}

/* Sleeps until something happens on the socket. */
static int sleep_once(struct rs_socket *s, int wait_fd, int wake_fd)
{
	struct pollfd fds[2] = { { .fd = wake_fd, .events = POLLIN },
				 { .fd = wait_fd, .events = POLLIN } };
	int err = 0;

	pthread_mutex_unlock(&s->lock);
	if (poll(fds, 2, -1) < 0)
		err = -errno;
	if (!err && fds[0].revents)
		rs_wake_fd_clear(wake_fd);
	pthread_mutex_lock(&s->lock);
	if (!err && fds[1].revents) {
		s->ops->take(s);
		rs_wake_others(&s->sleepers, wake_fd);
	}
	return err;
}

static int sleep_until(struct rs_socket *s, rs_condition holds)
{
	struct rs_sleeper sleeper = { .wake_fd = rs_wake_fd_get() };
	int err = 0;

	if (sleeper.wake_fd < 0)
		return sleeper.wake_fd;
	LIST_INSERT_HEAD(&s->sleepers, &sleeper, link);
	do {
		const int wait_fd = s->ops->arm(s);

		/* After arming: a completion from now on makes the descriptor readable. */
		s->ops->progress(s);
		if (holds(s))
			break;
		err = sleep_once(s, wait_fd, sleeper.wake_fd);
		s->ops->progress(s);
	} while (!err && !holds(s));
	LIST_REMOVE(&sleeper, link);
	rs_wake_fd_put(sleeper.wake_fd);
	return holds(s) ? 0 : err;
}

int rs_wait_until(struct rs_socket *s, bool nonblock, rs_condition holds)
{
	s->ops->progress(s);
	if (holds(s))
		return 0;
	if (nonblock)
		return -EAGAIN;
	return spin(s, holds) ? 0 : sleep_until(s, holds);
}
