/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The watch over raw rings. Nothing is watched, and nothing runs, until a driver hands out an
 * object. Then threads that poll look on their way, and the service thread looks for programs that
 * never call: every few microseconds while it finds something, ever more rarely when it does not.
 *
 * Where every program has to ring a register (uar.c), pages are put to sleep after a short while
 * of quiet, and then nobody looks until the kernel tells of a store; but for a look now and then
 * for receives that were posted to a queue in error, which nobody rings for.
 *
 * One lock guards the lists and is held while looking, so an object that was forgotten is out of
 * use. It is taken outside of a QP's or CQ's lock; who finds it taken leaves the looking to the
 * holder.
 */
#include "hca/bell.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "fabric/service.h"
#include "hca/cq_priv.h"
#include "hca/qp_priv.h"
#include "hca/uar.h"
#include "util/forksafe.h"

#define SOONEST_NS  5000u
#define LATEST_NS   1000000u
#define IDLE_NS     10000000u   /* between looks after a second of quiet */
#define BACKSTOP_NS 50000000u   /* while pages sleep */
#define LONG_NS     1000000000u /* of quiet */
#define SLEEPY_NS   2000000u
/* Pauses grow by this part of the time since something was found. */
#define PATIENCE 8u

struct watched {
	void **object;
	size_t count, room;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
FORKSAFE(lock, FORKSAFE_BELL);
static struct watched qps, cqs;
static uint64_t found_ns;    /* when something was found last */
static uint32_t polls, seen; /* looks of pollers, and how many the service thread knows of */
static uint32_t unpaged;     /* watched objects for which nobody has to ring */
static bool asleep;          /* all pages are, and nobody looks */
_Atomic bool bell_any;

static int add(struct watched *w, void *object)
{
	if (w->count == w->room) {
		size_t more = w->room ? 2 * w->room : 16;
		void **bigger = realloc(w->object, more * sizeof(*bigger));

		if (!bigger)
			return -ENOMEM;
		w->object = bigger;
		w->room = more;
	}
	w->object[w->count++] = object;
	return 0;
}

static void drop(struct watched *w, const void *object)
{
	for (size_t i = 0; i < w->count; i++)
		if (w->object[i] == object) {
			w->object[i] = w->object[--w->count];
			break;
		}
	if (!qps.count && !cqs.count && !uar_any())
		atomic_store_explicit(&bell_any, false, memory_order_relaxed);
}

void bell_lock(void)
{
	pthread_mutex_lock(&lock);
}

void bell_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

/* Lock held. */
static void get_up(void)
{
	found_ns = fabric_now_ns();
	if (asleep)
		uar_wake();
	asleep = false;
	atomic_store_explicit(&bell_any, true, memory_order_relaxed);
}

void bell_wake(void)
{
	pthread_mutex_lock(&lock);
	get_up();
	pthread_mutex_unlock(&lock);
	fabric_service_set_deadline(fabric_now_ns() + SOONEST_NS);
}

static int watch(struct watched *w, void *object, const struct hca_format *format, bool *raw)
{
	int err = 0;

	pthread_mutex_lock(&lock);
	if (!*raw) {
		err = add(w, object);
		*raw = !err;
		if (!err && !format->uar_rung)
			unpaged++;
	}
	if (!err)
		get_up();
	pthread_mutex_unlock(&lock);
	if (!err)
		fabric_service_set_deadline(fabric_now_ns() + SOONEST_NS);
	return err;
}

int hca_bell_watch_qp(struct hca_qp *qp)
{
	return watch(&qps, qp, qp->format, &to_priv(qp)->raw);
}

int hca_bell_watch_cq(struct hca_cq *cq)
{
	if (!cq->raw)
		hca_cq_arm_begin(cq);
	return watch(&cqs, cq, cq->format, &cq->raw);
}

void bell_forget_qp(struct hca_qp *qp)
{
	if (!to_priv(qp)->raw)
		return;
	pthread_mutex_lock(&lock);
	drop(&qps, qp);
	unpaged -= !qp->format->uar_rung;
	pthread_mutex_unlock(&lock);
}

void bell_forget_cq(struct hca_cq *cq)
{
	if (!cq->raw)
		return;
	pthread_mutex_lock(&lock);
	drop(&cqs, cq);
	unpaged -= !cq->format->uar_rung;
	pthread_mutex_unlock(&lock);
}

void bell_ring_cq(uint32_t cqn, uint32_t word)
{
	for (size_t i = 0; i < cqs.count; i++) {
		struct hca_cq *cq = cqs.object[i];

		if (cq->cqn == cqn && cq->format->uar_rung)
			hca_cq_arm_rung(cq, word);
	}
}

/* Who holds the QP's lock may be about to ring himself; if not, the next look finds it free. */
static bool look_qp(struct qp *qp)
{
	const struct hca_sq_ring *sq = &qp->pub.sq;
	uint32_t producer, before;
	bool found = false;

	if (!fabric_trylock(&qp->pub.lock))
		return false;
	if (qp->dying || qp->pub.state < HCA_QPS_RTS)
		goto unlock;
	before = qp->req.next;
	producer = sq->size ? qp->pub.format->sq_producer(sq) : 0;
	if (sq->size && qp->pub.format->sq_ready(sq, before, producer)) {
		hca_sq_doorbell(&qp->pub, producer);
		found = qp->req.next != before || qp->req.partial;
	}
	/* Receives that were posted by hand after the failure. */
	if (unlikely(qp->pub.state == HCA_QPS_ERR)) {
		hca_guard_enter();
		responder_flush(qp);
		hca_guard_exit();
	}
unlock:
	fabric_unlock(&qp->pub.lock);
	return found;
}

/*
 * Lock held. True when an event was asked for: the program is about to sleep. Registers come first:
 * what was rung there says of a record that it was acted upon.
 */
static bool look(void)
{
	bool armed = uar_look(), found = false;

	for (size_t i = 0; i < qps.count; i++)
		found |= look_qp(qps.object[i]);
	for (size_t i = 0; i < cqs.count; i++)
		armed |= hca_cq_arm_raw(cqs.object[i]);
	if (found || armed)
		found_ns = fabric_now_ns();
	return armed;
}

void bell_look(void)
{
	bool armed;

	if (pthread_mutex_trylock(&lock))
		return;
	polls++;
	armed = look();
	pthread_mutex_unlock(&lock);
	if (unlikely(armed))
		hca_poll_pause();
}

/* While others look the service thread need not; it stays near, should they stop. */
static uint64_t pause_ns(uint64_t now_ns)
{
	uint64_t quiet = now_ns > found_ns ? now_ns - found_ns : 0, pause = quiet / PATIENCE;
	bool polled = polls != seen;

	seen = polls;
	if (quiet > LONG_NS && !polled)
		return IDLE_NS;
	if (polled || pause > LATEST_NS)
		return LATEST_NS;
	return pause < SOONEST_NS ? SOONEST_NS : pause;
}

/* Lock held. Goes to sleep if that can be; what comes while doing so is found by the last look. */
static bool lie_down(uint64_t now_ns)
{
	if (unpaged || now_ns < found_ns + SLEEPY_NS || !uar_sleep())
		return false;
	asleep = true;
	atomic_store_explicit(&bell_any, false, memory_order_relaxed);
	look();
	if (found_ns > now_ns)
		get_up();
	return asleep;
}

uint64_t bell_run(uint64_t now_ns)
{
	uint64_t next = UINT64_MAX;
	bool armed = false;

	if (pthread_mutex_trylock(&lock))
		return now_ns + SOONEST_NS;
	if (!qps.count && !cqs.count && !uar_any()) {
		pthread_mutex_unlock(&lock);
		return next;
	}
	armed = look();
	if (asleep && found_ns > now_ns)
		get_up();
	if (asleep || lie_down(now_ns))
		next = qps.count ? now_ns + BACKSTOP_NS : next;
	else
		next = now_ns + pause_ns(now_ns);
	pthread_mutex_unlock(&lock);
	if (armed)
		hca_poll_pause();
	return next;
}

void bell_forked(void)
{
	qps.count = cqs.count = 0;
	unpaged = 0;
	asleep = false;
	uar_forked();
	atomic_store_explicit(&bell_any, false, memory_order_relaxed);
}
