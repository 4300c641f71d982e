/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Links: the table by slot, references, changes of state, kicks.
 *
 * table.lock guards the table and is held for look-ups only. State changes, the list of living
 * links and everything about sockets belong to the service thread. The table holds one reference
 * to every link that is not DEAD.
 */
#include "fabric/link.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fabric/barrier.h"
#include "fabric/directory.h"
#include "fabric/link_priv.h"
#include "fabric/poll_priv.h"
#include "fabric/service_priv.h"
#include "util/explain.h"

#define RETRY_NS         10000000u
#define ROOM_NS          1000000u
#define LAST_DRAINS      4096
#define HELD_KICKS       8
#define HANDSHAKE_NS(ms) ((uint64_t)(ms)*1000000u)

static struct {
	pthread_mutex_t lock;
	struct fabric_link *by_slot[FABRIC_SLOTS];
} table = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Every link that is not freed, for the child of a fork. */
static struct {
	struct fabric_lock lock;
	struct fabric_link *first;
} all;

/* The service thread's. */
static struct fabric_link *living;
static bool some_connect, some_want_room;
/* Some link has kill or want_room set. */
static _Atomic bool attention;

/* ---- references ---- */

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* Unmaps and closes everything of the peer's. */
static void let_go(struct fabric_link *link)
{
	struct fabric_link_cold *cold = link->cold;

	fabric_ring_unmap(&cold->rings);
	if (!cold->self)
		fabric_segment_unmap(cold->segment, cold->segment_size);
	cold->segment = NULL;
	cold->segment_size = 0;
	close_fd(&cold->sock);
	close_fd(&cold->wake_fd);
	close_fd(&cold->share_fd);
}

static void link_free(struct fabric_retire *retire)
{
	struct fabric_link *link = container_of(retire, struct fabric_link, retire);

	fabric_lock(&all.lock);
	*link->cold->all_at = link->cold->all_next;
	if (link->cold->all_next)
		link->cold->all_next->cold->all_at = link->cold->all_at;
	fabric_unlock(&all.lock);
	let_go(link);
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
	link->cold = cold;
	link->peer = peer;
	atomic_init(&link->refs, 1);
	atomic_init(&link->state, state);
	fabric_rx_none(&link->rx);
	fabric_lock(&all.lock);
	cold->all_next = all.first;
	cold->all_at = &all.first;
	if (all.first)
		all.first->cold->all_at = &cold->all_next;
	all.first = link;
	fabric_unlock(&all.lock);
	return link;
}

struct fabric_link *fabric_link_hold(struct fabric_link *link)
{
	atomic_fetch_add_explicit(&link->refs, 1, memory_order_relaxed);
	return link;
}

void fabric_link_put(struct fabric_link *link)
{
	/* [K2] pairs with itself: every use before the free */
	if (atomic_fetch_sub_explicit(&link->refs, 1, memory_order_acq_rel) == 1)
		fabric_epoch_retire(&link->retire, link_free);
}

/* ---- the table ---- */

/* Table lock held. */
static struct fabric_link *table_look(fabric_id_t peer)
{
	struct fabric_link *link = table.by_slot[fabric_id_slot(peer)];

	if (!link || link->peer != peer || fabric_link_state(link) == FABRIC_LINK_DEAD)
		return NULL;
	return fabric_link_hold(link);
}

/* A link to an earlier process of the slot may be there; it dies on its own. Lock held. */
static void table_enter(struct fabric_link *link)
{
	table.by_slot[fabric_id_slot(link->peer)] = fabric_link_hold(link);
}

static void table_leave(struct fabric_link *link)
{
	struct fabric_link **place = &table.by_slot[fabric_id_slot(link->peer)];

	pthread_mutex_lock(&table.lock);
	if (*place == link)
		*place = NULL;
	pthread_mutex_unlock(&table.lock);
}

struct fabric_link *fabric_link_find(fabric_id_t peer)
{
	struct fabric_link *link;

	pthread_mutex_lock(&table.lock);
	link = table_look(peer);
	pthread_mutex_unlock(&table.lock);
	return link;
}

void fabric_link_enlist(struct fabric_link *link)
{
	if (link->cold->live || fabric_link_state(link) == FABRIC_LINK_DEAD)
		return;
	link->cold->live = true;
	link->cold->next = living;
	living = link;
}

struct fabric_link *fabric_link_find_or_create(fabric_id_t peer)
{
	struct fabric_link *link;

	/* In one step: a thread may be about to ask for the same link. */
	pthread_mutex_lock(&table.lock);
	link = table_look(peer);
	if (!link) {
		link = link_alloc(peer, FABRIC_LINK_CONNECTING);
		if (link)
			table_enter(link);
	}
	pthread_mutex_unlock(&table.lock);
	return link;
}

static void start_work(void *arg)
{
	struct fabric_link *link = arg;

	/* The peer's HELLO may have come first. */
	link->cold->deadline_ns = fabric_now_ns() + HANDSHAKE_NS(fabric_config.handshake_ms);
	fabric_link_enlist(link);
	atomic_store(&attention, true);
	fabric_link_put(link);
}

struct fabric_link *fabric_link_get(fabric_id_t peer)
{
	struct fabric_process process;
	struct fabric_link *link;

	if (!fabric_is_up())
		return NULL;
	pthread_mutex_lock(&table.lock);
	link = table_look(peer);
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
	if (fabric_service_run(start_work, link)) {
		fabric_link_put(link);
		fabric_link_put(link);
		link = NULL;
		goto unlock;
	}
	table_enter(link);
unlock:
	pthread_mutex_unlock(&table.lock);
	return link;
}

/* ---- what a link knows of its peer ---- */

void *fabric_link_segment(const struct fabric_link *link)
{
	return link->cold->segment;
}

uint64_t fabric_link_segment_size(const struct fabric_link *link)
{
	return link->cold->segment_size;
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

/* A wake-up takes as long as many records do: several to one peer are better told of together. */
static _Thread_local struct {
	bool on;
	uint32_t count;
	struct fabric_link *link[HELD_KICKS];
} held;

static bool hold_kick(struct fabric_link *link)
{
	if (!held.on)
		return false;
	for (uint32_t i = 0; i < held.count; i++)
		if (held.link[i] == link)
			return true;
	if (held.count == HELD_KICKS)
		return false;
	held.link[held.count++] = fabric_link_hold(link);
	return true;
}

void fabric_kicks_hold(void)
{
	held.on = true;
}

void fabric_kicks_release(void)
{
	held.on = false;
	while (held.count) {
		struct fabric_link *link = held.link[--held.count];

		fabric_link_kick(link);
		fabric_link_put(link);
	}
}

void fabric_link_kick(struct fabric_link *link)
{
	const uint64_t one = 1;

	if (unlikely(hold_kick(link)))
		return;
	/* [S2] pairs with drain_round(): when the flag is still up, our record is seen by whoever
	 * takes it down */
	if (atomic_exchange_explicit(&link->tx.ctl->kicked, 1, memory_order_seq_cst))
		return;
	fabric_count(FABRIC_COUNT_KICKS, 1);
	if (link->cold->self)
		fabric_service_wake();
	else if (write(link->cold->wake_fd, &one, sizeof(one)) < 0)
		return; /* full is as good as written, and a dead peer hangs up */
}

static void call_attention(void)
{
	/* [K3] pairs with fabric_links_turn(): the link's flag before the common one */
	atomic_store_explicit(&attention, true, memory_order_seq_cst);
	fabric_service_wake();
}

void fabric_link_want_room(struct fabric_link *link)
{
	struct fabric_tx *tx = &link->tx;

	if (!tx->size)
		return;
	atomic_store_explicit(&tx->ctl->want, 1 + tx->tail - tx->size / 2, memory_order_relaxed);
	/* The service thread looks at once, and every millisecond after: a consumer that released
	 * before it could see `want` costs that much, and no fence on every release. */
	if (!atomic_exchange(&link->cold->want_room, true))
		call_attention();
}

bool fabric_link_is_early(struct fabric_link *link)
{
	if (fabric_now_ns() < atomic_load_explicit(&link->rest_until, memory_order_relaxed))
		return true;
	fabric_link_rest(link, 0);
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

void fabric_link_tell_room(struct fabric_link *link)
{
	if (!atomic_exchange_explicit(&link->rx.ctl->want, 0, memory_order_relaxed))
		return;
	fabric_link_kick(link);
}

void fabric_link_kill(struct fabric_link *link)
{
	if (!atomic_exchange(&link->cold->kill, true))
		call_attention();
}

void fabric_link_corrupt(struct fabric_link *link)
{
	if (atomic_exchange(&link->cold->corrupt, true))
		return;
	fabric_count(FABRIC_COUNT_LINKS_CORRUPT, 1);
	explain_note("process %d wrote what it must not into the ring to us; the link is given up",
		     (int)link->cold->pid);
	fabric_link_kill(link);
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
	fabric_link_rx_lock(link);
	fabric_rx_init(&link->rx, &cold->rings, cold->self ? 0 : !cold->tx_ring);
	fabric_link_rx_unlock(link);
	/* [K1] pairs with fabric_link_state() */
	atomic_store_explicit(&link->state, FABRIC_LINK_UP, memory_order_release);
	fabric_count(FABRIC_COUNT_LINKS_UP, 1);
	fabric_config.link_up(link);
	/* [K4] */
	atomic_store_explicit(&link->tx.ctl->met, 1, memory_order_release);
	if (fabric_poll_add(link))
		fabric_link_kill(link);
}

static int up_with_self(struct fabric_link *link)
{
	struct fabric_link_cold *cold = link->cold;
	int fd, share, err;

	err = fabric_ring_memfd(fabric_config.ring_size, 1, &fd);
	if (err)
		return err;
	err = fabric_ring_map(fd, fabric_config.ring_size, 1, &cold->rings);
	close(fd);
	if (err)
		return err;
	share = fabric_config.share_fd();
	cold->share_fd = share < 0 ? -1 : fcntl(share, F_DUPFD_CLOEXEC, 3);
	cold->segment = fabric_segment_self();
	cold->segment_size = fabric_segment_size();
	cold->pid = getpid();
	cold->peer_barrier = barrier_has_global();
	fabric_link_up(link);
	return 0;
}

/* What the peer published before it went is not lost. */
static void last_drain(struct fabric_link *link)
{
	for (int i = 0; i < LAST_DRAINS && fabric_link_ready(link); i++)
		if (!fabric_config.drain(link))
			return;
}

static void list_leave(struct fabric_link *link)
{
	struct fabric_link **at = &living;

	while (*at && *at != link)
		at = &(*at)->cold->next;
	if (*at)
		*at = link->cold->next;
	link->cold->live = false;
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
	fabric_poll_remove(link);
	table_leave(link);
	list_leave(link);
	/* The peer sees the hang-up; what is mapped stays until the last reference goes. */
	close_fd(&cold->sock);
	fabric_count(
		before == FABRIC_LINK_UP ? FABRIC_COUNT_LINKS_DOWN : FABRIC_COUNT_LINKS_REFUSED, 1);
	fabric_config.link_down(link);
	if (!cold->self && fabric_is_up() && !fabric_process_alive(link->peer))
		fabric_directory_sweep();
	fabric_link_put(link);
}

/* ---- the service thread's turn ---- */

static void turn_connecting(struct fabric_link *link, uint64_t now_ns)
{
	struct fabric_link_cold *cold = link->cold;
	int err;

	if (now_ns >= cold->deadline_ns) {
		explain_note("process %d does not answer; the link is given up after %u ms",
			     (int)link->peer, fabric_config.handshake_ms);
		fabric_link_down(link);
		return;
	}
	if (cold->sock >= 0 || now_ns < cold->retry_ns)
		return;
	err = cold->self ? up_with_self(link) : handshake_connect(link);
	cold->retry_ns = now_ns + RETRY_NS;
	if (err && err != -EAGAIN)
		fabric_link_down(link);
}

/* Next deadline of a CONNECTING link. */
static uint64_t due_ns(const struct fabric_link_cold *cold)
{
	return cold->sock < 0 && cold->retry_ns < cold->deadline_ns ? cold->retry_ns
								    : cold->deadline_ns;
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

static bool turn_room(struct fabric_link *link)
{
	bool room = fabric_link_room_is_back(link);

	if (room)
		fabric_config.room(link);
	return room;
}

uint64_t fabric_links_turn(uint64_t now_ns)
{
	uint64_t next_ns = handshake_turn(now_ns);
	struct fabric_link *link, *next;

	/* [K3] */
	if (!atomic_exchange_explicit(&attention, false, memory_order_seq_cst) && !some_connect &&
	    !some_want_room)
		return next_ns;
	some_connect = false;
	some_want_room = false;
	for (link = living; link; link = next) {
		/* Only the link at hand can die below. */
		next = link->cold->next;
		fabric_link_hold(link);
		if (atomic_load(&link->cold->kill))
			fabric_link_down(link);
		if (fabric_link_state(link) == FABRIC_LINK_CONNECTING)
			turn_connecting(link, now_ns);
		if (fabric_link_state(link) == FABRIC_LINK_CONNECTING) {
			some_connect = true;
			if (due_ns(link->cold) < next_ns)
				next_ns = due_ns(link->cold);
		}
		if (fabric_link_state(link) == FABRIC_LINK_UP &&
		    atomic_load(&link->cold->want_room) && !turn_room(link))
			some_want_room = true;
		fabric_link_put(link);
	}
	if (some_want_room && now_ns + ROOM_NS < next_ns)
		next_ns = now_ns + ROOM_NS;
	return next_ns;
}

/* ---- begin and end ---- */

void fabric_links_init(void)
{
	living = NULL;
	some_connect = false;
	some_want_room = false;
	atomic_store(&attention, false);
}

void fabric_links_shutdown(void)
{
	handshake_shutdown();
	while (living)
		fabric_link_down(living);
}

void fabric_links_fork_prepare(void)
{
	pthread_mutex_lock(&table.lock);
	fabric_lock(&all.lock);
}

void fabric_links_fork_parent(void)
{
	fabric_unlock(&all.lock);
	pthread_mutex_unlock(&table.lock);
}

/* Whoever still has a reference finds a DEAD link without rings. */
void fabric_links_fork_child(void)
{
	struct fabric_link *link, *next;

	memset(table.by_slot, 0, sizeof(table.by_slot));
	fabric_unlock(&all.lock);
	pthread_mutex_unlock(&table.lock);
	/* What was retired goes first; no put below then frees a link other than its own. */
	fabric_epoch_reclaim();
	for (link = all.first; link; link = next) {
		bool had_place = fabric_link_state(link) != FABRIC_LINK_DEAD;

		next = link->cold->all_next;
		atomic_store(&link->state, FABRIC_LINK_DEAD);
		fabric_tx_none(&link->tx);
		fabric_rx_none(&link->rx);
		fabric_unlock(&link->tx_lock);
		fabric_unlock(&link->rx_lock);
		let_go(link);
		if (had_place)
			fabric_link_put(link);
	}
}
