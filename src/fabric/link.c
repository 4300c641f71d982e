/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Links: the table by slot, references, changes of state, kicks.
 *
 * links.lock guards the table and is held for look-ups only. Changes of state, the list of active
 * links and all sockets belong to the service thread. The table holds one reference to every link
 * that is not DEAD.
 */
#include "fabric/link.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fabric/barrier.h"
#include "fabric/clock.h"
#include "fabric/directory.h"
#include "fabric/epoch.h"
#include "fabric/link_cold.h"
#include "fabric/mailbox.h"
#include "fabric/poll_set.h"
#include "fabric/segment.h"
#include "fabric/service.h"
#include "fabric/thread.h"
#include "util/explain.h"
#include "util/shortage.h"

/* How long to try while this process lacks something. */
#define SHORTAGE_NS 250000000u
#define LAST_DRAINS 4096

/* ---- references ---- */

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* Unmaps and closes everything that came from the peer. */
static void release_peer(struct fabric_link *link)
{
	struct fabric_link_cold *cold = link->cold;

	fabric_ring_unmap(&cold->rings);
	if (!cold->self) {
		fabric_segment_unmap(cold->segment, cold->segment_size);
		fabric_mailbox_unmap(cold->mailbox, cold->mailbox_size);
	}
	cold->segment = NULL;
	cold->segment_size = 0;
	cold->mailbox = NULL;
	cold->mailbox_size = 0;
	close_fd(&cold->sock);
	close_fd(&cold->wake_fd);
	close_fd(&cold->share_fd);
}

static void link_free(struct epoch_node *node)
{
	struct fabric_link *link = container_of(node, struct fabric_link, epoch);

	fabric_lock(&fabric.links.allocated_lock);
	LIST_REMOVE(link->cold, in_allocated);
	fabric_unlock(&fabric.links.allocated_lock);
	release_peer(link);
	free(link->cold);
	free(link);
}

static struct fabric_link *link_alloc(fabric_id_t peer, enum fabric_link_state state)
{
	struct fabric_link *link = aligned_alloc(_Alignof(struct fabric_link), sizeof(*link));
	struct fabric_link_cold *cold = calloc(1, sizeof(*cold));

	if (!link || !cold) {
		free(link);
		free(cold);
		return NULL;
	}
	memset(link, 0, sizeof(*link));
	cold->sock = -1;
	cold->wake_fd = -1;
	cold->share_fd = -1;
	cold->self = peer == fabric_self();
	cold->link = link;
	link->cold = cold;
	link->peer = peer;
	atomic_init(&link->refs, 1);
	atomic_init(&link->state, state);
	fabric_rx_none(&link->rx);
	fabric_lock(&fabric.links.allocated_lock);
	LIST_INSERT_HEAD(&fabric.links.allocated, cold, in_allocated);
	fabric_unlock(&fabric.links.allocated_lock);
	return link;
}

struct fabric_link *fabric_link_hold(struct fabric_link *link)
{
	atomic_fetch_add_explicit(&link->refs, 1, memory_order_relaxed);
	return link;
}

void fabric_link_put(struct fabric_link *link)
{
	/* acq_rel: every use of the link before it is freed */
	if (atomic_fetch_sub_explicit(&link->refs, 1, memory_order_acq_rel) == 1)
		epoch_retire(&link->epoch, link_free);
}

/* ---- the table ---- */

/* Table lock held. */
static struct fabric_link *table_find(fabric_id_t peer)
{
	struct fabric_link *link = fabric.links.by_slot[fabric_id_slot(peer)];

	if (!link || link->peer != peer || fabric_link_state(link) == FABRIC_LINK_DEAD)
		return NULL;
	return fabric_link_hold(link);
}

/* Replaces the link to an earlier process of the slot, which dies on its own. Lock held. */
static void table_insert(struct fabric_link *link)
{
	uint32_t slot = fabric_id_slot(link->peer);

	if (slot >= fabric.links.slots)
		fabric.links.slots = slot + 1;
	fabric.links.by_slot[slot] = fabric_link_hold(link);
}

static void table_remove(struct fabric_link *link)
{
	struct fabric_link **place = &fabric.links.by_slot[fabric_id_slot(link->peer)];

	pthread_mutex_lock(&fabric.links.lock);
	if (*place == link)
		*place = NULL;
	pthread_mutex_unlock(&fabric.links.lock);
}

struct fabric_link *fabric_link_find(fabric_id_t peer)
{
	struct fabric_link *link;

	pthread_mutex_lock(&fabric.links.lock);
	link = table_find(peer);
	pthread_mutex_unlock(&fabric.links.lock);
	return link;
}

void fabric_link_activate(struct fabric_link *link)
{
	if (link->cold->active || fabric_link_state(link) == FABRIC_LINK_DEAD)
		return;
	link->cold->active = true;
	LIST_INSERT_HEAD(&fabric.links.active, link->cold, in_active);
}

struct fabric_link *fabric_link_find_or_create(fabric_id_t peer)
{
	struct fabric_link *link;

	/* Under one lock: another thread may call fabric_link_get() for the same peer. */
	pthread_mutex_lock(&fabric.links.lock);
	link = table_find(peer);
	if (!link) {
		link = link_alloc(peer, FABRIC_LINK_CONNECTING);
		if (link)
			table_insert(link);
	}
	pthread_mutex_unlock(&fabric.links.lock);
	return link;
}

static void start_link(void *arg)
{
	struct fabric_link *link = arg;

	/* The peer's HELLO may have come first. */
	link->cold->deadline_ns = fabric_now_ns() + (uint64_t)fabric.config.handshake_ms * 1000000u;
	fabric_link_activate(link);
	atomic_store(&fabric.links.flagged, true);
	fabric_link_put(link);
}

struct fabric_link *fabric_link_get(fabric_id_t peer)
{
	struct fabric_process process;
	struct fabric_link *link;

	if (!atomic_load_explicit(&fabric.up, memory_order_acquire))
		return NULL;
	pthread_mutex_lock(&fabric.links.lock);
	link = table_find(peer);
	if (link)
		goto unlock;
	if (fabric_process_find(peer, &process)) {
		link = link_alloc(peer, FABRIC_LINK_DEAD);
		goto unlock;
	}
	link = link_alloc(peer, FABRIC_LINK_CONNECTING);
	if (!link)
		goto unlock;
	fabric_link_hold(link);
	if (fabric_service_run(start_link, link)) {
		fabric_link_put(link);
		fabric_link_put(link);
		link = NULL;
		goto unlock;
	}
	table_insert(link);
unlock:
	pthread_mutex_unlock(&fabric.links.lock);
	return link;
}

/* ---- what a link knows of its peer ---- */

const void *fabric_link_segment(const struct fabric_link *link)
{
	return link->cold->segment;
}

uint64_t fabric_link_segment_size(const struct fabric_link *link)
{
	return link->cold->segment_size;
}

void *fabric_link_mailbox(const struct fabric_link *link)
{
	return link->cold->mailbox;
}

int fabric_link_peer_share_fd(const struct fabric_link *link)
{
	return link->cold->share_fd;
}

pid_t fabric_link_peer_pid(const struct fabric_link *link)
{
	return link->cold->pid;
}

bool fabric_link_is_self(const struct fabric_link *link)
{
	return link->cold->self;
}

uint32_t fabric_link_max(const struct fabric_link *link)
{
	return link->tx.max;
}

/* ---- kicks, room, and giving up; any thread ---- */

/* A wake-up takes as long as many records do: several to one peer are better joined. */
static bool defer_kick(struct fabric_link *link)
{
	struct fabric_thread *thread = &fabric_thread;

	if (!thread->kicks_deferred)
		return false;
	for (uint32_t i = 0; i < thread->kick_count; i++)
		if (thread->kick[i] == link)
			return true;
	if (thread->kick_count == FABRIC_DEFERRED_KICKS)
		return false;
	thread->kick[thread->kick_count++] = fabric_link_hold(link);
	return true;
}

void fabric_kicks_defer(void)
{
	fabric_thread.kicks_deferred = true;
}

void fabric_kicks_flush(void)
{
	struct fabric_thread *thread = &fabric_thread;

	thread->kicks_deferred = false;
	while (thread->kick_count) {
		struct fabric_link *link = thread->kick[--thread->kick_count];

		fabric_link_kick(link);
		fabric_link_put(link);
	}
}

void fabric_link_kick(struct fabric_link *link)
{
	const uint64_t one = 1;

	if (unlikely(defer_kick(link)))
		return;
	/* [S2] pairs with drain_round(): while the flag is set, the service thread that clears it
	 * next sees our record */
	if (atomic_exchange_explicit(&link->tx.ctl->kicked, 1, memory_order_seq_cst))
		return;
	fabric_count(FABRIC_COUNT_KICKS, 1);
	if (link->cold->self)
		fabric_service_wake();
	else if (write(link->cold->wake_fd, &one, sizeof(one)) < 0)
		/* A full eventfd wakes, too, and a dead peer hangs up. Otherwise the next record kicks again. [S2] */
		atomic_store_explicit(&link->tx.ctl->kicked, 0, memory_order_seq_cst);
}

static void flag_links(void)
{
	/* [K3] pairs with fabric_links_iterate(): the link's flag before the common one */
	atomic_store_explicit(&fabric.links.flagged, true, memory_order_seq_cst);
	fabric_service_wake();
}

void fabric_link_want_room(struct fabric_link *link)
{
	struct fabric_tx *tx = &link->tx;

	if (!tx->size)
		return;
	atomic_store_explicit(&tx->ctl->want, 1 + tx->tail - tx->size / 2, memory_order_relaxed);
	/* The service thread looks at once, and every millisecond after: if the consumer released
	 * before it saw `want`, that is the delay, and no release needs a fence. */
	if (!atomic_exchange(&link->cold->want_room, true))
		flag_links();
}

bool fabric_link_pause_lasts(struct fabric_link *link)
{
	if (fabric_now_ns() < atomic_load_explicit(&link->paused_until_ns, memory_order_relaxed))
		return true;
	fabric_link_pause(link, 0);
	return false;
}

bool fabric_link_unread(struct fabric_link *link)
{
	bool unread;

	fabric_link_tx_lock(link);
	unread = link->tx.size &&
		 atomic_load_explicit(&link->tx.ctl->head, memory_order_relaxed) != link->tx.tail;
	fabric_link_tx_unlock(link);
	return unread;
}

void fabric_link_notify_room(struct fabric_link *link)
{
	if (!atomic_exchange_explicit(&link->rx.ctl->want, 0, memory_order_relaxed))
		return;
	fabric_link_kick(link);
}

void fabric_link_kill(struct fabric_link *link)
{
	if (!atomic_exchange(&link->cold->kill, true))
		flag_links();
}

void fabric_link_corrupt(struct fabric_link *link)
{
	if (atomic_exchange(&link->cold->corrupt, true))
		return;
	fabric_count(FABRIC_COUNT_LINKS_CORRUPT, 1);
	explain_note("process %d wrote an invalid record header or ring index; its link is closed",
		     (int)link->cold->pid);
	fabric_link_kill(link);
}

bool fabric_link_room_is_back(struct fabric_link *link)
{
	bool room = true;
	int err = 0;

	fabric_link_tx_lock(link);
	if (atomic_load(&link->cold->want_room))
		room = fabric_tx_refill(&link->tx, link->tx.size / 2, &err);
	if (room && link->tx.size) {
		atomic_store_explicit(&link->tx.ctl->want, 0, memory_order_relaxed);
		atomic_store(&link->cold->want_room, false);
	}
	fabric_link_tx_unlock(link);
	if (err)
		fabric_link_corrupt(link);
	return room;
}

/* ---- changes of state; service thread ---- */

void fabric_link_up(struct fabric_link *link)
{
	struct fabric_link_cold *cold = link->cold;

	fabric_link_tx_lock(link);
	fabric_tx_init(&link->tx, &cold->rings, cold->tx_ring);
	link->peer_page = cold->segment;
	link->fence = !(cold->peer_barrier && barrier_has_global());
	fabric_link_tx_unlock(link);
	if (link->fence)
		epoch_use_fences();
	fabric_link_rx_lock(link);
	fabric_rx_init(&link->rx, &cold->rings, cold->self ? 0 : !cold->tx_ring);
	fabric_link_rx_unlock(link);
	/* [K1] pairs with fabric_link_state() */
	atomic_store_explicit(&link->state, FABRIC_LINK_UP, memory_order_release);
	fabric_count(FABRIC_COUNT_LINKS_UP, 1);
	fabric.config.link_up(link);
	/* [K4] */
	atomic_store_explicit(&link->tx.ctl->is_up, 1, memory_order_release);
	if (fabric_poll_set_add(link))
		fabric_link_kill(link);
}

bool fabric_link_lacks(struct fabric_link *link, int err, uint64_t now_ns)
{
	struct fabric_link_cold *cold = link->cold;

	/* The link to this process itself needs nothing of another one. */
	if (!cold->self && !is_shortage(err))
		return false;
	if (!cold->shortage && now_ns + SHORTAGE_NS < cold->deadline_ns)
		cold->deadline_ns = now_ns + SHORTAGE_NS;
	cold->shortage = -err;
	cold->retry_ns = now_ns + SHORTAGE_PAUSE_NS;
	atomic_store(&fabric.links.flagged, true);
	return true;
}

bool fabric_link_lacked(const struct fabric_link *link)
{
	return link->cold->shortage;
}

/* Records that the peer published before it died are not lost. */
static void last_drain(struct fabric_link *link)
{
	for (int i = 0; i < LAST_DRAINS && fabric_link_has_record(link); i++)
		if (!fabric.config.drain(link))
			return;
}

static void deactivate(struct fabric_link *link)
{
	if (link->cold->active)
		LIST_REMOVE(link->cold, in_active);
	link->cold->active = false;
}

void fabric_link_down(struct fabric_link *link)
{
	struct fabric_link_cold *cold = link->cold;
	enum fabric_link_state before = fabric_link_state(link);

	if (before == FABRIC_LINK_DEAD)
		return;
	if (cold->sock >= 0)
		fabric_service_del_fd(cold->sock);
	fabric_link_rx_lock(link);
	if (before == FABRIC_LINK_UP)
		last_drain(link);
	fabric_rx_none(&link->rx);
	fabric_link_rx_unlock(link);
	fabric_link_tx_lock(link);
	fabric_tx_none(&link->tx);
	fabric_link_tx_unlock(link);
	atomic_store_explicit(&link->state, FABRIC_LINK_DEAD, memory_order_release);
	fabric_poll_set_remove(link);
	table_remove(link);
	deactivate(link);
	/* The peer sees the hang-up; mappings stay until the last reference is put. */
	close_fd(&cold->sock);
	fabric_count(
		before == FABRIC_LINK_UP ? FABRIC_COUNT_LINKS_DOWN : FABRIC_COUNT_LINKS_REFUSED, 1);
	fabric.config.link_down(link);
	if (!cold->self && atomic_load(&fabric.up))
		fabric_process_reap(link->peer);
	fabric_link_put(link);
}

/* ---- fork ---- */

void fabric_links_forked(void)
{
	struct fabric_link_cold *cold, *next;

	memset(fabric.links.by_slot, 0, fabric.links.slots * sizeof(fabric.links.by_slot[0]));
	fabric.links.slots = 0;
	/* Links that were retired are freed first; no put below then frees one but its own. */
	epoch_reclaim();
	for (cold = LIST_FIRST(&fabric.links.allocated); cold; cold = next) {
		struct fabric_link *link = cold->link;
		bool was_in_table = fabric_link_state(link) != FABRIC_LINK_DEAD;

		next = LIST_NEXT(cold, in_allocated);
		atomic_store(&link->state, FABRIC_LINK_DEAD);
		fabric_tx_none(&link->tx);
		fabric_rx_none(&link->rx);
		fabric_unlock(&link->tx_lock);
		fabric_unlock(&link->rx_lock);
		release_peer(link);
		if (was_in_table)
			fabric_link_put(link);
	}
	LIST_INIT(&fabric.links.active);
	fabric.links.some_connecting = false;
	fabric.links.some_want_room = false;
	atomic_store(&fabric.links.flagged, false);
}
