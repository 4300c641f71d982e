/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The watch over raw rings. Nothing is watched, and nothing runs, until a driver hands out an
 * object. Then threads that poll look on their way, and the service thread looks for programs that
 * never call.
 *
 * Where every program has to ring a register (uar.c), the service thread looks once, and when there
 * is nothing closes the pages of registers: the next store then waits in the kernel, which wakes the
 * service thread at once, on the very core that the program leaves. It carries out what was posted,
 * opens the page, and closes it again the next time that it wakes and finds nothing new. A program
 * that posts without a pause is met by looks that follow each other closely, while its page stays
 * open. So is everybody when there are processors to spare (spin_policy.c): the thread then spins for as
 * long as something comes.
 *
 * Where programs may ring nothing, or the kernel has no userfaultfd for us, looks go on, every few
 * microseconds while they find something, ever more rarely when they do not.
 *
 * One lock guards the lists and is held while looking, so an object that was forgotten is out of
 * use. It is taken outside of a QP's or CQ's lock; who finds it taken leaves the looking to the
 * holder.
 */
#include "hca/queue/doorbell_watch.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "fabric/clock.h"
#include "fabric/link.h"
#include "fabric/service.h"
#include "hca/engine/poll.h"
#include "hca/queue/cq_priv.h"
#include "hca/transport/qp_types.h"
#include "hca/transport/recv.h"
#include "hca/transport/requester.h"
#include "hca/transport/sq.h"
#include "hca/hca.h"
#include "fabric/epoch.h"
#include "hca/queue/spin_policy.h"
#include "hca/queue/uar.h"
#include "hca/queue/cq_alias.h"
#include "util/forksafe.h"

#define SOONEST_NS   5000u
#define LATEST_NS    1000000u
#define IDLE_NS      10000000u   /* between looks after a second of quiet */
#define BACKSTOP_NS  50000000u   /* while pages are closed and a queue pair has failed */
#define GUESTS_NS    100000000u  /* while pages are closed that a program may have mapped again */
#define LONG_NS      1000000000u /* of quiet */
#define SLEEPY_NS    2000000u    /* before pages close although somebody polls */
#define LATE_MOST_NS 100000u
#define NAP_MOST_NS  1000000u /* until an open page is looked at, should nothing else come */
#define NAP_LEAST_NS 200000u  /* ... where a reader tells (cq_alias.h) */
#define SPIN_NS      200000u  /* of quiet, before spinning ends */
#define STINT_NS     100000u  /* of spinning, between looks at descriptors */
/* Pauses grow by this part of the time since something was found. */
#define PATIENCE 8u

struct watched {
	void **object;
	size_t count, room;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
FORKSAFE(lock, FORKSAFE_BELL);
static struct watched qps, cqs;
static _Atomic uint64_t found_ns; /* when something was found last */
static uint32_t polls, seen;      /* looks of pollers, and how many the service thread knows of */
static uint32_t unpaged;          /* watched objects for which nobody has to ring */
static _Atomic bool failed;       /* a queue pair has: receives posted to it ring nothing */
static bool asleep;               /* all pages are closed, and nobody looks */
static bool fresh;                /* a page was opened in this turn: its store is still to come */
static bool hold;                 /* ... was opened and nothing found: the register will say */
static uint64_t nap_ns = SOONEST_NS;    /* how long a page stays open if nothing else happens */
static uint64_t due_ns;                 /* when the service thread wanted to look */
static uint64_t guests_ns = UINT64_MAX; /* when to look for guests (uar.h) */
static uint64_t late_ns;                /* how much later it does so, usually */
static struct hca_cq *polled_next;      /* where the completion of what was found last will be */
_Atomic bool doorbell_watch_any, doorbell_watch_busy;

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
		atomic_store_explicit(&doorbell_watch_any, false, memory_order_relaxed);
}

void doorbell_watch_lock(void)
{
	pthread_mutex_lock(&lock);
}

void doorbell_watch_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

/* Lock held. Somebody looks from now on; pages open when a store to them comes. */
static void get_up(void)
{
	atomic_store_explicit(&found_ns, fabric_now_ns(), memory_order_relaxed);
	asleep = false;
	atomic_store_explicit(&doorbell_watch_any, true, memory_order_relaxed);
}

void doorbell_watch_wake(void)
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

int hca_doorbell_watch_qp(struct hca_qp *qp)
{
	return watch(&qps, qp, qp->format, &to_priv(qp)->raw);
}

int hca_doorbell_watch_cq(struct hca_cq *cq)
{
	if (!cq->raw)
		hca_cq_arm_begin(cq);
	return watch(&cqs, cq, cq->format, &cq->raw);
}

void doorbell_watch_forget_qp(struct hca_qp *qp)
{
	if (!to_priv(qp)->raw)
		return;
	pthread_mutex_lock(&lock);
	drop(&qps, qp);
	unpaged -= !qp->format->uar_rung;
	pthread_mutex_unlock(&lock);
}

void doorbell_watch_forget_cq(struct hca_cq *cq)
{
	if (!cq->raw)
		return;
	pthread_mutex_lock(&lock);
	drop(&cqs, cq);
	unpaged -= !cq->format->uar_rung;
	pthread_mutex_unlock(&lock);
}

void doorbell_watch_ring_cq(uint32_t cqn, uint32_t word)
{
	for (size_t i = 0; i < cqs.count; i++) {
		struct hca_cq *cq = cqs.object[i];

		if (cq->cqn == cqn && cq->format->uar_rung)
			hca_cq_arm_rung(cq, word);
	}
}

void doorbell_watch_qp_failed(void)
{
	if (!atomic_exchange(&failed, true))
		fabric_service_set_deadline(fabric_now_ns() + BACKSTOP_NS);
}

/* Who holds the QP's lock may be about to ring himself; if not, another look finds it free. */
static bool look_qp(struct qp *qp)
{
	const struct hca_sq_ring *sq = &qp->pub.sq;
	uint32_t producer, before;
	bool found = false;

	if (!fabric_trylock(&qp->pub.lock))
		return true;
	if (qp->dying || qp->pub.state < HCA_QPS_RTS)
		goto unlock;
	before = qp->req.next;
	producer = sq->size ? qp->pub.format->sq_producer(sq) : 0;
	if (sq->size && hca_sq_ready(qp->pub.format, sq, before, producer)) {
		hca_sq_doorbell(&qp->pub, producer);
		found = qp->req.next != before || qp->req.partial;
		if (found)
			polled_next = qp->pub.send_cq;
	}
	/* Receives that were posted by hand after the failure. */
	if (unlikely(qp->pub.state == HCA_QPS_ERR)) {
		atomic_store(&failed, true);
		epoch_enter();
		recv_flush(qp);
		epoch_exit();
	}
unlock:
	fabric_unlock(&qp->pub.lock);
	return found;
}

/*
 * Lock held. Registers come first: what was rung there says of a record that it was acted upon.
 * *armed when an event was asked for: the program is about to sleep.
 */
static bool look(bool *armed)
{
	bool found = false;

	*armed = uar_look();
	polled_next = NULL;
	atomic_store(&failed, false);
	for (size_t i = 0; i < qps.count; i++)
		found |= look_qp(qps.object[i]);
	for (size_t i = 0; i < cqs.count; i++)
		*armed |= hca_cq_arm_raw(cqs.object[i]);
	found |= *armed;
	if (found)
		atomic_store_explicit(&found_ns, fabric_now_ns(), memory_order_relaxed);
	return found;
}

void doorbell_watch_look(void)
{
	bool armed;

	if (pthread_mutex_trylock(&lock))
		return;
	if (!fabric_service_is_self())
		polls++;
	look(&armed);
	pthread_mutex_unlock(&lock);
	if (unlikely(armed))
		hca_poll_pause();
}

static uint64_t quiet_ns(uint64_t now_ns)
{
	uint64_t found = atomic_load_explicit(&found_ns, memory_order_relaxed);

	return now_ns > found ? now_ns - found : 0;
}

/*
 * Timers cost a microsecond on one machine and thirty on another, where a hypervisor has its hands
 * in every one. Looks that come more often than a few times of that leave the program no time.
 */
static uint64_t soonest_ns(void)
{
	uint64_t least = 2 * late_ns;

	return least > SOONEST_NS ? least : SOONEST_NS;
}

static void note_lateness(uint64_t now_ns)
{
	uint64_t late = due_ns && now_ns > due_ns ? now_ns - due_ns : 0;

	if (late > LATE_MOST_NS)
		late = LATE_MOST_NS;
	if (late)
		late_ns = (7 * late_ns + late) / 8;
	due_ns = 0;
}

static void look_at(uint64_t ns)
{
	if (!due_ns || ns < due_ns)
		due_ns = ns;
	fabric_service_set_deadline(ns);
}

/* While others look the service thread need not; it stays near, should they stop. */
static uint64_t pause_ns(uint64_t now_ns, bool polled)
{
	uint64_t quiet = quiet_ns(now_ns), pause = quiet / PATIENCE;

	if (quiet > LONG_NS && !polled)
		return IDLE_NS;
	if (polled || pause > LATEST_NS)
		return LATEST_NS;
	return pause < soonest_ns() ? soonest_ns() : pause;
}

/*
 * Lock held. Closes the pages if that can be; what comes while doing so is found by the last look.
 * A ring behind it finds its page closed.
 */
static bool lie_down(uint64_t now_ns, bool *armed)
{
	if (unpaged || (polls != seen && quiet_ns(now_ns) < SLEEPY_NS) || !uar_sleep())
		return false;
	asleep = true;
	atomic_store_explicit(&doorbell_watch_any, false, memory_order_relaxed);
	if (look(armed))
		get_up();
	return asleep;
}

/* ---- the service thread ---- */

/*
 * A store waits in the kernel, and what it tells of is in memory already, unless the store itself
 * does the telling. Peers are woken before the page is opened: the program has to wait for them.
 */
void doorbell_watch_rung(void)
{
	bool armed, found, shut;

	fabric_kicks_defer();
	pthread_mutex_lock(&lock);
	found = look(&armed);
	fabric_kicks_flush();
	get_up();
	shut = found && polled_next && cq_alias_shut(polled_next);
	uar_wake_rung();
	fresh = true;
	hold = !found;
	pthread_mutex_unlock(&lock);
	/* Should the program not poll that queue, there is still the clock, which can be slow. */
	if (shut && nap_ns < NAP_LEAST_NS)
		nap_ns = NAP_LEAST_NS;
	look_at(fabric_now_ns() + (found && nap_ns > soonest_ns() ? nap_ns : soonest_ns()));
	if (armed)
		hca_poll_pause();
}

/*
 * The program polls, so what it has rung before is in memory. If that was all, the page closes; if
 * it has rung again meanwhile, it will go on doing so.
 */
void doorbell_watch_read(void)
{
	bool armed = false, awake;

	fabric_kicks_defer();
	pthread_mutex_lock(&lock);
	if (!asleep && !look(&armed)) {
		hold = false;
		lie_down(fabric_now_ns(), &armed);
	}
	cq_alias_open();
	awake = !asleep;
	pthread_mutex_unlock(&lock);
	fabric_kicks_flush();
	/* What was set when the page was opened counts on the page being closed by now. */
	if (awake)
		look_at(fabric_now_ns() + soonest_ns());
	if (armed)
		hca_poll_pause();
}

/* True when it should go on. */
static bool spin(uint64_t now_ns)
{
	uint64_t until = now_ns + STINT_NS;
	struct spin_phase stint;

	spin_begin(&stint, now_ns);
	do {
		for (int i = 0; i < 16; i++)
			hca_poll();
		now_ns = fabric_now_ns();
		if (atomic_load_explicit(&doorbell_watch_busy, memory_order_relaxed)) {
			atomic_store_explicit(&doorbell_watch_busy, false, memory_order_relaxed);
			atomic_store_explicit(&found_ns, now_ns, memory_order_relaxed);
		}
	} while (now_ns < until && quiet_ns(now_ns) < SPIN_NS);
	if (spin_end(&stint, now_ns) && quiet_ns(now_ns) < SPIN_NS)
		return true;
	hca_poll_pause();
	return false;
}

/* Nobody hears of them while we spin. */
static void let_readers_in(void)
{
	pthread_mutex_lock(&lock);
	cq_alias_open();
	pthread_mutex_unlock(&lock);
}

uint64_t doorbell_watch_turn(uint64_t now_ns)
{
	bool armed = false;

	if (likely(!atomic_load_explicit(&doorbell_watch_any, memory_order_relaxed)))
		return UINT64_MAX;
	if (quiet_ns(now_ns) < SPIN_NS && spin_any(now_ns)) {
		fresh = false;
		let_readers_in();
		if (spin(now_ns))
			return 0;
		now_ns = fabric_now_ns();
	}
	if (pthread_mutex_trylock(&lock))
		return now_ns + SOONEST_NS;
	/* A store that has not come yet keeps its page open, but not for long. */
	if (!asleep && !fresh && !look(&armed) && !hold && !lie_down(now_ns, &armed) && !unpaged &&
	    polls == seen)
		look_at(now_ns + soonest_ns());
	fresh = false;
	pthread_mutex_unlock(&lock);
	if (armed)
		hca_poll_pause();
	return UINT64_MAX; /* while awake, doorbell_watch_run() is to come */
}

/* Lock held. Pages are closed: when to have another look all the same. */
static uint64_t backstop(uint64_t now_ns)
{
	guests_ns = uar_expects_guests() ? now_ns + GUESTS_NS : UINT64_MAX;
	return failed ? now_ns + BACKSTOP_NS : guests_ns;
}

/* Lock held. Something is watched, and pages are open or there are none. */
static uint64_t run_awake(uint64_t now_ns, bool *armed)
{
	bool polled = polls != seen;

	hold = false;
	if (look(armed)) {
		nap_ns = soonest_ns();
	} else if (lie_down(now_ns, armed)) {
		return backstop(now_ns);
	}
	seen = polls;
	due_ns = now_ns + pause_ns(now_ns, polled);
	return due_ns;
}

uint64_t doorbell_watch_run(uint64_t now_ns)
{
	uint64_t next = UINT64_MAX;
	bool armed = false;

	if (pthread_mutex_trylock(&lock))
		return now_ns + SOONEST_NS;
	note_lateness(now_ns);
	if (!qps.count && !cqs.count && !uar_any()) {
		pthread_mutex_unlock(&lock);
		return next;
	}
	if (asleep) {
		/* Closed again before it was time: such looks can be rarer. */
		if (now_ns < guests_ns)
			nap_ns = 2 * nap_ns < NAP_MOST_NS ? 2 * nap_ns : NAP_MOST_NS;
		if (uar_find_guests())
			get_up();
		if (failed || !asleep)
			look(&armed);
		next = asleep ? backstop(now_ns) : now_ns + SOONEST_NS;
	} else {
		next = run_awake(now_ns, &armed);
	}
	pthread_mutex_unlock(&lock);
	if (armed)
		hca_poll_pause();
	return next;
}

void doorbell_watch_forked(void)
{
	qps.count = cqs.count = 0;
	unpaged = 0;
	asleep = fresh = hold = false;
	atomic_store(&failed, false);
	uar_forked();
	cq_alias_forked();
	spin_forked();
	atomic_store_explicit(&doorbell_watch_any, false, memory_order_relaxed);
}
