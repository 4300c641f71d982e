/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completion queues. An entry is written by the format, its owner bit last; a poller needs no lock
 * against us. What is guarded by the CQ's lock: the producer index, arming, and the ring's
 * exchange on resize.
 */
#include "hca/queue/cq.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "hca/device/async.h"
#include "hca/queue/doorbell_watch.h"
#include "hca/queue/cq_priv.h"
#include "hca/queue/eq.h"
#include "fabric/epoch.h"
#include "hca/device/table.h"
#include "hca/queue/cq_alias.h"
#include "util/explain.h"
#include "util/forksafe.h"

#define CI_MASK       0xffffffu
#define ARM_SOLICITED (1u << 24)

/* Guards the table, and that nobody takes a queue that is about to go. */
static pthread_mutex_t cq_lock = PTHREAD_MUTEX_INITIALIZER;
FORKSAFE(cq_lock, FORKSAFE_OBJECT);
static struct hca_table queues;

uint64_t hca_clock(const struct hca_adapter *a)
{
	struct timespec now;
	uint64_t ns;

	clock_gettime(CLOCK_MONOTONIC, &now);
	ns = now.tv_sec * 1000000000ull + now.tv_nsec;
	if (a->model->core_clock_khz == 1000000)
		return ns;
	return (unsigned __int128)ns * a->model->core_clock_khz / 1000000;
}

static int number(struct hca_cq *cq)
{
	static uint32_t last;
	int err;

	pthread_mutex_lock(&cq_lock);
	do
		last = (last + 1) & 0xffffff;
	while (!last || hca_table_find(&queues, last));
	cq->cqn = last;
	err = hca_table_set(&queues, cq->cqn, cq);
	pthread_mutex_unlock(&cq_lock);
	return err;
}

int hca_cq_create(const struct hca_cq_init *init, struct hca_cq **out)
{
	struct hca_cq *cq;
	int err = hca_ctx_take(init->ctx, HCA_KIND_CQ);

	if (err)
		return err;
	cq = calloc(1, sizeof(*cq));
	if (!cq) {
		err = -ENOMEM;
		goto drop;
	}
	cq->ctx = init->ctx;
	cq->format = init->format;
	cq->buf = init->buf;
	cq->size = init->size;
	cq->entry_size = init->entry_size;
	cq->db = init->db;
	cq->channel = init->channel;
	cq->eq = init->eq;
	cq->event = init->event;
	cq->ignore_overrun = init->ignore_overrun;
	cq->user = init->user;
	err = number(cq);
	if (err)
		goto free_cq;
	if (cq->channel)
		atomic_fetch_add(&cq->channel->users, 1);
	if (cq->eq)
		atomic_fetch_add(&cq->eq->users, 1);
	*out = cq;
	return 0;
free_cq:
	free(cq);
drop:
	hca_ctx_drop(init->ctx, HCA_KIND_CQ);
	return err;
}

int hca_cq_destroy(struct hca_cq *cq)
{
	unsigned int users;

	pthread_mutex_lock(&cq_lock);
	users = atomic_load(&cq->users);
	if (!users)
		hca_table_set(&queues, cq->cqn, NULL);
	pthread_mutex_unlock(&cq_lock);
	if (users)
		return explain(EBUSY, "%u queues complete into the completion queue", users);
	doorbell_watch_forget_cq(cq);
	cq_alias_forget_cq(cq);
	hca_cq_moderate_forget(cq);
	hca_async_forget(cq->ctx->async, cq->user);
	hca_cq_forget_events(cq);
	if (cq->channel)
		atomic_fetch_sub(&cq->channel->users, 1);
	if (cq->eq)
		atomic_fetch_sub(&cq->eq->users, 1);
	hca_ctx_drop(cq->ctx, HCA_KIND_CQ);
	free(cq);
	return 0;
}

struct hca_cq *hca_cq_hold(const struct hca_adapter *adapter, uint32_t cqn)
{
	struct hca_cq *cq;

	pthread_mutex_lock(&cq_lock);
	cq = hca_table_find(&queues, cqn);
	if (cq && cq->ctx->adapter != adapter)
		cq = NULL;
	if (cq)
		atomic_fetch_add(&cq->users, 1);
	pthread_mutex_unlock(&cq_lock);
	return cq;
}

void hca_cq_resize(struct hca_cq *cq, void *buf, uint32_t size,
		   uint32_t (*move)(struct hca_cq *cq, void *buf, uint32_t size, void *arg),
		   void *arg)
{
	fabric_lock(&cq->lock);
	cq->pi = move(cq, buf, size, arg);
	cq->room = 0;
	cq->buf = buf;
	cq->size = size;
	fabric_unlock(&cq->lock);
}

void hca_cq_swap(struct hca_cq *cq, void *buf, uint32_t size,
		 uint32_t (*move)(struct hca_cq *cq, void *buf, uint32_t size, void *arg),
		 bool *can)
{
	fabric_lock(&cq->lock);
	cq->pi = move(cq, buf, size, can);
	cq->room = 0;
	if (*can) {
		cq->buf = buf;
		cq->size = size;
	}
	fabric_unlock(&cq->lock);
}

void hca_cq_fire(struct hca_cq *cq)
{
	cq->arm = HCA_ARM_NONE;
	cq->notified = cq->pi;
	cq->event_due_ns = 0;
	if (cq->channel)
		hca_channel_post(cq->channel, cq);
	if (cq->eq)
		hca_eq_post(cq->eq, &(struct hca_eqe){ .data = { [6] = cq->cqn } });
	if (cq->event)
		cq->event(cq->user);
}

/* Lock held. */
static void arm_for(struct hca_cq *cq, enum hca_arm arm, uint32_t consumer)
{
	if (cq->arm < arm)
		cq->arm = arm;
	/*
	 * An entry that came after the last event and before this request must not be missed by a
	 * program that looked just before. Those that the last event spoke of are the program's to
	 * fetch: it may ask again first and poll then. Unsolicited ones do not count for a solicited
	 * request.
	 */
	if (cq->arm == HCA_ARM_NEXT && cq->pi != cq->notified && ((cq->pi - consumer) & CI_MASK))
		hca_cq_event_wanted(cq);
}

static uint32_t arm_word(const struct hca_cq *cq)
{
	/* [CQ1] pairs with the program's write of the word: it has read its entries before */
	return __atomic_load_n(&cq->db[1], __ATOMIC_ACQUIRE);
}

void hca_cq_arm(struct hca_cq *cq, enum hca_arm arm, uint32_t consumer)
{
	fabric_lock(&cq->lock);
	if (unlikely(cq->raw))
		__atomic_store_n(&cq->arm_seen, arm_word(cq), __ATOMIC_RELAXED);
	arm_for(cq, arm, consumer);
	fabric_unlock(&cq->lock);
}

void hca_cq_arm_begin(struct hca_cq *cq)
{
	fabric_lock(&cq->lock);
	__atomic_store_n(&cq->arm_seen, arm_word(cq), __ATOMIC_RELAXED);
	fabric_unlock(&cq->lock);
}

/* Both formats have the consumer's index and, above it, the bit for "solicited" at one place. */
bool hca_cq_arm_raw(struct hca_cq *cq)
{
	uint32_t word = arm_word(cq), asked;

	if (likely(word == __atomic_load_n(&cq->arm_seen, __ATOMIC_RELAXED)))
		return false;
	fabric_lock(&cq->lock);
	word = arm_word(cq);
	asked = be32toh(word);
	__atomic_store_n(&cq->arm_seen, word, __ATOMIC_RELAXED);
	arm_for(cq, asked & ARM_SOLICITED ? HCA_ARM_SOLICITED : HCA_ARM_NEXT, asked & CI_MASK);
	fabric_unlock(&cq->lock);
	return true;
}

void hca_cq_arm_rung(struct hca_cq *cq, uint32_t asked)
{
	/* The record says the same, and may have been seen first. */
	fabric_lock(&cq->lock);
	if (cq->arm_seen != htobe32(asked)) {
		__atomic_store_n(&cq->arm_seen, htobe32(asked), __ATOMIC_RELAXED);
		arm_for(cq, asked & ARM_SOLICITED ? HCA_ARM_SOLICITED : HCA_ARM_NEXT,
			asked & CI_MASK);
	}
	fabric_unlock(&cq->lock);
}

static void overrun(struct hca_cq *cq)
{
	cq->failed = true;
	hca_async_post(cq->ctx->async, HCA_EVENT_CQ_ERR, cq->user);
	explain_note(
		"a completion queue of %u entries overran; poll it faster or make it as deep as "
		"all work requests that complete into it",
		cq->size);
}

/* The consumer is looked up only when what was free the last time is used up. */
static __attribute__((noinline)) bool find_room(struct hca_cq *cq)
{
	uint32_t used;

	if (cq->failed)
		return false;
	used = cq->ignore_overrun ? 0 : (cq->pi - cq->format->cq_consumer(cq)) & CI_MASK;
	if (used >= cq->size) {
		overrun(cq);
		return false;
	}
	cq->room = cq->size - used;
	return true;
}

/* Lock held. */
static inline void add_one(struct hca_cq *cq, const struct hca_cqe *cqe)
{
	if (unlikely(!cq->room) && !find_room(cq))
		return;
	cq->room--;
	cq->format->cqe_write(cq, cq->pi++, cqe);
	if (unlikely(cq->arm) &&
	    (cq->arm == HCA_ARM_NEXT || cqe->solicited || cqe->status != HCA_SUCCESS))
		hca_cq_event_wanted(cq);
}

void hca_cq_add(struct hca_cq *cq, const struct hca_cqe *cqe)
{
	fabric_lock(&cq->lock);
	add_one(cq, cqe);
	fabric_unlock(&cq->lock);
}

void hca_cq_add_many(struct hca_cq *cq, const struct hca_cqe *cqe, unsigned int count)
{
	fabric_lock(&cq->lock);
	for (unsigned int i = 0; i < count; i++)
		add_one(cq, &cqe[i]);
	fabric_unlock(&cq->lock);
}
