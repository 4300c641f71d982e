/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/memory/mr_defer.h"

#include <unistd.h>

#include "fabric/share.h"
#include "hca/hca.h"
#include "hca/memory/key.h"
#include "hca/memory/mr_gate.h"
#include "hca/memory/mr_share.h"
#include "hca/memory/mw_share.h"

/* A life that is shorter does not pay for moving the memory twice. */
#define SHORT_LIFE_NS         100000000ull
#define SHORT_LIFE_NS_PER_KIB 4096ull
/* Short lives in a row from which on regions of the range are shared late, and how long that is remembered. */
#define SHORT_LIVES 2u
#define MEMORY_NS   10000000000ull
/* Bytes that the service thread moves at a time: it has other work, too. */
#define SLICE (1u << 20)

static uint64_t short_life_ns(const struct hca_mr *mr)
{
	return SHORT_LIFE_NS + mr->length / 1024 * SHORT_LIFE_NS_PER_KIB;
}

static uintptr_t page_mask(void)
{
	return (uintptr_t)sysconf(_SC_PAGESIZE) - 1;
}

static uintptr_t first_page(const void *addr)
{
	return (uintptr_t)addr & ~page_mask();
}

static uintptr_t end_page(const void *addr, uint64_t length)
{
	return ((uintptr_t)addr + length + page_mask()) & ~page_mask();
}

/* ---- lives of ranges ---- */

static struct mr_lives *find_lives(const void *addr, uint64_t length)
{
	uintptr_t start = first_page(addr), end = end_page(addr, length);

	for (unsigned int i = 0; i < MR_LIVES; i++) {
		struct mr_lives *l = &hca.memory.share.lives[i];

		if (l->count && l->start < end && start < l->end)
			return l;
	}
	return NULL;
}

static struct mr_lives *oldest_lives(void)
{
	struct mr_lives *oldest = &hca.memory.share.lives[0];

	for (unsigned int i = 1; i < MR_LIVES; i++) {
		struct mr_lives *l = &hca.memory.share.lives[i];

		if (l->ended_ns < oldest->ended_ns)
			oldest = l;
	}
	return oldest;
}

/* Remembers how long the region has lived. */
static void learn(const struct hca_mr *mr)
{
	uint64_t now_ns = hca_now_ns();
	bool is_short = now_ns - mr->created_ns < short_life_ns(mr);
	struct mr_lives *l = find_lives(mr->addr, mr->length);

	if (!l && !is_short)
		return;
	if (!l || now_ns - l->ended_ns > MEMORY_NS) {
		l = l ? l : oldest_lives();
		*l = (struct mr_lives){ 0 };
	}
	/* The range of the last life: parts that are registered by turns are ranges of their own. */
	l->start = first_page(mr->addr);
	l->end = end_page(mr->addr, mr->length);
	l->ended_ns = now_ns;
	l->count = is_short ? l->count + 1 : 0;
}

bool mr_defer_overlaps(const void *addr, uint64_t length)
{
	uintptr_t start, end;
	const struct hca_mr *mr;

	if (TAILQ_EMPTY(&hca.memory.share.deferred))
		return false;
	start = first_page(addr);
	end = end_page(addr, length);
	TAILQ_FOREACH(mr, &hca.memory.share.deferred, defer_link)
		if (first_page(mr->addr) < end && start < end_page(mr->addr, mr->length))
			return true;
	return false;
}

bool mr_defer_is_wanted(const void *addr, uint64_t length)
{
	const struct mr_lives *l = find_lives(addr, length);

	if (mr_defer_overlaps(addr, length))
		return true;
	return l && l->count >= SHORT_LIVES && hca_now_ns() - l->ended_ns < MEMORY_NS &&
	       !share_touches(addr, length);
}

/* ---- the list, the next one first ---- */

static void insert(struct hca_mr *mr)
{
	struct hca_mr *before = TAILQ_LAST(&hca.memory.share.deferred, mr_defer_list);

	while (before && before->share_at_ns > mr->share_at_ns)
		before = TAILQ_PREV(before, mr_defer_list, defer_link);
	if (before)
		TAILQ_INSERT_AFTER(&hca.memory.share.deferred, before, mr, defer_link);
	else
		TAILQ_INSERT_HEAD(&hca.memory.share.deferred, mr, defer_link);
	mr->deferred = true;
	atomic_fetch_add(&hca.memory.share.deferred_count, 1);
}

static void take_out(struct hca_mr *mr)
{
	TAILQ_REMOVE(&hca.memory.share.deferred, mr, defer_link);
	mr->deferred = false;
	atomic_fetch_sub(&hca.memory.share.deferred_count, 1);
}

void mr_defer_begin(struct hca_mr *mr)
{
	mr->moved = 0;
	mr->share_at_ns = mr->created_ns + short_life_ns(mr);
	insert(mr);
	if (share_moves_unnoticed())
		hca_wake_at(mr->share_at_ns);
}

void mr_defer_cancel(struct hca_mr *mr)
{
	take_out(mr);
	if (mr->moved)
		mr_share_release(mr->addr, mr->moved, mr->share_generation);
	mr->moved = 0;
}

uint64_t mr_defer_end(struct hca_mr *mr)
{
	if (mr->shared || mr->deferred)
		learn(mr);
	if (mr->deferred)
		take_out(mr);
	return mr->moved;
}

void mr_defer_release(const struct hca_mr *mr, uint64_t moved)
{
	pthread_mutex_lock(&hca.memory.share.lock);
	mr_share_release(mr->addr, moved, mr->share_generation);
	pthread_mutex_unlock(&hca.memory.share.lock);
}

void mr_defer_suspend(void)
{
	struct hca_mr *mr;

	TAILQ_FOREACH(mr, &hca.memory.share.deferred, defer_link)
		mr->moved = 0;
}

void mr_defer_forked(void)
{
	struct hca_mr *mr;

	while ((mr = TAILQ_FIRST(&hca.memory.share.deferred)))
		take_out(mr);
}

/* ---- sharing after all ---- */

/* Regions with the same pages follow at once: while one of them is shared and another is not, moves need a gate. */
static void hurry_neighbours(const struct hca_mr *shared)
{
	uintptr_t start = first_page(shared->addr), end = end_page(shared->addr, shared->length);
	struct hca_mr *mr, *next;

	for (mr = TAILQ_FIRST(&hca.memory.share.deferred); mr; mr = next) {
		next = TAILQ_NEXT(mr, defer_link);
		if (mr->share_at_ns && first_page(mr->addr) < end &&
		    start < end_page(mr->addr, mr->length)) {
			take_out(mr);
			mr->share_at_ns = 0;
			insert(mr);
		}
	}
}

static void publish_shared(struct hca_mr *mr)
{
	take_out(mr);
	mr->moved = 0;
	mr->shared = true;
	/* [SG3] pairs with hca_peer_map(): the pages before the flag */
	__atomic_fetch_or(&hca_key_entry(mr->index)->flags, (uint32_t)HCA_MR_SHARED,
			  __ATOMIC_RELEASE);
	mw_share_set(mr, true);
	hurry_neighbours(mr);
}

/* The gate is closed. */
static void move_slice(struct hca_mr *mr, uint64_t slice)
{
	uintptr_t at = (uintptr_t)mr->addr + mr->moved, end = (uintptr_t)mr->addr + mr->length;
	uintptr_t to = end - at > slice ? first_page((void *)(at + slice)) : end;

	if (mr_share_get((void *)at, to - at)) {
		/* It cannot be shared: peers go on as they do. */
		mr_defer_cancel(mr);
		return;
	}
	mr->share_generation = mr_share_generation();
	mr->moved += to - at;
	if (to == end)
		publish_shared(mr);
}

/* Lock held. The first region that is due, or NULL. */
static struct hca_mr *first_due(uint64_t now_ns)
{
	struct hca_mr *mr = TAILQ_FIRST(&hca.memory.share.deferred);

	return mr && !mr_share_is_suspended() && mr->share_at_ns <= now_ns ? mr : NULL;
}

static bool is_due(uint64_t now_ns)
{
	bool due;

	pthread_mutex_lock(&hca.memory.share.lock);
	due = first_due(now_ns);
	pthread_mutex_unlock(&hca.memory.share.lock);
	return due;
}

/* Moves a slice if something is due; when to call next. */
static uint64_t move_due(uint64_t now_ns, uint64_t slice)
{
	uint64_t next_ns = UINT64_MAX;
	struct hca_mr *mr;

	if (is_due(now_ns)) {
		mr_gate_close();
		pthread_mutex_lock(&hca.memory.share.lock);
		mr = first_due(now_ns);
		if (mr)
			move_slice(mr, slice);
		pthread_mutex_unlock(&hca.memory.share.lock);
		mr_gate_open();
	}
	pthread_mutex_lock(&hca.memory.share.lock);
	mr = TAILQ_FIRST(&hca.memory.share.deferred);
	if (mr && !mr_share_is_suspended())
		next_ns = mr->share_at_ns;
	pthread_mutex_unlock(&hca.memory.share.lock);
	return next_ns;
}

void mr_defer_catch_up(void)
{
	uint64_t now_ns;

	if (likely(!atomic_load_explicit(&hca.memory.share.deferred_count, memory_order_relaxed)) ||
	    share_moves_unnoticed())
		return;
	now_ns = hca_now_ns();
	while (move_due(now_ns, UINT64_MAX) <= now_ns)
		;
}

uint64_t mr_defer_run(uint64_t now_ns)
{
	if (likely(!atomic_load_explicit(&hca.memory.share.deferred_count, memory_order_relaxed)) ||
	    !share_moves_unnoticed())
		return UINT64_MAX;
	return move_due(now_ns, SLICE);
}
