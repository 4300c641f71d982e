/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Moderation: an event only when so many entries have come since the last one, or so long after the
 * first of them. A moderated queue stands in a list for as long as it lives; the service thread
 * looks through the list when the earliest event is due. The list's lock is taken before a CQ's,
 * and by no one who holds one.
 */
#include <pthread.h>

#include "fabric/clock.h"
#include "fabric/lock.h"
#include "fabric/service.h"
#include "hca/queue/cq_priv.h"
#include "util/forksafe.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
FORKSAFE(lock, FORKSAFE_OBJECT);
static struct hca_cq *moderated;

static void enlist(struct hca_cq *cq)
{
	pthread_mutex_lock(&lock);
	if (!cq->moderated_at) {
		cq->moderated_next = moderated;
		cq->moderated_at = &moderated;
		if (moderated)
			moderated->moderated_at = &cq->moderated_next;
		moderated = cq;
	}
	pthread_mutex_unlock(&lock);
}

void hca_cq_moderate_forget(struct hca_cq *cq)
{
	pthread_mutex_lock(&lock);
	if (cq->moderated_at) {
		*cq->moderated_at = cq->moderated_next;
		if (cq->moderated_next)
			cq->moderated_next->moderated_at = cq->moderated_at;
		cq->moderated_at = NULL;
	}
	pthread_mutex_unlock(&lock);
}

void hca_cq_moderate(struct hca_cq *cq, uint16_t count, uint16_t usec)
{
	enlist(cq);
	fabric_lock(&cq->lock);
	cq->moderation_count = count;
	cq->moderation_usec = usec;
	/* What is being held back was promised under other terms. */
	if (cq->event_due_ns && cq->arm)
		hca_cq_fire(cq);
	fabric_unlock(&cq->lock);
}

void hca_cq_event_wanted(struct hca_cq *cq)
{
	if (!cq->moderation_count || !cq->moderation_usec ||
	    cq->pi - cq->notified >= cq->moderation_count) {
		hca_cq_fire(cq);
		return;
	}
	if (cq->event_due_ns)
		return;
	cq->event_due_ns = fabric_now_ns() + cq->moderation_usec * 1000ull;
	fabric_service_set_deadline(cq->event_due_ns);
}

uint64_t hca_cq_timers(uint64_t now_ns)
{
	uint64_t next = UINT64_MAX;

	pthread_mutex_lock(&lock);
	for (struct hca_cq *cq = moderated; cq; cq = cq->moderated_next) {
		fabric_lock(&cq->lock);
		if (cq->event_due_ns && now_ns >= cq->event_due_ns) {
			cq->event_due_ns = 0;
			if (cq->arm)
				hca_cq_fire(cq);
		}
		if (cq->event_due_ns && cq->event_due_ns < next)
			next = cq->event_due_ns;
		fabric_unlock(&cq->lock);
	}
	pthread_mutex_unlock(&lock);
	return next;
}

void hca_cq_forked(void)
{
	moderated = NULL;
}
