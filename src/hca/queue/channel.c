/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completion channels. A CQ stands in its channel's queue once, with a count of its events; the
 * eventfd counts all of them. As with asynchronous events, a reader that took a count and finds
 * the queue empty (the events were withdrawn) waits again.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "hca/queue/cq.h"
#include "hca/queue/cq_priv.h"
#include "util/explain.h"

int hca_channel_create(struct hca_channel **out)
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
	*out = ch;
	return 0;
}

int hca_channel_destroy(struct hca_channel *ch)
{
	unsigned int users = atomic_load(&ch->users);

	if (users)
		return explain(EBUSY, "%u completion queues use the channel", users);
	close(ch->fd);
	pthread_mutex_destroy(&ch->lock);
	free(ch);
	return 0;
}

void hca_channel_post(struct hca_channel *ch, struct hca_cq *cq)
{
	const uint64_t one = 1;

	pthread_mutex_lock(&ch->lock);
	if (!cq->event_count++) {
		cq->next = NULL;
		if (ch->last)
			ch->last->next = cq;
		else
			ch->first = cq;
		ch->last = cq;
	}
	pthread_mutex_unlock(&ch->lock);
	while (write(ch->fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

static void unlink_cq(struct hca_channel *ch, struct hca_cq *cq)
{
	struct hca_cq *before = NULL, *at;

	for (at = ch->first; at && at != cq; at = at->next)
		before = at;
	if (!at)
		return;
	if (before)
		before->next = cq->next;
	else
		ch->first = cq->next;
	if (ch->last == cq)
		ch->last = before;
}

int hca_channel_get(struct hca_channel *ch, void **user)
{
	uint64_t count;

	for (;;) {
		struct hca_cq *cq;

		if (read(ch->fd, &count, sizeof(count)) < 0)
			return -errno;
		pthread_mutex_lock(&ch->lock);
		cq = ch->first;
		if (cq) {
			*user = cq->user;
			if (ch->taken)
				ch->taken(cq->user);
			if (!--cq->event_count)
				unlink_cq(ch, cq);
		}
		pthread_mutex_unlock(&ch->lock);
		if (cq)
			return 0;
	}
}

unsigned int hca_cq_forget_events(struct hca_cq *cq)
{
	struct hca_channel *ch = cq->channel;
	unsigned int gone;
	uint64_t count;

	if (!ch)
		return 0;
	pthread_mutex_lock(&ch->lock);
	gone = cq->event_count;
	if (gone)
		unlink_cq(ch, cq);
	cq->event_count = 0;
	for (unsigned int i = 0; i < gone; i++) {
		struct pollfd pfd = { .fd = ch->fd, .events = POLLIN };

		if (poll(&pfd, 1, 0) != 1 || read(ch->fd, &count, sizeof(count)) < 0)
			break;
	}
	pthread_mutex_unlock(&ch->lock);
	return gone;
}
