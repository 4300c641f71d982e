/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The books of shared memory: which pages are in the memfd, how many ranges want them, and where
 * their private mapping is parked. share_move.c moves them, share_maps.c asks the kernel.
 *
 * A segment of the books with no reference left is "idle": still in the memfd because moving it
 * out failed (out of memory, out of mappings). It works as before; the next put over it tries
 * again.
 *
 * The lock is a leaf. Its holder has all signals blocked and cannot be cancelled: a handler could
 * touch memory that is blocked, and would wait for ever.
 */
#include "fabric/share.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#else
#define RUNNING_ON_VALGRIND 0
#endif

#include "fabric/share_priv.h"
#include "util/explain.h"

/* Reserved, not used: room for as many segments as there could ever be mappings. */
#define BOOK_BYTES (64u << 20)
/* Where the kernel lists all mappings to answer a question about one. */
#define MAX_RUNS_SLOW 2048u

static _Atomic(struct share_state *) share_state;
static pthread_once_t share_once = PTHREAD_ONCE_INIT;

/* ---- the state ---- */

void share_books_init(struct share_state *state)
{
	char *books = (char *)state + ((sizeof(*state) + 4095) & ~(size_t)4095);

	share_tree_init(&state->ranges, books, BOOK_BYTES);
	state->stats = (struct share_stats){ 0 };
	state->up = false;
	state->fd = state->uffd = -1;
	state->uffd_asked = false;
	state->fork_pipe[0] = state->fork_pipe[1] = -1;
	share_own_init(&state->own);
}

static void state_create(void)
{
	size_t bytes = ((sizeof(struct share_state) + 4095) & ~(size_t)4095) + 2 * BOOK_BYTES;
	struct share_state *state = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
					 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (state == MAP_FAILED)
		return;
	pthread_mutex_init(&state->lock, NULL);
	state->page = (size_t)sysconf(_SC_PAGESIZE);
	share_books_init(state);
	share_tree_init(&state->allocs, (char *)state + bytes - BOOK_BYTES, BOOK_BYTES);
	atomic_store_explicit(&share_state, state, memory_order_release);
}

/*
 * At load time, so that our handlers are the last before a fork and the first after it: nobody
 * else's can then see shared pages in a child.
 */
__attribute__((constructor)) static void share_load(void)
{
	pthread_atfork(share_fork_prepare, share_fork_parent, share_fork_child);
}

struct share_state *share_state_if_any(void)
{
	return atomic_load_explicit(&share_state, memory_order_acquire);
}

struct share_state *share_lock(void)
{
	struct share_state *state;
	sigset_t all, before;
	int cancel;

	pthread_once(&share_once, state_create);
	state = share_state_if_any();
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
	struct rlimit limit;
	int fd, err;

	/* Beyond this limit a file is not extended but its owner killed. */
	if (getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur < SHARE_SPACE)
		return -EOPNOTSUPP;
	fd = memfd_create(SHARE_MEMFD_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return errno == EMFILE || errno == ENFILE || errno == ENOMEM ? -errno : -EOPNOTSUPP;
	if (!ftruncate(fd, (off_t)SHARE_SPACE) &&
	    !fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return fd;
	err = -errno;
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
	if (RUNNING_ON_VALGRIND) {
		state->up = state->off = true;
		return -EOPNOTSUPP;
	}
	fd = memfd_create_sealed();
	if (fd == -EMFILE || fd == -ENFILE || fd == -ENOMEM)
		return -ENOMEM;
	state->up = true;
	state->off = fd < 0 || fstat(fd, &st);
	if (state->off) {
		explain_note("no memory is shared with other processes: memfd_create: %s",
			     strerror(fd < 0 ? -fd : errno));
		if (fd >= 0)
			close(fd);
		return -EOPNOTSUPP;
	}
	state->still = want && !strcmp(want, "off");
	state->fd = fd;
	state->dev = st.st_dev;
	state->ino = st.st_ino;
	/* A stretch alone among others is up to three mappings: itself, the parked one, and one
	 * more by the split. The program shall keep a quarter of what it may have. */
	state->max_runs = read_max_maps() / 4;
	if (!share_walk_is_fast(state) && state->max_runs > MAX_RUNS_SLOW)
		state->max_runs = MAX_RUNS_SLOW;
	return 0;
}

/* Programs close descriptors they do not know. Ours must not be mistaken for what came after. */
static bool fd_is_ours(const struct share_state *state)
{
	struct stat st;

	return !fstat(state->fd, &st) && st.st_ino == state->ino && st.st_dev == state->dev;
}

/* ---- ranges ---- */

int share_range_make(const struct share_state *state, const void *va, size_t len,
		     struct share_range *out)
{
	uintptr_t start = (uintptr_t)va, mask = state->page - 1;

	if (start + len < start || start + len > UINTPTR_MAX - mask)
		return -EFAULT;
	out->start = start & ~mask;
	out->end = (start + len + mask) & ~mask;
	/* Above, only on request, with five levels of page tables. */
	return out->end > SHARE_SPACE ? -EOPNOTSUPP : 0;
}

static bool covered(const struct share_state *state, struct share_range r)
{
	for (uintptr_t at = r.start; at < r.end;) {
		const struct share_seg *seg = share_tree_first(&state->ranges, at);

		if (!seg || seg->start > at)
			return false;
		at = seg->end;
	}
	return true;
}

/* How many stretches more (or fewer) there are with [start, end), which is (was) not shared. */
static int runs_change(const struct share_state *state, uintptr_t start, uintptr_t end)
{
	const struct share_seg *before = share_tree_first(&state->ranges, start - 1);
	const struct share_seg *after = share_tree_first(&state->ranges, end);

	return 1 - (before && before->start < start) - (after && after->start == end);
}

/* Whether the pages of one mapping could move; *missing counts the parts that are not shared. */
static int check_mapping(struct share_state *state, const struct share_vma *vma,
			 struct share_range part, size_t *missing)
{
	if (share_in_place(state, vma))
		return covered(state, part) ? 0 : -EOPNOTSUPP;
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

/* ---- in ---- */

/* The pages are in the memfd and their private mapping is parked: enters that, without references
 * where there were none. Segments that were there before describe memory that is gone. */
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
	/* It was checked; what is different now is being changed under our feet. */
	if (!vma->plain)
		return -EFAULT;
	err = share_move_in(state, m->method, vma, part.start, part.end, &done, &parked);
	share_book_enter(state, (struct share_range){ part.start, done }, parked);
	state->stats.moves_in++;
	return err;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int move_in(struct share_state *state, struct share_range r, size_t parts)
{
	struct moving_in m;
	uint64_t begin = now_ns();
	int err;

	if (!fd_is_ours(state) || state->stats.runs + parts > state->max_runs)
		return -EOPNOTSUPP;
	err = share_move_begin_in(state, &m.method);
	if (err)
		return err;
	err = share_each_mapping(state, r, move_part_in, &m);
	share_move_end(state, m.method);
	state->stats.ns_in += now_ns() - begin;
	return err;
}

/* ---- out ---- */

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

/* The segment is no more; its memory is gone from its place, or has become private. */
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
		/* What is left stays as it is, idle. */
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

/* Makes every segment in the range that nobody wants private again. */
static void move_idle_out(struct share_state *state, struct share_range r)
{
	struct moving_out m;
	struct share_seg *seg;
	uint64_t begin = now_ns();
	uintptr_t at = r.start;
	bool begun = false;

	while ((seg = share_tree_first(&state->ranges, at)) && seg->start < r.end) {
		struct share_range part = { seg->start, seg->end };

		at = part.end;
		if (seg->refs || !fd_is_ours(state))
			continue;
		if (!begun)
			m.method = share_move_begin_out(state);
		begun = true;
		share_each_mapping(state, part, move_part_out, &m);
	}
	if (begun)
		share_move_end(state, m.method);
	state->stats.ns_out += now_ns() - begin;
}

/* ---- the interface ---- */

static int get(struct share_state *state, const void *va, size_t len)
{
	struct share_tree *tree = &state->ranges;
	size_t missing = 0;
	struct share_range r;
	int err = share_range_make(state, va, len, &r);

	if (!err)
		err = share_state_up(state);
	if (!err && state->still)
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
			move_idle_out(state, r);
			return err;
		}
	}
	share_tree_cut(tree, r.start);
	share_tree_cut(tree, r.end);
	for (uintptr_t at = r.start; at < r.end;) {
		struct share_seg *seg = share_tree_first(tree, at);

		seg->refs++;
		at = seg->end;
	}
	share_tree_join(tree, r.start, r.end);
	return 0;
}

int share_range_get(void *va, size_t len)
{
	struct share_state *state = share_lock();
	int err;

	if (!state)
		return -EOPNOTSUPP;
	err = get(state, va, len);
	share_unlock(state);
	if (err == -EFAULT)
		explain(EFAULT, "the %zu bytes at %p are not all mapped and accessible", len, va);
	return err;
}

void share_range_put(void *va, size_t len)
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
	     at = seg->end)
		if (seg->refs)
			seg->refs--;
	move_idle_out(state, r);
	share_tree_join(tree, r.start, r.end);
unlock:
	share_unlock(state);
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
	yes = !share_range_make(state, va, len, &r) && covered(state, r);
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
