/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages are added by any thread, under locks of the adapter, and taken by the program.
 */
#include "mlx5/devx_queue.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct devx_note {
	STAILQ_ENTRY(devx_note) link;
	uint64_t tag;
	size_t len;
	uint8_t data[];
};

int devx_queue_init(struct devx_queue *q)
{
	*q = (struct devx_queue){ .fd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE) };
	if (q->fd < 0)
		return -errno;
	STAILQ_INIT(&q->notes);
	pthread_mutex_init(&q->lock, NULL);
	return 0;
}

void devx_queue_fini(struct devx_queue *q)
{
	struct devx_note *note;

	while ((note = STAILQ_FIRST(&q->notes))) {
		STAILQ_REMOVE_HEAD(&q->notes, link);
		free(note);
	}
	pthread_mutex_destroy(&q->lock);
	close(q->fd);
}

static void count_one(const struct devx_queue *q)
{
	const uint64_t one = 1;

	while (write(q->fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

/* Lock held. */
static bool is_waiting(const struct devx_queue *q, uint64_t tag)
{
	const struct devx_note *note;

	STAILQ_FOREACH(note, &q->notes, link)
		if (note->tag == tag)
			return true;
	return false;
}

int devx_queue_add(struct devx_queue *q, uint64_t tag, const void *data, size_t len, size_t most)
{
	struct devx_note *note = malloc(sizeof(*note) + len);
	bool there;

	if (!note)
		return -ENOMEM;
	*note = (struct devx_note){ .tag = tag, .len = len };
	memcpy(note->data, data, len);
	pthread_mutex_lock(&q->lock);
	there = tag && is_waiting(q, tag);
	if (there || len > most - q->bytes) {
		pthread_mutex_unlock(&q->lock);
		free(note);
		return there ? 0 : -EAGAIN;
	}
	STAILQ_INSERT_TAIL(&q->notes, note, link);
	q->bytes += len;
	count_one(q);
	pthread_mutex_unlock(&q->lock);
	return 0;
}

/*
 * Moves the first message to `to`; a message that does not fit stays, and is counted again. Lock
 * held.
 */
static long take_first(struct devx_queue *q, void *to, size_t room, int short_errno)
{
	struct devx_note *note = STAILQ_FIRST(&q->notes);
	size_t len;

	/* Only a program's own write to the descriptor can make the counter too high. */
	if (!note)
		return -EAGAIN;
	len = note->len;
	if (len > room) {
		count_one(q);
		return -short_errno;
	}
	STAILQ_REMOVE_HEAD(&q->notes, link);
	q->bytes -= len;
	memcpy(to, note->data, len);
	free(note);
	return (long)len;
}

long devx_queue_take(struct devx_queue *q, void *to, size_t room, int short_errno)
{
	uint64_t count;
	long n;

	if (read(q->fd, &count, sizeof(count)) < 0)
		return -errno;
	pthread_mutex_lock(&q->lock);
	n = take_first(q, to, room, short_errno);
	pthread_mutex_unlock(&q->lock);
	return n;
}
