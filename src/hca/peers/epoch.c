/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/peers/epoch.h"

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <time.h>

#include "fabric/barrier.h"
#include "hca/hca.h"
#include "hca/peers/peer.h"

_Atomic bool epoch_fences = true;
_Thread_local struct epoch_self epoch_self;

static pthread_key_t exit_key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* A peer that is stopped inside a section holds up a deregistration this long, then loses its link. */
#define PEER_PATIENCE_NS 2000000000ull

static void thread_exits(void *cell)
{
	atomic_store_explicit(&((struct epoch_cell *)cell)->taken, 0, memory_order_release);
}

static void make_key(void)
{
	if (pthread_key_create(&exit_key, thread_exits))
		exit_key = (pthread_key_t)-1;
}

void epoch_attach(void)
{
	struct epoch_area *area = &hca.peers.segment->epochs;

	pthread_once(&once, make_key);
	for (;;) {
		for (uint32_t i = 0; i < EPOCH_CELLS; i++) {
			struct epoch_cell *cell = &area->cell[i];
			uint32_t high = atomic_load(&area->high);

			if (atomic_exchange_explicit(&cell->taken, 1, memory_order_acquire))
				continue;
			while (high <= i &&
			       !atomic_compare_exchange_weak(&area->high, &high, i + 1))
				;
			epoch_self.cell = cell;
			epoch_self.section = atomic_load(&cell->section);
			pthread_setspecific(exit_key, cell);
			return;
		}
		/* More threads than cells are inside the adapter: wait for one to end. */
		sched_yield();
	}
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

/* False when `alive` said no, or patience ended (0: never). */
static bool wait_area(struct epoch_area *area, bool (*alive)(void *arg), void *arg,
		      uint64_t patience_ns)
{
	uint32_t high = atomic_load(&area->high);
	uint64_t until = 0;

	if (high > EPOCH_CELLS)
		high = EPOCH_CELLS;
	for (uint32_t i = 0; i < high; i++) {
		/* [G1], [G2] */
		uint64_t was = atomic_load_explicit(&area->cell[i].section, memory_order_seq_cst);

		if (!(was & 1))
			continue;
		for (unsigned int spins = 0;
		     atomic_load_explicit(&area->cell[i].section, memory_order_acquire) == was;
		     spins++) {
			if (spins < 100)
				continue;
			sched_yield();
			if (alive && !alive(arg))
				return false;
			if (!patience_ns)
				continue;
			if (!until)
				until = now_ns() + patience_ns;
			else if (now_ns() > until)
				return false;
		}
	}
	return true;
}

void epoch_wait(void)
{
	assert(!epoch_self.depth);
	/* [G1] */
	barrier_private();
	wait_area(&hca.peers.segment->epochs, NULL, NULL, 0);
}

void epoch_init(void)
{
	atomic_store(&epoch_fences, !barrier_has_global() || !barrier_has_private());
	atomic_store(&hca.peers.no_membarrier, !barrier_has_private());
}

void epoch_harden(void)
{
	if (atomic_exchange(&epoch_fences, true))
		return;
	/* Sections that began with a store alone are seen from here on. */
	barrier_private();
}

static bool peer_alive(void *peer)
{
	return hca_peer_is_up(peer);
}

static void wait_peer(struct hca_peer *peer, void *arg)
{
	if (peer->is_self)
		return;
	if (!wait_area(&hca_peer_segment(peer)->epochs, peer_alive, peer, PEER_PATIENCE_NS))
		hca_peer_kill(peer);
}

void epoch_wait_all(void)
{
	epoch_wait();
	/* [G1] */
	barrier_global();
	hca_peer_for_each(wait_peer, NULL);
}

void epoch_forked(void)
{
	struct hca_segment *segment = hca.peers.segment;

	epoch_self.cell = NULL;
	epoch_self.depth = 0;
	/* The child is not registered. */
	atomic_store(&epoch_fences, true);
	atomic_store(&hca.peers.no_membarrier, true);
	/* Sections of the parent's other threads do not end in the child's copy of the cells. */
	for (uint32_t i = 0; segment && i < atomic_load(&segment->epochs.high); i++) {
		atomic_store(&segment->epochs.cell[i].section, 0);
		atomic_store(&segment->epochs.cell[i].taken, 0);
	}
}
