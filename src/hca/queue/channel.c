/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completion channels. A CQ is in its channel's queue once, with a count of its events; the eventfd
 * counts all of them. As with asynchronous events, a reader that took a count and finds the queue
 * empty, since the events were withdrawn, waits again.
 */
#include "hca/queue/channel.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "hca/hca.h"
#include "util/explain.h"

int hca_channel_create(const struct hca_async *async, struct hca_channel **out)
{
	struct hca_channel *ch = calloc(1, sizeof(*ch));

	if (!ch)
		return -ENOMEM;
	ch->fd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
	if (ch->fd < 0) {
		int err = -errno;

		free(ch);
		return err;
	}
	pthread_mutex_init(&ch->lock, NULL);
	TAILQ_INIT(&ch->queue);
	ch->async = async;
	pthread_mutex_lock(&hca.queue.channel.lock);
	LIST_INSERT_HEAD(&hca.queue.channel.list, ch, entry);
	pthread_mutex_unlock(&hca.queue.channel.lock);
	*out = ch;
	return 0;
}

int hca_channel_destroy(struct hca_channel *ch)
{
	unsigned int users = atomic_load(&ch->users);

	if (users)
		return explain(EBUSY, "%u completion queues use the channel", users);
	pthread_mutex_lock(&hca.queue.channel.lock);
	LIST_REMOVE(ch, entry);
	pthread_mutex_unlock(&hca.queue.channel.lock);
	close(ch->fd);
	pthread_mutex_destroy(&ch->lock);
	free(ch);
	return 0;
}

static void add_count(struct hca_channel *ch)
{
	const uint64_t one = 1;

	while (write(ch->fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

/* In a forked child none is dead: its contexts are the parent's, and so are their descriptors. */
void channel_kill(void)
{
	struct hca_channel *ch;

	pthread_mutex_lock(&hca.queue.channel.lock);
	LIST_FOREACH(ch, &hca.queue.channel.list, entry)
		if (atomic_load(&ch->async->dead) && !atomic_exchange(&ch->dead, true))
			add_count(ch); /* without an event: wakes a reader that finds none */
	pthread_mutex_unlock(&hca.queue.channel.lock);
}

void channel_post(struct hca_channel *ch, struct channel_entry *cq)
{
	pthread_mutex_lock(&ch->lock);
	if (!cq->count++)
		TAILQ_INSERT_TAIL(&ch->queue, cq, entry);
	pthread_mutex_unlock(&ch->lock);
	add_count(ch);
}

int hca_channel_get(struct hca_channel *ch, void **user)
{
	uint64_t count;

	for (;;) {
		struct channel_entry *cq;

		if (read(ch->fd, &count, sizeof(count)) < 0)
			return -errno;
		pthread_mutex_lock(&ch->lock);
		cq = TAILQ_FIRST(&ch->queue);
		if (cq) {
			*user = cq->user;
			if (ch->taken)
				ch->taken(cq->user);
			if (!--cq->count)
				TAILQ_REMOVE(&ch->queue, cq, entry);
		}
		pthread_mutex_unlock(&ch->lock);
		if (cq)
			return 0;
		if (atomic_load(&ch->dead)) {
			add_count(ch);
			return -EIO;
		}
	}
}

void channel_forget(struct hca_channel *ch, struct channel_entry *cq)
{
	unsigned int gone;
	uint64_t count;

	pthread_mutex_lock(&ch->lock);
	gone = cq->count;
	if (gone)
		TAILQ_REMOVE(&ch->queue, cq, entry);
	cq->count = 0;
	for (unsigned int i = 0; i < gone; i++) {
		struct pollfd pfd = { .fd = ch->fd, .events = POLLIN };

		if (poll(&pfd, 1, 0) != 1 || read(ch->fd, &count, sizeof(count)) < 0)
			break;
	}
	pthread_mutex_unlock(&ch->lock);
}
