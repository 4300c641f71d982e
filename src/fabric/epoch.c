/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Deferred freeing; see epoch.h. Cells belong to threads, are handed on when a thread ends, and are
 * never freed. The list of retired objects is under retired_lock; reclaiming is done by one thread
 * at a time.
 */
#include "fabric/epoch.h"

#include <pthread.h>
#include <stdlib.h>

#include "fabric/barrier.h"
#include "fabric/epoch_priv.h"
#include "fabric/lock.h"

_Atomic uint64_t fabric_epoch_now = 1;
_Atomic bool fabric_epoch_fences = true;
_Thread_local struct fabric_epoch_cell *fabric_epoch_self;

static _Atomic(struct fabric_epoch_cell *) cells;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static bool key_is_valid;

static struct fabric_lock retired_lock;
static struct fabric_retire *retired;
static _Atomic uint32_t retired_count;

static void cell_leave(void *arg)
{
	struct fabric_epoch_cell *cell = arg;

	fabric_epoch_self = NULL;
	cell->depth = 0;
	atomic_store_explicit(&cell->epoch, 0, memory_order_release);
	/* [E3] pairs with cell_take(): depth before the hand-over */
	atomic_store_explicit(&cell->taken, 0, memory_order_release);
}

static void make_key(void)
{
	key_is_valid = !pthread_key_create(&key, cell_leave);
}

static struct fabric_epoch_cell *cell_take(void)
{
	struct fabric_epoch_cell *cell = atomic_load_explicit(&cells, memory_order_acquire);

	for (; cell; cell = cell->next) {
		uint32_t free = 0;

		/* [E3] */
		if (atomic_compare_exchange_strong_explicit(
			    &cell->taken, &free, 1, memory_order_acquire, memory_order_relaxed))
			return cell;
	}
	cell = aligned_alloc(_Alignof(struct fabric_epoch_cell), sizeof(*cell));
	/* Nothing can be polled without one, and a poll has no way to fail. */
	if (!cell)
		abort();
	*cell = (struct fabric_epoch_cell){ .taken = 1 };
	cell->next = atomic_load_explicit(&cells, memory_order_relaxed);
	/* [E4] pairs with the walks: a cell's contents before its place in the list */
	while (!atomic_compare_exchange_weak_explicit(&cells, &cell->next, cell,
						      memory_order_seq_cst, memory_order_relaxed))
		;
	return cell;
}

struct fabric_epoch_cell *fabric_epoch_cell_get(void)
{
	struct fabric_epoch_cell *cell = cell_take();

	pthread_once(&key_once, make_key);
	if (key_is_valid)
		pthread_setspecific(key, cell);
	fabric_epoch_self = cell;
	return cell;
}

void fabric_epoch_retire(struct fabric_retire *retire, void (*free)(struct fabric_retire *))
{
	retire->free = free;
	fabric_lock(&retired_lock);
	/* [E5] Sections that may still see the object carry this number or a lower one. */
	retire->epoch = atomic_fetch_add(&fabric_epoch_now, 1);
	retire->next = retired;
	retired = retire;
	atomic_fetch_add_explicit(&retired_count, 1, memory_order_relaxed);
	fabric_unlock(&retired_lock);
	fabric_epoch_retired();
}

static uint64_t oldest_section(void)
{
	/* [E4] */
	struct fabric_epoch_cell *cell = atomic_load_explicit(&cells, memory_order_acquire);
	uint64_t oldest = UINT64_MAX;

	for (; cell; cell = cell->next) {
		/* [E2] pairs with fabric_epoch_exit() */
		uint64_t epoch = atomic_load_explicit(&cell->epoch, memory_order_acquire);

		if (epoch && epoch < oldest)
			oldest = epoch;
	}
	return oldest;
}

bool fabric_epoch_reclaim(void)
{
	struct fabric_retire *batch, *next, *kept = NULL;
	uint64_t oldest;
	bool left;

	if (!atomic_load_explicit(&retired_count, memory_order_relaxed))
		return false;
	fabric_lock(&retired_lock);
	batch = retired;
	retired = NULL;
	fabric_unlock(&retired_lock);
	/* [E1] pairs with fabric_epoch_enter(): a section that we do not see below began after
	 * everything in the batch was made unreachable, and sees that. */
	barrier_private();
	oldest = oldest_section();
	for (; batch; batch = next) {
		next = batch->next;
		if (batch->epoch >= oldest) {
			batch->next = kept;
			kept = batch;
			continue;
		}
		atomic_fetch_sub_explicit(&retired_count, 1, memory_order_relaxed);
		batch->free(batch);
	}
	fabric_lock(&retired_lock);
	while (kept) {
		next = kept->next;
		kept->next = retired;
		retired = kept;
		kept = next;
	}
	left = retired;
	fabric_unlock(&retired_lock);
	return left;
}

void fabric_epoch_fork_child(void)
{
	struct fabric_epoch_cell *cell = atomic_load_explicit(&cells, memory_order_relaxed);

	/* Every thread but ours is gone, wherever it was. */
	for (; cell; cell = cell->next) {
		if (cell == fabric_epoch_self)
			continue;
		cell->depth = 0;
		atomic_store_explicit(&cell->epoch, 0, memory_order_relaxed);
		atomic_store_explicit(&cell->taken, 0, memory_order_relaxed);
	}
	fabric_unlock(&retired_lock);
}

void fabric_epoch_fork_prepare(void)
{
	fabric_lock(&retired_lock);
}

void fabric_epoch_fork_parent(void)
{
	fabric_unlock(&retired_lock);
}
