/* SPDX-License-Identifier: BSD-2-Clause */
#include "rsocket/service.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "rsocket/state.h"
#include "util/explain.h"

/*
 * Sleeping and fetching are two steps: an event is fetched with the lock held, under which watches
 * are removed, so its watch is there.
 */
static void *run(void *unused)
{
	struct pollfd sleep_on = { .fd = rs_state.service_epoll, .events = POLLIN };
	struct epoll_event event;

	for (;;) {
		poll(&sleep_on, 1, -1);
		rs_service_lock();
		if (epoll_wait(rs_state.service_epoll, &event, 1, 0) == 1) {
			struct rs_watch *watch = event.data.ptr;

			watch->ready(watch);
		}
		rs_service_unlock();
	}
	return unused;
}

int rs_service_start(void)
{
	sigset_t all, before;
	pthread_t thread;
	int err;

	rs_state.service_epoll = epoll_create1(EPOLL_CLOEXEC);
	if (rs_state.service_epoll < 0)
		return explain(errno, "rsockets' service thread has no epoll instance: %s",
			       strerror(errno));
	/* Signals are for the program's threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&thread, NULL, run, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (err) {
		close(rs_state.service_epoll);
		return explain(err, "rsockets' service thread cannot start: %s", strerror(err));
	}
	pthread_detach(thread);
	return 0;
}

int rs_service_watch(struct rs_watch *watch)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = watch };

	if (epoll_ctl(rs_state.service_epoll, EPOLL_CTL_ADD, watch->fd, &event))
		return explain(errno, "the service thread cannot watch descriptor %d: %s",
			       watch->fd, strerror(errno));
	return 0;
}

void rs_service_unwatch(struct rs_watch *watch)
{
	rs_service_lock();
	epoll_ctl(rs_state.service_epoll, EPOLL_CTL_DEL, watch->fd, NULL);
	rs_service_unlock();
}

void rs_service_lock(void)
{
	pthread_mutex_lock(&rs_state.service_lock);
}

void rs_service_unlock(void)
{
	pthread_mutex_unlock(&rs_state.service_lock);
}
