/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A wait is a poll over a copy of the set; a change of the set ends polls that are under way, and they
 * begin again with the new one. Events are reported as long as they are there (EPOLLET is taken for
 * that, too); EPOLLONESHOT is honoured.
 */
#include "rsocket/repoll.h"

#include <errno.h>
#include <rdma/rsocket.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "rsocket/poll.h"
#include "rsocket/result.h"
#include "rsocket/start.h"
#include "util/array.h"
#include "util/explain.h"

/* Events that epoll and poll have in common, with the same values. */
#define POLL_EVENTS                                                                                \
	(EPOLLIN | EPOLLPRI | EPOLLOUT | EPOLLERR | EPOLLHUP | EPOLLRDNORM | EPOLLWRNORM |         \
	 EPOLLRDHUP)
_Static_assert(EPOLLIN == POLLIN && EPOLLOUT == POLLOUT && EPOLLERR == POLLERR &&
		       EPOLLHUP == POLLHUP && EPOLLPRI == POLLPRI,
	       "events are passed on");

struct member {
	int fd;
	struct epoll_event event;
	bool disabled; /* EPOLLONESHOT has been reported */
};

struct instance {
	struct rs_entry entry; /* first */
	pthread_mutex_t lock;  /* all below */
	ARRAY_OF(struct member) members;
	struct rs_sleepers sleepers;
	uint32_t generation; /* changes of the set */
	_Atomic bool closed;
};

static int get_instance(int fd, struct instance **out)
{
	struct rs_entry *entry = rs_table_get(fd);

	if (!entry)
		return explain(EBADF, "descriptor %d is no repoll instance", fd);
	if (entry->kind != RS_EPOLL) {
		rs_table_put(entry);
		return explain(EINVAL, "descriptor %d is an rsocket, no repoll instance", fd);
	}
	*out = (struct instance *)entry;
	return 0;
}

VB_API int repoll_create(int flags)
{
	struct instance *ri;
	int fd, err = rs_start();

	if (!err && (flags & ~EPOLL_CLOEXEC))
		err = explain(EINVAL, "repoll_create takes EPOLL_CLOEXEC or 0, not %#x", flags);
	if (err)
		return rs_result(err);
	ri = calloc(1, sizeof(*ri));
	if (!ri)
		return rs_result(explain(ENOMEM, "no memory for a repoll instance"));
	ri->entry.kind = RS_EPOLL;
	pthread_mutex_init(&ri->lock, NULL);
	/* Only the number is used: nothing is ever written to the descriptor. */
	fd = eventfd(0, flags & EPOLL_CLOEXEC ? EFD_CLOEXEC : 0);
	if (fd < 0) {
		err = explain(errno, "no descriptor for a repoll instance");
		goto free_instance;
	}
	err = rs_table_add(&ri->entry, fd);
	if (err)
		goto close_fd;
	return fd;
close_fd:
	close(fd);
free_instance:
	pthread_mutex_destroy(&ri->lock);
	free(ri);
	return rs_result(err);
}

static struct member *find_member(struct instance *ri, int fd)
{
	for (size_t i = 0; i < ri->members.count; i++)
		if (ri->members.data[i].fd == fd)
			return &ri->members.data[i];
	return NULL;
}

static int change(struct instance *ri, int op, int fd, const struct epoll_event *event)
{
	struct member *member = find_member(ri, fd);

	if (op != EPOLL_CTL_DEL && !event)
		return explain(EFAULT, "repoll_ctl has no event");
	switch (op) {
	case EPOLL_CTL_ADD:
		if (member)
			return explain(EEXIST, "descriptor %d is in the set already", fd);
		return array_push(&ri->members, ((struct member){ .fd = fd, .event = *event }));
	case EPOLL_CTL_MOD:
		if (!member)
			return explain(ENOENT, "descriptor %d is not in the set", fd);
		*member = (struct member){ .fd = fd, .event = *event };
		return 0;
	case EPOLL_CTL_DEL:
		if (!member)
			return explain(ENOENT, "descriptor %d is not in the set", fd);
		array_remove(&ri->members, member - ri->members.data);
		return 0;
	default:
		return explain(EINVAL, "repoll_ctl has no operation %d", op);
	}
}

VB_API int repoll_ctl(int epfd, int op, int fd, struct epoll_event *event)
{
	struct instance *ri;
	int err;

	if (fd < 0)
		return rs_result(explain(EBADF, "%d is no descriptor", fd));
	if (fd == epfd)
		return rs_result(explain(EINVAL, "a repoll instance cannot watch itself"));
	err = get_instance(epfd, &ri);
	if (err)
		return rs_result(err);
	pthread_mutex_lock(&ri->lock);
	err = change(ri, op, fd, event);
	if (!err) {
		ri->generation++;
		rs_wake_others(&ri->sleepers, -1);
	}
	pthread_mutex_unlock(&ri->lock);
	rs_table_put(&ri->entry);
	return rs_result(err);
}

/* With the lock held: the set as poll() has it. */
static struct pollfd *copy_set(const struct instance *ri)
{
	struct pollfd *fds = calloc(ri->members.count + 1, sizeof(*fds));

	for (size_t i = 0; fds && i < ri->members.count; i++) {
		const struct member *member = &ri->members.data[i];

		fds[i].fd = member->disabled ? -1 : member->fd;
		fds[i].events = member->event.events & POLL_EVENTS;
	}
	return fds;
}

/* With the lock held: reports what is still in the set. */
static int report(struct instance *ri, const struct pollfd *fds, size_t count,
		  struct epoll_event *events, int most)
{
	int found = 0;

	for (size_t i = 0; i < count && found < most; i++) {
		struct member *member = fds[i].revents ? find_member(ri, fds[i].fd) : NULL;

		if (!member)
			continue;
		events[found++] = (struct epoll_event){ .events = (unsigned short)fds[i].revents,
							.data = member->event.data };
		if (member->event.events & EPOLLONESHOT)
			member->disabled = true;
	}
	return found;
}

/* A poll of the set as it is. 0: the time is over, or the set has changed. */
static int wait_once(struct instance *ri, struct epoll_event *events, int most, int timeout_ms)
{
	struct rs_poll_interrupt interrupt = { .lock = &ri->lock,
					       .sleepers = &ri->sleepers,
					       .generation = &ri->generation };
	struct pollfd *fds;
	size_t count;
	int ready;

	pthread_mutex_lock(&ri->lock);
	interrupt.seen = ri->generation;
	count = ri->members.count;
	fds = copy_set(ri);
	pthread_mutex_unlock(&ri->lock);
	if (!fds)
		return explain(ENOMEM, "no memory to wait for %zu descriptors", count);
	ready = rs_poll(fds, count, timeout_ms, &interrupt);
	if (ready > 0) {
		pthread_mutex_lock(&ri->lock);
		ready = report(ri, fds, count, events, most);
		pthread_mutex_unlock(&ri->lock);
	}
	free(fds);
	return ready;
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000ll + now.tv_nsec / 1000000;
}

VB_API int repoll_wait(int epfd, struct epoll_event *events, int maxevents, int timeout)
{
	const int64_t end = now_ms() + timeout;
	struct instance *ri;
	int ready, left = timeout;

	if (maxevents <= 0 || !events)
		return rs_result(explain(EINVAL, "repoll_wait has room for %d events", maxevents));
	ready = get_instance(epfd, &ri);
	if (ready)
		return rs_result(ready);
	do {
		ready = wait_once(ri, events, maxevents, left);
		if (timeout > 0)
			left = end > now_ms() ? end - now_ms() : 0;
	} while (!ready && left && !ri->closed);
	rs_table_put(&ri->entry);
	return ready < 0 ? rs_result(ready) : ready;
}

void rs_repoll_close(struct rs_entry *entry)
{
	struct instance *ri = (struct instance *)entry;

	pthread_mutex_lock(&ri->lock);
	ri->closed = true;
	ri->generation++;
	rs_wake_others(&ri->sleepers, -1);
	pthread_mutex_unlock(&ri->lock);
	rs_table_wait_unused(entry);
	close(entry->fd);
	array_fini(&ri->members);
	pthread_mutex_destroy(&ri->lock);
	free(ri);
}
