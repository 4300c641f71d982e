/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who drains the rings: pollers, or the service thread when nobody polls; see service.h.
 *
 *	idle -> polled	[fabric_poll_begin, a poller]		peers stop kicking
 *	polled -> idle	[watch, service thread: no poll for a period]	peers kick again
 *	polled -> idle	[fabric_poll_leave, about to sleep]
 *
 * Who makes the process idle clears `serving`, makes every core see that, and then drains. A peer
 * publishes first and looks at `serving` second. So either the peer sees 0 and kicks, or its record
 * is found.
 */
#include "fabric/poll_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fabric/barrier.h"
#include "fabric/directory.h"
#include "fabric/link_priv.h"
#include "fabric/service_priv.h"

/*
 * How often pollers are looked after: every millisecond, unless turns of the service thread are dear
 * (250 us on an emulated processor). It takes the processor from the very threads that it looks
 * after, more often than not, so it leaves them all but this share of it.
 */
#define WATCH_NS    1000000u
#define WATCH_MOST  8000000u
#define WATCH_SHARE 32u
#define ROUNDS      64

static unsigned int drain_nothing(struct fabric_link *link)
{
	return 0;
}

/* Where polls go when there is no fabric: as if somebody polled already. */
static struct fabric_page no_page = { .serving = 1 };
static struct fabric_poll_set no_links;

struct fabric_poll fabric_poll = {
	.page = &no_page,
	.set = &no_links,
	.drain = drain_nothing,
};

/* The service thread's memory of the last look at the poll counter. */
static struct {
	bool on;
	uint32_t count;
	uint64_t since_ns;
	uint64_t period_ns;
	uint64_t cpu_ns; /* what the thread had used by then */
	uint32_t turns;  /* since then */
} watch = { .period_ns = WATCH_NS };

void fabric_poll_init(struct fabric_page *page, unsigned int (*drain)(struct fabric_link *link))
{
	watch.on = false;
	watch.period_ns = WATCH_NS;
	fabric_poll.drain = drain;
	atomic_store(&fabric_poll.base, atomic_load(&fabric_poll.count));
	atomic_store(&fabric_poll.page, page);
}

/* Nobody polls. Only in the child of a fork are there still links in the set. */
void fabric_poll_fini(void)
{
	struct fabric_poll_set *set = atomic_exchange(&fabric_poll.set, &no_links);

	atomic_store(&fabric_poll.page, &no_page);
	if (set != &no_links)
		free(set);
}

/* ---- the set ---- */

static void free_set(struct fabric_retire *retire)
{
	free(container_of(retire, struct fabric_poll_set, retire));
}

static void replace_set(struct fabric_poll_set *set)
{
	/* [P1] pairs with fabric_poll_links() */
	struct fabric_poll_set *old =
		atomic_exchange_explicit(&fabric_poll.set, set, memory_order_acq_rel);

	if (old != &no_links)
		fabric_epoch_retire(&old->retire, free_set);
}

static struct fabric_poll_set *copy_set(uint32_t room)
{
	struct fabric_poll_set *old = atomic_load_explicit(&fabric_poll.set, memory_order_relaxed);
	struct fabric_poll_set *set = malloc(sizeof(*set) + room * sizeof(struct fabric_link *));

	if (!set)
		return NULL;
	set->count = 0;
	for (uint32_t i = 0; i < old->count && i < room; i++)
		set->link[set->count++] = old->link[i];
	return set;
}

int fabric_poll_add(struct fabric_link *link)
{
	struct fabric_poll_set *old = atomic_load_explicit(&fabric_poll.set, memory_order_relaxed);
	struct fabric_poll_set *set = copy_set(old->count + 1);

	if (!set)
		return -ENOMEM;
	set->link[set->count++] = link;
	replace_set(set);
	return 0;
}

void fabric_poll_remove(struct fabric_link *link)
{
	struct fabric_poll_set *old = atomic_load_explicit(&fabric_poll.set, memory_order_relaxed);
	struct fabric_poll_set *set;
	uint32_t at;

	for (at = 0; at < old->count && old->link[at] != link; at++)
		;
	if (at == old->count)
		return;
	if (old->count == 1) {
		replace_set(&no_links);
		return;
	}
	set = copy_set(old->count);
	/* A set cannot shrink without memory for a smaller one: the link must go all the same. */
	if (!set)
		abort();
	set->link[at] = old->link[old->count - 1];
	set->count--;
	replace_set(set);
}

/* ---- serving ---- */

void fabric_poll_begin(void)
{
	struct fabric_page *page = atomic_load_explicit(&fabric_poll.page, memory_order_relaxed);

	if (fabric_service_need())
		return;
	/* The service thread starts its watch. */
	if (!atomic_exchange_explicit(&page->serving, 1, memory_order_relaxed))
		fabric_service_wake();
}

static bool serve_stop(struct fabric_page *page)
{
	atomic_store_explicit(&fabric_poll.base,
			      atomic_load_explicit(&fabric_poll.count, memory_order_relaxed),
			      memory_order_relaxed);
	if (page == &no_page || !atomic_load_explicit(&page->serving, memory_order_relaxed))
		return false;
	atomic_store_explicit(&page->serving, 0, memory_order_relaxed);
	/* [S1] pairs with fabric_link_publish(): `serving` is 0 for everyone before we look */
	barrier_global();
	fabric_config.idle();
	return true;
}

bool fabric_polled(void)
{
	const struct fabric_page *page =
		atomic_load_explicit(&fabric_poll.page, memory_order_relaxed);

	return atomic_load_explicit(&page->serving, memory_order_relaxed);
}

void fabric_poll_drain(struct fabric_link *link)
{
	if (!fabric_link_rx_trylock(link))
		return;
	fabric_poll.drain(link);
	fabric_link_rx_unlock(link);
}

/* Waits for the receive lock: its holder may have looked before the record came. */
static unsigned int drain_waiting(struct fabric_link *link)
{
	unsigned int n;

	fabric_link_rx_lock(link);
	n = fabric_poll.drain(link);
	fabric_link_rx_unlock(link);
	return n;
}

void fabric_poll_leave(void)
{
	struct fabric_poll_set *set;
	bool more = false;

	if (!serve_stop(atomic_load_explicit(&fabric_poll.page, memory_order_relaxed)))
		return;
	fabric_epoch_enter();
	/* [P1] */
	set = atomic_load_explicit(&fabric_poll.set, memory_order_acquire);
	for (uint32_t i = 0; i < set->count; i++) {
		if (!fabric_link_ready(set->link[i]))
			continue;
		drain_waiting(set->link[i]);
		more |= fabric_link_ready(set->link[i]);
	}
	fabric_epoch_exit();
	/* No peer kicks for what was published before. */
	if (more)
		fabric_service_wake();
}

/* ---- the service thread's turn ---- */

static uint64_t cpu_ns(void)
{
	struct timespec used;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

/* By what turns have cost since the last look, with a memory of what they cost before. */
static void adapt_period(void)
{
	uint64_t used_ns = cpu_ns(), period_ns;

	if (watch.on && watch.turns) {
		period_ns = WATCH_SHARE * (used_ns - watch.cpu_ns) / watch.turns;
		if (period_ns > WATCH_MOST)
			period_ns = WATCH_MOST;
		period_ns = (3 * watch.period_ns + period_ns) / 4;
		watch.period_ns = period_ns < WATCH_NS ? WATCH_NS : period_ns;
	}
	watch.cpu_ns = used_ns;
	watch.turns = 0;
}

/* True while somebody polls. */
static bool watch_pollers(struct fabric_page *page, uint64_t now_ns)
{
	uint32_t count = atomic_load_explicit(&fabric_poll.count, memory_order_relaxed);

	if (!atomic_load_explicit(&page->serving, memory_order_relaxed)) {
		watch.on = false;
		return false;
	}
	watch.turns++;
	if (watch.on && now_ns - watch.since_ns < watch.period_ns)
		return true;
	if (watch.on && count == watch.count) {
		watch.on = false;
		if (serve_stop(page))
			fabric_count(FABRIC_COUNT_SERVES, 1);
		return false;
	}
	adapt_period();
	watch.on = true;
	watch.count = count;
	watch.since_ns = now_ns;
	atomic_store_explicit(&fabric_poll.watched_ns, now_ns, memory_order_relaxed);
	fabric_config.watch(now_ns, watch.period_ns);
	return true;
}

enum left { LEFT_NOTHING, LEFT_STALLED, LEFT_MORE };

static enum left drain_round(bool polled)
{
	struct fabric_poll_set *set = atomic_load_explicit(&fabric_poll.set, memory_order_relaxed);
	enum left left = LEFT_NOTHING;

	/* Only this thread changes the set, so it needs no epoch section. */
	for (uint32_t i = 0; i < set->count; i++) {
		struct fabric_link *link = set->link[i];
		_Atomic uint32_t *kicked = &link->rx.ctl->kicked;
		enum left here;

		/* [S2] pairs with fabric_link_kick(): what came before a kick that was not sent */
		if (atomic_load_explicit(kicked, memory_order_relaxed))
			atomic_exchange_explicit(kicked, 0, memory_order_seq_cst);
		if (polled || !fabric_link_ready(link))
			continue;
		here = drain_waiting(link) ? LEFT_MORE : LEFT_STALLED;
		if (!fabric_link_ready(link))
			here = LEFT_NOTHING;
		if (here > left)
			left = here;
	}
	return left;
}

uint64_t fabric_poll_turn(uint64_t now_ns)
{
	struct fabric_page *page = atomic_load_explicit(&fabric_poll.page, memory_order_relaxed);
	bool polled = watch_pollers(page, now_ns);
	enum left left = LEFT_NOTHING;

	for (int round = 0; round < ROUNDS; round++) {
		left = drain_round(polled);
		if (left != LEFT_MORE)
			break;
	}
	if (left == LEFT_MORE)
		return 0;
	if (left == LEFT_STALLED)
		return now_ns + WATCH_NS;
	return watch.on ? watch.since_ns + watch.period_ns : UINT64_MAX;
}
