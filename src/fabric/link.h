/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A link joins this process to one other, or to itself: a ring each way, the other's segment and
 * share memfd, its wake-up eventfd, and a connected socket whose hang-up says that the other died.
 *
 *	CONNECTING -> UP	[handshake, service thread]	rings and segment mapped, link_up
 *	CONNECTING -> DEAD	[refused, dead, timeout]	link_down
 *	UP -> DEAD		[hang-up, corrupt ring, fini]	last drain, link_down
 *
 * There is at most one link to a process that is not DEAD. A DEAD link keeps its addresses mapped
 * until the last reference is put; nothing is read from or written to its rings any more.
 *
 * Locks: tx_lock for reserve, publish, cancel; rx_lock for peek and release. Neither may be held
 * while taking the other link's.
 */
#ifndef FABRIC_LINK_H
#define FABRIC_LINK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "fabric/epoch.h"
#include "fabric/fabric.h"
#include "fabric/lock.h"
#include "fabric/ring.h"
#include "fabric/segment.h"

enum fabric_link_state {
	FABRIC_LINK_CONNECTING,
	FABRIC_LINK_UP,
	FABRIC_LINK_DEAD,
};

/* Open for the inline functions below only, except `user`. */
struct fabric_link {
	/* the sender */
	_Alignas(64) struct fabric_lock tx_lock;
	bool fence; /* no membarrier between us and the peer: publish pays for order */
	struct fabric_page *peer_page;
	struct fabric_tx tx;

	/* the receiver */
	_Alignas(64) struct fabric_lock rx_lock;
	struct fabric_rx rx;
	_Atomic uint64_t rest_until; /* pollers look away until then; 0: they do not */

	/* rarely */
	_Alignas(64) _Atomic uint32_t state;
	_Atomic uint32_t refs;
	fabric_id_t peer;
	void *user; /* the adapter's */
	struct fabric_link_cold *cold;
	struct fabric_retire retire;
};

/*
 * The link to a process, with a reference for the caller; never waits. It may be in any state; one
 * that is DEAD at once (no such process) has no callbacks. NULL only when memory is short or the
 * fabric is down.
 */
struct fabric_link *fabric_link_get(fabric_id_t peer);
struct fabric_link *fabric_link_hold(struct fabric_link *link);
void fabric_link_put(struct fabric_link *link);

static inline enum fabric_link_state fabric_link_state(const struct fabric_link *link)
{
	/* [K1] pairs with the change to UP: mappings before the state */
	return (enum fabric_link_state)atomic_load_explicit(&link->state, memory_order_acquire);
}

static inline fabric_id_t fabric_link_peer(const struct fabric_link *link)
{
	return link->peer;
}

/* From UP on, and until the last put: */
void *fabric_link_segment(const struct fabric_link *link);
uint64_t fabric_link_segment_size(const struct fabric_link *link);
/* -1 when the peer shares nothing. The link keeps it open. */
int fabric_link_peer_share_fd(const struct fabric_link *link);
/* As the kernel says in our pid namespace; 0 when it is not visible there. */
pid_t fabric_link_peer_pid(const struct fabric_link *link);
bool fabric_link_is_self(const struct fabric_link *link);
/* Longest record that the link takes. */
uint32_t fabric_link_max(const struct fabric_link *link);

/* Gives the link up, from any thread. It is DEAD once link_down was called. */
void fabric_link_kill(struct fabric_link *link);

/* ---- sending ---- */

static inline void fabric_link_tx_lock(struct fabric_link *link)
{
	fabric_lock(&link->tx_lock);
}

static inline bool fabric_link_tx_trylock(struct fabric_link *link)
{
	return fabric_trylock(&link->tx_lock);
}

static inline void fabric_link_tx_unlock(struct fabric_link *link)
{
	fabric_unlock(&link->tx_lock);
}

void fabric_link_corrupt(struct fabric_link *link);
void fabric_link_kick(struct fabric_link *link);
void fabric_link_tell_room(struct fabric_link *link);
/*
 * From hold to release, peers whom the calling thread would wake are not yet woken. Soon after, by
 * whoever is about to send to several, or several times.
 */
void fabric_kicks_hold(void);
void fabric_kicks_release(void);

/*
 * `len` bytes, 8-byte aligned, to be filled before publish. NULL when there is no room now (then
 * see fabric_link_want_room()), when FABRIC_PENDING_MAX records wait to be published, and always
 * when the link is not UP or len exceeds fabric_link_max().
 */
static inline void *fabric_link_reserve(struct fabric_link *link, uint32_t len)
{
	int err = 0;
	void *record = fabric_tx_reserve(&link->tx, len, &err);

	if (unlikely(err))
		fabric_link_corrupt(link);
	return record;
}

/* Shows every reserved record to the peer, and wakes it when nobody there polls. */
static inline void fabric_link_publish(struct fabric_link *link)
{
	if (unlikely(!link->tx.pending))
		return;
	fabric_tx_publish(&link->tx);
	/* [S1] pairs with serve_stop(): our headers before our look at `serving`. The other side
	 * does a membarrier on behalf of both; without one, we fence. */
	if (unlikely(link->fence))
		atomic_thread_fence(memory_order_seq_cst);
	else
		atomic_signal_fence(memory_order_seq_cst);
	if (unlikely(!atomic_load_explicit(&link->peer_page->serving, memory_order_relaxed)))
		fabric_link_kick(link);
}

/* Takes back what was reserved and not published. */
static inline void fabric_link_cancel(struct fabric_link *link)
{
	fabric_tx_cancel(&link->tx);
}

/*
 * After a reserve failed for lack of room: asks for one room() upcall when about half the ring is
 * free again. Send lock held.
 */
void fabric_link_want_room(struct fabric_link *link);
/*
 * For who polls and would rather not wait for that call: false while there is something to wait
 * for; true, and no call comes any more, when there is room again. No lock held.
 */
bool fabric_link_room_is_back(struct fabric_link *link);

/* Whether the peer has yet to take a record that was published. */
bool fabric_link_unread(struct fabric_link *link);

/* ---- receiving ---- */

static inline bool fabric_link_rx_trylock(struct fabric_link *link)
{
	return fabric_trylock(&link->rx_lock);
}

static inline void fabric_link_rx_lock(struct fabric_link *link)
{
	fabric_lock(&link->rx_lock);
}

static inline void fabric_link_rx_unlock(struct fabric_link *link)
{
	fabric_unlock(&link->rx_lock);
}

/*
 * Whether the peer's link_up() has returned, too: what it hands out before that may reach us first.
 * While UP.
 */
static inline bool fabric_link_met(struct fabric_link *link)
{
	/* [K4] pairs with fabric_link_up(): what link_up() did over there */
	return atomic_load_explicit(&link->rx.ctl->met, memory_order_acquire);
}

/* A hint, without a lock. */
static inline bool fabric_link_ready(struct fabric_link *link)
{
	return fabric_rx_ready(&link->rx);
}

/*
 * A poller that takes records one by one as a fast sender writes them slows both down: each look
 * takes the line away that the sender is writing to. Resting for a moment lets several gather.
 */
static inline void fabric_link_rest(struct fabric_link *link, uint64_t until_ns)
{
	atomic_store_explicit(&link->rest_until, until_ns, memory_order_relaxed);
}

bool fabric_link_is_early(struct fabric_link *link);

static inline bool fabric_link_rests(struct fabric_link *link)
{
	return unlikely(atomic_load_explicit(&link->rest_until, memory_order_relaxed)) &&
	       fabric_link_is_early(link);
}

/*
 * The next record, NULL when there is none. The peer can still write to it: copy what you check.
 * A header that makes no sense ends the link and is counted.
 */
static inline const void *fabric_link_peek(struct fabric_link *link, uint32_t *len)
{
	int err = 0;
	const void *record = fabric_rx_peek(&link->rx, len, &err);

	if (unlikely(err))
		fabric_link_corrupt(link);
	return record;
}

/* Records behind the one that was peeked, without taking them: `off` bytes of whole records on. */
static inline const void *fabric_link_look(struct fabric_link *link, uint32_t off, uint32_t *len)
{
	return fabric_rx_look(&link->rx, off, len);
}

/* Gives back the record of the last peek. */
static inline void fabric_link_release(struct fabric_link *link)
{
	if (fabric_rx_release(&link->rx))
		fabric_link_tell_room(link);
}

#endif
