/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Peers: a struct per linked process, made when its link comes up and freed when it is down.
 *
 * peers_lock guards the array; finding a peer takes no lock but needs a guard, since a peer is freed
 * only after the guards have passed. Links come and go on the service thread.
 */
#include "hca/peers/peer.h"

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

#include "fabric/clock.h"
#include "fabric/directory.h"
#include "fabric/link.h"
#include "fabric/share_view.h"
#include "hca/hca.h"
#include "util/forksafe.h"

#define MUTE_NS 1000000000ull
#define MEET_NS 21000000000ull /* a handshake has 20 s */

static pthread_mutex_t peers_lock = PTHREAD_MUTEX_INITIALIZER;
FORKSAFE(peers_lock, FORKSAFE_OBJECT);
static pthread_cond_t met = PTHREAD_COND_INITIALIZER; /* links that came up, or did not */
static _Atomic(struct hca_peer *) peers[FABRIC_SLOTS];
static bool vm_allowed;

void peer_begin(void)
{
	const char *vm = getenv("VERBENA_VM");

	vm_allowed = !vm || strcmp(vm, "off");
}

void peer_forked(void)
{
	for (unsigned int i = 0; i < FABRIC_SLOTS; i++)
		atomic_store(&peers[i], NULL);
}

bool hca_peer_has_met(struct hca_peer *peer)
{
	if (likely(__atomic_load_n(&peer->met, __ATOMIC_ACQUIRE)))
		return true;
	if (!fabric_link_peer_is_up(peer->link))
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
	if (fabric_link_has_record(peer->link))
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
	/* [H1] pairs with peer_link_up(): the peer before its pointer */
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
	/* UP but not yet in the array: peer_link_up() is on its way. */
	*wait = fabric_link_state(link) != FABRIC_LINK_DEAD;
	fabric_link_put(link);
	return NULL;
}

/* False when there is nothing to wait for. */
static bool is_coming(fabric_id_t id)
{
	bool wait, up;

	epoch_enter();
	up = hca_peer_find(id, &wait);
	epoch_exit();
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

void hca_peer_meet_self(void)
{
	/* Far more than it takes; without the link, requests wait instead of us. */
	wait_for(fabric_self(), 1);
}

bool hca_peer_meet(fabric_id_t id)
{
	uint64_t until = fabric_now_ns() + MEET_NS;
	struct hca_peer *peer;
	bool wait, done = false;

	wait_for(id, (int)(MEET_NS / 1000000000));
	/* Its side of the link is up a moment later. */
	do {
		epoch_enter();
		peer = hca_peer_find(id, &wait);
		done = peer && (peer->is_self || hca_peer_has_met(peer));
		epoch_exit();
		if (!done && peer)
			sched_yield();
	} while (!done && peer && fabric_now_ns() < until);
	return done;
}

void hca_peer_for_each(void (*fn)(struct hca_peer *peer, void *arg), void *arg)
{
	pthread_mutex_lock(&peers_lock);
	for (unsigned int i = 0; i < FABRIC_SLOTS; i++) {
		struct hca_peer *peer = atomic_load(&peers[i]);

		if (peer)
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

void peer_link_up(struct fabric_link *link)
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
	link->user = peer;
	pthread_mutex_lock(&peers_lock);
	/* [H1] */
	atomic_store_explicit(&peers[fabric_id_slot(peer->id)], peer, memory_order_release);
	pthread_cond_broadcast(&met);
	pthread_mutex_unlock(&peers_lock);
	for (const struct peer_listener *const *l = hca.peer_listeners; *l; l++)
		if ((*l)->up)
			(*l)->up(peer);
}

static void tell_room(struct hca_peer *peer)
{
	for (const struct peer_listener *const *l = hca.peer_listeners; *l; l++)
		if ((*l)->room)
			(*l)->room(peer);
}

void peer_link_room(struct fabric_link *link)
{
	if (link->user)
		tell_room(link->user);
}

static void tell_leaving(struct hca_peer *peer)
{
	for (const struct peer_listener *const *l = hca.peer_listeners; *l; l++)
		if ((*l)->leaving)
			(*l)->leaving(peer);
}

static void tell_gone(fabric_id_t id)
{
	for (const struct peer_listener *const *l = hca.peer_listeners; *l; l++)
		if ((*l)->gone)
			(*l)->gone(id);
}

void peer_link_down(struct fabric_link *link)
{
	struct hca_peer *peer = link->user;
	fabric_id_t id = fabric_link_peer(link);

	if (!peer) {
		set_mute(id);
		pthread_mutex_lock(&peers_lock);
		pthread_cond_broadcast(&met);
		pthread_mutex_unlock(&peers_lock);
		tell_gone(id);
		return;
	}
	pthread_mutex_lock(&peers_lock);
	if (atomic_load(&peers[fabric_id_slot(peer->id)]) == peer)
		atomic_store(&peers[fabric_id_slot(peer->id)], NULL);
	pthread_mutex_unlock(&peers_lock);
	tell_leaving(peer);
	epoch_wait();
	/* A section that began before may have kept a pointer. */
	tell_leaving(peer);
	epoch_wait();
	tell_room(peer); /* nothing waits for this link any more */
	peer_unmap_all(peer);
	if (peer->can_map)
		share_view_fini(&peer->view);
	link->user = NULL;
	fabric_link_put(link);
	pthread_mutex_destroy(&peer->map_lock);
	free(peer);
	tell_gone(id);
}
