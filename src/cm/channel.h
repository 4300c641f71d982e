/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Event channels: a queue of events behind an eventfd, and the events themselves.
 *
 * An event is queued, then reported (the program holds it), then acknowledged (freed). It counts
 * against the id that owns it while it is reported, and that id is not freed before.
 */
#ifndef CM_CHANNEL_H
#define CM_CHANNEL_H

#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <sys/queue.h>

#include "cm/handle.h"

struct cm_id;

struct cm_event {
	struct rdma_cm_event pub;
	struct cm_handle handle;    /* in the set while reported */
	TAILQ_ENTRY(cm_event) link; /* in the channel's queue before that */
	struct cm_id *owner;
};

TAILQ_HEAD(cm_event_queue, cm_event);

/* Invariant, with cm_lock: pub.fd is readable exactly while the queue is not empty. */
struct cm_channel {
	struct rdma_event_channel pub;
	struct cm_handle handle;
	struct cm_event_queue queue;
};

/* For the library's own use; take cm_lock themselves. */
int cm_channel_create(struct cm_channel **out);
void cm_channel_destroy(struct cm_channel *channel);

/* With cm_lock held: */
struct cm_channel *cm_channel_find(const struct rdma_event_channel *public);

/* A zeroed event of the id, not queued yet; NULL without memory. */
struct cm_event *cm_event_create(struct cm_id *owner, enum rdma_cm_event_type type, int status);
/* Puts it in the queue of its owner's channel, or frees it when that is gone. */
void cm_event_post(struct cm_event *event);

/* Drops what is queued for the id, or takes it along to another channel. */
void cm_channel_purge(struct cm_channel *channel, struct cm_id *id);
void cm_channel_move(struct cm_channel *from, struct cm_channel *to, struct cm_id *id);

/* Waits until every reported event of the id has been acknowledged; drops cm_lock meanwhile. */
void cm_event_wait_acked(struct cm_id *id);

/*
 * Synchronous ids, without cm_lock: waits for the event that ends the operation under way, leaves
 * it in id->event and returns its status. Other ids: returns 0 at once.
 */
int cm_event_complete(struct cm_id *id);

#endif
