/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The watch over raw rings is in one of three states:
 *
 * OFF      Nothing is watched, and nothing runs.
 * LOOKING  Threads that poll look at all watched queues on their way (doorbell_watch_poll), and the
 *          service thread looks for programs that never call.
 * CLOSED   All doorbell pages are write protected (uar.h), and no thread looks. Only where every
 *          program has to store to a doorbell page when it posts: no queue is `without_page`.
 *
 * OFF -> LOOKING     a driver's thread registers a queue or a page [start_looking]
 * LOOKING -> CLOSED  the service thread has looked and found nothing [try_close]. A request that is
 *                    posted meanwhile is found by a last look, which leads back to LOOKING; one
 *                    that is posted later finds its page closed.
 * CLOSED -> LOOKING  a program's store faults and waits in the kernel, which wakes the service
 *                    thread on the core that the program's thread leaves. The service thread carries
 *                    out what was posted, then opens that page and the store goes on [on_store]. Also
 *                    when a queue or page is registered, or a shown page was touched (uar.h).
 * LOOKING -> OFF     the last queue is removed [doorbell_watch_remove]
 *
 * The service thread closes the pages again the next time that it wakes and finds nothing new. What
 * wakes it: the program's next read of a CQ alias whose page was closed together with opening the
 * doorbell page (cq_alias.h) [on_read], or a timer after open_ns. A program that posts without a
 * pause is found by looks that follow each other closely, while its page stays open. While there are
 * idle processors (spin_policy.h) the service thread spins instead, for as long as something comes.
 *
 * Where programs need not store to a page, or the kernel permits no userfaultfd, the watch stays
 * LOOKING: every few microseconds while looks find something, and ever more rarely when they do not.
 *
 * watch_lock is held while looking, so that a queue that was removed is not in use. It is taken
 * outside of a QP's or CQ's lock. A polling thread that finds it taken does not look: its holder
 * does.
 */
#include "hca/queue/doorbell_watch.h"

#include <errno.h>
#include <pthread.h>

#include "fabric/link.h"
#include "fabric/service.h"
#include "hca/queue/cq_alias.h"
#include "hca/queue/spin_policy.h"
#include "hca/queue/uar.h"
#include "hca/queue/uffd.h"

#define LOOK_MIN_NS     5000u       /* between two looks */
#define LOOK_MAX_NS     1000000u    /* the same, within a second of the last find */
#define LOOK_IDLE_NS    10000000u   /* the same, later */
#define IDLE_AFTER_NS   1000000000u /* without a find */
#define PAUSE_PART      8u          /* a pause is this part of the time since the last find */
#define FAILED_NS       50000000u   /* between looks while closed and a QP is in the error state */
#define SHOWN_NS        100000000u  /* between checks of shown pages while closed */
#define POLLED_QUIET_NS 2000000u    /* without a find, before pages close although threads poll */
#define LATE_MAX_NS     100000u
#define BURST_NS        100000u /* from the begin of the first burst to a look by the service thread */
#define OPEN_MAX_NS     1000000u /* that a page stays open, should nothing else come */
#define OPEN_ALIAS_NS   200000u  /* the same at least where a read of a CQ alias will tell */
#define SPIN_QUIET_NS   200000u  /* without a find, before spinning ends */
#define SPIN_PHASE_NS   100000u  /* of spinning, before descriptors are polled */

/* ---- registration ---- */

static bool watches_any(void)
{
	const struct doorbell_watch_state *w = &hca.queue.doorbell_watch;

	return w->posts.count || w->arms.count || uar_any();
}

/* Lock held. The service thread looks at this time, or before. */
static void look_by(uint64_t ns)
{
	struct doorbell_watch_state *w = &hca.queue.doorbell_watch;

	if (w->run_at_ns <= ns)
		return;
	w->run_at_ns = ns;
	hca_wake_at(ns);
}

/* Lock held. Pages that are closed open when a store to them faults. */
static void start_looking(void)
{
	struct doorbell_watch_state *w = &hca.queue.doorbell_watch;

	atomic_store_explicit(&w->found_ns, hca_now_ns(), memory_order_relaxed);
	w->closed = false;
	atomic_store_explicit(&w->looking, true, memory_order_relaxed);
}

/* Lock held. */
static int enlist(struct doorbell_source *source)
{
	struct doorbell_watch_state *w = &hca.queue.doorbell_watch;
	int err;

	if (source->ops->ring_sq) {
		err = hca_table_set(&w->posts_by_number, source->number, source);
		if (err)
			return err;
		source->index = w->posts.count;
		err = array_push(&w->posts, source);
		if (err)
			hca_table_set(&w->posts_by_number, source->number, NULL);
		return err;
	}
	err = hca_table_set(&w->arms_by_number, source->number, source);
	if (err)
		return err;
	source->index = w->arms.count;
	err = array_push(&w->arms, source);
	if (err)
		hca_table_set(&w->arms_by_number, source->number, NULL);
	return err;
}

int doorbell_watch_add(struct doorbell_source *source, const struct doorbell_source_ops *ops,
		       uint32_t number, bool without_page)
{
	int err = 0;

	pthread_mutex_lock(&hca.queue.watch_lock);
	if (!source->watched) {
		source->ops = ops;
		source->number = number;
		source->without_page = without_page;
		err = enlist(source);
		source->watched = !err;
		if (!err)
			hca.queue.doorbell_watch.without_page += without_page;
	}
	if (!err)
		start_looking();
	pthread_mutex_unlock(&hca.queue.watch_lock);
	if (!err)
		hca_wake_at(hca_now_ns() + LOOK_MIN_NS);
	return err;
}

void doorbell_watch_remove(struct doorbell_source *source)
{
	struct doorbell_watch_state *w = &hca.queue.doorbell_watch;

	if (!source->watched)
		return;
	pthread_mutex_lock(&hca.queue.watch_lock);
	if (source->ops->ring_cq) {
		hca_table_set(&w->arms_by_number, source->number, NULL);
		array_remove(&w->arms, source->index);
		if (source->index < w->arms.count)
			w->arms.data[source->index]->index = source->index;
	} else {
		hca_table_set(&w->posts_by_number, source->number, NULL);
		array_remove(&w->posts, source->index);
		if (source->index < w->posts.count)
			w->posts.data[source->index]->index = source->index;
	}
	w->without_page -= source->without_page;
	source->watched = false;
	if (!watches_any())
		atomic_store_explicit(&w->looking, false, memory_order_relaxed);
	pthread_mutex_unlock(&hca.queue.watch_lock);
}

void doorbell_watch_qp_failed(void)
{
	/* [DW1] */
	if (!atomic_exchange(&hca.queue.doorbell_watch.qp_failed, true))
		hca_wake_at(hca_now_ns() + FAILED_NS);
}

/* ---- looking ---- */

static void ring_cq(uint32_t cqn, uint32_t word)
{
	struct doorbell_source *cq = hca_table_find(&hca.queue.doorbell_watch.arms_by_number, cqn);

	if (cq && !cq->without_page)
		cq->ops->ring_cq(cq, word);
}

/*
 * Lock held. Registers come first: a word from a register tells the CQ that the same word in its
 * doorbell record has been acted upon.
 */
static bool look(struct doorbell_look *l)
{
	struct doorbell_watch_state *w = &hca.queue.doorbell_watch;

	*l = (struct doorbell_look){ .armed = uar_look(ring_cq) };
	/* [DW1] pairs with doorbell_watch_qp_failed(): its exchange comes before, and the state is seen below, or after,
	 * and wakes the service thread. A store would let the looks below begin before it. */
	atomic_exchange(&w->qp_failed, false);
	for (size_t i = 0; i < w->posts.count; i++)
		w->posts.data[i]->ops->look(w->posts.data[i], l);
	for (size_t i = 0; i < w->arms.count; i++)
		w->arms.data[i]->ops->look(w->arms.data[i], l);
	if (l->qp_failed)
		atomic_store(&w->qp_failed, true);
	l->found |= l->armed;
	if (l->found)
		atomic_store_explicit(&w->found_ns, hca_now_ns(), memory_order_relaxed);
	return l->found;
}

/* Lock not held. The program sleeps until its event: peers have to be served without its polls. */
static void after_look(const struct doorbell_look *l)
{
	if (unlikely(l->armed))
		hca.ops->poll_pause();
}

void doorbell_watch_look(void)
{
	struct doorbell_look l;

	if (pthread_mutex_trylock(&hca.queue.watch_lock))
		return;
	if (!fabric_service_is_self())
		hca.queue.doorbell_watch.polls++;
	look(&l);
	pthread_mutex_unlock(&hca.queue.watch_lock);
	after_look(&l);
}

/* ---- traps: on the thread that has stored (doorbell_trap.c) ---- */

bool doorbell_watch_ring_sq(uint32_t number, struct doorbell_look *l)
{
	struct doorbell_source *source =
		hca_table_find(&hca.queue.doorbell_watch.posts_by_number, number);

	if (!source)
		return false;
	source->ops->ring_sq(source, l);
	return true;
}

/* Lock held. Pages may be closed: no store will tell of requests in a queue that was left out. */
static void look_again(const struct doorbell_look *l)
{
	if (likely(!l->busy))
		return;
	start_looking();
	look_by(hca_now_ns() + LOOK_MIN_NS);
}

void doorbell_watch_look_all(void)
{
	struct doorbell_look l;

	fabric_kicks_defer();
	pthread_mutex_lock(&hca.queue.watch_lock);
	look(&l);
	look_again(&l);
	pthread_mutex_unlock(&hca.queue.watch_lock);
	fabric_kicks_flush();
	after_look(&l);
}

void doorbell_watch_let_ring(struct hca_uar *uar)
{
	struct doorbell_watch_state *w = &hca.queue.doorbell_watch;
	uint64_t now_ns = hca_now_ns();

	uar_open(uar);
	start_looking();
	/* Should the program not poll. A timer takes long: while burst follows burst, it is a rare one. */
	look_by(now_ns + (now_ns > w->burst_ns + POLLED_QUIET_NS ? BURST_NS : LOOK_MAX_NS));
	w->burst_ns = now_ns;
}

bool doorbell_watch_stop_ringing(void)
{
	struct doorbell_watch_state *w = &hca.queue.doorbell_watch;
	struct doorbell_look l;

	if (w->closed || w->without_page || !uar_close_all())
		return false;
	w->closed = true;
	atomic_store_explicit(&w->looking, false, memory_order_relaxed);
	look(&l);
	look_again(&l);
	return true;
}

void doorbell_watch_open_store(uintptr_t address)
{
	struct doorbell_watch_state *w = &hca.queue.doorbell_watch;

	pthread_mutex_lock(&hca.queue.watch_lock);
	uar_store_faulted(address);
	start_looking();
	uar_open_faulted();
	w->store_pending = true;
	pthread_mutex_unlock(&hca.queue.watch_lock);
	hca_wake_at(hca_now_ns() + LOOK_MIN_NS);
}

/* ---- the rest on the service thread: times ---- */

static uint64_t quiet_ns(uint64_t now_ns)
{
	uint64_t found =
		atomic_load_explicit(&hca.queue.doorbell_watch.found_ns, memory_order_relaxed);

	return now_ns > found ? now_ns - found : 0;
}

/*
 * The shortest time between two looks. A timer takes a microsecond on one machine and thirty on
 * another, where a hypervisor handles each: looks that follow more closely than twice that leave the
 * program no time.
 */
static uint64_t look_min_ns(void)
{
	uint64_t least = 2 * hca.queue.doorbell_watch.late_ns;

	return least > LOOK_MIN_NS ? least : LOOK_MIN_NS;
}

static void note_lateness(uint64_t now_ns)
{
	struct doorbell_watch_state *w = &hca.queue.doorbell_watch;
	uint64_t late = w->due_ns && now_ns > w->due_ns ? now_ns - w->due_ns : 0;

	if (late > LATE_MAX_NS)
		late = LATE_MAX_NS;
	if (late)
		w->late_ns = (7 * w->late_ns + late) / 8;
	w->due_ns = 0;
}

static void look_at(uint64_t ns)
{
	struct doorbell_watch_state *w = &hca.queue.doorbell_watch;

	if (!w->due_ns || ns < w->due_ns)
		w->due_ns = ns;
	hca_wake_at(ns);
}

/* While polling threads look, the service thread looks rarely, should they stop. */
static uint64_t pause_ns(uint64_t now_ns, bool polled)
{
	uint64_t quiet = quiet_ns(now_ns), pause = quiet / PAUSE_PART;

	if (quiet > IDLE_AFTER_NS && !polled)
		return LOOK_IDLE_NS;
	if (polled || pause > LOOK_MAX_NS)
		return LOOK_MAX_NS;
	return pause < look_min_ns() ? look_min_ns() : pause;
}

/* ---- closing, and the faults that end it ---- */

/* Lock held. True: the pages are closed now. */
static bool try_close(uint64_t now_ns, struct doorbell_look *l)
{
	struct doorbell_watch_state *w = &hca.queue.doorbell_watch;

	if (w->without_page || (w->polls != w->polls_seen && quiet_ns(now_ns) < POLLED_QUIET_NS) ||
	    !uar_close_all())
		return false;
	w->closed = true;
	atomic_store_explicit(&w->looking, false, memory_order_relaxed);
	if (look(l))
		start_looking();
	return w->closed;
}

/*
 * A store waits in the kernel. What it announces is in memory already, unless the word that is
 * stored says it. Peers are woken before the page is opened, since the program will wait for them.
 */
static void on_store(void)
{
	struct doorbell_watch_state *w = &hca.queue.doorbell_watch;
	struct doorbell_look l;
	bool alias_closed;

	fabric_kicks_defer();
	pthread_mutex_lock(&hca.queue.watch_lock);
	look(&l);
	fabric_kicks_flush();
	start_looking();
	alias_closed = l.found && l.alias && cq_alias_close(l.alias, l.alias_offset);
	uar_open_faulted();
	w->just_opened = true;
	w->store_pending = !l.found;
	pthread_mutex_unlock(&hca.queue.watch_lock);
	/* The timer is for programs that do not poll that CQ next. */
	if (alias_closed && w->open_ns < OPEN_ALIAS_NS)
		w->open_ns = OPEN_ALIAS_NS;
	look_at(hca_now_ns() +
		(l.found && w->open_ns > look_min_ns() ? w->open_ns : look_min_ns()));
	after_look(&l);
}

/*
 * A reader of a CQ alias waits in the kernel. The program polls, so its stores before that are in
 * memory. If there are no new ones, the doorbell pages close; else the program is likely to go on.
 */
static void on_read(void)
{
	struct doorbell_watch_state *w = &hca.queue.doorbell_watch;
	struct doorbell_look l = { 0 };
	bool closed;

	fabric_kicks_defer();
	pthread_mutex_lock(&hca.queue.watch_lock);
	if (!w->closed && !look(&l)) {
		w->store_pending = false;
		try_close(hca_now_ns(), &l);
	}
	cq_alias_open_all();
	closed = w->closed;
	pthread_mutex_unlock(&hca.queue.watch_lock);
	fabric_kicks_flush();
	/* The timer of on_store() was set for pages that are closed by now. */
	if (!closed)
		look_at(hca_now_ns() + look_min_ns());
	after_look(&l);
}

static void faults_wait(void *arg, uint32_t events)
{
	bool store = false, read = false;
	uintptr_t address;

	(void)arg;
	(void)events;
	pthread_mutex_lock(&hca.queue.watch_lock);
	while (uffd_next(&address)) {
		if (uar_store_faulted(address))
			store = true;
		else
			read |= cq_alias_faulted(address);
	}
	pthread_mutex_unlock(&hca.queue.watch_lock);
	/* In this order: on_store() closes alias pages, on_read() opens them. */
	if (store)
		on_store();
	if (read)
		on_read();
}

void doorbell_watch_open_uffd(void)
{
	pthread_mutex_lock(&hca.queue.watch_lock);
	uffd_open(faults_wait);
	pthread_mutex_unlock(&hca.queue.watch_lock);
}

void doorbell_watch_uar(struct hca_uar *uar)
{
	pthread_mutex_lock(&hca.queue.watch_lock);
	uffd_open(faults_wait);
	uar_enlist(uar);
	start_looking();
	pthread_mutex_unlock(&hca.queue.watch_lock);
	hca_wake_at(hca_now_ns() + LOOK_MIN_NS);
}

/* ---- turns of the service thread ---- */

/* True when it should go on. */
static bool spin(uint64_t now_ns)
{
	struct doorbell_watch_state *w = &hca.queue.doorbell_watch;
	uint64_t until = now_ns + SPIN_PHASE_NS;
	struct spin_phase phase;

	spin_begin(&phase, now_ns);
	do {
		for (int i = 0; i < 16; i++)
			hca.ops->poll();
		now_ns = hca_now_ns();
		if (atomic_load_explicit(&w->rx_seen, memory_order_relaxed)) {
			atomic_store_explicit(&w->rx_seen, false, memory_order_relaxed);
			atomic_store_explicit(&w->found_ns, now_ns, memory_order_relaxed);
		}
	} while (now_ns < until && quiet_ns(now_ns) < SPIN_QUIET_NS);
	if (spin_end(&phase, now_ns) && quiet_ns(now_ns) < SPIN_QUIET_NS)
		return true;
	hca.ops->poll_pause();
	return false;
}

/* Lock taken here. Faults are not read while the thread spins. */
static void open_aliases(void)
{
	pthread_mutex_lock(&hca.queue.watch_lock);
	cq_alias_open_all();
	pthread_mutex_unlock(&hca.queue.watch_lock);
}

uint64_t doorbell_watch_before_sleep(uint64_t now_ns)
{
	struct doorbell_watch_state *w = &hca.queue.doorbell_watch;
	struct doorbell_look l = { 0 };

	if (likely(!atomic_load_explicit(&w->looking, memory_order_relaxed)))
		return UINT64_MAX;
	if (quiet_ns(now_ns) < SPIN_QUIET_NS && spin_any(now_ns)) {
		w->just_opened = false;
		open_aliases();
		if (spin(now_ns))
			return 0;
		now_ns = hca_now_ns();
	}
	if (pthread_mutex_trylock(&hca.queue.watch_lock))
		return now_ns + LOOK_MIN_NS;
	/* A page whose store is still to come stays open for a moment. */
	if (!w->closed && !w->just_opened && !look(&l) && !w->store_pending &&
	    !try_close(now_ns, &l) && !w->without_page && uar_all_catchable() &&
	    w->polls == w->polls_seen)
		look_at(now_ns + look_min_ns());
	w->just_opened = false;
	pthread_mutex_unlock(&hca.queue.watch_lock);
	after_look(&l);
	return UINT64_MAX; /* while LOOKING, the timer of doorbell_watch_run() is set */
}

/* Lock held. The pages are closed: the time of the next look or check all the same. */
static uint64_t next_while_closed(uint64_t now_ns)
{
	struct doorbell_watch_state *w = &hca.queue.doorbell_watch;

	w->shown_ns = uar_has_untouched() ? now_ns + SHOWN_NS : UINT64_MAX;
	return w->qp_failed ? now_ns + FAILED_NS : w->shown_ns;
}

/* Lock held. */
static uint64_t run_looking(uint64_t now_ns, struct doorbell_look *l)
{
	struct doorbell_watch_state *w = &hca.queue.doorbell_watch;
	bool polled = w->polls != w->polls_seen;

	w->store_pending = false;
	if (look(l))
		w->open_ns = look_min_ns();
	else if (try_close(now_ns, l))
		return next_while_closed(now_ns);
	w->polls_seen = w->polls;
	w->due_ns = now_ns + pause_ns(now_ns, polled);
	return w->due_ns;
}

/* Lock held. */
static uint64_t run_closed(uint64_t now_ns, struct doorbell_look *l)
{
	struct doorbell_watch_state *w = &hca.queue.doorbell_watch;

	/* The page was closed again before this timer of on_store(): such timers can be later. */
	if (now_ns < w->shown_ns)
		w->open_ns = 2 * w->open_ns < OPEN_MAX_NS ? 2 * w->open_ns : OPEN_MAX_NS;
	if (uar_check_shown())
		start_looking();
	if (w->qp_failed || !w->closed)
		look(l);
	return w->closed ? next_while_closed(now_ns) : now_ns + LOOK_MIN_NS;
}

uint64_t doorbell_watch_run(uint64_t now_ns)
{
	struct doorbell_look l = { 0 };
	uint64_t next = UINT64_MAX;

	if (pthread_mutex_trylock(&hca.queue.watch_lock))
		return now_ns + LOOK_MIN_NS;
	note_lateness(now_ns);
	if (watches_any())
		next = hca.queue.doorbell_watch.closed ? run_closed(now_ns, &l)
						       : run_looking(now_ns, &l);
	hca.queue.doorbell_watch.run_at_ns = next;
	pthread_mutex_unlock(&hca.queue.watch_lock);
	after_look(&l);
	return next;
}

void doorbell_watch_forked(void)
{
	struct doorbell_watch_state *w = &hca.queue.doorbell_watch;

	for (size_t i = 0; i < w->posts.count; i++)
		w->posts.data[i]->watched = false;
	for (size_t i = 0; i < w->arms.count; i++)
		w->arms.data[i]->watched = false;
	array_fini(&w->posts);
	array_fini(&w->arms);
	hca_table_fini(&w->posts_by_number);
	hca_table_fini(&w->arms_by_number);
	*w = (struct doorbell_watch_state)DOORBELL_WATCH_STATE_INIT;
}
