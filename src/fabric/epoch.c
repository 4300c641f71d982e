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
#include "fabric/lock.h"
#include "fabric/service.h"

static void cell_leave(void *arg)
{
	struct fabric_epoch_cell *cell = arg;

	fabric_thread.epoch_cell = NULL;
	cell->depth = 0;
	atomic_store_explicit(&cell->epoch, 0, memory_order_release);
	/* [E3] pairs with cell_take(): depth before the hand-over */
	atomic_store_explicit(&cell->taken, 0, memory_order_release);
}

static void make_key(void)
{
	fabric.epoch.key_is_valid = !pthread_key_create(&fabric.epoch.key, cell_leave);
}

static struct fabric_epoch_cell *cell_take(void)
{
	struct fabric_epoch_cell *cell =
		atomic_load_explicit(&fabric.epoch.cells, memory_order_acquire);

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
	cell->next = atomic_load_explicit(&fabric.epoch.cells, memory_order_relaxed);
	/* [E4] pairs with the walks: a cell's contents before its place in the list */
	while (!atomic_compare_exchange_weak_explicit(&fabric.epoch.cells, &cell->next, cell,
						      memory_order_seq_cst, memory_order_relaxed))
		;
	return cell;
}

struct fabric_epoch_cell *fabric_epoch_cell_get(void)
{
	struct fabric_epoch_cell *cell = cell_take();

	pthread_once(&fabric.epoch.key_once, make_key);
	if (fabric.epoch.key_is_valid)
		pthread_setspecific(fabric.epoch.key, cell);
	fabric_thread.epoch_cell = cell;
	return cell;
}

void fabric_epoch_retire(struct fabric_retire *retire, void (*free)(struct fabric_retire *))
{
	retire->free = free;
	fabric_lock(&fabric.epoch.retired_lock);
	/* [E5] Sections that may still see the object carry this number or a lower one. */
	retire->epoch = atomic_fetch_add(&fabric.epoch.now, 1);
	retire->next = fabric.epoch.retired;
	fabric.epoch.retired = retire;
	atomic_fetch_add_explicit(&fabric.epoch.retired_count, 1, memory_order_relaxed);
	fabric_unlock(&fabric.epoch.retired_lock);
	if (!fabric_service_wake_if_running())
		fabric_epoch_reclaim();
}

static uint64_t oldest_section(void)
{
	/* [E4] */
	struct fabric_epoch_cell *cell =
		atomic_load_explicit(&fabric.epoch.cells, memory_order_acquire);
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

	if (!atomic_load_explicit(&fabric.epoch.retired_count, memory_order_relaxed))
		return false;
	fabric_lock(&fabric.epoch.retired_lock);
	batch = fabric.epoch.retired;
	fabric.epoch.retired = NULL;
	fabric_unlock(&fabric.epoch.retired_lock);
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
		atomic_fetch_sub_explicit(&fabric.epoch.retired_count, 1, memory_order_relaxed);
		batch->free(batch);
	}
	fabric_lock(&fabric.epoch.retired_lock);
	while (kept) {
		next = kept->next;
		kept->next = fabric.epoch.retired;
		fabric.epoch.retired = kept;
		kept = next;
	}
	left = fabric.epoch.retired;
	fabric_unlock(&fabric.epoch.retired_lock);
	return left;
}

void fabric_epoch_forked(void)
{
	struct fabric_epoch_cell *cell =
		atomic_load_explicit(&fabric.epoch.cells, memory_order_relaxed);

	for (; cell; cell = cell->next) {
		if (cell == fabric_thread.epoch_cell)
			continue;
		cell->depth = 0;
		atomic_store_explicit(&cell->epoch, 0, memory_order_relaxed);
		atomic_store_explicit(&cell->taken, 0, memory_order_relaxed);
	}
}
