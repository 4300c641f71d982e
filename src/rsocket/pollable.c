/* SPDX-License-Identifier: BSD-2-Clause */
#include "rsocket/pollable.h"

#include <errno.h>
#include <poll.h>

#include "rsocket/endpoint.h"
#include "rsocket/progress.h"

#define READ_EVENTS  (POLLIN | POLLRDNORM)
#define WRITE_EVENTS (POLLOUT | POLLWRNORM)

/*
 * A poll for reading hears of data first and of the end when the data has been read: programs take
 * POLLHUP and POLLERR for the end of everything.
 */
static short connected_events(const struct rs_stream *s, short events)
{
	const bool data_first = s->rq.unread && (events & READ_EVENTS);
	short ready = 0;

	if (rs_can_receive(s))
		ready |= READ_EVENTS;
	if (rs_can_send_or_never(s))
		ready |= WRITE_EVENTS;
	if (!s->can_read)
		ready |= POLLRDHUP;
	if (s->phase == RS_DISCONNECTED && !data_first)
		ready |= POLLHUP;
	if (s->phase == RS_BROKEN && !data_first)
		ready |= POLLERR | POLLHUP;
	return ready;
}

static short stream_events(const struct rs_stream *s, short events)
{
	switch (s->phase) {
	case RS_LISTENING:
		return rs_can_accept(s) ? READ_EVENTS : 0;
	case RS_FAILED:
		return READ_EVENTS | WRITE_EVENTS | POLLERR;
	case RS_CONNECTED:
	case RS_DISCONNECTED:
	case RS_BROKEN:
		return connected_events(s, events);
	case RS_CLOSED:
		return POLLNVAL;
	default:
		return 0;
	}
}

static short check_stream(struct rs_stream *s, short events, bool arm, int *wait_fd)
{
	short ready;

	pthread_mutex_lock(&s->base.lock);
	*wait_fd = -1;
	if (rs_has_endpoint(s)) {
		/* Before looking: what comes later makes an event. */
		if (arm && rs_endpoint_arm(s))
			rs_stream_break(s, EIO);
		*wait_fd = s->ep.channel->fd;
	}
	rs_progress(s);
	ready = stream_events(s, events) & (events | POLLERR | POLLHUP | POLLNVAL);
	pthread_mutex_unlock(&s->base.lock);
	return ready;
}

short rs_pollable_check(struct rs_pollable *p, short events, bool arm, int *wait_fd)
{
	*wait_fd = -1;
	if (p->entry->kind == RS_STREAM)
		return check_stream(rs_to_stream(p->entry), events, arm, wait_fd);
	return POLLNVAL;
}

void rs_pollable_take(struct rs_pollable *p)
{
	if (p->entry->kind == RS_STREAM) {
		struct rs_stream *s = rs_to_stream(p->entry);

		pthread_mutex_lock(&s->base.lock);
		rs_endpoint_take_event(s);
		rs_wake_others(&s->base.sleepers, p->sleeper.wake_fd);
		pthread_mutex_unlock(&s->base.lock);
	}
}

void rs_pollable_enlist(struct rs_pollable *p, int wake_fd)
{
	struct rs_socket *s = (struct rs_socket *)p->entry;

	if (p->entry->kind == RS_EPOLL)
		return;
	p->sleeper.wake_fd = wake_fd;
	pthread_mutex_lock(&s->lock);
	LIST_INSERT_HEAD(&s->sleepers, &p->sleeper, link);
	pthread_mutex_unlock(&s->lock);
	p->listed = true;
}

void rs_pollable_delist(struct rs_pollable *p)
{
	struct rs_socket *s = (struct rs_socket *)p->entry;

	if (!p->listed)
		return;
	pthread_mutex_lock(&s->lock);
	LIST_REMOVE(&p->sleeper, link);
	pthread_mutex_unlock(&s->lock);
	p->listed = false;
}
