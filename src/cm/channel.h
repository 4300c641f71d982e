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

#include "cm/id_types.h"
#include "cm/msg.h"
#include "cm/signal.h"

struct cm_event {
	struct rdma_cm_event pub;
	struct cm_handle handle; /* in the set while reported */
	/* While queued: */
	struct cm_channel *channel;
	TAILQ_ENTRY(cm_event) queue_link; /* in the channel's queue */
	TAILQ_ENTRY(cm_event) owner_link; /* in the owner's events */
	struct cm_id *owner;
	/* Both may be NULL. */
	void (*deliver)(struct cm_event *event); /* before it is reported, without cm.lock */
	bool is_hidden;                       /* set by deliver(): it is not reported after all */
	void (*drop)(struct cm_event *event); /* when it never will be, with cm.lock held */
	struct cm_id *child;                  /* CONNECT_REQUEST: the new id */
	uint8_t private_data[MSG_BYTES];      /* where param.conn.private_data points to */
};

/* Invariant: pub.fd is readable exactly while the queue is not empty, once cm.lock is released. */
struct cm_channel {
	struct rdma_event_channel pub;
	struct cm_signal signal; /* pub.fd */
	struct cm_handle handle;
	struct cm_event_queue queue;
	LIST_HEAD(, cm_id) ids; /* that report here */
};

/* Take cm.lock themselves. */
int cm_channel_create(struct cm_channel **out);
void cm_channel_destroy(struct cm_channel *channel);

/* With cm.lock held: */
struct cm_channel *cm_channel_find(const struct rdma_event_channel *public);
/* The id reports to the channel, or to none (NULL), from now on. */
void cm_channel_set(struct cm_id *id, struct cm_channel *channel);

/* A zeroed event of the id, not queued yet; NULL without memory. */
struct cm_event *cm_event_create(struct cm_id *owner, enum rdma_cm_event_type type, int status);
/* Queues the event at its owner's channel, or frees it when the owner has none. */
void cm_event_post(struct cm_event *event);

/* Frees one queued event. */
void cm_event_withdraw(struct cm_event *event);
/* Frees the queued events of the id, or moves them to another channel. */
void cm_event_purge(struct cm_id *id);
void cm_event_move(struct cm_id *id, struct cm_channel *to);

/* Waits until every reported event of the id has been acknowledged; drops cm.lock meanwhile. */
void cm_event_wait_acked(struct cm_id *id);

/*
 * Synchronous ids, without cm.lock: waits for the event that ends the operation under way, leaves
 * it in id->event and returns its status. Other ids: returns 0 at once.
 */
int cm_event_complete(struct cm_id *id);

#endif
