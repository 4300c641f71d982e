/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Registered memory becomes private before a fork, so that the kernel gives the child a copy of it as of the
 * moment of the fork, as of all other memory. A copy that the child makes later would not do: other threads of the
 * parent go on, and libc (or any library whose fork handlers were registered before these) has released its
 * locks in the parent by then. The child's malloc would find chunks that are newer than its lists.
 * The caller of share_range_get() shares again after the fork (hca/memory/mr_share.c).
 *
 * Pinned ranges and share_alloc() stay shared. Their pages have nothing else on them: rings, which are of no use to the
 * child, and device memory. The child inherits the mappings of the parent's memfd, and makes private copies before fork()
 * returns there, of whatever the pages contain by then. The parent does not wait for that, as the child may have to wait
 * for a processor.
 * Only where other memory could not be moved does the thread that forked wait, because its next writes must
 * not be in the child, which closes a pipe when it is done or dies.
 */
#include "fabric/share_fork.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "fabric/share_maps.h"
#include "fabric/share_move.h"
#include "fabric/share_out.h"
#include "fabric/share_state.h"
#include "fabric/share_sys.h"
#include "fabric/share_uffd.h"

/* A second, and time for the copy at 100 MB/s. */
static int copy_timeout_ms(const struct share_state *state)
{
	struct stat st;

	if (fstat(state->fd, &st))
		return 1000;
	return 1000 + (int)(st.st_blocks / 2048 > 120000 ? 120000 : st.st_blocks / 2048) * 10;
}

/* Ranges that cannot be moved, for want of memory, are copied by the child, like pinned ones. */
static void put_all(struct share_state *state)
{
	struct share_tree *tree = &state->ranges;
	const struct share_range all = { state->page, SHARE_SPACE - state->page };
	struct share_seg *seg;

	for (uintptr_t at = 0; (seg = share_tree_first(tree, at)); at = seg->end)
		seg->refs = seg->pins;
	share_out_unused(state, all);
	share_tree_join(tree, all.start, all.end);
}

/* Whether the child has to copy memory of the program. */
static bool any_unpinned(const struct share_tree *tree)
{
	const struct share_seg *seg;

	for (uintptr_t at = 0; (seg = share_tree_first(tree, at)); at = seg->end)
		if (!seg->pins)
			return true;
	return false;
}

static void prepare(void)
{
	/* Creates the state if need be: no other thread may during the fork. */
	struct share_state *state = share_lock();

	if (!state)
		return;
	put_all(state);
	pthread_mutex_lock(&state->threads.lock);
	/* Without descriptors the parent does not wait, and the child's copy is of a later time. */
	if (!any_unpinned(&state->ranges) || pipe2(state->fork_pipe, O_CLOEXEC))
		state->fork_pipe[0] = state->fork_pipe[1] = -1;
}

static void close_pipe_end(struct share_state *state, int which)
{
	if (state->fork_pipe[which] >= 0)
		share_sys_close(state->fork_pipe[which]);
	state->fork_pipe[which] = -1;
}

static void parent(void)
{
	struct share_state *state = share_state_if_any();

	if (!state)
		return;
	close_pipe_end(state, 1);
	if (state->fork_pipe[0] >= 0) {
		struct pollfd p = { .fd = state->fork_pipe[0] };

		/* Signals are blocked. If fork() failed, this process held the last write end. */
		poll(&p, 1, copy_timeout_ms(state));
	}
	close_pipe_end(state, 0);
	pthread_mutex_unlock(&state->threads.lock);
	share_unlock(state);
}

/* In the child, which has one thread. */
static int make_private(struct share_state *state, const struct share_vma *vma,
			struct share_range part, void *arg)
{
	const struct share_seg *seg = arg;
	uintptr_t parked = seg->park ? seg->park + (part.start - seg->start) : 0, done = part.start;

	if (share_in_place(state, vma)) {
		share_move_out(state, SHARE_ALONE, part.start, part.end, part.start, vma->prot,
			       parked, &done);
		/* The parked mapping is not inherited after MADV_DONTFORK: make a new one. */
		if (done < part.end)
			share_move_out(state, SHARE_ALONE, done, part.end, done, vma->prot, 0,
				       &done);
	}
	if (parked && done < part.end)
		share_sys_munmap(parked + (done - part.start), part.end - done);
	return 0;
}

static void child(void)
{
	struct share_state *state = share_state_if_any();
	int fd;

	if (!state)
		return;
	close_pipe_end(state, 0);
	state->keep_file = true;
	for (struct share_seg *seg = share_tree_first(&state->ranges, 0); seg;
	     seg = share_tree_first(&state->ranges, seg->end))
		share_each_mapping(state, (struct share_range){ seg->start, seg->end },
				   make_private, seg);
	state->keep_file = false;
	/* Memory of share_alloc() is private now; share_free() still frees it. */
	for (struct share_seg *seg = share_tree_first(&state->allocs, 0); seg;
	     seg = share_tree_first(&state->allocs, seg->end))
		seg->refs = 0;
	share_uffd_close(state);
	share_walk_forget(state);
	if (state->fd >= 0)
		share_sys_close(state->fd);
	fd = state->fork_pipe[1];
	pthread_mutex_unlock(&state->threads.lock);
	share_state_reset(state);
	if (fd >= 0)
		share_sys_close(fd);
	share_unlock(state);
}

void share_fork_watch(void)
{
	pthread_atfork(prepare, parent, child);
}
