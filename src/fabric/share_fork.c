/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The child inherits mappings of the parent's memfd, through which its writes would reach the
 * parent. So before fork() returns in the child, every shared page there becomes a private copy. The
 * thread that forked waits in the parent until that is done, because its next writes must not be in
 * the child. (For writes of other threads of the parent there is no such promise with any fork.)
 *
 * The child closes a pipe when it is done or dies; the parent waits for the hang-up.
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

static void prepare(void)
{
	/* Creates the state if need be: no other thread may during the fork. */
	struct share_state *state = share_lock();

	if (!state)
		return;
	pthread_mutex_lock(&state->threads.lock);
	/* Without descriptors the parent does not wait, and the child's copy is of a later time. */
	if (!state->ranges.count || pipe2(state->fork_pipe, O_CLOEXEC))
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
