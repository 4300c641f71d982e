/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which threads drain the rings; see poll.h.
 *
 *	idle -> polled	[fabric_poll_begin, a polling thread]	peers stop kicking
 *	polled -> idle	[check_polling, service thread: no poll for a period]	peers kick again
 *	polled -> idle	[fabric_poll_leave, a thread about to sleep]
 *
 * The thread that makes the process idle clears `polling`, makes every core see that, and then
 * drains. A peer publishes first and reads `polling` second. So either the peer reads 0 and kicks,
 * or its record is found.
 */
#include "fabric/poll.h"

#include <time.h>

#include "fabric/barrier.h"
#include "fabric/directory.h"
#include "fabric/poll_set.h"
#include "fabric/service.h"

/*
 * The poll counter is checked every millisecond, unless iterations of the service thread are slow
 * (250 us on an emulated processor): mostly it takes the processor from the polling threads, so it
 * leaves them all but this share of it.
 */
#define CHECK_NS     1000000u
#define CHECK_MAX_NS 8000000u
#define CHECK_SHARE  32u
#define ROUNDS       64

void fabric_poll_init(void)
{
	fabric.poll_check = (struct fabric_poll_check){ .period_ns = CHECK_NS };
	atomic_store(&fabric.poll.base, atomic_load(&fabric.poll.count));
	atomic_store(&fabric.poll.page, (struct fabric_page *)fabric.segment.base);
}

/* No thread polls. Only in the child of a fork there are still links in the set. */
void fabric_poll_fini(void)
{
	fabric_poll_set_clear();
	atomic_store(&fabric.poll.page, (struct fabric_page *)&fabric_no_page);
}

/* ---- from idle to polled, and back ---- */

void fabric_poll_begin(void)
{
	struct fabric_page *page = atomic_load_explicit(&fabric.poll.page, memory_order_relaxed);

	if (fabric_service_start())
		return;
	/* The service thread begins to check the counter. */
	if (!atomic_exchange_explicit(&page->polling, 1, memory_order_relaxed))
		fabric_service_wake();
}

static bool stop_polling(struct fabric_page *page)
{
	atomic_store_explicit(&fabric.poll.base,
			      atomic_load_explicit(&fabric.poll.count, memory_order_relaxed),
			      memory_order_relaxed);
	if (page == &fabric_no_page || !atomic_load_explicit(&page->polling, memory_order_relaxed))
		return false;
	atomic_store_explicit(&page->polling, 0, memory_order_relaxed);
	/* [S1] pairs with fabric_link_publish(); `polling` is 0 on all cores before the drain. */
	barrier_global();
	fabric.config.polling_stopped();
	return true;
}

void fabric_poll_drain(struct fabric_link *link)
{
	if (!fabric_link_rx_trylock(link))
		return;
	fabric.config.drain(link);
	fabric_link_rx_unlock(link);
}

/* Waits for the receive lock: its holder may have found the ring empty before the record came. */
static unsigned int drain_locked(struct fabric_link *link)
{
	unsigned int n;

	fabric_link_rx_lock(link);
	n = fabric.config.drain(link);
	fabric_link_rx_unlock(link);
	return n;
}

void fabric_poll_leave(void)
{
	struct fabric_poll_set *set;
	bool more = false;

	if (!stop_polling(atomic_load_explicit(&fabric.poll.page, memory_order_relaxed)))
		return;
	epoch_enter();
	/* [P1] */
	set = atomic_load_explicit(&fabric.poll.set, memory_order_acquire);
	for (uint32_t i = 0; i < set->count; i++) {
		struct fabric_link *link =
			atomic_load_explicit(&set->link[i], memory_order_relaxed);

		if (!fabric_link_has_record(link))
			continue;
		drain_locked(link);
		more |= fabric_link_has_record(link);
	}
	epoch_exit();
	/* Peers do not kick for records that they published before. */
	if (more)
		fabric_service_wake();
}

/* ---- an iteration of the service thread ---- */

static uint64_t cpu_ns(void)
{
	struct timespec used;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

/* A moving average over the CPU time per iteration. */
static void adapt_period(struct fabric_poll_check *check)
{
	uint64_t used_ns = cpu_ns(), period_ns;

	if (check->on && check->iterations) {
		period_ns = CHECK_SHARE * (used_ns - check->cpu_ns) / check->iterations;
		if (period_ns > CHECK_MAX_NS)
			period_ns = CHECK_MAX_NS;
		period_ns = (3 * check->period_ns + period_ns) / 4;
		check->period_ns = period_ns < CHECK_NS ? CHECK_NS : period_ns;
	}
	check->cpu_ns = used_ns;
	check->iterations = 0;
}

/* True while threads poll. */
static bool check_polling(struct fabric_page *page, uint64_t now_ns)
{
	struct fabric_poll_check *check = &fabric.poll_check;
	uint32_t count = atomic_load_explicit(&fabric.poll.count, memory_order_relaxed);

	if (!atomic_load_explicit(&page->polling, memory_order_relaxed)) {
		check->on = false;
		return false;
	}
	check->iterations++;
	if (check->on && now_ns - check->since_ns < check->period_ns)
		return true;
	if (check->on && count == check->count) {
		check->on = false;
		if (stop_polling(page))
			fabric_count(FABRIC_COUNT_TAKEOVERS, 1);
		return false;
	}
	adapt_period(check);
	check->on = true;
	check->count = count;
	check->since_ns = now_ns;
	atomic_store_explicit(&fabric.poll.checked_ns, now_ns, memory_order_relaxed);
	fabric.config.polling_check(now_ns, check->period_ns);
	return true;
}

/* Contents of the rings after a round: nothing, records that drain() refuses for now, or more. */
enum drained { DRAINED_ALL, DRAINED_STALLED, DRAINED_PART };

static enum drained drain_round(bool polled)
{
	struct fabric_poll_set *set = atomic_load_explicit(&fabric.poll.set, memory_order_relaxed);
	enum drained left = DRAINED_ALL;

	/* Only this thread changes the set, so it needs no epoch section. */
	for (uint32_t i = 0; i < set->count; i++) {
		struct fabric_link *link = set->link[i];
		_Atomic uint32_t *kicked = &link->rx.ctl->kicked;
		enum drained here;

		/* [S2] pairs with fabric_link_kick(); records for which the peer did not kick, because
		 * the flag was set, are seen below. */
		if (atomic_load_explicit(kicked, memory_order_relaxed))
			atomic_exchange_explicit(kicked, 0, memory_order_seq_cst);
		if (polled || !fabric_link_has_record(link))
			continue;
		here = drain_locked(link) ? DRAINED_PART : DRAINED_STALLED;
		if (!fabric_link_has_record(link))
			here = DRAINED_ALL;
		if (here > left)
			left = here;
	}
	return left;
}

uint64_t fabric_poll_iterate(uint64_t now_ns)
{
	struct fabric_page *page = atomic_load_explicit(&fabric.poll.page, memory_order_relaxed);
	bool polled = check_polling(page, now_ns);
	enum drained left = DRAINED_ALL;

	for (int round = 0; round < ROUNDS; round++) {
		left = drain_round(polled);
		if (left != DRAINED_PART)
			break;
	}
	if (left == DRAINED_PART)
		return 0;
	if (left == DRAINED_STALLED)
		return now_ns + CHECK_NS;
	return fabric.poll_check.on ? fabric.poll_check.since_ns + fabric.poll_check.period_ns
				    : UINT64_MAX;
}
