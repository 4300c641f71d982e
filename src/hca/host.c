/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The adapter's side of the fabric: joins it, keeps one struct per linked process, and hands
 * records to queue pairs.
 *
 * Locks, outermost first: link receive lock (the fabric's, during a drain), QP, link send lock or
 * CQ, innermost. peers_lock guards the array of peers; finding one takes no lock but needs a
 * guard, since a peer is freed only after the guards have passed.
 */
#include "hca/host.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "fabric/link.h"
#include "fabric/service.h"
#include "hca/ask.h"
#include "hca/bell.h"
#include "hca/cq_priv.h"
#include "hca/control.h"
#include "hca/dc.h"
#include "hca/forward.h"
#include "hca/grh.h"
#include "hca/gsi.h"
#include "hca/netif.h"
#include "hca/port.h"
#include "hca/qp_priv.h"
#include "hca/switch.h"
#include "hca/shadow.h"
#include "hca/taps.h"
#include "hca/wire.h"
#include "hca/xrc.h"
#include "hca/xrc_open.h"
#include "hca/wq.h"
#include "util/explain.h"
#include "util/forksafe.h"

#define DRAIN_MOST  256
#define DRAIN_BYTES (256u << 10)
#define REST_BELOW  32u
#define REST_AFTER  32u
#define REST_NS     2000u
#define MUTE_NS     1000000000ull
#define MEET_NS     21000000000ull /* a handshake has 20 s */
#define ACK_WAIT_NS 1000000u

#define SETTLE_SPINS  100u
#define SETTLE_NAP_NS 50000
#define SETTLE_LOOKS  20000u /* a second, and better too early than never */

static pthread_mutex_t join_lock = PTHREAD_MUTEX_INITIALIZER;
FORKSAFE(join_lock, FORKSAFE_JOIN);
static pthread_mutex_t peers_lock = PTHREAD_MUTEX_INITIALIZER;
FORKSAFE(peers_lock, FORKSAFE_OBJECT);
static pthread_cond_t met = PTHREAD_COND_INITIALIZER; /* links that came up, or did not */
static _Atomic(struct hca_peer *) peers[FABRIC_SLOTS];
static struct hca_segment *segment;
static bool vm_allowed;

struct hca_segment *hca_host_segment(void)
{
	return segment;
}

/* ---- peers ---- */

bool hca_peer_is_up(const struct hca_peer *peer)
{
	return fabric_link_state(peer->link) == FABRIC_LINK_UP;
}

bool hca_peer_has_met(struct hca_peer *peer)
{
	if (likely(__atomic_load_n(&peer->met, __ATOMIC_ACQUIRE)))
		return true;
	if (!fabric_link_met(peer->link))
		return false;
	__atomic_store_n(&peer->met, true, __ATOMIC_RELEASE);
	return true;
}

struct hca_peer *hca_peer_at(unsigned int slot)
{
	/* [H1] */
	return atomic_load_explicit(&peers[slot], memory_order_acquire);
}

void hca_peer_kill(struct hca_peer *peer)
{
	fabric_link_kill(peer->link);
}

/* Stopped by a signal or a debugger, or dead, as far as the kernel tells. */
static bool is_stopped(int pid)
{
	char path[32], text[256], *state;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return true;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = 0;
	state = strrchr(text, ')'); /* the name before it may hold anything */
	return !state || !state[1] || strchr("TtZX", state[2]);
}

bool hca_peer_is_halted(const struct hca_peer *peer)
{
	return !peer->pid || is_stopped(peer->pid);
}

bool hca_peer_is_late(const struct hca_peer *peer)
{
	if (!hca_peer_is_up(peer))
		return false;
	if (fabric_link_ready(peer->link))
		return true;
	return fabric_link_unread(peer->link) &&
	       (peer->is_self || (peer->pid && !is_stopped(peer->pid)));
}

/*
 * A process that did not answer a handshake is not asked again at once: it counts as absent for a
 * while, so that what is sent to it is lost as it would be on a wire.
 */
static struct {
	_Atomic fabric_id_t id;
	_Atomic uint64_t until_ns;
} mute[FABRIC_SLOTS];

static bool is_mute(fabric_id_t id)
{
	unsigned int slot = fabric_id_slot(id);

	return atomic_load(&mute[slot].id) == id &&
	       fabric_now_ns() < atomic_load(&mute[slot].until_ns);
}

static void set_mute(fabric_id_t id)
{
	unsigned int slot = fabric_id_slot(id);

	atomic_store(&mute[slot].until_ns, fabric_now_ns() + MUTE_NS);
	atomic_store(&mute[slot].id, id);
}

struct hca_peer *hca_peer_find(fabric_id_t id, bool *wait)
{
	/* [H1] pairs with link_up(): the peer before its pointer */
	struct hca_peer *peer =
		atomic_load_explicit(&peers[fabric_id_slot(id)], memory_order_acquire);
	struct fabric_link *link;

	*wait = false;
	if (likely(peer && peer->id == id && hca_peer_is_up(peer)))
		return peer;
	if (is_mute(id))
		return NULL;
	link = fabric_link_get(id);
	if (!link)
		return NULL;
	/* UP but not yet in the array: link_up() is on its way. */
	*wait = fabric_link_state(link) != FABRIC_LINK_DEAD;
	fabric_link_put(link);
	return NULL;
}

/* False when there is nothing to wait for. */
static bool is_coming(fabric_id_t id)
{
	bool wait, up;

	hca_guard_enter();
	up = hca_peer_find(id, &wait);
	hca_guard_exit();
	return !up && wait;
}

static void wait_for(fabric_id_t id, int seconds)
{
	struct timespec until;

	if (!is_coming(id))
		return;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += seconds;
	pthread_mutex_lock(&peers_lock);
	while (!atomic_load(&peers[fabric_id_slot(id)]) && !is_mute(id))
		if (pthread_cond_timedwait(&met, &peers_lock, &until))
			break;
	pthread_mutex_unlock(&peers_lock);
}

void hca_host_meet_self(void)
{
	/* Far more than it takes; without the link, requests wait instead of us. */
	wait_for(fabric_self(), 1);
}

bool hca_host_meet(fabric_id_t id)
{
	uint64_t until = fabric_now_ns() + MEET_NS;
	struct hca_peer *peer;
	bool wait, done = false;

	wait_for(id, (int)(MEET_NS / 1000000000));
	/* Its side of the link is up a moment later. */
	do {
		hca_guard_enter();
		peer = hca_peer_find(id, &wait);
		done = peer && (peer->is_self || hca_peer_has_met(peer));
		hca_guard_exit();
		if (!done && peer)
			sched_yield();
	} while (!done && peer && fabric_now_ns() < until);
	return done;
}

void hca_host_for_each_peer(void (*fn)(struct hca_peer *peer, void *arg), void *arg)
{
	pthread_mutex_lock(&peers_lock);
	for (unsigned int i = 0; i < FABRIC_SLOTS; i++) {
		struct hca_peer *peer = atomic_load(&peers[i]);

		if (peer && !peer->is_self)
			fn(peer, arg);
	}
	pthread_mutex_unlock(&peers_lock);
}

/* Does the kernel let us into the peer's memory? Its segment's address is not known: any will do. */
static bool try_vm(const struct hca_peer *peer)
{
	char byte;
	struct iovec here = { &byte, 1 }, there = { (void *)0x10000, 1 };

	if (!vm_allowed || !peer->pid)
		return false;
	/* EFAULT says that we were let in and found nothing there. */
	return process_vm_readv(peer->pid, &here, 1, &there, 1, 0) == 1 || errno == EFAULT;
}

static void link_up(struct fabric_link *link)
{
	struct hca_peer *peer = calloc(1, sizeof(*peer));

	if (!peer) {
		fabric_link_kill(link);
		return;
	}
	peer->link = fabric_link_hold(link);
	peer->id = fabric_link_peer(link);
	peer->segment = fabric_link_segment(link);
	peer->is_self = fabric_link_is_self(link);
	peer->pid = fabric_link_peer_pid(link);
	pthread_mutex_init(&peer->map_lock, NULL);
	if (!peer->is_self && fabric_link_peer_share_fd(link) >= 0)
		peer->can_map = !share_view_init(&peer->view, fabric_link_peer_share_fd(link));
	peer->can_vm = !peer->is_self && try_vm(peer);
	if (link->fence)
		hca_guard_harden();
	link->user = peer;
	pthread_mutex_lock(&peers_lock);
	/* [H1] */
	atomic_store_explicit(&peers[fabric_id_slot(peer->id)], peer, memory_order_release);
	pthread_cond_broadcast(&met);
	pthread_mutex_unlock(&peers_lock);
	forward_ready(peer);
	hca_host_wake_qps();
}

static void free_mappings(struct hca_peer *peer)
{
	for (uint32_t i = 0; i < HCA_TABLE_HALF; i++) {
		_Atomic(void *) *leaf = atomic_load(&peer->mappings.top[i]);

		for (uint32_t k = 0; leaf && k < HCA_TABLE_HALF; k++) {
			struct hca_mapping *m = atomic_load(&leaf[k]);

			if (m) {
				share_view_unmap(&peer->view, m->base, m->length);
				free(m);
			}
		}
		free((void *)leaf);
	}
}

static struct hca_peer *dead_peer;

static void drop_peer(struct qp *qp)
{
	fabric_lock(&qp->pub.lock);
	if (qp->peer == dead_peer)
		qp->peer = NULL;
	fabric_unlock(&qp->pub.lock);
}

static void link_down(struct fabric_link *link)
{
	struct hca_peer *peer = link->user;

	forward_gone(fabric_link_peer(link));
	ask_peer_gone(fabric_link_peer(link));
	xrc_open_peer_gone(fabric_link_peer(link));
	if (!peer) {
		set_mute(fabric_link_peer(link));
		pthread_mutex_lock(&peers_lock);
		pthread_cond_broadcast(&met);
		pthread_mutex_unlock(&peers_lock);
		hca_host_wake_qps(); /* it never came up: who waits must go another way */
		return;
	}
	pthread_mutex_lock(&peers_lock);
	if (atomic_load(&peers[fabric_id_slot(peer->id)]) == peer)
		atomic_store(&peers[fabric_id_slot(peer->id)], NULL);
	pthread_mutex_unlock(&peers_lock);
	dead_peer = peer;
	xrc_guests_leave(peer->id);
	qp_for_each(drop_peer);
	hca_guard_wait();
	/* A section that began before may have put it back. */
	qp_for_each(drop_peer);
	hca_guard_wait();
	hca_host_room(peer);
	free_mappings(peer);
	if (peer->can_map)
		share_view_fini(&peer->view);
	link->user = NULL;
	fabric_link_put(link);
	pthread_mutex_destroy(&peer->map_lock);
	free(peer);
	hca_host_wake_qps();
}

/* ---- mappings ---- */

static void unmap_later(void *arg)
{
	struct hca_mapping *m = arg;

	/* Threads that found it before it was replaced are inside a guard. The peer itself cannot
	 * go meanwhile: it goes on this thread. */
	hca_guard_wait();
	pthread_mutex_lock(&m->peer->map_lock);
	share_view_unmap(&m->peer->view, m->base, m->length);
	pthread_mutex_unlock(&m->peer->map_lock);
	free(m);
}

/* A region keeps its key when it is registered anew, of other memory; a window may get it back. */
static bool is_of(const struct hca_mapping *m, const struct hca_mr_entry *entry, uint32_t key)
{
	return m->key == key && m->va == entry->va && m->length == entry->length;
}

static struct hca_mapping *make_mapping(struct hca_peer *peer, const struct hca_mr_entry *entry,
					uint32_t key)
{
	struct hca_mapping *m = malloc(sizeof(*m));

	if (!m)
		return NULL;
	m->key = key;
	m->peer = peer;
	m->va = entry->va;
	m->length = entry->length;
	m->base = share_view_map(&peer->view, m->va, m->length);
	if (!m->base) {
		free(m);
		return NULL;
	}
	return m;
}

char *hca_peer_map(struct hca_peer *peer, const struct hca_mr_entry *entry, uint32_t key)
{
	struct hca_mapping *m, *old;

	if (peer->is_self)
		return (char *)(uintptr_t)entry->va;
	m = hca_table_find(&peer->mappings, key >> 8);
	if (likely(m && is_of(m, entry, key)))
		return m->base;
	if (!peer->can_map || !(entry->flags & HCA_MR_SHARED))
		return NULL;
	pthread_mutex_lock(&peer->map_lock);
	old = hca_table_find(&peer->mappings, key >> 8);
	if (old && is_of(old, entry, key)) {
		m = old;
	} else {
		m = make_mapping(peer, entry, key);
		if (m && hca_table_set(&peer->mappings, key >> 8, m)) {
			share_view_unmap(&peer->view, m->base, m->length);
			free(m);
			m = NULL;
		} else if (m && old) {
			fabric_service_run(unmap_later, old);
		}
	}
	pthread_mutex_unlock(&peer->map_lock);
	return m ? m->base : NULL;
}

/* ---- waiting queue pairs ---- */

void hca_host_run_qp(struct qp *qp)
{
	hca_guard_enter();
	fabric_lock(&qp->pub.lock);
	if (!qp->dying) {
		responder_continue(qp);
		responder_send_ack(qp);
		xrc_continue(qp);
		requester_run(qp);
	}
	fabric_unlock(&qp->pub.lock);
	hca_guard_exit();
}

void hca_host_wake_qps(void)
{
	qp_for_each(hca_host_run_qp);
}

void hca_host_run_blocked(struct qp *qp)
{
	struct qp *next;

	for (; qp; qp = next) {
		fabric_lock(&qp->pub.lock);
		next = qp->blocked_next;
		qp->req.blocked = false;
		fabric_unlock(&qp->pub.lock);
		hca_host_run_qp(qp);
	}
}

/* Everybody who found no room tries again; who finds none again comes back to the list. */
void hca_host_room(struct hca_peer *peer)
{
	struct qp *qp;

	hca_guard_enter();
	forward_ready(peer);
	pthread_mutex_lock(&peer->map_lock);
	qp = peer->blocked;
	peer->blocked = NULL;
	pthread_mutex_unlock(&peer->map_lock);
	hca_host_run_blocked(qp);
	hca_guard_exit();
}

static void room(struct fabric_link *link)
{
	if (link->user)
		hca_host_room(link->user);
}

_Atomic fabric_id_t hca_host_blocked;

static void poll_room(fabric_id_t id)
{
	struct hca_peer *peer;
	bool wait;

	hca_guard_enter();
	peer = hca_peer_find(id, &wait);
	if (!peer || fabric_link_room_is_back(peer->link)) {
		/* Who blocks from now on says so again. */
		atomic_compare_exchange_strong(&hca_host_blocked, &id, FABRIC_NOBODY);
		if (peer)
			hca_host_room(peer);
	}
	hca_guard_exit();
}

static void forget_blocked(struct hca_peer *peer, struct qp *qp)
{
	struct qp **at;

	pthread_mutex_lock(&peer->map_lock);
	for (at = &peer->blocked; *at; at = &(*at)->blocked_next)
		if (*at == qp) {
			*at = qp->blocked_next;
			break;
		}
	pthread_mutex_unlock(&peer->map_lock);
}

static void forget_ack(struct hca_peer *peer, struct qp *qp)
{
	struct hca_acks *acks = &peer->acks;

	fabric_link_rx_lock(peer->link);
	for (unsigned int i = 0; i < acks->count; i++)
		if (acks->qp[i] == qp)
			acks->qp[i--] = acks->qp[--acks->count];
	fabric_link_rx_unlock(peer->link);
}

void hca_host_forget_qp(struct qp *qp)
{
	pthread_mutex_lock(&peers_lock);
	for (unsigned int i = 0; i < FABRIC_SLOTS; i++) {
		struct hca_peer *peer = atomic_load(&peers[i]);

		if (!peer)
			continue;
		forget_blocked(peer, qp);
		if (qp->raw) /* of others none waits beyond a drain */
			forget_ack(peer, qp);
	}
	pthread_mutex_unlock(&peers_lock);
}

/* ---- receiving ---- */

/* Follows references into the sender's memory. */
static bool follow(struct hca_peer *peer, const struct roce_pkt *pkt, const char *body,
		   struct hca_list *list)
{
	struct roce_ref ref;

	list->count = 0;
	list->total = 0;
	for (unsigned int i = 0; i < pkt->refs; i++) {
		struct hca_seg *seg = &list->seg[list->count++];
		const struct hca_mr_entry *e;
		char *base;

		memcpy(&ref, body + i * sizeof(ref), sizeof(ref));
		e = &peer->segment->mr[ref.key >> 8];
		if (atomic_load_explicit(&e->key, memory_order_acquire) != ref.key ||
		    e->flags & HCA_MR_INDIRECT || ref.len > e->length || ref.addr < e->iova ||
		    ref.addr - e->iova > e->length - ref.len)
			return false;
		*seg = (struct hca_seg){ .len = ref.len, .kind = HCA_SEG_PLAIN };
		base = hca_peer_map(peer, e, ref.key);
		if (base) {
			seg->ptr = base + (ref.addr - e->iova);
		} else if (peer->can_vm) {
			seg->ptr = (char *)(uintptr_t)(e->va + (ref.addr - e->iova));
			seg->kind = HCA_SEG_REMOTE;
			seg->pid = peer->pid;
		} else {
			return false;
		}
		list->total += ref.len;
	}
	return true;
}

static bool take_payload(struct hca_peer *peer, struct roce_pkt *pkt, const char *body,
			 uint32_t len, struct hca_list *list, const uint8_t **grh)
{
	*grh = NULL;
	if (pkt->flags & ROCE_PKT_BY_REF) {
		if (pkt->refs > HCA_MAX_SGE || len < pkt->refs * sizeof(struct roce_ref))
			return false;
		if (!follow(peer, pkt, body, list) || list->total != pkt->len) {
			/* A list that fails as soon as it is copied: the responder then says so. */
			list->count = 1;
			list->total = pkt->len;
			list->seg[0] = (struct hca_seg){ .kind = HCA_SEG_REMOTE, .len = pkt->len };
		}
		return true;
	}
	if (len < pkt->len)
		return false;
	if (pkt->flags & ROCE_PKT_GRH) {
		if (pkt->len < HCA_GRH_BYTES)
			return false;
		*grh = (const uint8_t *)body;
		body += HCA_GRH_BYTES;
		pkt->len -= HCA_GRH_BYTES;
	}
	list->count = 1;
	list->total = pkt->len;
	list->seg[0] = (struct hca_seg){ .ptr = (char *)body, .len = pkt->len };
	return true;
}

static bool is_answer(uint8_t op)
{
	op &= ROCE_PKT_OPCODE_MASK;
	return op >= ROCE_PKT_READ_RESP_FIRST && op <= ROCE_PKT_ATOMIC_ACK;
}

static bool dispatch(struct hca_peer *peer, const char *record, uint32_t len)
{
	struct hca_list list;
	const uint8_t *grh;
	struct roce_pkt pkt;
	struct qp *qp;

	if (unlikely(len < ROCE_PKT_RECORD))
		return false;
	memcpy(&pkt, record, ROCE_PKT_RECORD);
	if (unlikely(!take_payload(peer, &pkt, record + ROCE_PKT_RECORD, len - ROCE_PKT_RECORD,
				   &list, &grh)))
		return false;
	if (unlikely(pkt.op == ROCE_PKT_FORWARD)) {
		wire_forwarded(record + ROCE_PKT_RECORD, len - ROCE_PKT_RECORD);
		return true;
	}
	if (unlikely(pkt.op == ROCE_PKT_ASK || pkt.op == ROCE_PKT_ANSWER))
		return ask_record(peer->id, record + ROCE_PKT_RECORD, pkt.len,
				  pkt.op == ROCE_PKT_ANSWER);
	qp = qp_find(pkt.dqpn);
	if (unlikely(qp && qp->dct))
		qp = dct_session(qp, peer, &pkt);
	if (unlikely(!qp) && (pkt.op & ROCE_PKT_TRANSPORT_MASK) == ROCE_TR_XRC)
		qp = xrc_guest(peer, &pkt);
	if (unlikely(!qp))
		return true;
	fabric_lock(&qp->pub.lock);
	if (likely(!qp->dying)) {
		if (unlikely(taps_captures()))
			shadow_received(qp, &pkt, &list, grh);
		if (unlikely(is_answer(pkt.op) && qp->pub.type == HCA_QP_XRC_RECV))
			xrc_answer(qp, peer, &pkt, &list);
		else if (is_answer(pkt.op))
			completer_packet(qp, &pkt, &list);
		else
			responder_packet(qp, peer, &peer->acks, &pkt, &list, grh);
	}
	fabric_unlock(&qp->pub.lock);
	return true;
}

/* True when some were left for a reply to take along. */
static bool send_acks(struct hca_acks *acks, bool may_wait)
{
	unsigned int left = 0;

	for (unsigned int i = 0; i < acks->count; i++) {
		struct qp *qp = acks->qp[i];

		fabric_lock(&qp->pub.lock);
		if (!qp->dying && qp->resp.ack_due) {
			if (may_wait && qp->raw && !qp->resp.ack_hurry) {
				acks->qp[left++] = qp;
			} else {
				responder_send_ack(qp);
				wire_flush(qp);
			}
		}
		fabric_unlock(&qp->pub.lock);
	}
	acks->count = left;
	return left;
}

void hca_host_send_acks(struct hca_acks *acks)
{
	send_acks(acks, false);
}

/*
 * A program that drives its rings itself is about to reply, and the service thread to carry that
 * out: an answer that nobody hurries then needs no wake-up of its own. Service thread only.
 */
static uint64_t acks_due_ns = UINT64_MAX;

static void settle_acks(struct hca_acks *acks)
{
	bool mine = fabric_service_is_self();

	if (send_acks(acks, mine) && acks_due_ns == UINT64_MAX) {
		acks_due_ns = fabric_now_ns() + ACK_WAIT_NS;
		fabric_service_set_deadline(acks_due_ns);
	}
}

static uint64_t ack_timers(uint64_t now_ns)
{
	if (now_ns < acks_due_ns)
		return acks_due_ns;
	acks_due_ns = UINT64_MAX;
	for (unsigned int i = 0; i < FABRIC_SLOTS; i++) {
		struct hca_peer *peer = atomic_load_explicit(&peers[i], memory_order_relaxed);

		if (!peer)
			continue;
		fabric_link_rx_lock(peer->link);
		hca_guard_enter();
		send_acks(&peer->acks, false);
		hca_guard_exit();
		fabric_link_rx_unlock(peer->link);
	}
	return UINT64_MAX;
}

/*
 * After frames were taken in. When they come in a row and few at a time, while we send none, there
 * is a sender whose pace we set: the next look waits until some have gathered.
 */
static void rest(struct fabric_link *link, struct hca_peer *peer, unsigned int frames)
{
	if (hca_switch_has_sent())
		peer->in_a_row = 0;
	else if (peer->in_a_row < REST_AFTER)
		peer->in_a_row++;
	else if (frames < REST_BELOW)
		fabric_link_rest(link, fabric_now_ns() + REST_NS);
}

/* Gives back the record that was peeked at, and those behind it. */
static uint64_t release(struct fabric_link *link, const void *record, int count)
{
	uint64_t bytes = 0;
	uint32_t len;

	do {
		bytes += ((const struct roce_pkt *)record)->len;
		fabric_link_release(link);
	} while (--count && (record = fabric_link_peek(link, &len)));
	return bytes;
}

_Atomic uint32_t hca_service_turn;

void hca_service_turn_begin(void)
{
	uint32_t turn = atomic_load_explicit(&hca_service_turn, memory_order_relaxed);

	atomic_store_explicit(&hca_service_turn, turn + 1, memory_order_relaxed);
}

void hca_service_turn_end(void)
{
	uint32_t turn = atomic_load_explicit(&hca_service_turn, memory_order_relaxed);

	atomic_store_explicit(&hca_service_turn, turn + 1, memory_order_release);
}

/* The thread may have lost its processor meanwhile, to us. */
void hca_poll_settle(void)
{
	uint32_t turn = atomic_load_explicit(&hca_service_turn, memory_order_acquire);
	const struct timespec nap = { .tv_nsec = SETTLE_NAP_NS };

	if (!(turn & 1) || fabric_service_is_self())
		return;
	for (unsigned int i = 0; i < SETTLE_LOOKS; i++) {
		if (atomic_load_explicit(&hca_service_turn, memory_order_acquire) != turn)
			return;
		if (i < SETTLE_SPINS)
			continue;
		if (i < 2 * SETTLE_SPINS)
			sched_yield();
		else
			nanosleep(&nap, NULL);
	}
}

static unsigned int drain(struct fabric_link *link)
{
	struct hca_peer *peer = link->user;
	bool mine = fabric_service_is_self();
	unsigned int n = 0;
	const void *record;
	bool frames = false;
	uint64_t bytes = 0;
	uint32_t len;
	int done;

	if (unlikely(!peer))
		return 0;
	if (unlikely(mine))
		hca_service_turn_begin();
	hca_guard_enter();
	while (n < DRAIN_MOST && (record = fabric_link_peek(link, &len))) {
		if (*(const uint8_t *)record == ROCE_PKT_ETHER) {
			if (!frames) {
				frames = true;
				hca_rx_begin();
			}
			done = hca_switch_receive(peer, record, len);
		} else {
			/* Queue pairs are locked outside of the frames' lock. */
			if (frames) {
				frames = false;
				hca_rx_end();
			}
			done = dispatch(peer, record, len) ? 1 : -EPROTO;
		}
		if (unlikely(done <= 0)) {
			if (done)
				fabric_link_corrupt(link);
			break;
		}
		bytes += release(link, record, done);
		n += done;
		/* A row of long messages takes its time: senders wait for the answer, and the caller. */
		if (unlikely(bytes >= DRAIN_BYTES))
			break;
	}
	if (frames) {
		hca_rx_end();
		rest(link, peer, n);
	}
	if (peer->acks.count)
		settle_acks(&peer->acks);
	hca_guard_exit();
	if (unlikely(mine))
		hca_service_turn_end();
	if (unlikely(atomic_load_explicit(&bell_any, memory_order_relaxed)))
		atomic_store_explicit(&bell_busy, true, memory_order_relaxed);
	return n;
}

/* ---- joining ---- */

static uint64_t timers(uint64_t now_ns)
{
	uint64_t due[] = { timer_run(now_ns), wire_timers(now_ns), bell_run(now_ns),
			   hca_cq_timers(now_ns), ack_timers(now_ns) };
	uint64_t next = UINT64_MAX;

	for (size_t i = 0; i < array_size(due); i++)
		if (due[i] < next)
			next = due[i];
	return next;
}

static void forked(void)
{
	for (unsigned int i = 0; i < FABRIC_SLOTS; i++)
		atomic_store(&peers[i], NULL);
	acks_due_ns = UINT64_MAX;
	hca_port_forked();
	hca_guard_forked();
	hca_qp_forked();
	hca_mr_forked();
	ask_forked();
	hca_desk_forked();
	gsi_forked();
	xrc_open_forked();
	timer_forked();
	hca_cq_forked();
	xrc_forked();
	bell_forked();
	forward_forked();
	control_forked();
	wire_forked();
	hca_rx_forked();
	hca_switch_forked();
}

static void before_fork(void)
{
	forksafe_lock_all();
	taps_fork_prepare();
}

static void after_fork(void)
{
	taps_fork_done();
	forksafe_unlock_all();
}

static const struct fabric_config config = {
	.segment_size = sizeof(struct hca_segment),
	.share_fd = share_fd,
	.drain = drain,
	.link_up = link_up,
	.link_down = link_down,
	.room = room,
	.idle = wire_idle,
	.timers = timers,
	.turn = bell_turn,
	.before_fork = before_fork,
	.after_fork = after_fork,
	.forked = forked,
};

/* The link to ourselves takes a moment to come up: ask for it before anybody waits for it. */
static void greet_self(void)
{
	struct fabric_link *link = fabric_link_get(fabric_self());

	if (link)
		fabric_link_put(link);
}

int hca_host_join(void)
{
	const char *vm = getenv("VERBENA_VM");
	int err = 0;

	pthread_mutex_lock(&join_lock);
	if (!fabric_is_up()) {
		vm_allowed = !vm || strcmp(vm, "off");
		err = taps_check();
		if (err)
			goto unlock;
		err = fabric_init(&config);
		if (!err) {
			segment = fabric_segment_self();
			hca_guard_init();
			control_begin();
			greet_self();
		} else
			explain(-err, "this process cannot join the host's fabric: %s",
				strerror(-err));
	}
unlock:
	pthread_mutex_unlock(&join_lock);
	return err;
}

void hca_poll(void)
{
	fabric_id_t blocked = atomic_load_explicit(&hca_host_blocked, memory_order_relaxed);

	fabric_poll_enter();
	fabric_poll_links_awake();
	if (unlikely(blocked))
		poll_room(blocked);
	wire_poll();
	hca_netif_poll();
	bell_poll();
}

void hca_poll_pause(void)
{
	fabric_poll_leave();
	fabric_poll_links();
	wire_pause();
}
