/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A struct per linked process, made when its link comes up and freed when it is down. peer.lock
 * guards the array of peers; finding one takes no lock but an epoch section, since a peer is freed
 * after a grace period only. Links come up and go down on the service thread.
 */
#include "hca/peers/peer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "fabric/directory.h"
#include "fabric/link.h"
#include "fabric/segment.h"
#include "fabric/share_view.h"
#include "hca/hca.h"
#include "fabric/epoch.h"
#include "hca/peers/peer_map.h"
#include "util/shortage.h"

#define UNREACHABLE_NS 1000000000ull
#define CONNECT_S      21 /* a handshake has 20 s */
#define CONNECT_SELF_S 1  /* far more than it takes; without the link, requests wait */

void peer_begin(void)
{
	const char *vm = getenv("VERBENA_VM");

	hca.peers.peer.vm_allowed = !vm || strcmp(vm, "off");
}

bool hca_peer_may_access(struct hca_peer *peer)
{
	if (likely(__atomic_load_n(&peer->may_access, __ATOMIC_ACQUIRE)))
		return true;
	if (!fabric_link_peer_is_up(peer->link))
		return false;
	__atomic_store_n(&peer->may_access, true, __ATOMIC_RELEASE);
	return true;
}

uint32_t hca_peer_end(void)
{
	return atomic_load(&hca.peers.peer.end);
}

struct hca_peer *hca_peer_at(unsigned int slot)
{
	/* [H1] */
	return atomic_load_explicit(&hca.peers.peer.by_slot[slot], memory_order_acquire);
}

void hca_peer_kill(struct hca_peer *peer)
{
	fabric_link_kill(peer->link);
}

/* The beginning of a file of /proc; false if the process or thread is gone. */
static bool read_proc(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, text, size - 1);
	close(fd);
	text[n > 0 ? n : 0] = 0;
	return n > 0;
}

/* The letter of ps(1). */
static char state_of(const char *path)
{
	char text[256], *state;

	if (!read_proc(path, text, sizeof(text)))
		return 'X';
	state = strrchr(text, ')'); /* the name before it may contain any character */
	return state && state[1] ? state[2] : 'X';
}

static bool is_stopped(int pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	return strchr("TtZX", state_of(path));
}

/*
 * A thread that a signal stops has left the kernel. A debugger may stop one at the entry of a
 * system call, too, which then goes on with it.
 */
static bool thread_is_halted(int pid, const char *tid)
{
	char path[64], text[64];
	char state;
	long number;

	snprintf(path, sizeof(path), "/proc/%d/task/%.16s/stat", pid, tid);
	state = state_of(path);
	if (state != 't')
		return strchr("TZX", state);
	snprintf(path, sizeof(path), "/proc/%d/task/%.16s/syscall", pid, tid);
	if (!read_proc(path, text, sizeof(text)))
		return false;
	number = strtol(text, NULL, 10);
	return number != SYS_process_vm_readv && number != SYS_process_vm_writev;
}

bool hca_peer_threads_are_halted(const struct hca_peer *peer)
{
	struct dirent *entry;
	bool halted = true;
	char path[32];
	DIR *tasks;

	if (!peer->pid)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/task", peer->pid);
	tasks = opendir(path);
	if (!tasks)
		return false;
	while (halted && (entry = readdir(tasks)))
		halted = entry->d_name[0] == '.' || thread_is_halted(peer->pid, entry->d_name);
	closedir(tasks);
	return halted;
}

/* Stopped by a signal or a debugger, or dead. */
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
 * A process that did not answer a handshake counts as absent for a while, so that packets to it are
 * lost as they would be on a wire, and not each of them begins another handshake.
 */
static bool is_unreachable(fabric_id_t id)
{
	struct peer_unreachable *u = &hca.peers.peer.unreachable[fabric_id_slot(id)];

	return atomic_load(&u->id) == id && hca_now_ns() < atomic_load(&u->until_ns);
}

static void set_unreachable(fabric_id_t id, uint64_t time_ns)
{
	struct peer_unreachable *u = &hca.peers.peer.unreachable[fabric_id_slot(id)];

	atomic_store(&u->until_ns, hca_now_ns() + time_ns);
	atomic_store(&u->id, id);
}

struct hca_peer *hca_peer_find(fabric_id_t id, bool *wait)
{
	/* [H1] pairs with peer_link_up(): the peer before its pointer */
	struct hca_peer *peer = atomic_load_explicit(&hca.peers.peer.by_slot[fabric_id_slot(id)],
						     memory_order_acquire);
	struct fabric_link *link;

	*wait = false;
	if (likely(peer && peer->id == id && hca_peer_is_up(peer)))
		return peer;
	if (is_unreachable(id))
		return NULL;
	link = fabric_link_get(id);
	if (!link)
		return NULL;
	/* FABRIC_LINK_UP and not in the array: peer_link_up() is about to run. */
	*wait = fabric_link_state(link) != FABRIC_LINK_DEAD;
	fabric_link_put(link);
	return NULL;
}

/* Whether the link is being made. */
static bool is_connecting(fabric_id_t id)
{
	bool wait, up;

	epoch_enter();
	up = hca_peer_find(id, &wait);
	epoch_exit();
	return !up && wait;
}

static void wait_for(fabric_id_t id, unsigned int seconds)
{
	uint64_t until_ns = hca_now_ns() + seconds * 1000000000ull;
	struct timespec until = { .tv_sec = until_ns / 1000000000,
				  .tv_nsec = until_ns % 1000000000 };

	if (!is_connecting(id))
		return;
	pthread_mutex_lock(&hca.peers.peer.lock);
	while (!atomic_load(&hca.peers.peer.by_slot[fabric_id_slot(id)]) && !is_unreachable(id))
		if (pthread_cond_clockwait(&hca.peers.peer.changed, &hca.peers.peer.lock,
					   CLOCK_MONOTONIC, &until))
			break;
	pthread_mutex_unlock(&hca.peers.peer.lock);
}

void hca_peer_connect_self(void)
{
	wait_for(fabric_self(), CONNECT_SELF_S);
}

bool hca_peer_connect(fabric_id_t id)
{
	uint64_t until = hca_now_ns() + CONNECT_S * 1000000000ull;
	struct hca_peer *peer;
	bool wait, done = false;

	wait_for(id, CONNECT_S);
	/* The other side of the link is up a moment later. */
	do {
		epoch_enter();
		peer = hca_peer_find(id, &wait);
		done = peer && (peer->is_self || hca_peer_may_access(peer));
		epoch_exit();
		if (!done && peer)
			sched_yield();
	} while (!done && peer && hca_now_ns() < until);
	return done;
}

/* Lock held. */
static void call_each(void (*fn)(struct hca_peer *peer, void *arg), void *arg)
{
	for (uint32_t i = 0; i < hca_peer_end(); i++) {
		struct hca_peer *peer = atomic_load(&hca.peers.peer.by_slot[i]);

		if (peer)
			fn(peer, arg);
	}
}

void hca_peer_for_each(void (*fn)(struct hca_peer *peer, void *arg), void *arg)
{
	pthread_mutex_lock(&hca.peers.peer.lock);
	call_each(fn, arg);
	pthread_mutex_unlock(&hca.peers.peer.lock);
}

void hca_peer_for_each_existing(void (*fn)(struct hca_peer *peer, void *arg), void *arg)
{
	pthread_mutex_lock(&hca.peers.peer.lock);
	call_each(fn, arg);
	if (hca.peers.peer.leaving)
		fn(hca.peers.peer.leaving, arg);
	pthread_mutex_unlock(&hca.peers.peer.lock);
}

/* Whether process_vm_readv() is allowed on the peer. No address of its memory is known: any will do. */
static bool try_vm(const struct hca_peer *peer)
{
	char byte;
	struct iovec here = { &byte, 1 }, there = { (void *)0x10000, 1 };

	if (!hca.peers.peer.vm_allowed || !peer->pid)
		return false;
	/* EFAULT: allowed, and no memory at the address. */
	return process_vm_readv(peer->pid, &here, 1, &there, 1, 0) == 1 || errno == EFAULT;
}

void peer_link_up(struct fabric_link *link)
{
	/* A segment of another size would make us read behind its end. */
	bool whole = fabric_link_segment_size(link) == fabric_segment_size() &&
		     fabric_link_mailbox(link);
	struct hca_peer *peer = whole ? calloc(1, sizeof(*peer)) : NULL;

	if (!peer) {
		fabric_link_kill(link);
		return;
	}
	peer->link = fabric_link_hold(link);
	peer->id = fabric_link_peer(link);
	peer->segment = fabric_link_segment(link);
	peer->mailbox = fabric_link_mailbox(link);
	peer->is_self = fabric_link_is_self(link);
	peer->pid = fabric_link_peer_pid(link);
	pthread_mutex_init(&peer->map_lock, NULL);
	if (!peer->is_self && fabric_link_peer_share_fd(link) >= 0)
		/* A peer that hands us our own memfd would have us use its numbers as our addresses. */
		peer->can_map = !share_view_init(&peer->view, fabric_link_peer_share_fd(link)) &&
				!peer->view.self;
	peer->can_vm = !peer->is_self && try_vm(peer);
	link->user = peer;
	pthread_mutex_lock(&hca.peers.peer.lock);
	if (fabric_id_slot(peer->id) >= hca_peer_end())
		atomic_store(&hca.peers.peer.end, fabric_id_slot(peer->id) + 1);
	/* [H1] */
	atomic_store_explicit(&hca.peers.peer.by_slot[fabric_id_slot(peer->id)], peer,
			      memory_order_release);
	pthread_cond_broadcast(&hca.peers.peer.changed);
	pthread_mutex_unlock(&hca.peers.peer.lock);
	for (const struct peer_listener *const *l = hca.peer_listeners; *l; l++)
		if ((*l)->up)
			(*l)->up(peer);
}

static void notify_room(struct hca_peer *peer)
{
	for (const struct peer_listener *const *l = hca.peer_listeners; *l; l++)
		if ((*l)->room)
			(*l)->room(peer);
}

void peer_link_room(struct fabric_link *link)
{
	if (link->user)
		notify_room(link->user);
}

static void notify_leaving(struct hca_peer *peer)
{
	for (const struct peer_listener *const *l = hca.peer_listeners; *l; l++)
		if ((*l)->leaving)
			(*l)->leaving(peer);
}

static void notify_gone(fabric_id_t id)
{
	for (const struct peer_listener *const *l = hca.peer_listeners; *l; l++)
		if ((*l)->gone)
			(*l)->gone(id);
}

static void notify_left(fabric_id_t id)
{
	for (const struct peer_listener *const *l = hca.peer_listeners; *l; l++)
		if ((*l)->left)
			(*l)->left(id);
}

void peer_link_down(struct fabric_link *link)
{
	struct hca_peer *peer = link->user;
	fabric_id_t id = fabric_link_peer(link);

	notify_gone(id);
	if (!peer) {
		/* A link that was up lacked memory here, and may be made again at once. */
		if (!fabric_link_segment(link))
			set_unreachable(id, fabric_link_lacked(link) ? SHORTAGE_PAUSE_NS
								     : UNREACHABLE_NS);
		pthread_mutex_lock(&hca.peers.peer.lock);
		pthread_cond_broadcast(&hca.peers.peer.changed);
		pthread_mutex_unlock(&hca.peers.peer.lock);
		notify_left(id);
		return;
	}
	pthread_mutex_lock(&hca.peers.peer.lock);
	if (atomic_load(&hca.peers.peer.by_slot[fabric_id_slot(peer->id)]) == peer)
		atomic_store(&hca.peers.peer.by_slot[fabric_id_slot(peer->id)], NULL);
	hca.peers.peer.leaving = peer;
	pthread_mutex_unlock(&hca.peers.peer.lock);
	notify_leaving(peer);
	epoch_wait();
	/* A section that began before may have stored a pointer again. */
	notify_leaving(peer);
	epoch_wait();
	notify_room(peer); /* no QP may stay in the list of this link */
	pthread_mutex_lock(&hca.peers.peer.lock);
	hca.peers.peer.leaving = NULL;
	pthread_mutex_unlock(&hca.peers.peer.lock);
	peer_unmap_all(peer);
	if (peer->can_map)
		share_view_fini(&peer->view);
	link->user = NULL;
	fabric_link_put(link);
	pthread_mutex_destroy(&peer->map_lock);
	free(peer);
	notify_left(id);
}
