/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completion queues. The ring belongs to a driver, which polls it without a call; the adapter
 * writes entries, and reads the consumer's index from the doorbell record.
 */
#ifndef HCA_CQ_H
#define HCA_CQ_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "fabric/lock.h"
#include "hca/device/format.h"
#include "hca/device/ctx.h"
#include "hca/queue/channel.h"
#include "hca/queue/cq_moderation.h"
#include "hca/queue/doorbell_source.h"

struct hca_eq;

enum hca_arm {
	HCA_ARM_NONE,
	HCA_ARM_SOLICITED,
	HCA_ARM_NEXT,
};

/* The field of a short completion beside the frame's length. */
enum hca_mini_cqe {
	HCA_MINI_NONE, /* completions are not shortened */
	HCA_MINI_HASH,
	HCA_MINI_CSUM,
	HCA_MINI_CSUM_STRIDE,
};

struct hca_cq {
	struct fabric_lock lock; /* guards all that the adapter writes; taken inside a QP's lock */
	struct hca_ctx *ctx;
	const struct hca_format *format;
	void *buf;
	uint32_t size;         /* entries, a power of two */
	uint32_t entry_size;   /* bytes */
	volatile uint32_t *db; /* [0] consumer index, [1] arm word, as the format has them */
	uint32_t pi;           /* free running */
	uint32_t
		room; /* entries that were free when the consumer was last read, less those since */
	uint32_t notified; /* pi at the last event */
	enum hca_arm arm;
	bool ignore_overrun;
	bool failed;                     /* overrun: no more entries */
	enum hca_mini_cqe mini;          /* the program takes completions in short form */
	struct doorbell_source doorbell; /* watched: the arm word may change at any time */
	struct hca_cq_alias *alias;      /* or NULL; guarded by hca.queue.watch_lock */
	uint32_t arm_seen; /* the arm word that was acted upon last, in its byte order in memory */
	uint32_t cqn;
	struct hca_channel *channel;
	struct channel_entry event;   /* in the channel */
	struct hca_eq *eq;            /* events go there, */
	void (*on_event)(void *user); /* or to this function, under the CQ's lock */
	void *user;
	atomic_uint users; /* QPs, SRQs, WQs */
	uint64_t timestamp_mask;
	void *checked; /* the checker's (device/checker.h), or NULL */
	/* moderation (cq_moderation.h); either 0: none */
	uint16_t moderation_count;
	uint16_t moderation_usec;
	uint64_t event_due_ns; /* of one that is held back; 0: none is */
	struct cq_moderation moderation;
};

struct hca_cq_init {
	struct hca_ctx *ctx;
	const struct hca_format *format;
	void *buf; /* entries that the format takes for "not valid" */
	uint32_t size;
	uint32_t entry_size;
	volatile uint32_t *db;
	struct hca_channel *channel; /* may be NULL, as may the next two */
	struct hca_eq *eq;
	void (*on_event)(void *user);
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
 * Replaces the ring. `move` copies entries that are not consumed, with the lock held, and returns
 * the new producer index.
 */
VB_API void hca_cq_resize(struct hca_cq *cq, void *buf, uint32_t size,
			  uint32_t (*move)(struct hca_cq *cq, void *buf, uint32_t size, void *arg),
			  void *arg);

/* Replaces the ring as hca_cq_resize() does, unless `move` sets *can to false: then the ring stays. */
VB_API void hca_cq_swap(struct hca_cq *cq, void *buf, uint32_t size,
			uint32_t (*move)(struct hca_cq *cq, void *buf, uint32_t size, void *arg),
			bool *can);

/*
 * Asks for an event. It comes at once when there are entries from `consumer` on that came after the
 * last event.
 */
VB_API void hca_cq_arm(struct hca_cq *cq, enum hca_arm arm, uint32_t consumer);

/* The program takes completions in a short form from now on. */
VB_API void hca_cq_permit_mini(struct hca_cq *cq, enum hca_mini_cqe mini);

/* An event only every `count` entries, or `usec` after the first; at once if one is 0. */
VB_API void hca_cq_moderate(struct hca_cq *cq, uint16_t count, uint16_t usec);

/* Watches the doorbell record by which events are asked for (doorbell_watch.h). -ENOMEM. */
VB_API int hca_doorbell_watch_cq(struct hca_cq *cq);
/*
 * The alias of the queue's ring, made at the first call (cq_alias.h). -EOPNOTSUPP where the kernel or
 * the memory do not allow it: the program then polls the ring itself. -ENOMEM.
 */
VB_API int hca_cq_alias_create(struct hca_cq *cq, struct hca_cq_alias **out);

/* ---- for the adapter ---- */

/* Adds an entry. The caller may hold a QP's lock. */
void hca_cq_add(struct hca_cq *cq, const struct hca_cqe *cqe);
/* Adds several, with the lock taken once. */
void hca_cq_add_many(struct hca_cq *cq, const struct hca_cqe *cqe, unsigned int count);

/* The offset of the next entry in the ring. */
static inline size_t hca_cq_next_offset(const struct hca_cq *cq)
{
	return (size_t)(cq->pi & (cq->size - 1)) * cq->entry_size;
}

#endif
