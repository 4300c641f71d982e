/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared receive queues: a ring whose free entries the driver chains; the adapter takes from the
 * front of the chain of posted entries.
 */
#ifndef HCA_SRQ_H
#define HCA_SRQ_H

#include "fabric/lock.h"
#include "hca/queue/cq.h"
#include "hca/queue/tag_list.h"
#include "hca/device/format.h"
#include "hca/memory/pd.h"

enum hca_srq_type {
	HCA_SRQ_BASIC,
	HCA_SRQ_XRC,
	HCA_SRQ_TAG, /* messages are matched with tagged buffers first */
};

/* Completions carry the index of the queue pair instead. */
#define HCA_SRQ_NO_INDEX UINT32_MAX

struct hca_srq {
	struct fabric_lock lock; /* taken inside a QP's lock */
	struct hca_pd *pd;
	struct hca_async *async;
	const struct hca_format *format;
	enum hca_srq_type type;
	struct hca_rq_ring ring;
	uint32_t srqn;
	uint64_t serial; /* tells the queue from later ones with its number */
	uint32_t user_index;
	uint32_t head;  /* slot of the next entry to take */
	uint32_t taken; /* free running; the doorbell record counts modulo 2^16 */
	uint32_t limit; /* armed limit, 0: none */
	bool failed;
	struct hca_cq *cq;     /* XRC and tag matching */
	uint32_t xrcd;         /* XRC: domain number, unique on the host */
	struct tag_list *tags; /* tag matching, or NULL */
	void *user;
	atomic_uint users;
};

struct hca_srq_init {
	struct hca_pd *pd;
	const struct hca_format *format;
	enum hca_srq_type type;
	struct hca_rq_ring ring;
	struct hca_cq *cq;
	uint32_t xrcd;
	uint32_t tags; /* tag matching: entries of the list, a power of two */
	uint32_t user_index;
	void *user;
};

VB_API int hca_srq_create(const struct hca_srq_init *init, struct hca_srq **out);
VB_API int hca_srq_destroy(struct hca_srq *srq); /* -EBUSY while a QP uses it */
/* By number, with a use taken; NULL when the adapter has no such queue. */
VB_API struct hca_srq *hca_srq_hold(const struct hca_adapter *adapter, uint32_t srqn);
static inline void hca_srq_put(struct hca_srq *srq)
{
	atomic_fetch_sub(&srq->users, 1);
}
/* Arms the limit event: it comes when fewer entries than this are posted. 0 disarms. */
VB_API void hca_srq_set_limit(struct hca_srq *srq, uint32_t limit);
VB_API uint32_t hca_srq_limit(struct hca_srq *srq);
/* Entries that may be taken; the number may change at any time. */
VB_API uint16_t hca_srq_posted(const struct hca_srq *srq);

/*
 * Changes the list of a tag matching queue; the completion, if the change has one, names queue pair `qpn`. `sge` NULL:
 * the buffer of an append is empty. False: the queue has no list, or the change is impossible.
 */
VB_API bool hca_srq_tag(struct hca_srq *srq, uint32_t qpn, const struct hca_tag_op *op,
			const struct hca_sge *sge);

/* ---- for the adapter ---- */

/* Inside an epoch section. */
struct hca_srq *hca_srq_find(uint32_t srqn);
/* Takes the next posted entry; false when there is none. The caller may hold a QP's lock. */
bool hca_srq_take(struct hca_srq *srq, struct hca_recv *out);

/* How a message takes part in matching. */
enum hca_srq_message {
	HCA_SRQ_UNTAGGED,
	HCA_SRQ_TAGGED,
	HCA_SRQ_UNMATCHED, /* tagged, but the adapter cannot do what a match would demand */
};

/*
 * The buffer for a message of a tag matching queue: a tagged one (true; `index` is its entry), or a posted entry
 * (false, and *taken). Neither is there: false, and not *taken.
 */
bool hca_srq_take_tagged(struct hca_srq *srq, enum hca_srq_message kind, uint64_t tag,
			 struct hca_recv *out, uint16_t *index, bool *taken);
/* A tagged message that took a posted entry has failed. */
void hca_srq_uncount(struct hca_srq *srq);

#endif
