/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes ranges private again.
 *
 * A segment without references is "unused": still in the memfd because moving it out failed (out of
 * memory, out of mappings). It works as before; the next call over it tries again.
 */
#include "fabric/share_out.h"

#include "fabric/clock.h"
#include "fabric/share_book.h"
#include "fabric/share_maps.h"
#include "fabric/share_move.h"
#include "fabric/share_state.h"
#include "fabric/share_sys.h"

/* Frees the memfd's pages in the range, but those that are still shared. */
static void punch_unshared(struct share_state *state, uint64_t start, uint64_t end)
{
	while (start < end) {
		const struct share_seg *seg = share_tree_first(&state->ranges, start);
		uint64_t stop = !seg || seg->start >= end ? end : seg->start;

		if (stop > start)
			share_sys_punch(state->fd, start, stop - start);
		start = seg && seg->end < end ? seg->end : end;
		if (!seg)
			break;
	}
}

struct moving_out {
	enum share_method method;
	struct share_range lost;
};

/* A mapping of pages that were shared at another address: the program moved them with mremap(). */
static int rescue_part(struct share_state *state, const struct share_vma *vma,
		       struct share_range part, void *arg)
{
	struct moving_out *m = arg;
	uint64_t end = vma->offset + (part.end - part.start);
	uintptr_t done;

	if (vma->start == vma->end || !share_in_file(state, vma) || vma->offset == vma->start ||
	    vma->offset >= m->lost.end || end <= m->lost.start)
		return 0;
	state->keep_file = true;
	share_move_out(state, m->method, part.start, part.end, vma->offset, vma->prot, 0, &done);
	state->keep_file = false;
	punch_unshared(state, vma->offset, end);
	return 0;
}

/* One segment at most covers `part`. */
static int move_part_out(struct share_state *state, const struct share_vma *vma,
			 struct share_range part, void *arg)
{
	struct moving_out *m = arg;
	const struct share_seg *seg = share_tree_first(&state->ranges, part.start);
	uintptr_t parked = seg->park ? seg->park + (part.start - seg->start) : 0, done;

	state->stats.moves_out++;
	if (share_in_place(state, vma)) {
		share_move_out(state, m->method, part.start, part.end, part.start, vma->prot,
			       parked, &done);
		if (done > part.start)
			share_book_leave(state, (struct share_range){ part.start, done });
		/* The rest stays in the memfd, unused. */
		return 0;
	}
	if (parked)
		share_sys_munmap(parked, part.end - part.start);
	share_book_leave(state, part);
	m->lost = part;
	share_each_mapping(state, (struct share_range){ state->page, SHARE_SPACE - state->page },
			   rescue_part, m);
	share_sys_punch(state->fd, part.start, part.end - part.start);
	return 0;
}

void share_out_unused(struct share_state *state, struct share_range r)
{
	struct moving_out m;
	struct share_seg *seg;
	uint64_t begin = fabric_now_ns();
	uintptr_t at = r.start;
	bool begun = false;

	while ((seg = share_tree_first(&state->ranges, at)) && seg->start < r.end) {
		struct share_range part = { seg->start, seg->end };

		at = part.end;
		if (seg->refs || !share_fd_is_valid(state))
			continue;
		if (!begun)
			m.method = share_move_begin_out(state);
		begun = true;
		share_each_mapping(state, part, move_part_out, &m);
	}
	if (begun)
		share_move_end(state, m.method);
	state->stats.ns_out += fabric_now_ns() - begin;
}
