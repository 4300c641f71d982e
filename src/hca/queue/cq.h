/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completion queues and channels. The ring belongs to a driver, which polls it without asking us;
 * the adapter writes entries, and reads the consumer's index from the doorbell record.
 */
#ifndef HCA_CQ_H
#define HCA_CQ_H

#include <pthread.h>
#include <stdatomic.h>

#include "fabric/lock.h"
#include "hca/device/format.h"
#include "hca/memory/pd.h"

/* Completion events: a queue of CQs and an eventfd that counts it. */
struct hca_channel {
	int fd;
	pthread_mutex_t lock;
	struct hca_cq *first, *last; /* CQs with events not yet fetched */
	/* Called with the lock held for every event that is handed out (the CQ's user), if set. */
	void (*taken)(void *user);
	atomic_uint users;
};

VB_API int hca_channel_create(struct hca_channel **out);
VB_API int hca_channel_destroy(struct hca_channel *ch); /* -EBUSY while a CQ uses it */
/* Waits unless the fd is O_NONBLOCK (-EAGAIN). *user: of the CQ. */
VB_API int hca_channel_get(struct hca_channel *ch, void **user);

struct hca_cq_alias;

enum hca_arm {
	HCA_ARM_NONE,
	HCA_ARM_SOLICITED,
	HCA_ARM_NEXT,
};

struct hca_cq {
	struct fabric_lock lock; /* guards what the adapter writes; taken inside a QP's lock */
	struct hca_ctx *ctx;
	const struct hca_format *format;
	void *buf;
	uint32_t size;         /* entries, a power of two */
	uint32_t entry_size;   /* bytes */
	volatile uint32_t *db; /* [0] consumer index, [1] arm word, as the format has them */
	uint32_t pi;           /* free running */
	uint32_t room; /* entries that were free when the consumer was last looked up, less since */
	uint32_t notified; /* pi at the last event */
	enum hca_arm arm;
	bool ignore_overrun;
	bool failed;               /* overrun: no more entries */
	bool raw;                  /* its arm word is watched (doorbell_watch.c) */
	struct hca_cq_alias *view; /* the program's, if any; under doorbell_watch.c's lock */
	uint32_t arm_seen;         /* the arm word that was acted upon last, as it lies in memory */
	uint32_t cqn;
	struct hca_channel *channel;
	struct hca_eq *eq;         /* events go there, */
	void (*event)(void *user); /* or are told by this call, under the CQ's lock */
	void *user;
	atomic_uint users; /* QPs, SRQs, WQs */
	uint64_t timestamp_mask;
	/* events, guarded by the channel's lock */
	unsigned int event_count; /* queued, not yet fetched */
	struct hca_cq *next;
	/* moderation (cq_moderation.c); either 0: none */
	uint16_t moderation_count;
	uint16_t moderation_usec;
	uint64_t event_due_ns; /* of one that is held back; 0: none is */
	struct hca_cq *moderated_next, **moderated_at;
};

struct hca_cq_init {
	struct hca_ctx *ctx;
	const struct hca_format *format;
	void *buf; /* entries as the format calls "not valid" */
	uint32_t size;
	uint32_t entry_size;
	volatile uint32_t *db;
	struct hca_channel *channel; /* may be NULL, as may the next two */
	struct hca_eq *eq;
	void (*event)(void *user);
	bool ignore_overrun;
	void *user;
};

VB_API int hca_cq_create(const struct hca_cq_init *init, struct hca_cq **out);
VB_API int hca_cq_destroy(struct hca_cq *cq); /* -EBUSY while a queue uses it */
/* By number, with a use taken; NULL when the adapter has no such queue. */
VB_API struct hca_cq *hca_cq_hold(const struct hca_adapter *adapter, uint32_t cqn);
static inline void hca_cq_put(struct hca_cq *cq)
{
	atomic_fetch_sub(&cq->users, 1);
}

/*
 * The driver swaps rings: copies what is not consumed while the lock is held, through `move`, which
 * returns the new producer index.
 */
VB_API void hca_cq_resize(struct hca_cq *cq, void *buf, uint32_t size,
			  uint32_t (*move)(struct hca_cq *cq, void *buf, uint32_t size, void *arg),
			  void *arg);

/* The same, unless `move` says by its bool that it cannot be. */
VB_API void hca_cq_swap(struct hca_cq *cq, void *buf, uint32_t size,
			uint32_t (*move)(struct hca_cq *cq, void *buf, uint32_t size, void *arg),
			bool *can);

/*
 * Asks for an event. It comes at once when there are entries from `consumer` on that no event has
 * spoken of yet.
 */
VB_API void hca_cq_arm(struct hca_cq *cq, enum hca_arm arm, uint32_t consumer);

/* An event only every `count` entries, or `usec` after the first; as soon as may be if one is 0. */
VB_API void hca_cq_moderate(struct hca_cq *cq, uint16_t count, uint16_t usec);

/* The adapter's own: adds an entry. Caller may hold a QP's lock. */
void hca_cq_add(struct hca_cq *cq, const struct hca_cqe *cqe);
/* The same for a row of them, with the lock taken once. */
void hca_cq_add_many(struct hca_cq *cq, const struct hca_cqe *cqe, unsigned int count);

/* How many events of this CQ were fetched so far are the driver's to count; this withdraws queued. */
VB_API unsigned int hca_cq_forget_events(struct hca_cq *cq);

/* Adapter clock in ticks of the model's core clock. */
VB_API uint64_t hca_clock(const struct hca_adapter *a);

#endif
