/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Allocated memory has no private mapping to return to. It holds one reference to its own range, so
 * that memory regions on it are like regions on any other memory.
 */
#include "fabric/share_alloc.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fabric/share_book.h"
#include "fabric/share_state.h"
#include "fabric/share_sys.h"

static uintptr_t map_shared(struct share_state *state, size_t len)
{
	/* The kernel chooses the address, which is the offset in the file. */
	uintptr_t va = share_sys_mmap(0, len, PROT_NONE,
				      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0),
		  r;
	struct share_seg *seg;

	if (share_sys_failed(va))
		return va;
	share_sys_punch(state->fd, va, len);
	r = share_sys_mmap(va, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, state->fd, va);
	if (share_sys_failed(r)) {
		share_sys_munmap(va, len);
		return r;
	}
	share_book_enter(state, (struct share_range){ va, va + len }, 0);
	seg = share_tree_first(&state->ranges, va);
	seg->refs = seg->pins = 1;
	share_tree_join(&state->ranges, va, va + len);
	return va;
}

static void *alloc(size_t len, bool always)
{
	struct share_state *state = share_lock();
	uintptr_t va = (uintptr_t)-ENOMEM;
	struct share_range r;
	int off;

	if (!state)
		goto out;
	if (!len || share_range_make(state, NULL, len, &r) ||
	    share_tree_reserve(&state->ranges, 8) || share_tree_reserve(&state->allocs, 2))
		goto unlock;
	off = share_state_up(state);
	if (!off && state->programs_off && !always)
		off = -EOPNOTSUPP;
	if (!off)
		va = map_shared(state, r.end);
	else if (off == -EOPNOTSUPP)
		va = share_sys_mmap(0, r.end, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				    -1, 0);
	if (!share_sys_failed(va))
		share_tree_insert(&state->allocs, va, va + r.end, 0, !off);
unlock:
	share_unlock(state);
out:
	if (!share_sys_failed(va))
		return (void *)va;
	errno = ENOMEM;
	return NULL;
}

void *share_alloc(size_t len)
{
	return alloc(len, false);
}

void *share_alloc_device(size_t len)
{
	return alloc(len, true);
}

/* Puts the allocation's own reference; pages of ranges that are still shared stay in the memfd. */
static void drop_reference(struct share_state *state, struct share_range r)
{
	struct share_seg *seg;
	uintptr_t at = r.start;

	share_tree_cut(&state->ranges, r.start);
	share_tree_cut(&state->ranges, r.end);
	while ((seg = share_tree_first(&state->ranges, at)) && seg->start < r.end) {
		struct share_range part = { seg->start, seg->end };

		at = part.end;
		seg->pins--;
		if (--seg->refs)
			continue;
		share_book_leave(state, part);
		share_sys_punch(state->fd, part.start, part.end - part.start);
	}
	share_tree_join(&state->ranges, r.start, r.end);
}

void share_free(void *va)
{
	struct share_state *state = va ? share_lock() : NULL;
	struct share_seg *seg;

	if (!state)
		return;
	seg = share_tree_first(&state->allocs, (uintptr_t)va);
	if (seg && seg->start == (uintptr_t)va) {
		share_sys_munmap(seg->start, seg->end - seg->start);
		if (seg->refs)
			drop_reference(state, (struct share_range){ seg->start, seg->end });
		share_tree_remove(&state->allocs, seg);
	}
	share_unlock(state);
}
