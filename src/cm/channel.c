/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Event channels and the events in them. cm.lock guards all of it.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "cm/channel.h"
#include "cm/device.h"
#include "cm/result.h"
#include "cm/state.h"
#include "util/explain.h"

int cm_channel_create(struct cm_channel **out)
{
	struct cm_channel *channel;
	int err;

	channel = calloc(1, sizeof(*channel));
	if (!channel)
		return explain(ENOMEM, "no memory for an event channel");
	TAILQ_INIT(&channel->queue);
	LIST_INIT(&channel->ids);

	channel->pub.fd = eventfd(0, EFD_CLOEXEC);
	if (channel->pub.fd < 0) {
		err = explain(errno, "no descriptor for an event channel; the process may have "
				     "reached its limit of open files");
		goto free_channel;
	}

	channel->signal.fd = channel->pub.fd;
	cm_lock();
	cm_handle_add(&channel->handle, CM_CHANNEL, &channel->pub);
	cm_unlock();
	*out = channel;
	return 0;
free_channel:
	free(channel);
	return err;
}

void cm_channel_set(struct cm_id *id, struct cm_channel *channel)
{
	if (id->channel)
		LIST_REMOVE(id, channel_link);
	if (channel)
		LIST_INSERT_HEAD(&channel->ids, id, channel_link);
	id->channel = channel;
}

/* An id that outlives its channel has none any more, and its events are dropped. */
static void detach_ids(struct cm_channel *channel)
{
	struct cm_id *id;

	while ((id = LIST_FIRST(&channel->ids))) {
		explain_note("an event channel is destroyed while id %p still reports to it; "
			     "destroy or migrate the id first",
			     (void *)&id->pub);
		id->pub.channel = NULL;
		cm_channel_set(id, NULL);
	}
}

static void unlink_event(struct cm_event *event)
{
	TAILQ_REMOVE(&event->channel->queue, event, queue_link);
	TAILQ_REMOVE(&event->owner->events, event, owner_link);
}

static void drop(struct cm_event *event)
{
	if (event->drop)
		event->drop(event);
	free(event);
}

void cm_channel_destroy(struct cm_channel *channel)
{
	struct cm_event *event;

	cm_lock();
	cm_handle_remove(&channel->handle);
	detach_ids(channel);
	while ((event = TAILQ_FIRST(&channel->queue))) {
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): the last one was unlinked */
		unlink_event(event);
		drop(event);
	}
	cm_signal_close(&cm.signals, &channel->signal);
	cm_unlock();
	free(channel);
}

struct cm_channel *cm_channel_find(const struct rdma_event_channel *public)
{
	struct cm_handle *handle = cm_handle_find(CM_CHANNEL, public);

	return handle ? container_of(handle, struct cm_channel, handle) : NULL;
}

static void push(struct cm_channel *channel, struct cm_event *event)
{
	event->channel = channel;
	TAILQ_INSERT_TAIL(&channel->queue, event, queue_link);
	TAILQ_INSERT_TAIL(&event->owner->events, event, owner_link);
	cm_signal_raise(&cm.signals, &channel->signal);
}

static void pull(struct cm_event *event)
{
	struct cm_channel *channel = event->channel;

	unlink_event(event);
	if (TAILQ_EMPTY(&channel->queue))
		cm_signal_clear(&cm.signals, &channel->signal);
}

struct cm_event *cm_event_create(struct cm_id *owner, enum rdma_cm_event_type type, int status)
{
	struct cm_event *event = calloc(1, sizeof(*event));

	if (!event) {
		explain(ENOMEM, "no memory for an event");
		return NULL;
	}
	event->owner = owner;
	event->pub.id = &owner->pub;
	event->pub.event = type;
	event->pub.status = status;
	return event;
}

void cm_event_post(struct cm_event *event)
{
	struct cm_channel *channel = cm_channel_find(event->owner->pub.channel);

	if (channel)
		push(channel, event);
	else
		drop(event);
}

void cm_event_withdraw(struct cm_event *event)
{
	pull(event);
	drop(event);
}

void cm_event_purge(struct cm_id *id)
{
	struct cm_event *event;

	while ((event = TAILQ_FIRST(&id->events)))
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): the last one was unlinked */
		cm_event_withdraw(event);
}

void cm_event_move(struct cm_id *id, struct cm_channel *to)
{
	struct cm_event *event;

	/* Moved events go to the end of the id's list: the first one that is there ends the loop. */
	while ((event = TAILQ_FIRST(&id->events)) && event->channel != to) {
		pull(event);
		push(to, event);
	}
}

void cm_event_wait_acked(struct cm_id *id)
{
	if (id->events_reported) {
		explain_note("waiting until %d reported events of id %p are acknowledged with "
			     "rdma_ack_cm_event",
			     id->events_reported, (void *)&id->pub);
		/* Signals leave before the wait releases the lock. */
		cm_unlock();
		cm_lock();
	}
	while (id->events_reported)
		pthread_cond_wait(&cm.event_acked, &cm.lock);
}

/* Takes the oldest event: 0, or -EAGAIN when there is no event. *fd is the channel's in both cases. */
static int take(struct rdma_event_channel *public, struct cm_event **out, int *fd)
{
	struct cm_channel *channel;
	struct cm_event *event;
	int err = 0;

	cm_lock();
	channel = cm_channel_find(public);
	if (!channel) {
		err = -EINVAL;
		goto unlock;
	}
	*fd = channel->pub.fd;
	event = TAILQ_FIRST(&channel->queue);
	if (!event) {
		err = -EAGAIN;
		goto unlock;
	}
	pull(event);
	cm_handle_add(&event->handle, CM_EVENT, &event->pub);
	event->owner->events_reported++;
	*out = event;
unlock:
	cm_unlock();
	return err;
}

/* No event, and no channel any more. */
static int channel_is_gone(const struct rdma_event_channel *public, bool waited)
{
	if (!waited)
		return explain(EINVAL,
			       "%p is no event channel; rdma_create_event_channel makes one",
			       (const void *)public);
	/*
	 * The channel was destroyed while this thread waited. With the kernel's RDMA CM the thread sleeps on,
	 * and programs rely on it: rping ends with an error otherwise.
	 */
	pause();
	return -EINTR;
}

/* Waits until the channel's descriptor is readable. -EAGAIN: the program does not want to wait. */
static int wait_readable(int fd, bool waited)
{
	struct pollfd readable = { .fd = fd, .events = POLLIN };
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 && waited)
		return 0; /* the channel is gone */
	if (flags < 0)
		return explain(errno, "descriptor %d of the event channel is closed", fd);
	if (flags & O_NONBLOCK)
		return -EAGAIN; /* an answer, not a refusal */
	return poll(&readable, 1, -1) < 0 ? -errno : 0;
}

static int wait_and_take(struct rdma_event_channel *public, struct cm_event **out)
{
	bool waited = false;
	int err, fd;

	for (;;) {
		err = take(public, out, &fd);
		if (err == -EAGAIN) {
			err = wait_readable(fd, waited);
			if (err)
				return err;
			waited = true;
			continue;
		}
		if (err)
			return channel_is_gone(public, waited);
		if ((*out)->deliver)
			(*out)->deliver(*out);
		if (!(*out)->is_hidden)
			return 0;
		rdma_ack_cm_event(&(*out)->pub);
	}
}

int cm_event_complete(struct cm_id *id)
{
	struct cm_event *event;
	int status, err;

	if (!id->sync)
		return 0;
	if (id->pub.event) {
		rdma_ack_cm_event(id->pub.event);
		id->pub.event = NULL;
	}
	err = wait_and_take(id->pub.channel, &event);
	if (err)
		return err;
	id->pub.event = &event->pub;
	status = event->pub.status;
	if (status && event->pub.event == RDMA_CM_EVENT_REJECTED)
		return -ECONNREFUSED;
	return status > 0 ? -status : status;
}

VB_API struct rdma_event_channel *rdma_create_event_channel(void)
{
	struct cm_channel *channel = NULL;
	int err;

	err = cm_devices_need();
	if (!err)
		err = cm_channel_create(&channel);
	if (cm_result(err))
		return NULL;
	return &channel->pub;
}

VB_API void rdma_destroy_event_channel(struct rdma_event_channel *public)
{
	struct cm_channel *channel;

	cm_lock();
	channel = cm_channel_find(public);
	cm_unlock();
	if (channel)
		cm_channel_destroy(channel);
	else
		explain(EINVAL, "%p is no event channel, so there is nothing to destroy",
			(void *)public);
}

VB_API int rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event)
{
	struct cm_event *taken = NULL;
	int err;

	if (!event)
		return cm_result(explain(EINVAL, "rdma_get_cm_event has nowhere to put the event; "
						 "pass a pointer to a pointer"));
	err = wait_and_take(channel, &taken);
	if (err)
		return cm_result(err);
	*event = &taken->pub;
	return 0;
}

VB_API int rdma_ack_cm_event(struct rdma_cm_event *public)
{
	struct cm_handle *handle;
	struct cm_event *event;

	cm_lock();
	handle = cm_handle_find(CM_EVENT, public);
	if (!handle) {
		cm_unlock();
		return cm_result(explain(EINVAL,
					 "%p is no event waiting to be acknowledged; each event of "
					 "rdma_get_cm_event is acknowledged once",
					 (void *)public));
	}
	event = container_of(handle, struct cm_event, handle);
	cm_handle_remove(handle);
	event->owner->events_reported--;
	pthread_cond_broadcast(&cm.event_acked);
	cm_unlock();
	free(event);
	return 0;
}

VB_API const char *rdma_event_str(enum rdma_cm_event_type event)
{
#define NAME(event) [event] = #event
	static const char *const names[] = {
		NAME(RDMA_CM_EVENT_ADDR_RESOLVED),
		NAME(RDMA_CM_EVENT_ADDR_ERROR),
		NAME(RDMA_CM_EVENT_ROUTE_RESOLVED),
		NAME(RDMA_CM_EVENT_ROUTE_ERROR),
		NAME(RDMA_CM_EVENT_CONNECT_REQUEST),
		NAME(RDMA_CM_EVENT_CONNECT_RESPONSE),
		NAME(RDMA_CM_EVENT_CONNECT_ERROR),
		NAME(RDMA_CM_EVENT_UNREACHABLE),
		NAME(RDMA_CM_EVENT_REJECTED),
		NAME(RDMA_CM_EVENT_ESTABLISHED),
		NAME(RDMA_CM_EVENT_DISCONNECTED),
		NAME(RDMA_CM_EVENT_DEVICE_REMOVAL),
		NAME(RDMA_CM_EVENT_MULTICAST_JOIN),
		NAME(RDMA_CM_EVENT_MULTICAST_ERROR),
		NAME(RDMA_CM_EVENT_ADDR_CHANGE),
		NAME(RDMA_CM_EVENT_TIMEWAIT_EXIT),
		NAME(RDMA_CM_EVENT_ADDRINFO_RESOLVED),
		NAME(RDMA_CM_EVENT_ADDRINFO_ERROR),
		NAME(RDMA_CM_EVENT_USER),
		NAME(RDMA_CM_EVENT_INTERNAL),
	};
#undef NAME

	return (unsigned int)event < array_size(names) ? names[event] : "UNKNOWN EVENT";
}
