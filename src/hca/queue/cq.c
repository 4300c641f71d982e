/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completion queues. An entry is written by the format, its owner bit last, so that a poller needs
 * no lock against the adapter. The CQ's lock guards the producer index, arming, and the exchange of
 * the ring on resize.
 */
#include "hca/queue/cq.h"

#include <endian.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "hca/device/async.h"
#include "hca/device/checker.h"
#include "hca/hca.h"
#include "hca/queue/cq_alias.h"
#include "hca/queue/doorbell_trap.h"
#include "hca/queue/doorbell_watch.h"
#include "hca/queue/eq.h"
#include "util/explain.h"

#define CI_MASK       0xffffffu
#define ARM_SOLICITED (1u << 24)

/* ---- life ---- */

static int enlist(struct hca_cq *cq)
{
	int err;

	pthread_mutex_lock(&hca.queue.cq.lock);
	err = hca_number_get(&hca.queue.cq.numbers, &cq->cqn);
	if (!err) {
		err = hca_table_set(&hca.queue.cq.table, cq->cqn, cq);
		if (err)
			hca_number_put(&hca.queue.cq.numbers, cq->cqn);
	}
	pthread_mutex_unlock(&hca.queue.cq.lock);
	return err;
}

static void unlist(struct hca_cq *cq)
{
	pthread_mutex_lock(&hca.queue.cq.lock);
	hca_number_put(&hca.queue.cq.numbers, cq->cqn);
	pthread_mutex_unlock(&hca.queue.cq.lock);
}

static void moderation_expired(struct cq_moderation *timer, uint64_t now_ns);

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
	cq->on_event = init->on_event;
	cq->ignore_overrun = init->ignore_overrun;
	cq->user = cq->event.user = init->user;
	cq->moderation.expired = moderation_expired;
	err = enlist(cq);
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

	pthread_mutex_lock(&hca.queue.cq.lock);
	users = atomic_load(&cq->users);
	if (!users)
		hca_table_set(&hca.queue.cq.table, cq->cqn, NULL);
	pthread_mutex_unlock(&hca.queue.cq.lock);
	if (users)
		return explain(EBUSY, "%u queues complete into the completion queue", users);
	doorbell_watch_remove(&cq->doorbell);
	cq_alias_forget(&cq->alias);
	cq_moderation_forget(&cq->moderation);
	hca_async_forget(cq->ctx->async, cq->user);
	if (cq->channel) {
		channel_forget(cq->channel, &cq->event);
		atomic_fetch_sub(&cq->channel->users, 1);
	}
	if (cq->eq)
		atomic_fetch_sub(&cq->eq->users, 1);
	unlist(cq);
	hca_ctx_drop(cq->ctx, HCA_KIND_CQ);
	free(cq);
	return 0;
}

struct hca_cq *hca_cq_hold(const struct hca_adapter *adapter, uint32_t cqn)
{
	struct hca_cq *cq;

	pthread_mutex_lock(&hca.queue.cq.lock);
	cq = hca_table_find(&hca.queue.cq.table, cqn);
	if (cq && cq->ctx->adapter != adapter)
		cq = NULL;
	if (cq)
		atomic_fetch_add(&cq->users, 1);
	pthread_mutex_unlock(&hca.queue.cq.lock);
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

/* ---- events ---- */

/* Sends the event that was asked for. Lock held. */
static void fire(struct hca_cq *cq)
{
	cq->arm = HCA_ARM_NONE;
	cq->notified = cq->pi;
	cq->event_due_ns = 0;
	if (cq->channel)
		channel_post(cq->channel, &cq->event);
	if (cq->eq)
		hca_eq_post(cq->eq, &(struct hca_eqe){ .data = { [6] = cq->cqn } });
	if (cq->on_event)
		cq->on_event(cq->user);
}

/* Lock held. There is a reason for the event that was asked for: sends it, or holds it back. */
static void event_wanted(struct hca_cq *cq)
{
	if (!cq->moderation_count || !cq->moderation_usec ||
	    cq->pi - cq->notified >= cq->moderation_count) {
		fire(cq);
		return;
	}
	if (cq->event_due_ns)
		return;
	cq->event_due_ns = hca_now_ns() + cq->moderation_usec * 1000ull;
	if (cq_moderation_hold(&cq->moderation, cq->event_due_ns))
		fire(cq); /* too early, but not lost */
}

static void moderation_expired(struct cq_moderation *timer, uint64_t now_ns)
{
	struct hca_cq *cq = container_of(timer, struct hca_cq, moderation);

	fabric_lock(&cq->lock);
	if (cq->event_due_ns && now_ns >= cq->event_due_ns) {
		cq->event_due_ns = 0;
		if (cq->arm)
			fire(cq);
	}
	fabric_unlock(&cq->lock);
}

void hca_cq_permit_mini(struct hca_cq *cq, enum hca_mini_cqe mini)
{
	fabric_lock(&cq->lock);
	cq->mini = cq->format->cqe_compress ? mini : HCA_MINI_NONE;
	fabric_unlock(&cq->lock);
}

void hca_cq_moderate(struct hca_cq *cq, uint16_t count, uint16_t usec)
{
	fabric_lock(&cq->lock);
	cq->moderation_count = count;
	cq->moderation_usec = usec;
	/* An event that is held back was moderated by the old values. */
	if (cq->event_due_ns && cq->arm)
		fire(cq);
	fabric_unlock(&cq->lock);
}

/* Lock held. */
static void arm_for(struct hca_cq *cq, enum hca_arm arm, uint32_t consumer)
{
	if (cq->arm < arm)
		cq->arm = arm;
	/*
	 * A program that polled just before must not miss an entry that came after the last event and
	 * before this request. Entries that came before the last event do not count: the program may
	 * ask again first, and poll then. Unsolicited ones do not count for a solicited request.
	 */
	if (cq->arm == HCA_ARM_NEXT && cq->pi != cq->notified && ((cq->pi - consumer) & CI_MASK))
		event_wanted(cq);
}

static uint32_t arm_word(const struct hca_cq *cq)
{
	/* [CQ1] pairs with the program's write of the word: it has read its entries before */
	return __atomic_load_n(&cq->db[1], __ATOMIC_ACQUIRE);
}

void hca_cq_arm(struct hca_cq *cq, enum hca_arm arm, uint32_t consumer)
{
	fabric_lock(&cq->lock);
	if (unlikely(cq->doorbell.watched))
		__atomic_store_n(&cq->arm_seen, arm_word(cq), __ATOMIC_RELAXED);
	arm_for(cq, arm, consumer);
	fabric_unlock(&cq->lock);
}

/* ---- arming by hand (doorbell_watch.h) ---- */

/* Lock held. Both formats have the consumer's index and, above it, the bit for "solicited" here. */
static void arm_by_word(struct hca_cq *cq, uint32_t word)
{
	arm_for(cq, word & ARM_SOLICITED ? HCA_ARM_SOLICITED : HCA_ARM_NEXT, word & CI_MASK);
}

/* A change of the arm word asks for an event. */
static void look(struct doorbell_source *source, struct doorbell_look *result)
{
	struct hca_cq *cq = container_of(source, struct hca_cq, doorbell);
	uint32_t word = arm_word(cq);

	if (likely(word == __atomic_load_n(&cq->arm_seen, __ATOMIC_RELAXED)))
		return;
	fabric_lock(&cq->lock);
	word = arm_word(cq);
	__atomic_store_n(&cq->arm_seen, word, __ATOMIC_RELAXED);
	arm_by_word(cq, be32toh(word));
	fabric_unlock(&cq->lock);
	result->armed = true;
}

/* The doorbell record has the same word, and may have been seen first. */
static void ring(struct doorbell_source *source, uint32_t word)
{
	struct hca_cq *cq = container_of(source, struct hca_cq, doorbell);

	fabric_lock(&cq->lock);
	if (cq->arm_seen != htobe32(word)) {
		__atomic_store_n(&cq->arm_seen, htobe32(word), __ATOMIC_RELAXED);
		arm_by_word(cq, word);
	}
	fabric_unlock(&cq->lock);
}

int hca_doorbell_watch_cq(struct hca_cq *cq)
{
	static const struct doorbell_source_ops ops = { .look = look, .ring_cq = ring };

	if (!cq->doorbell.watched) {
		/* Changes of the arm word count from here on. */
		fabric_lock(&cq->lock);
		__atomic_store_n(&cq->arm_seen, arm_word(cq), __ATOMIC_RELAXED);
		fabric_unlock(&cq->lock);
	}
	return doorbell_watch_add(&cq->doorbell, &ops, cq->cqn, !cq->format->uar_take_cq);
}

int hca_cq_alias_create(struct hca_cq *cq, struct hca_cq_alias **out)
{
	int err;

	doorbell_trap_open();
	doorbell_watch_open_uffd();
	err = cq_alias_create(&cq->alias, cq->buf, (size_t)cq->size * cq->entry_size,
			      cq->entry_size, &cq->pi);
	if (!err)
		*out = cq->alias;
	return err;
}

/* ---- entries ---- */

static void overrun(struct hca_cq *cq, uint32_t consumer)
{
	cq->failed = true;
	if (cq->checked)
		hca.checker->cq_overrun(cq, consumer);
	hca_async_post(cq->ctx->async, HCA_EVENT_CQ_ERR, cq->user);
	explain_note(
		"a completion queue of %u entries overran; poll it faster or make it as deep as "
		"all work requests that complete into it",
		cq->size);
}

/*
 * The consumer is read only when the entries that were free the last time are used up. Its index counts
 * modulo twice the size: programs need not keep more bits (DPDK's compress driver keeps 16).
 */
static __attribute__((noinline)) bool find_room(struct hca_cq *cq)
{
	uint32_t consumer, used;

	if (cq->failed)
		return false;
	consumer = cq->format->cq_consumer(cq);
	used = (cq->pi - consumer) & (2 * cq->size - 1);
	if (cq->ignore_overrun)
		used = 0;
	if (used >= cq->size) {
		overrun(cq, consumer);
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
	if (unlikely(cq->doorbell.watched))
		doorbell_trap_note_entry();
	if (unlikely(cq->arm) &&
	    (cq->arm == HCA_ARM_NEXT || cqe->solicited || cqe->status != HCA_SUCCESS))
		event_wanted(cq);
}

void hca_cq_add(struct hca_cq *cq, const struct hca_cqe *cqe)
{
	fabric_lock(&cq->lock);
	add_one(cq, cqe);
	fabric_unlock(&cq->lock);
}

/* Lock held. Several as one, if the program and the format permit it; the number, or 0. */
static unsigned int add_short(struct hca_cq *cq, const struct hca_cqe *cqe, unsigned int count)
{
	unsigned int n;

	if (count < 2 || (!cq->room && !find_room(cq)))
		return 0;
	n = cq->format->cqe_compress(cq, cq->pi, cqe, count < cq->room ? count : cq->room);
	cq->room -= n;
	cq->pi += n;
	/* Completions of frames are never solicited. */
	if (n && unlikely(cq->arm == HCA_ARM_NEXT))
		event_wanted(cq);
	return n;
}

void hca_cq_add_many(struct hca_cq *cq, const struct hca_cqe *cqe, unsigned int count)
{
	unsigned int n;

	fabric_lock(&cq->lock);
	for (unsigned int i = 0; i < count; i += n) {
		n = unlikely(cq->mini) ? add_short(cq, &cqe[i], count - i) : 0;
		if (n)
			continue;
		add_one(cq, &cqe[i]);
		n = 1;
	}
	fabric_unlock(&cq->lock);
}
