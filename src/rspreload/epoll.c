/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An edge-triggered watch is reported when the socket is ready and the program has called it since the
 * last report. So a program may get one report too many, but never misses one.
 */
#include "rspreload/epoll.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <rdma/rsocket.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "rspreload/lookup.h"
#include "rspreload/real.h"
#include "util/array.h"

_Static_assert(EPOLLIN == POLLIN && EPOLLOUT == POLLOUT && EPOLLPRI == POLLPRI, "same bits");
_Static_assert(EPOLLERR == POLLERR && EPOLLHUP == POLLHUP, "same bits");

#define LEVELS (EPOLLIN | EPOLLPRI | EPOLLOUT | EPOLLRDHUP | EPOLLRDNORM | EPOLLWRNORM)
#define ALWAYS (EPOLLERR | EPOLLHUP)

struct watch {
	int number, rs;
	uint32_t silent; /* events not to report: edges that were, or all after a one-shot */
	struct epoll_event event;
};

struct rsp_epoll {
	int epfd;
	/* Readable while a waiting thread does not know of a change of the watches. */
	int wake;
	unsigned int changes, waiting, stale; /* stale: waiting since before the last change */
	size_t first;                         /* watch to report first, so that each gets a turn */
	ARRAY_OF(struct watch) watches;
	LIST_ENTRY(rsp_epoll) entry;
};

static struct rsp_epoll *find(int epfd)
{
	struct rsp_epoll *ep;

	LIST_FOREACH(ep, &rsp.epolls, entry)
		if (ep->epfd == epfd)
			return ep;
	return NULL;
}

static struct watch *find_watch(struct rsp_epoll *ep, int number)
{
	size_t i;

	for (i = 0; i < ep->watches.count; i++)
		if (ep->watches.data[i].number == number)
			return &ep->watches.data[i];
	return NULL;
}

static void changed(struct rsp_epoll *ep)
{
	const uint64_t one = 1;

	ep->changes++;
	if (!ep->waiting)
		return;
	if (!ep->stale && REAL(write)(ep->wake, &one, sizeof(one)) < 0)
		return;
	ep->stale = ep->waiting;
}

static void remove_watch(struct rsp_epoll *ep, struct watch *watch)
{
	array_remove(&ep->watches, watch - ep->watches.data);
	changed(ep);
}

void rsp_epoll_close(int epfd)
{
	struct rsp_epoll *ep = find(epfd);

	if (!ep)
		return;
	LIST_REMOVE(ep, entry);
	array_fini(&ep->watches);
	REAL(close)(ep->wake);
	free(ep);
}

void rsp_epoll_forget(int number)
{
	struct rsp_epoll *ep;
	struct watch *watch;

	LIST_FOREACH(ep, &rsp.epolls, entry) {
		watch = find_watch(ep, number);
		if (watch)
			remove_watch(ep, watch);
	}
}

void rsp_epoll_hand_over(int number)
{
	struct rsp_epoll *ep;
	struct watch *watch;

	LIST_FOREACH(ep, &rsp.epolls, entry) {
		watch = find_watch(ep, number);
		if (watch)
			REAL(epoll_ctl)(ep->epfd, EPOLL_CTL_ADD, number, &watch->event);
	}
	rsp_epoll_forget(number);
}

void rsp_epoll_touch(int number, unsigned int events)
{
	struct rsp_epoll *ep;
	struct watch *watch;
	int err = errno;

	rsp_lock();
	LIST_FOREACH(ep, &rsp.epolls, entry) {
		watch = find_watch(ep, number);
		if (!watch || !(watch->event.events & EPOLLET) || !(watch->silent & LEVELS))
			continue;
		watch->silent &= ~(events | ALWAYS | EPOLLRDHUP);
		changed(ep);
	}
	rsp_unlock();
	errno = err;
}

static int create(int epfd, struct rsp_epoll **out)
{
	struct epoll_event none = { 0 };
	struct rsp_epoll *ep;
	int err;

	ep = calloc(1, sizeof(*ep));
	if (!ep)
		return -ENOMEM;
	ep->epfd = epfd;
	ep->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (ep->wake < 0) {
		err = -errno;
		goto free_ep;
	}
	/* Only an epoll instance says that it does not know the descriptor. */
	if (REAL(epoll_ctl)(epfd, EPOLL_CTL_MOD, ep->wake, &none) && errno != ENOENT) {
		err = -errno;
		goto close_wake;
	}
	err = rsp_table_reserve(&rsp.table, epfd);
	if (err)
		goto close_wake;
	LIST_INSERT_HEAD(&rsp.epolls, ep, entry);
	rsp_table_set(&rsp.table, epfd, RSP_EPOLL, 0);
	*out = ep;
	return 0;

close_wake:
	REAL(close)(ep->wake);
free_ep:
	free(ep);
	return err;
}

static void set_event(struct rsp_epoll *ep, struct watch *watch, const struct epoll_event *event)
{
	struct rsp_slot *slot = rsp_table_slot(&rsp.table, watch->number);

	watch->event = *event;
	watch->silent = 0;
	if (event->events & EPOLLET)
		atomic_store_explicit(&slot->edge, 1, memory_order_relaxed);
	changed(ep);
}

static int add(struct rsp_epoll *ep, int epfd, int number, int rs, const struct epoll_event *event)
{
	struct watch watch = { .number = number, .rs = rs };
	int err = ep ? 0 : create(epfd, &ep);

	if (!err)
		err = array_push(&ep->watches, watch);
	if (!err)
		set_event(ep, &ep->watches.data[ep->watches.count - 1], event);
	return err;
}

static int change(int epfd, int op, int number, int rs, const struct epoll_event *event)
{
	struct rsp_epoll *ep = find(epfd);
	struct watch *watch = ep ? find_watch(ep, number) : NULL;

	if (op == EPOLL_CTL_ADD)
		return watch ? -EEXIST : add(ep, epfd, number, rs, event);
	if (!watch)
		return -ENOENT;
	if (op == EPOLL_CTL_MOD)
		set_event(ep, watch, event);
	else
		remove_watch(ep, watch);
	return 0;
}

VB_API int epoll_ctl(int epfd, int op, int number, struct epoll_event *event)
{
	int rs = op == EPOLL_CTL_ADD ? rsp_lookup_data(number) : rsp_lookup(number), err;

	if (rs < 0)
		return REAL(epoll_ctl)(epfd, op, number, event);
	if (op != EPOLL_CTL_DEL && !event) {
		errno = EFAULT;
		return -1;
	}
	rsp_lock();
	err = change(epfd, op, number, rs, event);
	rsp_unlock();
	if (!err)
		return 0;
	errno = -err;
	return -1;
}

/* Descriptors and events for poll(), which leaves descriptors below 0 out. */
static struct pollfd to_pollfd(const struct watch *watch)
{
	struct pollfd pfd = { .fd = watch->rs };

	pfd.events = (short)(watch->event.events & LEVELS & ~watch->silent);
	if (watch->silent & ALWAYS)
		pfd.fd = -1;
	return pfd;
}

enum { WAKE, KERNEL, RSOCKETS };

/* Under the lock. The descriptors of one epoll_wait(); NULL without memory. */
static struct pollfd *begin_wait(struct rsp_epoll *ep, nfds_t *n, unsigned int *changes)
{
	struct pollfd *fds;
	size_t i;

	*n = RSOCKETS + ep->watches.count;
	fds = malloc(*n * sizeof(*fds));
	if (!fds)
		return NULL;
	fds[WAKE] = (struct pollfd){ .fd = ep->wake, .events = POLLIN };
	fds[KERNEL] = (struct pollfd){ .fd = ep->epfd, .events = POLLIN };
	for (i = 0; i < ep->watches.count; i++)
		fds[RSOCKETS + i] = to_pollfd(&ep->watches.data[i]);
	*changes = ep->changes;
	ep->waiting++;
	return fds;
}

static void end_wait(struct rsp_epoll *ep, unsigned int changes)
{
	uint64_t count;

	ep->waiting--;
	if (changes == ep->changes || --ep->stale)
		return;
	if (REAL(read)(ep->wake, &count, sizeof(count)) < 0)
		return; /* EAGAIN: writing it failed */
}

/* The watch may have gone, or have another index, since the wait began. */
static struct watch *watch_of(struct rsp_epoll *ep, size_t index, int rs)
{
	size_t i;

	if (index < ep->watches.count && ep->watches.data[index].rs == rs)
		return &ep->watches.data[index];
	for (i = 0; i < ep->watches.count; i++)
		if (ep->watches.data[i].rs == rs)
			return &ep->watches.data[i];
	return NULL;
}

static bool report(struct watch *watch, short revents, struct epoll_event *event)
{
	uint32_t wanted = (watch->event.events & LEVELS) | ALWAYS;
	uint32_t now = (uint32_t)(unsigned short)revents & wanted & ~watch->silent;

	if (!now)
		return false;
	event->events = now;
	event->data = watch->event.data;
	if (watch->event.events & EPOLLONESHOT)
		watch->silent = LEVELS | ALWAYS;
	else if (watch->event.events & EPOLLET)
		watch->silent |= now;
	return true;
}

static int collect(struct rsp_epoll *ep, const struct pollfd *fds, nfds_t n,
		   struct epoll_event *events, int max)
{
	size_t i, at, count = n - RSOCKETS;
	struct watch *watch;
	int found = 0;

	for (i = 0; i < count && found < max; i++) {
		at = (ep->first + i) % count;
		if (fds[RSOCKETS + at].fd < 0 || !fds[RSOCKETS + at].revents)
			continue;
		watch = watch_of(ep, at, fds[RSOCKETS + at].fd);
		if (watch && report(watch, fds[RSOCKETS + at].revents, &events[found]))
			found++;
	}
	ep->first += i;
	return found;
}

/* One wait: events, 0 when there were none in time, -EAGAIN when there may be some later. */
static int wait_once(int epfd, struct epoll_event *events, int max, int timeout)
{
	struct rsp_epoll *ep;
	unsigned int changes = 0;
	struct pollfd *fds = NULL;
	int ready, err, found = 0;
	nfds_t n = 0;

	rsp_lock();
	ep = find(epfd);
	if (ep)
		fds = begin_wait(ep, &n, &changes);
	rsp_unlock();
	if (!fds)
		return ep ? -ENOMEM : -EBADF;
	ready = rpoll(fds, n, timeout);
	err = ready < 0 ? -errno : ready ? -EAGAIN : 0;
	rsp_lock();
	ep = find(epfd);
	if (ep) {
		end_wait(ep, changes);
		if (ready > 0)
			found = collect(ep, fds, n, events, max);
	}
	rsp_unlock();
	if (ready > 0 && fds[KERNEL].revents && found < max)
		found += REAL(epoll_pwait)(epfd, events + found, max - found, 0, NULL);
	free(fds);
	return found > 0 ? found : ep ? err : -EBADF;
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

static int wait_for_events(int epfd, struct epoll_event *events, int max, int timeout)
{
	int64_t end = timeout > 0 ? now_ms() + timeout : 0, left;
	int ret;

	while ((ret = wait_once(epfd, events, max, timeout)) == -EAGAIN)
		if (timeout > 0) {
			left = end - now_ms();
			timeout = left > 0 ? (int)left : 0;
		} else if (!timeout) {
			return 0;
		}
	if (ret >= 0)
		return ret;
	errno = -ret;
	return -1;
}

VB_API int epoll_pwait(int epfd, struct epoll_event *events, int max, int timeout,
		       const sigset_t *mask)
{
	sigset_t old;
	int rs, ret;

	if (rsp_table_get(&rsp.table, epfd, &rs) != RSP_EPOLL)
		return REAL(epoll_pwait)(epfd, events, max, timeout, mask);
	if (max <= 0) {
		errno = EINVAL;
		return -1;
	}
	if (mask)
		pthread_sigmask(SIG_SETMASK, mask, &old);
	ret = wait_for_events(epfd, events, max, timeout);
	if (mask)
		pthread_sigmask(SIG_SETMASK, &old, NULL);
	return ret;
}

VB_API int epoll_wait(int epfd, struct epoll_event *events, int max, int timeout)
{
	return epoll_pwait(epfd, events, max, timeout, NULL);
}
