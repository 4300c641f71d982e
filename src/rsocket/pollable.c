/* SPDX-License-Identifier: BSD-2-Clause */
#include "rsocket/pollable.h"

#include <poll.h>

#include "rsocket/socket.h"

static struct rs_socket *socket_of(struct rs_pollable *p)
{
	return p->entry->kind == RS_EPOLL ? NULL : (struct rs_socket *)p->entry;
}

short rs_pollable_check(struct rs_pollable *p, short events, bool arm, int *wait_fd)
{
	struct rs_socket *s = socket_of(p);
	short ready;

	*wait_fd = -1;
	if (!s)
		return POLLNVAL;
	pthread_mutex_lock(&s->lock);
	/* Before looking: what comes later makes the descriptor readable. */
	if (arm)
		*wait_fd = s->ops->arm(s);
	s->ops->progress(s);
	ready = s->ops->events(s, events) & (events | POLLERR | POLLHUP | POLLNVAL);
	pthread_mutex_unlock(&s->lock);
	return ready;
}

void rs_pollable_take(struct rs_pollable *p)
{
	struct rs_socket *s = socket_of(p);

	pthread_mutex_lock(&s->lock);
	s->ops->take(s);
	rs_wake_others(&s->sleepers, p->sleeper.wake_fd);
	pthread_mutex_unlock(&s->lock);
}

void rs_pollable_enlist(struct rs_pollable *p, int wake_fd)
{
	struct rs_socket *s = socket_of(p);

	if (!s)
		return;
	p->sleeper.wake_fd = wake_fd;
	pthread_mutex_lock(&s->lock);
	LIST_INSERT_HEAD(&s->sleepers, &p->sleeper, link);
	pthread_mutex_unlock(&s->lock);
	p->listed = true;
}

void rs_pollable_delist(struct rs_pollable *p)
{
	struct rs_socket *s = socket_of(p);

	if (!p->listed)
		return;
	pthread_mutex_lock(&s->lock);
	LIST_REMOVE(&p->sleeper, link);
	pthread_mutex_unlock(&s->lock);
	p->listed = false;
}
