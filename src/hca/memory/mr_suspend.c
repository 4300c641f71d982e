/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/memory/mr_suspend.h"

#include "fabric/share.h"
#include "hca/memory/key.h"
#include "hca/memory/mr_types.h"
#include "hca/memory/mr_defer.h"
#include "hca/memory/mr_gate.h"
#include "hca/memory/mr_share.h"
#include "hca/memory/mw_share.h"
#include "hca/peers/grace.h"

/* Programs often fork several times in a row. */
#define RESUME_DELAY_NS 100000000ull
/* Behind all addresses of a process. */
#define SHARE_END ((uintptr_t)1 << 62)

/* The program has changed the mapping, or there is no memory: peers copy through the kernel from now on. */
static void give_up(struct hca_mr *mr)
{
	struct hca_mr_entry *e = hca_key_entry(mr->index);

	mr->shared = false;
	__atomic_fetch_and(&e->flags, ~(uint32_t)HCA_MR_SHARED, __ATOMIC_RELAXED);
	mw_share_set(mr, false);
}

static void for_each(void (*fn)(struct hca_mr *mr, uint32_t next), uint32_t next)
{
	for (uint32_t i = 0; i < HCA_TABLE_HALF; i++) {
		_Atomic(void *) *leaf = atomic_load(&hca.memory.mr.table.top[i]);

		for (uint32_t k = 0; leaf && k < HCA_TABLE_HALF; k++) {
			struct hca_mr *mr = atomic_load(&leaf[k]);

			if (mr)
				fn(mr, next);
		}
	}
}

static void share_again(struct hca_mr *mr, uint32_t next)
{
	if (!mr->shared)
		return;
	if (mr_share_get(mr->addr, mr->length))
		give_up(mr);
	mr->share_generation = next;
}

/* Lock held, gate closed. */
static void resume(void)
{
	uint32_t next = mr_share_generation() + 1;

	for_each(share_again, next);
	mr_share_set_generation(next);
	if (atomic_load(&hca.memory.share.deferred_count))
		hca_wake_at(hca_now_ns());
}

void mr_suspend_joined(void)
{
	pthread_mutex_lock(&hca.memory.share.lock);
	mr_share_set_generation(mr_share_generation());
	pthread_mutex_unlock(&hca.memory.share.lock);
}

void mr_suspend_fork_begins(void)
{
	pthread_mutex_lock(&hca.memory.share.lock);
	hca.memory.share.forks++;
	if (!mr_share_is_suspended())
		mr_share_set_generation(mr_share_generation() + 1);
	mr_defer_suspend();
	pthread_mutex_unlock(&hca.memory.share.lock);
	/*
	 * Accesses of peers that began before must not miss the pages when these become private. Those of this process go
	 * by its own addresses, and are held up while the pages move.
	 */
	if (hca.peers.segment && grace_wait_peers(FABRIC_ID_NONE, NULL, 0))
		mr_share_skip();
}

/* Without the lock. When to try again, or UINT64_MAX. */
static uint64_t resume_if_due(uint64_t now_ns)
{
	uint64_t next_ns = UINT64_MAX;

	mr_gate_close();
	pthread_mutex_lock(&hca.memory.share.lock);
	if (mr_share_is_suspended() && !hca.memory.share.forks) {
		if (now_ns >= hca.memory.share.resume_ns)
			resume();
		else
			next_ns = hca.memory.share.resume_ns;
	}
	pthread_mutex_unlock(&hca.memory.share.lock);
	mr_gate_open();
	return next_ns;
}

void mr_suspend_fork_ends(void)
{
	/* Otherwise memory moves only while this thread is the program's only one, as may be now. */
	bool later = share_moves_beside_threads();
	uint64_t at_ns = hca_now_ns() + RESUME_DELAY_NS;

	pthread_mutex_lock(&hca.memory.share.lock);
	hca.memory.share.forks--;
	hca.memory.share.resume_ns = at_ns;
	pthread_mutex_unlock(&hca.memory.share.lock);
	if (later)
		hca_wake_at(at_ns);
	else
		resume_if_due(at_ns);
}

static void share_no_more(struct hca_mr *mr, uint32_t current)
{
	if (mr->deferred && mr->moved)
		share_range_put(mr->addr, mr->moved);
	if (mr->shared && mr->share_generation == current)
		share_range_put(mr->addr, mr->length);
}

/* Lock held, gate closed. */
static bool withdraw(const struct open_section *open, size_t count)
{
	uint32_t current = mr_share_generation();

	if (mr_share_is_suspended() || !mr_share_owe(0, SHARE_END, open, count))
		return false;
	mr_share_set_generation(current + 1);
	mr_share_skip();
	for_each(share_no_more, current);
	mr_defer_suspend();
	resume();
	return true;
}

bool mr_suspend_for_stopped(const struct open_section *open, size_t count)
{
	bool done;

	mr_gate_close();
	pthread_mutex_lock(&hca.memory.share.lock);
	done = withdraw(open, count);
	pthread_mutex_unlock(&hca.memory.share.lock);
	mr_gate_open();
	return done;
}

void mr_suspend_forked(void)
{
	/* Claims of the parent's regions are void here. */
	atomic_store(&hca.memory.share.generation, (mr_share_generation() + 2) & ~1u);
	hca.memory.share.forks = 0;
	hca.memory.share.debts = 0;
	mr_defer_forked();
}

uint64_t mr_suspend_run(uint64_t now_ns)
{
	uint64_t next_ns = UINT64_MAX;

	if (likely(!mr_share_is_suspended()))
		return UINT64_MAX;
	pthread_mutex_lock(&hca.memory.share.lock);
	if (mr_share_is_suspended() && !hca.memory.share.forks)
		next_ns = hca.memory.share.resume_ns;
	pthread_mutex_unlock(&hca.memory.share.lock);
	return next_ns <= now_ns ? resume_if_due(now_ns) : next_ns;
}
