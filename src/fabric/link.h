/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A link connects this process with a peer, or with itself: a ring in each direction, the peer's
 * segment and share memfd, its wake-up eventfd, and a connected socket whose hang-up tells that the
 * peer died.
 *
 *	CONNECTING -> UP	[handshake, service thread]	rings and segment mapped, link_up
 *	CONNECTING -> DEAD	[refused, dead, timeout]	link_down
 *	UP -> DEAD		[hang-up, corrupt ring, fini]	last drain, link_down
 *
 * There is at most one link to a peer that is not DEAD. A DEAD link keeps its memory mapped until
 * the last reference is put; its rings are not used any more.
 *
 * Locks: tx_lock for reserve, publish, cancel; rx_lock for peek and release. A thread that holds
 * the lock of one link takes no lock of another.
 */
#ifndef FABRIC_LINK_H
#define FABRIC_LINK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "fabric/id.h"
#include "fabric/lock.h"
#include "fabric/segment_head.h"
#include "fabric/ring.h"
#include "fabric/state.h"

enum fabric_link_state {
	FABRIC_LINK_CONNECTING,
	FABRIC_LINK_UP,
	FABRIC_LINK_DEAD,
};

/* Members are for the inline functions below only, except `user`. */
struct fabric_link {
	/* the sender */
	_Alignas(64) struct fabric_lock tx_lock;
	bool fence; /* no membarrier between us and the peer: publish has to fence */
	const struct fabric_page *peer_page;
	struct fabric_tx tx;

	/* the receiver */
	_Alignas(64) struct fabric_lock rx_lock;
	struct fabric_rx rx;
	_Atomic uint64_t paused_until_ns; /* see fabric_link_pause(); 0: not paused */

	/* rarely */
	_Alignas(64) _Atomic uint32_t state;
	_Atomic uint32_t refs;
	fabric_id_t peer;
	void *user; /* the adapter's */
	struct fabric_link_cold *cold;
	struct epoch_node epoch;
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
const void *fabric_link_segment(const struct fabric_link *link);
uint64_t fabric_link_segment_size(const struct fabric_link *link);
/* NULL when the peer has none; otherwise of the size of our own. */
void *fabric_link_mailbox(const struct fabric_link *link);
/* -1 when the peer shares nothing. The link keeps it open. */
int fabric_link_peer_share_fd(const struct fabric_link *link);
/* As the kernel says in our pid namespace; 0 when it is not visible there. */
pid_t fabric_link_peer_pid(const struct fabric_link *link);
bool fabric_link_is_self(const struct fabric_link *link);
/* Longest record that the link takes. */
uint32_t fabric_link_max(const struct fabric_link *link);

/* Closes the link, from any thread. It is DEAD once link_down was called. */
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
void fabric_link_notify_room(struct fabric_link *link);
/*
 * Between defer and flush, kicks of the calling thread wait, and several to one peer become one. For
 * a thread that is about to publish several times; flush soon.
 */
void fabric_kicks_defer(void);
void fabric_kicks_flush(void);

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

/* Makes every reserved record visible to the peer, and wakes it unless its threads poll. */
static inline void fabric_link_publish(struct fabric_link *link)
{
	if (unlikely(!link->tx.pending))
		return;
	fabric_tx_publish(&link->tx);
	/* [S1] pairs with stop_polling(): the headers before the look at `polling`. The other side
	 * does a membarrier on behalf of both; where there is none, both fence. */
	if (unlikely(link->fence))
		atomic_thread_fence(memory_order_seq_cst);
	else
		atomic_signal_fence(memory_order_seq_cst);
	if (unlikely(!atomic_load_explicit(&link->peer_page->polling, memory_order_relaxed)))
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
 * For a thread that polls instead of waiting for the upcall: false while there is no room; true, and
 * the upcall is cancelled, when there is room again. No lock held.
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
 * Whether the peer's link_up() has returned, too: only then does it know what its process publishes
 * about itself. While UP.
 */
static inline bool fabric_link_peer_is_up(struct fabric_link *link)
{
	/* [K4] pairs with fabric_link_up(): what link_up() did in the peer */
	return atomic_load_explicit(&link->rx.ctl->is_up, memory_order_acquire);
}

/* A hint, without a lock. */
static inline bool fabric_link_has_record(struct fabric_link *link)
{
	return fabric_rx_ready(&link->rx);
}

/*
 * A thread that takes records one by one while a fast sender writes them slows both down: each look
 * takes the cache line away that the sender is writing to. A pause lets several records gather.
 */
static inline void fabric_link_pause(struct fabric_link *link, uint64_t until_ns)
{
	atomic_store_explicit(&link->paused_until_ns, until_ns, memory_order_relaxed);
}

/* Out of line: compares with the clock, and ends the pause. */
bool fabric_link_pause_lasts(struct fabric_link *link);

static inline bool fabric_link_is_paused(struct fabric_link *link)
{
	return unlikely(atomic_load_explicit(&link->paused_until_ns, memory_order_relaxed)) &&
	       fabric_link_pause_lasts(link);
}

/*
 * The next record, NULL when there is none. The peer can still write to it: copy what you check.
 * A header that is invalid ends the link and is counted.
 */
static inline const void *fabric_link_peek(struct fabric_link *link, uint32_t *len)
{
	int err = 0;
	const void *record = fabric_rx_peek(&link->rx, len, &err);

	if (unlikely(err))
		fabric_link_corrupt(link);
	return record;
}

/* A record behind the one that was peeked, without taking it: `off` bytes of whole records on. */
static inline const void *fabric_link_look(struct fabric_link *link, uint32_t off, uint32_t *len)
{
	return fabric_rx_look(&link->rx, off, len);
}

/* Gives back the record of the last peek. */
static inline void fabric_link_release(struct fabric_link *link)
{
	if (fabric_rx_release(&link->rx))
		fabric_link_notify_room(link);
}

/* ---- inside the fabric; service thread ---- */

/* The link is DEAD since this process lacked something, not since the peer did not answer. Service thread. */
bool fabric_link_lacked(const struct fabric_link *link);
/* The link to the peer that is not DEAD, with a reference, or NULL. Any thread. */
struct fabric_link *fabric_link_find(fabric_id_t peer);
/* An existing link as above, or a new one; NULL when memory is short. */
struct fabric_link *fabric_link_find_or_create(fabric_id_t peer);
/* Makes a link active, unless it is already or DEAD. */
void fabric_link_activate(struct fabric_link *link);
/* Rings, segment and descriptors are in place: CONNECTING to UP. */
void fabric_link_up(struct fabric_link *link);
/*
 * While CONNECTING: true if the error says that this process lacked something, for a moment perhaps. The link is
 * then tried again, for a quarter of a second: requests wait meanwhile, and datagrams are not lost.
 */
bool fabric_link_lacks(struct fabric_link *link, int err, uint64_t now_ns);
/* To DEAD. */
void fabric_link_down(struct fabric_link *link);

/* In the child of a fork: every link is DEAD, and has no rings. */
void fabric_links_forked(void);

#endif
