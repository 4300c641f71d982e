/* SPDX-License-Identifier: BSD-2-Clause */
/* Completion channels: a queue of CQs with events, and an eventfd that counts the events. */
#ifndef HCA_CHANNEL_H
#define HCA_CHANNEL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/queue.h>

#include "hca/device/async.h"
#include "util/api.h"

/* A CQ's place in its channel; guarded by the channel's lock. */
struct channel_entry {
	void *user;         /* what hca_channel_get() returns */
	unsigned int count; /* events that are not fetched yet; in the queue unless 0 */
	TAILQ_ENTRY(channel_entry) entry;
};

struct hca_channel {
	int fd;
	pthread_mutex_t lock;
	TAILQ_HEAD(, channel_entry) queue;
	/* Called with the lock held for every event that is handed out, if set. */
	void (*taken)(void *user);
	atomic_uint users;             /* CQs */
	const struct hca_async *async; /* of the context */
	_Atomic bool dead;             /* with the context */
	LIST_ENTRY(hca_channel) entry; /* in the list of all */
};

VB_API int hca_channel_create(const struct hca_async *async, struct hca_channel **out);
VB_API int hca_channel_destroy(struct hca_channel *ch); /* -EBUSY while a CQ uses it */
/* Waits unless the fd is O_NONBLOCK (-EAGAIN). *user: of the CQ. -EIO: the context is dead. */
VB_API int hca_channel_get(struct hca_channel *ch, void **user);

/* Wakes the readers of channels whose contexts are dead. */
void channel_kill(void);

/* Queues one event of the CQ. The lock is innermost; any other may be held. */
void channel_post(struct hca_channel *ch, struct channel_entry *cq);
/* Withdraws the CQ's events that are not fetched yet. */
void channel_forget(struct hca_channel *ch, struct channel_entry *cq);

#endif
