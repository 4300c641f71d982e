/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/share_state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fabric/share_maps.h"
#include "fabric/share_threads.h"
#include "fabric/state.h"
#include "util/explain.h"
#include "util/file_limit.h"
#include "util/valgrind.h"

#define MEMFD_NAME "verbena-share"
/* Address space for a tree, not memory: room for as many segments as there could be mappings. */
#define TREE_BYTES (64u << 20)
/* Stretches, where the kernel lists all mappings to answer a question about one. */
#define MAX_RUNS_SLOW 2048u

void share_state_reset(struct share_state *state)
{
	char *arena = (char *)state + ((sizeof(*state) + 4095) & ~(size_t)4095);

	share_tree_init(&state->ranges, arena, TREE_BYTES);
	state->stats = (struct share_stats){ 0 };
	state->up = false;
	state->fd = state->uffd = state->maps_fd = -1;
	atomic_store(&state->unnoticed, 0);
	state->uffd_tried = false;
	state->fork_pipe[0] = state->fork_pipe[1] = -1;
	share_threads_init(&state->threads);
}

static struct share_state *state_create(void)
{
	size_t bytes = ((sizeof(struct share_state) + 4095) & ~(size_t)4095) + 2 * TREE_BYTES;
	struct share_state *state = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
					 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct share_state *first = NULL;

	if (state == MAP_FAILED)
		return NULL;
	pthread_mutex_init(&state->lock, NULL);
	state->page = (size_t)sysconf(_SC_PAGESIZE);
	share_state_reset(state);
	share_tree_init(&state->allocs, (char *)state + bytes - TREE_BYTES, TREE_BYTES);
	/* Of two threads, the first one's stays. */
	if (atomic_compare_exchange_strong(&fabric.share, &first, state))
		return state;
	munmap(state, bytes);
	return first;
}

struct share_state *share_state_if_any(void)
{
	return atomic_load_explicit(&fabric.share, memory_order_acquire);
}

struct share_state *share_lock(void)
{
	struct share_state *state;
	sigset_t all, before;
	int cancel;

	state = share_state_if_any();
	if (!state)
		state = state_create();
	if (!state)
		return NULL;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_mutex_lock(&state->lock);
	state->signals = before;
	state->cancel = cancel;
	return state;
}

void share_unlock(struct share_state *state)
{
	sigset_t before = state->signals;
	int cancel = state->cancel;

	pthread_mutex_unlock(&state->lock);
	pthread_setcancelstate(cancel, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* ---- the memfd ---- */

static uint64_t read_max_maps(void)
{
	unsigned long long n = 65530;
	FILE *f = fopen("/proc/sys/vm/max_map_count", "re");

	if (f) {
		if (fscanf(f, "%llu", &n) != 1)
			n = 65530;
		fclose(f);
	}
	return n;
}

static int memfd_create_sealed(void)
{
	int fd, err;

	fd = memfd_create(MEMFD_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return errno == EMFILE || errno == ENFILE || errno == ENOMEM ? -errno : -EOPNOTSUPP;
	/* Not under a limit of file sizes: peers then copy the program's memory (-EFBIG). */
	err = file_resize(fd, (off_t)SHARE_SPACE);
	if (!err && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		err = -errno;
	if (!err)
		return fd;
	close(fd);
	return err;
}

int share_state_up(struct share_state *state)
{
	const char *want = getenv("VERBENA_SHARE");
	struct stat st;
	int fd;

	if (state->up)
		return state->off ? -EOPNOTSUPP : 0;
	/* Under valgrind one thread runs at a time, also while it waits for a blocked page. */
	if (valgrind_is_running()) {
		state->up = state->off = true;
		return -EOPNOTSUPP;
	}
	fd = memfd_create_sealed();
	if (fd == -EMFILE || fd == -ENFILE || fd == -ENOMEM)
		return -ENOMEM;
	state->up = true;
	state->off = fd < 0 || fstat(fd, &st);
	if (state->off) {
		explain_note("no memory is shared with other processes%s: %s",
			     fd == -EFBIG ? " because of the limit of file sizes (ulimit -f)" : "",
			     strerror(fd < 0 ? -fd : errno));
		if (fd >= 0)
			close(fd);
		return -EOPNOTSUPP;
	}
	state->programs_off = want && !strcmp(want, "off");
	state->fd = fd;
	state->dev = st.st_dev;
	state->ino = st.st_ino;
	/* A stretch takes up to three mappings: itself, the parked one, and one more where it
	 * splits a mapping. A quarter of the allowed mappings is left to the program. */
	state->max_runs = read_max_maps() / 4;
	if (!share_walk_is_fast(state) && state->max_runs > MAX_RUNS_SLOW)
		state->max_runs = MAX_RUNS_SLOW;
	return 0;
}

bool share_fd_is_valid(const struct share_state *state)
{
	struct stat st;

	return !fstat(state->fd, &st) && st.st_ino == state->ino && st.st_dev == state->dev;
}
