/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shares ranges and makes them private again. share_book.c remembers what is shared, share_move.c
 * moves pages, share_maps.c asks the kernel.
 */
#include "fabric/share.h"

#include <errno.h>
#include <sys/mman.h>

#include "fabric/clock.h"
#include "fabric/share_book.h"
#include "fabric/share_fork.h"
#include "fabric/share_maps.h"
#include "fabric/share_move.h"
#include "fabric/share_out.h"
#include "fabric/share_state.h"
#include "fabric/share_sys.h"
#include "fabric/share_threads.h"
#include "fabric/share_uffd.h"
#include "util/explain.h"

/*
 * At load time, so that these fork handlers are the last before a fork and the first after it: then
 * no other handler sees shared pages in a child.
 */
__attribute__((constructor)) static void share_load(void)
{
	share_fork_watch();
}

/* ---- in ---- */

/* Whether the pages of one mapping could move; *missing counts the parts that are not shared. */
static int check_mapping(struct share_state *state, const struct share_vma *vma,
			 struct share_range part, size_t *missing)
{
	if (share_in_place(state, vma))
		return share_book_covers(state, part) ? 0 : -EOPNOTSUPP;
	if (!(vma->prot & (PROT_READ | PROT_WRITE)))
		return -EFAULT;
	if (!vma->plain || (vma->prot & PROT_EXEC) || share_threads_live_in(state, vma, part))
		return -EOPNOTSUPP;
	(*missing)++;
	return 0;
}

static int check_part(struct share_state *state, const struct share_vma *vma,
		      struct share_range part, void *arg)
{
	if (vma->start == vma->end)
		return -EFAULT;
	return check_mapping(state, vma, part, arg);
}

struct moving_in {
	enum share_method method;
};

static int move_part_in(struct share_state *state, const struct share_vma *vma,
			struct share_range part, void *arg)
{
	struct moving_in *m = arg;
	uintptr_t done, parked;
	int err;

	if (share_in_place(state, vma))
		return 0;
	/* It was checked before: another thread is changing the mapping. */
	if (!vma->plain)
		return -EFAULT;
	err = share_move_in(state, m->method, vma, part.start, part.end, &done, &parked);
	share_book_enter(state, (struct share_range){ part.start, done }, parked);
	state->stats.moves_in++;
	return err;
}

static int move_in(struct share_state *state, struct share_range r, size_t parts)
{
	struct moving_in m;
	uint64_t begin = fabric_now_ns();
	int err;

	if (!share_fd_is_valid(state) || state->stats.runs + parts > state->max_runs)
		return -EOPNOTSUPP;
	err = share_move_begin_in(state, &m.method);
	if (err)
		return err;
	err = share_each_mapping(state, r, move_part_in, &m);
	share_move_end(state, m.method);
	state->stats.ns_in += fabric_now_ns() - begin;
	return err;
}

/* ---- the interface ---- */

static int get(struct share_state *state, const void *va, size_t len, bool pin)
{
	struct share_tree *tree = &state->ranges;
	size_t missing = 0;
	struct share_range r;
	int err = share_range_make(state, va, len, &r);

	if (!err)
		err = share_state_up(state);
	/* A page with other data stays private: the child's copy of it would be of a later time. */
	if (!err && pin && ((uintptr_t)va != r.start || (uintptr_t)va + len != r.end))
		err = -EOPNOTSUPP;
	if (!err && state->programs_off)
		err = -EOPNOTSUPP;
	if (!err)
		err = share_each_mapping(state, r, check_part, &missing);
	/* Each part adds a segment for every gap between those that are there, and two cuts. */
	if (!err)
		err = share_tree_reserve(tree, missing + tree->count + 8);
	if (err)
		return err;
	if (missing) {
		err = move_in(state, r, missing);
		if (err) {
			share_out_unused(state, r);
			return err;
		}
	}
	share_tree_cut(tree, r.start);
	share_tree_cut(tree, r.end);
	for (uintptr_t at = r.start; at < r.end;) {
		struct share_seg *seg = share_tree_first(tree, at);

		seg->refs++;
		seg->pins += pin;
		at = seg->end;
	}
	share_tree_join(tree, r.start, r.end);
	return 0;
}

static int range_get(void *va, size_t len, bool pin)
{
	struct share_state *state = share_lock();
	int err;

	if (!state)
		return -EOPNOTSUPP;
	err = get(state, va, len, pin);
	share_unlock(state);
	if (err == -EFAULT)
		explain(EFAULT, "the %zu bytes at %p are not all mapped and accessible", len, va);
	return err;
}

static void range_put(void *va, size_t len, bool pin)
{
	struct share_state *state = share_lock();
	struct share_tree *tree;
	struct share_seg *seg;
	struct share_range r;

	if (!state)
		return;
	tree = &state->ranges;
	if (share_range_make(state, va, len, &r) || share_tree_reserve(tree, 8))
		goto unlock;
	share_tree_cut(tree, r.start);
	share_tree_cut(tree, r.end);
	for (uintptr_t at = r.start; (seg = share_tree_first(tree, at)) && seg->start < r.end;
	     at = seg->end) {
		if (seg->refs > (pin ? 0 : seg->pins))
			seg->refs--;
		if (pin && seg->pins)
			seg->pins--;
	}
	share_out_unused(state, r);
	share_tree_join(tree, r.start, r.end);
unlock:
	share_unlock(state);
}

int share_range_get(void *va, size_t len)
{
	return range_get(va, len, false);
}

void share_range_put(void *va, size_t len)
{
	range_put(va, len, false);
}

int share_range_pin(void *va, size_t len)
{
	return range_get(va, len, true);
}

void share_range_unpin(void *va, size_t len)
{
	range_put(va, len, true);
}

bool share_moves_beside_threads(void)
{
	struct share_state *state = share_lock();
	bool yes;

	if (!state)
		return false;
	yes = !share_uffd_ready(state);
	share_unlock(state);
	return yes;
}

bool share_moves_unnoticed(void)
{
	struct share_state *state = share_state_if_any();
	int known = state ? atomic_load_explicit(&state->unnoticed, memory_order_relaxed) : 0;

	if (known)
		return known > 0;
	state = share_lock();
	if (!state)
		return false;
	known = !share_uffd_ready(state) && state->uffd_kernel ? 1 : -1;
	atomic_store_explicit(&state->unnoticed, known, memory_order_relaxed);
	share_unlock(state);
	return known > 0;
}

static int check_rights(struct share_state *state, const struct share_vma *vma,
			struct share_range part, void *arg)
{
	const int *need = arg;

	return vma->start == vma->end || !(vma->prot & *need) ? -EFAULT : 0;
}

int share_range_check(const void *va, size_t len, bool write)
{
	int need = write ? PROT_WRITE : PROT_READ | PROT_WRITE;
	struct share_state *state = share_lock();
	struct share_range r;
	int err;

	if (!state)
		return -EOPNOTSUPP;
	err = share_range_make(state, va, len, &r);
	if (!err)
		err = share_each_mapping(state, r, check_rights, &need);
	share_unlock(state);
	return err;
}

bool share_covers(const void *va, size_t len)
{
	struct share_state *state = share_lock();
	struct share_range r;
	bool yes;

	if (!state)
		return false;
	yes = !share_range_make(state, va, len, &r) && share_book_covers(state, r);
	share_unlock(state);
	return yes;
}

bool share_touches(const void *va, size_t len)
{
	struct share_state *state = share_lock();
	const struct share_seg *seg;
	struct share_range r;
	bool yes = false;

	if (!state)
		return false;
	if (!share_range_make(state, va, len, &r)) {
		seg = share_tree_first(&state->ranges, r.start);
		yes = seg && seg->start < r.end;
	}
	share_unlock(state);
	return yes;
}

int share_fd(void)
{
	struct share_state *state = share_lock();
	int fd;

	if (!state)
		return -1;
	fd = share_state_up(state) ? -1 : state->fd;
	share_unlock(state);
	return fd;
}

void share_stats(struct share_stats *out)
{
	struct share_state *state = share_lock();

	*out = (struct share_stats){ 0 };
	if (!state)
		return;
	*out = state->stats;
	out->segments = state->ranges.count;
	share_unlock(state);
}

/* ---- the library's own threads ---- */

/* Creates the state if need be. */
static struct share_threads *threads_of_process(void)
{
	struct share_state *state = share_lock();

	if (!state)
		return NULL;
	share_unlock(state);
	return &state->threads;
}

void share_thread_begin(void)
{
	struct share_threads *threads = threads_of_process();

	if (threads)
		share_threads_add(threads);
}

void share_thread_end(void)
{
	struct share_threads *threads = threads_of_process();

	if (threads)
		share_threads_remove(threads);
}

void share_thread_idle(void)
{
	struct share_state *state = share_state_if_any();

	if (state)
		share_threads_set_idle(&state->threads, true);
}

void share_thread_busy(void)
{
	struct share_state *state = share_state_if_any();

	if (state)
		share_threads_set_idle(&state->threads, false);
}
