/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The queue of asynchronous events. The eventfd's count never exceeds the number of queued events;
 * it may briefly be lower while one is posted, and a reader that finds the queue empty after taking
 * a count (the event was withdrawn in between) simply waits again.
 */
#include "hca/device/async.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "util/forksafe.h"

#define QUEUE_START 16
#define QUEUE_MAX   65536

static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
FORKSAFE(all_lock, FORKSAFE_ASYNC);
static struct hca_async *all;

int hca_async_init(struct hca_async *q, const struct hca_adapter *adapter)
{
	q->fd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
	if (q->fd < 0)
		return -errno;
	q->ring = malloc(QUEUE_START * sizeof(*q->ring));
	if (!q->ring) {
		close(q->fd);
		return -ENOMEM;
	}
	q->size = QUEUE_START;
	q->head = q->tail = 0;
	q->adapter = adapter;
	q->taken = NULL;
	q->tap = NULL;
	pthread_mutex_init(&q->lock, NULL);

	pthread_mutex_lock(&all_lock);
	q->next = all;
	all = q;
	pthread_mutex_unlock(&all_lock);
	return 0;
}

void hca_async_fini(struct hca_async *q)
{
	struct hca_async **at;

	pthread_mutex_lock(&all_lock);
	for (at = &all; *at; at = &(*at)->next)
		if (*at == q) {
			*at = q->next;
			break;
		}
	pthread_mutex_unlock(&all_lock);
	close(q->fd);
	free(q->ring);
	pthread_mutex_destroy(&q->lock);
}

static int grow(struct hca_async *q)
{
	struct hca_event *bigger;

	if (q->size >= QUEUE_MAX)
		return -ENOSPC;
	bigger = malloc(2 * q->size * sizeof(*bigger));
	if (!bigger)
		return -ENOMEM;
	for (uint32_t i = q->head; i != q->tail; i++)
		bigger[i & (2 * q->size - 1)] = q->ring[i & (q->size - 1)];
	free(q->ring);
	q->ring = bigger;
	q->size *= 2;
	return 0;
}

static void post(struct hca_async *q, struct hca_event event)
{
	const uint64_t one = 1;

	if (q->tap && q->tap(q->tap_arg, &event))
		return;
	pthread_mutex_lock(&q->lock);
	if (q->tail - q->head == q->size && grow(q)) {
		pthread_mutex_unlock(&q->lock);
		return;
	}
	q->ring[q->tail++ & (q->size - 1)] = event;
	pthread_mutex_unlock(&q->lock);
	while (write(q->fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

/* Port events come from another thread, under the lock of the list. */
void hca_async_set_tap(struct hca_async *q, bool (*tap)(void *arg, const struct hca_event *event),
		       void *arg)
{
	pthread_mutex_lock(&all_lock);
	q->tap_arg = arg;
	q->tap = tap;
	pthread_mutex_unlock(&all_lock);
}

void hca_async_post(struct hca_async *q, enum hca_event_type type, void *element)
{
	post(q, (struct hca_event){ .type = type, .element = element });
}

void hca_async_post_port(const struct hca_adapter *a, enum hca_event_type type, int port)
{
	pthread_mutex_lock(&all_lock);
	for (struct hca_async *q = all; q; q = q->next)
		if (q->adapter == a)
			post(q, (struct hca_event){ .type = type, .port = port });
	pthread_mutex_unlock(&all_lock);
}

int hca_async_get(struct hca_async *q, struct hca_event *out)
{
	uint64_t count;
	bool found;

	for (;;) {
		if (read(q->fd, &count, sizeof(count)) < 0)
			return -errno;
		pthread_mutex_lock(&q->lock);
		found = q->head != q->tail;
		if (found) {
			*out = q->ring[q->head++ & (q->size - 1)];
			if (q->taken)
				q->taken(out);
		}
		pthread_mutex_unlock(&q->lock);
		if (found)
			return 0;
	}
}

/* Takes back one count without ever waiting, whatever the program did to the descriptor's flags. */
static void take_count(struct hca_async *q)
{
	struct pollfd pfd = { .fd = q->fd, .events = POLLIN };
	uint64_t count;

	if (poll(&pfd, 1, 0) == 1 && read(q->fd, &count, sizeof(count)) < 0)
		return;
}

unsigned int hca_async_forget(struct hca_async *q, void *element)
{
	unsigned int gone = 0;
	uint32_t to;

	pthread_mutex_lock(&q->lock);
	to = q->head;
	for (uint32_t i = q->head; i != q->tail; i++) {
		struct hca_event e = q->ring[i & (q->size - 1)];

		if (e.element == element && element)
			gone++;
		else
			q->ring[to++ & (q->size - 1)] = e;
	}
	q->tail = to;
	for (unsigned int i = 0; i < gone; i++)
		take_count(q);
	pthread_mutex_unlock(&q->lock);
	return gone;
}

void hca_async_disown(void)
{
	all = NULL;
}
