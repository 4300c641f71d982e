/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Polling: threads that poll drain the rings of all links themselves; the service thread does while
 * no thread polls.
 *
 * `polling` in the head of the segment tells peers which of the two it is. A process that polls
 * often sets it. The service thread, which then checks the poll counter every millisecond (less
 * often where that takes too much of a slow processor), clears it when the counter stood still,
 * drains what came meanwhile, and sleeps until a peer kicks it.
 */
#ifndef FABRIC_POLL_H
#define FABRIC_POLL_H

#include <stdbool.h>
#include <stdint.h>

#include "fabric/epoch.h"
#include "fabric/link.h"
#include "fabric/state.h"
#include "util/api.h"

/* Polls in a row before peers are told not to kick. */
#define FABRIC_POLL_BEGIN 64u

void fabric_poll_begin(void);

/* For every poll of the caller, before fabric_poll_links(). */
static inline void fabric_poll_enter(void)
{
	struct fabric_page *page = atomic_load_explicit(&fabric.poll.page, memory_order_relaxed);
	uint32_t count = atomic_load_explicit(&fabric.poll.count, memory_order_relaxed) + 1;

	atomic_store_explicit(&fabric.poll.count, count, memory_order_relaxed);
	if (unlikely(!atomic_load_explicit(&page->polling, memory_order_relaxed)) &&
	    unlikely(count - atomic_load_explicit(&fabric.poll.base, memory_order_relaxed) >
		     FABRIC_POLL_BEGIN))
		fabric_poll_begin();
}

/*
 * True while threads poll: a file descriptor need not wake the service thread, until the upcall
 * polling_stopped(). Code that stops watching one because of this asks again afterwards.
 */
static inline bool fabric_is_polled(void)
{
	const struct fabric_page *page =
		atomic_load_explicit(&fabric.poll.page, memory_order_relaxed);

	return atomic_load_explicit(&page->polling, memory_order_relaxed);
}

/* The time of the last check: a clock that costs nothing, and is late by up to one period. */
static inline uint64_t fabric_poll_checked_ns(void)
{
	return atomic_load_explicit(&fabric.poll.checked_ns, memory_order_relaxed);
}

/*
 * The caller is about to wait for an event (it armed a CQ, say): peers kick from now on. Records
 * that came before are found by one more fabric_poll_links().
 */
void fabric_poll_leave(void);

/* Out of line: most polls find no record. */
void fabric_poll_drain(struct fabric_link *link);

static inline void fabric_poll_each(bool paused_too)
{
	const struct fabric_poll_set *set;

	epoch_enter();
	/* [P1] pairs with replace_set(): the set's contents before the pointer */
	set = atomic_load_explicit(&fabric.poll.set, memory_order_acquire);
	for (uint32_t i = 0, count = set->count; i < count; i++) {
		struct fabric_link *link =
			atomic_load_explicit(&set->link[i], memory_order_relaxed);

		if (!paused_too && fabric_link_is_paused(link))
			continue;
		if (unlikely(fabric_link_has_record(link)))
			fabric_poll_drain(link);
	}
	epoch_exit();
}

/* Drains every link that has a record waiting, unless another thread drains it. */
static inline void fabric_poll_links(void)
{
	fabric_poll_each(true);
}

/* Drains all links but those that are paused (fabric_link_pause()), for callers that poll again soon. */
static inline void fabric_poll_links_unpaused(void)
{
	fabric_poll_each(false);
}

/* ---- inside the fabric ---- */

void fabric_poll_init(void);
void fabric_poll_fini(void);
/* In each iteration of the service thread; returns the time of the next one, 0 for at once. */
uint64_t fabric_poll_iterate(uint64_t now_ns);

#endif
