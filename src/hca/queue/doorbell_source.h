/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A queue that the doorbell watch looks at (doorbell_watch.h): a member of the queue pair or the
 * completion queue, which implements the functions. Types only.
 */
#ifndef HCA_DOORBELL_SOURCE_H
#define HCA_DOORBELL_SOURCE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct doorbell_source;
struct hca_cq_alias;

/* The result of a look at all watched queues. */
struct doorbell_look {
	bool found;     /* requests were posted, or events asked for */
	bool busy;      /* a queue that another thread works on was left out */
	bool armed;     /* an event was asked for: the program is about to sleep */
	bool qp_failed; /* a queue pair is in the error state */
	/* The alias of the CQ into which the last request found completes, or NULL, and the offset
	 * of that CQ's next entry. */
	struct hca_cq_alias *alias;
	size_t alias_offset;
	/* The alias of the CQ for that queue pair's receives, or NULL. */
	struct hca_cq_alias *recv_alias;
};

struct doorbell_source_ops {
	/* Carries out what the program has posted, and adds it to the result. hca.queue.watch_lock is held. */
	void (*look)(struct doorbell_source *source, struct doorbell_look *result);
	/*
	 * Queue pairs only: the same, for a doorbell that names the queue. Inside an epoch section; the lock is not
	 * held, and the queue may just have been removed.
	 */
	void (*ring_sq)(struct doorbell_source *source, struct doorbell_look *result);
	/* CQs only: the program has stored the CQ's number and this word to a doorbell page. The lock is held. */
	void (*ring_cq)(struct doorbell_source *source, uint32_t word);
};

struct doorbell_source {
	const struct doorbell_source_ops *ops; /* set when it is watched */
	uint32_t number;
	bool without_page;   /* the program need not store to a doorbell page when it posts */
	atomic_bool watched; /* written with hca.queue.watch_lock held, read without it */
	size_t index;        /* in the watch's array of its kind */
};

#endif
