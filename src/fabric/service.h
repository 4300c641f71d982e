/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who makes progress. Threads that poll drain the rings themselves; the service thread, one per
 * process and started by the first thing that needs it, serves sockets, timers, and the rings when
 * nobody polls. It sleeps unless there is something to do.
 *
 * `serving` in the segment's first page tells peers which of the two it is. A process that polls
 * often sets it; the service thread, which then looks every millisecond (or less often, where that
 * takes too much of a slow processor), clears it when the poll counter stood still, drains what came
 * meanwhile, and sleeps until a peer kicks it.
 */
#ifndef FABRIC_SERVICE_H
#define FABRIC_SERVICE_H

#include <stdatomic.h>
#include <stdint.h>

#include "fabric/link.h"

/* ---- polling ---- */

struct fabric_poll_set {
	struct fabric_retire retire;
	uint32_t count;
	struct fabric_link *link[];
};

/* Polls without a pause before peers are told not to kick. */
#define FABRIC_POLL_BEGIN 64u

struct fabric_poll {
	/* Written by all pollers, without care for lost counts: it only has to move. */
	_Alignas(64) _Atomic uint32_t count;
	_Atomic uint32_t base;       /* the count when nobody polled last */
	_Atomic uint64_t watched_ns; /* when the service thread looked after pollers last */
	_Atomic(struct fabric_page *) page;
	_Alignas(64) _Atomic(struct fabric_poll_set *) set;
	unsigned int (*drain)(struct fabric_link *link);
};

extern struct fabric_poll fabric_poll;

void fabric_poll_begin(void);

/* For every poll of the caller, before fabric_poll_links(). */
static inline void fabric_poll_enter(void)
{
	struct fabric_page *page = atomic_load_explicit(&fabric_poll.page, memory_order_relaxed);
	uint32_t count = atomic_load_explicit(&fabric_poll.count, memory_order_relaxed) + 1;

	atomic_store_explicit(&fabric_poll.count, count, memory_order_relaxed);
	if (unlikely(!atomic_load_explicit(&page->serving, memory_order_relaxed)) &&
	    unlikely(count - atomic_load_explicit(&fabric_poll.base, memory_order_relaxed) >
		     FABRIC_POLL_BEGIN))
		fabric_poll_begin();
}

/*
 * Somebody polls: a descriptor need not wake the service thread, until idle() is called. Who stops
 * watching one because of this looks again afterwards.
 */
bool fabric_polled(void);

/* The time of the last look after pollers: a clock that costs nothing, and is late by one period. */
static inline uint64_t fabric_poll_watched(void)
{
	return atomic_load_explicit(&fabric_poll.watched_ns, memory_order_relaxed);
}

/*
 * The caller is about to wait for an event (it armed a CQ, say): peers shall kick from now on.
 * What arrived before is found by one more fabric_poll_links().
 */
void fabric_poll_leave(void);

/* Out of line: a look that finds nothing is what most polls are. */
void fabric_poll_drain(struct fabric_link *link);

static inline void fabric_poll_each(bool all)
{
	struct fabric_link *const *at, *const *end;
	struct fabric_poll_set *set;

	fabric_epoch_enter();
	/* [P1] pairs with the change of the set: its contents before the pointer */
	set = atomic_load_explicit(&fabric_poll.set, memory_order_acquire);
	for (at = set->link, end = at + set->count; at < end; at++) {
		if (!all && fabric_link_rests(*at))
			continue;
		if (unlikely(fabric_link_ready(*at)))
			fabric_poll_drain(*at);
	}
	fabric_epoch_exit();
}

/* Drains every link that has a record waiting, unless another thread is at it. */
static inline void fabric_poll_links(void)
{
	fabric_poll_each(true);
}

/* The same without those that rest, for who comes again soon. */
static inline void fabric_poll_links_awake(void)
{
	fabric_poll_each(false);
}

/* ---- the service thread ---- */

/* Runs fn(arg) on the service thread. -ENOMEM, or -ENOTCONN when the fabric is down. */
int fabric_service_run(void (*fn)(void *arg), void *arg);

/* Calls cb on the service thread when `events` (EPOLLIN ...) happen, level-triggered. */
int fabric_service_add_fd(int fd, uint32_t events, void (*cb)(void *arg, uint32_t events),
			  void *arg);
/* Other events from now on; 0: none for the time being. Any thread. */
int fabric_service_mod_fd(int fd, uint32_t events);
/*
 * Before the fd is closed. When it returns, cb neither runs nor will run, unless cb itself called
 * it; hold no lock that cb takes.
 */
int fabric_service_del_fd(int fd);

/* timers() shall run at `ns` or earlier. Costs a load when something earlier is set. */
void fabric_service_set_deadline(uint64_t ns);

extern _Thread_local bool fabric_is_service __attribute__((tls_model("initial-exec")));

/* True on the service thread. */
static inline bool fabric_service_is_self(void)
{
	return fabric_is_service;
}

#endif
