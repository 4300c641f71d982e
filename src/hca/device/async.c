/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The queue of asynchronous events. The eventfd's count never exceeds the number of queued events;
 * it may be lower for a moment while one is posted. A reader that has taken a count and finds the
 * queue empty, since the event was withdrawn in between, waits again.
 */
#include "hca/device/async.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "hca/hca.h"

#define QUEUE_MAX 65536

struct async_entry {
	struct hca_event event;
	TAILQ_ENTRY(async_entry) order;
	LIST_ENTRY(async_entry) same_bucket; /* of object events */
};

int hca_async_init(struct hca_async *q, const struct hca_adapter *adapter)
{
	*q = (struct hca_async){ .adapter = adapter, .listed = true };
	q->fd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
	if (q->fd < 0)
		return -errno;
	TAILQ_INIT(&q->queue);
	pthread_mutex_init(&q->lock, NULL);

	pthread_mutex_lock(&hca.device.async.lock);
	LIST_INSERT_HEAD(&hca.device.async.queues, q, entry);
	pthread_mutex_unlock(&hca.device.async.lock);
	return 0;
}

/* Lock held. */
static void drop(struct hca_async *q, struct async_entry *e)
{
	TAILQ_REMOVE(&q->queue, e, order);
	if (e->event.element)
		LIST_REMOVE(e, same_bucket);
	q->count--;
	free(e);
}

void hca_async_fini(struct hca_async *q)
{
	pthread_mutex_lock(&hca.device.async.lock);
	if (q->listed)
		LIST_REMOVE(q, entry);
	pthread_mutex_unlock(&hca.device.async.lock);
	while (!TAILQ_EMPTY(&q->queue))
		drop(q, TAILQ_FIRST(&q->queue));
	close(q->fd);
	pthread_mutex_destroy(&q->lock);
}

static unsigned int bucket_of(const void *element)
{
	/* Objects are aligned, and neighbours on the heap: mix the bits above that. */
	return (unsigned int)((uintptr_t)element * 0x9e3779b97f4a7c15ull >> 56) % HCA_ASYNC_BUCKETS;
}

/* Lock held. False when there is no room. */
static bool enqueue(struct hca_async *q, const struct hca_event *event)
{
	struct async_entry *e = q->count < QUEUE_MAX ? malloc(sizeof(*e)) : NULL;

	if (!e)
		return false;
	e->event = *event;
	TAILQ_INSERT_TAIL(&q->queue, e, order);
	if (event->element)
		LIST_INSERT_HEAD(&q->bucket[bucket_of(event->element)], e, same_bucket);
	q->count++;
	return true;
}

static void add_count(struct hca_async *q)
{
	const uint64_t one = 1;

	while (write(q->fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

static void post(struct hca_async *q, struct hca_event event)
{
	bool queued;

	if (q->tap && q->tap(q->tap_arg, &event))
		return;
	pthread_mutex_lock(&q->lock);
	queued = enqueue(q, &event);
	pthread_mutex_unlock(&q->lock);
	if (queued)
		add_count(q);
}

/* Port events are posted by another thread, under the lock of the list. */
void hca_async_set_tap(struct hca_async *q, bool (*tap)(void *arg, const struct hca_event *event),
		       void *arg)
{
	pthread_mutex_lock(&hca.device.async.lock);
	q->tap_arg = arg;
	q->tap = tap;
	pthread_mutex_unlock(&hca.device.async.lock);
}

void hca_async_post(struct hca_async *q, enum hca_event_type type, void *element)
{
	post(q, (struct hca_event){ .type = type, .element = element });
}

void hca_async_post_port(const struct hca_adapter *a, enum hca_event_type type, int port)
{
	struct hca_async *q;

	pthread_mutex_lock(&hca.device.async.lock);
	LIST_FOREACH(q, &hca.device.async.queues, entry)
		if (q->adapter == a)
			post(q, (struct hca_event){ .type = type, .port = port });
	pthread_mutex_unlock(&hca.device.async.lock);
}

bool hca_async_kill(const struct hca_adapter *a)
{
	struct hca_async *q;
	bool killed = false;

	pthread_mutex_lock(&hca.device.async.lock);
	LIST_FOREACH(q, &hca.device.async.queues, entry) {
		if (q->adapter != a || atomic_exchange(&q->dead, true))
			continue;
		post(q, (struct hca_event){ .type = HCA_EVENT_DEVICE_FATAL });
		add_count(q); /* without an event: wakes a reader that finds none */
		killed = true;
	}
	pthread_mutex_unlock(&hca.device.async.lock);
	return killed;
}

int hca_async_get(struct hca_async *q, struct hca_event *out)
{
	struct async_entry *first;
	uint64_t count;

	for (;;) {
		if (read(q->fd, &count, sizeof(count)) < 0)
			return -errno;
		pthread_mutex_lock(&q->lock);
		first = TAILQ_FIRST(&q->queue);
		if (first) {
			*out = first->event;
			drop(q, first);
			if (q->taken)
				q->taken(out);
		}
		pthread_mutex_unlock(&q->lock);
		if (first)
			return 0;
		if (atomic_load(&q->dead)) {
			add_count(q);
			return -EIO;
		}
	}
}

/* Takes back one count without waiting, whatever flags the program has set on the descriptor. */
static void take_count(struct hca_async *q)
{
	struct pollfd pfd = { .fd = q->fd, .events = POLLIN };
	uint64_t count;

	if (poll(&pfd, 1, 0) == 1 && read(q->fd, &count, sizeof(count)) < 0)
		return;
}

unsigned int hca_async_forget(struct hca_async *q, void *element)
{
	struct async_entry *e, *next;
	unsigned int gone = 0;

	if (!element)
		return 0;
	pthread_mutex_lock(&q->lock);
	for (e = LIST_FIRST(&q->bucket[bucket_of(element)]); e; e = next) {
		next = LIST_NEXT(e, same_bucket);
		if (e->event.element != element)
			continue;
		drop(q, e);
		gone++;
	}
	for (unsigned int i = 0; i < gone; i++)
		take_count(q);
	pthread_mutex_unlock(&q->lock);
	return gone;
}

void hca_async_forked(void)
{
	struct hca_async *q;

	LIST_FOREACH(q, &hca.device.async.queues, entry)
		q->listed = false;
	LIST_INIT(&hca.device.async.queues);
}
