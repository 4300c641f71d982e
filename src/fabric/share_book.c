/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/share_book.h"

#include <errno.h>

#include "fabric/share_sys.h"

int share_range_make(const struct share_state *state, const void *va, size_t len,
		     struct share_range *out)
{
	uintptr_t start = (uintptr_t)va, mask = state->page - 1;

	if (start + len < start || start + len > UINTPTR_MAX - mask)
		return -EFAULT;
	out->start = start & ~mask;
	out->end = (start + len + mask) & ~mask;
	/* Higher addresses are mapped on request only, with five levels of page tables. */
	return out->end > SHARE_SPACE ? -EOPNOTSUPP : 0;
}

bool share_book_covers(const struct share_state *state, struct share_range r)
{
	for (uintptr_t at = r.start; at < r.end;) {
		const struct share_seg *seg = share_tree_first(&state->ranges, at);

		if (!seg || seg->start > at)
			return false;
		at = seg->end;
	}
	return true;
}

/* How the number of stretches changes with [start, end), which is (or becomes) not shared. */
static int runs_change(const struct share_state *state, uintptr_t start, uintptr_t end)
{
	const struct share_seg *before = share_tree_first(&state->ranges, start - 1);
	const struct share_seg *after = share_tree_first(&state->ranges, end);

	return 1 - (before && before->start < start) - (after && after->start == end);
}

void share_book_enter(struct share_state *state, struct share_range r, uintptr_t parked)
{
	struct share_tree *tree = &state->ranges;
	uintptr_t at = r.start;

	if (r.start == r.end)
		return;
	share_tree_cut(tree, r.start);
	share_tree_cut(tree, r.end);
	while (at < r.end) {
		struct share_seg *seg = share_tree_first(tree, at);

		if (!seg || seg->start > at) {
			uintptr_t end = seg && seg->start < r.end ? seg->start : r.end;

			state->stats.runs += (uint64_t)(int64_t)runs_change(state, at, end);
			state->stats.bytes += end - at;
			seg = share_tree_insert(tree, at, end, 0, 0);
		} else if (seg->park) {
			share_sys_munmap(seg->park, seg->end - seg->start);
		}
		seg->park = parked ? parked + (at - r.start) : 0;
		at = seg->end;
	}
}

void share_book_leave(struct share_state *state, struct share_range r)
{
	struct share_tree *tree = &state->ranges;
	struct share_seg *seg;

	share_tree_cut(tree, r.start);
	share_tree_cut(tree, r.end);
	while ((seg = share_tree_first(tree, r.start)) && seg->start < r.end)
		share_tree_remove(tree, seg);
	state->stats.runs -= (uint64_t)(int64_t)runs_change(state, r.start, r.end);
	state->stats.bytes -= r.end - r.start;
}
