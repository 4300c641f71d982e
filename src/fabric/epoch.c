/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Epoch sections; see epoch.h. Cells belong to threads and are reused when a thread ends. While the
 * fabric is down there is no segment, and the cells lie in a private area; threads move to the other
 * area with their next section.
 */
#include "fabric/epoch.h"

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#include "fabric/barrier.h"
#include "fabric/clock.h"
#include "fabric/epoch_cells.h"
#include "fabric/lock.h"
#include "fabric/service.h"

#define SPINS 100u

/* Bits of fabric.epoch.generation. */
#define FENCES     1u
#define GENERATION 2u

/* ---- the cells of threads ---- */

/* A section cannot begin without a cell, and has no way to fail: its memory is not allocated. */
static struct epoch_area offline_cells;

static struct epoch_area *private_area(void)
{
	atomic_store(&fabric.epoch.private, &offline_cells);
	return &offline_cells;
}

/* After `area` has changed. */
static void new_generation(bool fences)
{
	uint32_t generation = (atomic_load(&fabric.epoch.generation) & ~FENCES) + GENERATION;

	/* [E4] pairs with epoch_enter_slowly(): the area before its generation */
	atomic_store_explicit(&fabric.epoch.generation, generation | fences, memory_order_release);
}

/* The segment of another generation is gone, and with it the cell. */
static void detach(struct epoch_thread *self)
{
	uint32_t generation = atomic_load(&fabric.epoch.generation) & ~FENCES;

	if (self->cell && (self->private || self->generation == generation)) {
		/* A thread that was cancelled inside of a section does not leave it by itself. */
		if (self->section & 1)
			atomic_store(&self->cell->section, self->section + 1);
		if (self->private)
			epoch_cells_put(&fabric.epoch.private_cells, private_area(), self->cell);
		else
			epoch_cells_put(&fabric.epoch.area_cells, atomic_load(&fabric.epoch.area),
					self->cell);
	}
	*self = (struct epoch_thread){ .depth = self->depth };
}

static void thread_exits(void *arg)
{
	detach(arg);
}

/* A program that has all keys for itself may free some later: each thread tries again. */
static bool need_key(void)
{
	pthread_key_t key;
	uint32_t none = 0;

	if (atomic_load(&fabric.epoch.key_and_1))
		return true;
	if (pthread_key_create(&key, thread_exits))
		return false;
	if (!atomic_compare_exchange_strong(&fabric.epoch.key_and_1, &none, key + 1))
		pthread_key_delete(key);
	return true;
}

static struct epoch_cell *find_cell(struct epoch_cells *cells, struct epoch_area *area)
{
	const struct timespec nap = { .tv_nsec = 1000000 };
	struct epoch_cell *cell;

	/* More threads than cells: wait for one to end. */
	while (!(cell = epoch_cells_take(cells, area)))
		nanosleep(&nap, NULL);
	return cell;
}

static void attach(struct epoch_thread *self, uint32_t generation)
{
	struct epoch_area *area;

	detach(self);
	area = atomic_load_explicit(&fabric.epoch.area, memory_order_relaxed);
	self->generation = generation & ~FENCES;
	self->private = !area;
	self->cell = area ? find_cell(&fabric.epoch.area_cells, area)
			  : find_cell(&fabric.epoch.private_cells, private_area());
	/* Sections of a cell are numbered through, whichever threads have it. */
	self->section = atomic_load(&self->cell->section);
	if (need_key())
		pthread_setspecific(atomic_load(&fabric.epoch.key_and_1) - 1, self);
}

void epoch_enter_slowly(void)
{
	struct epoch_thread *self = &fabric_thread.epoch;
	/* [E4] */
	uint32_t generation = atomic_load_explicit(&fabric.epoch.generation, memory_order_acquire);

	if (self->generation != (generation & ~FENCES))
		attach(self, generation);
	/* [E1] as in epoch_enter(), and fenced whether it has to be or not. An exchange would not do: on arm64 it does
	 * not keep later loads behind its store. */
	atomic_store_explicit(&self->cell->section, ++self->section, memory_order_relaxed);
	atomic_thread_fence(memory_order_seq_cst);
}

/* ---- grace periods ---- */

static void wait_area(const struct epoch_area *area)
{
	uint32_t cells = epoch_area_cells(area);

	for (uint32_t i = 0; i < cells; i++) {
		const struct epoch_cell *cell = &area->cell[i];
		uint64_t section = epoch_section_open(cell);

		for (unsigned int spins = 0; section && !epoch_section_over(cell, section); spins++)
			if (spins >= SPINS)
				sched_yield();
	}
}

bool epoch_visits_wait(const struct epoch_area *area, bool (*alive)(void *arg), void *arg,
		       uint64_t timeout_ns)
{
	uint32_t cells = epoch_area_cells(area);
	uint64_t deadline_ns = 0;

	for (uint32_t i = 0; i < cells; i++) {
		const struct epoch_cell *cell = &area->cell[i];
		uint64_t section = epoch_visit_open(cell);

		for (unsigned int spins = 0; section && !epoch_section_over(cell, section);
		     spins++) {
			if (spins < SPINS)
				continue;
			sched_yield();
			if (!alive(arg))
				return false;
			if (!deadline_ns)
				deadline_ns = fabric_now_ns() + timeout_ns;
			else if (fabric_now_ns() > deadline_ns)
				return false;
		}
	}
	return true;
}

/* The areas in which threads of this process may have open sections; NULL: none. */
static struct epoch_area *own_area(unsigned int i)
{
	return atomic_load(i ? &fabric.epoch.area : &fabric.epoch.private);
}

void epoch_wait(void)
{
	assert(!fabric_thread.epoch.depth);
	/* [E1] A section that is not seen below began after the object was made unreachable, and
	 * cannot find it. */
	barrier_private();
	for (unsigned int i = 0; i < 2; i++)
		if (own_area(i))
			wait_area(own_area(i));
}

/* ---- retired objects ---- */

void epoch_retire(struct epoch_node *node, void (*free)(struct epoch_node *node))
{
	node->free = free;
	fabric_lock(&fabric.epoch.retired_lock);
	node->next = fabric.epoch.retired;
	fabric.epoch.retired = node;
	atomic_store_explicit(&fabric.epoch.some_retired, true, memory_order_relaxed);
	fabric_unlock(&fabric.epoch.retired_lock);
	if (!fabric_service_wake_if_running())
		epoch_reclaim();
}

static int note_sections(const struct epoch_area *area)
{
	uint32_t cells = epoch_area_cells(area);
	int err = 0;

	for (uint32_t i = 0; i < cells && !err; i++) {
		/* [E1] The caller may be inside of a section, which counts. */
		uint64_t section =
			atomic_load_explicit(&area->cell[i].section, memory_order_seq_cst);

		if (section & 1)
			err = array_push(&fabric.epoch.sections,
					 ((struct epoch_section){ &area->cell[i], section }));
	}
	return err;
}

/* Retires the batch again. */
static void abort_grace(void)
{
	struct epoch_node *last = fabric.epoch.waiting;

	while (last->next)
		last = last->next;
	fabric_lock(&fabric.epoch.retired_lock);
	last->next = fabric.epoch.retired;
	fabric.epoch.retired = fabric.epoch.waiting;
	fabric_unlock(&fabric.epoch.retired_lock);
	fabric.epoch.waiting = NULL;
}

/* Begins a grace period for all that was retired; false when nothing was, or without memory. */
static bool begin_grace(void)
{
	int err = 0;

	fabric_lock(&fabric.epoch.retired_lock);
	fabric.epoch.waiting = fabric.epoch.retired;
	fabric.epoch.retired = NULL;
	fabric_unlock(&fabric.epoch.retired_lock);
	if (!fabric.epoch.waiting)
		return false;
	/* [E1] as in epoch_wait() */
	barrier_private();
	fabric.epoch.sections.count = 0;
	for (unsigned int i = 0; i < 2 && !err; i++)
		if (own_area(i))
			err = note_sections(own_area(i));
	if (err)
		abort_grace();
	return !err;
}

static bool grace_is_over(void)
{
	while (fabric.epoch.sections.count) {
		size_t last = fabric.epoch.sections.count - 1;
		const struct epoch_section *s = &fabric.epoch.sections.data[last];

		if (!epoch_section_over(s->cell, s->section))
			return false;
		array_remove(&fabric.epoch.sections, last);
	}
	return true;
}

static void free_waiting(void)
{
	struct epoch_node *node, *next;

	for (node = fabric.epoch.waiting; node; node = next) {
		next = node->next;
		node->free(node);
	}
	fabric.epoch.waiting = NULL;
}

bool epoch_reclaim(void)
{
	bool left;

	if (!atomic_load_explicit(&fabric.epoch.some_retired, memory_order_relaxed))
		return false;
	/* Also the free() of an object may retire another one. */
	if (!fabric_trylock(&fabric.epoch.reclaim_lock))
		return true;
	while ((fabric.epoch.waiting || begin_grace()) && grace_is_over())
		free_waiting();
	fabric_lock(&fabric.epoch.retired_lock);
	left = fabric.epoch.retired || fabric.epoch.waiting;
	atomic_store_explicit(&fabric.epoch.some_retired, left, memory_order_relaxed);
	fabric_unlock(&fabric.epoch.retired_lock);
	/* Its size is the number of threads that were in sections, which may have been thousands. */
	if (!left)
		array_fini(&fabric.epoch.sections);
	fabric_unlock(&fabric.epoch.reclaim_lock);
	return left;
}

/* ---- begin and end ---- */

void epoch_init(void)
{
	epoch_cells_reset(&fabric.epoch.area_cells);
	atomic_store(&fabric.epoch.area,
		     &((struct fabric_segment_head *)fabric.segment.base)->epochs);
	new_generation(!barrier_has_global() || !barrier_has_private());
}

void epoch_fini(void)
{
	atomic_store(&fabric.epoch.area, NULL);
	new_generation(true);
	/* No other thread uses the fabric: the sections that were noted are over. */
	fabric.epoch.sections.count = 0;
	epoch_reclaim();
}

void epoch_use_fences(void)
{
	if (atomic_fetch_or(&fabric.epoch.generation, FENCES) & FENCES)
		return;
	/* Sections that were marked by a plain store are visible from here on. */
	barrier_private();
}

void epoch_forked(void)
{
	struct epoch_area *private = atomic_load(&fabric.epoch.private);

	fabric_thread.epoch = (struct epoch_thread){ 0 };
	atomic_store(&fabric.epoch.area, NULL);
	new_generation(true);
	epoch_cells_reset(&fabric.epoch.area_cells);
	epoch_cells_reset(&fabric.epoch.private_cells);
	/* Sections of the parent's other threads do not end here. */
	for (uint32_t i = 0; private && i < epoch_area_cells(private); i++)
		atomic_store_explicit(&private->cell[i].section, 0, memory_order_relaxed);
	if (private)
		atomic_store(&private->high, 0);
	fabric.epoch.sections.count = 0;
}
