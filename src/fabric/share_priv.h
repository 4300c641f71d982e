/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inside share: its state, and what its files ask of each other. Everything here is called with
 * the mutex of share.c held.
 *
 * While pages are being moved, nothing may write to memory that the program could have asked to
 * move: no heap, no static data. So the state lies in a mapping of its own, and so do all buffers.
 */
#ifndef FABRIC_SHARE_PRIV_H
#define FABRIC_SHARE_PRIV_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "fabric/share.h"
#include "fabric/share_tree.h"

/* The memfd is as long as the address space of a user process. */
#if defined(__x86_64__)
#define SHARE_SPACE (1ull << 47)
#else
#define SHARE_SPACE (1ull << 48)
#endif

#define SHARE_SCRATCH    16384u
#define SHARE_OWN_MAX    8u
#define SHARE_MEMFD_NAME "verbena-share"

/* How threads that write to a page are held off while it moves. */
enum share_method {
	SHARE_BLOCK_ALL,  /* userfaultfd: any access waits, of user mode and of the kernel */
	SHARE_BLOCK_USER, /* userfaultfd: writes of user mode wait, those of the kernel fail */
	SHARE_ALONE,      /* there is nobody else */
	SHARE_UNBLOCKED,  /* only out: the page becomes private first, and is then copied */
};

enum share_own_state {
	SHARE_OWN_FREE, /* nobody's place */
	SHARE_OWN_WORKS,
	SHARE_OWN_RESTS,
};

struct share_own {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	enum share_own_state state[SHARE_OWN_MAX];
	bool moving; /* nobody may go back to work */
};

struct share_state {
	pthread_mutex_t lock;
	sigset_t signals; /* of the holder */
	int cancel;

	bool up, off;
	bool still; /* what programs bring stays private: VERBENA_SHARE=off */
	int fd;
	dev_t dev;
	ino_t ino;
	size_t page;
	uint64_t max_runs;
	bool keep_file; /* what moves out is not freed in the memfd: it is not ours alone */

	int uffd; /* -1 when not open */
	bool uffd_asked, uffd_kernel, uffd_shmem;

	struct share_own own;
	struct share_tree ranges; /* shared pages */
	struct share_tree allocs; /* of share_alloc(); refs is 1 when shared, 0 when plain */
	struct share_stats stats;

	int fork_pipe[2]; /* open from a fork's begin to its end, when there is something to wait */

	_Alignas(64) char scratch[SHARE_SCRATCH];
};

/* ---- share.c ---- */

struct share_range {
	uintptr_t start, end;
};

struct share_state *share_lock(void);
void share_unlock(struct share_state *state);
/* NULL before the first use, or when it could not be created. */
struct share_state *share_state_if_any(void);
/* Forgets all that is shared, the memfd and userfaultfd, too. */
void share_books_init(struct share_state *state);
/* The first use decides whether this process shares at all: -EOPNOTSUPP when not, or -ENOMEM. */
int share_state_up(struct share_state *state);
/* The whole pages of it. */
int share_range_make(const struct share_state *state, const void *va, size_t len,
		     struct share_range *out);
/* Pages came into the memfd, parked from `parked` on (0: nowhere), or are no longer in it. */
void share_book_enter(struct share_state *state, struct share_range r, uintptr_t parked);
void share_book_leave(struct share_state *state, struct share_range r);

/* ---- share_sys.c: system calls that set no errno of a page that may be moving ---- */

/* 0 or an address; -errno otherwise, which share_sys_failed() tells apart. */
uintptr_t share_sys_mmap(uintptr_t addr, size_t len, int prot, int flags, int fd, uint64_t off);
uintptr_t share_sys_mremap(uintptr_t old, size_t len, int flags, uintptr_t to);
int share_sys_munmap(uintptr_t addr, size_t len);
int share_sys_mprotect(uintptr_t addr, size_t len, int prot);
int share_sys_madvise(uintptr_t addr, size_t len, int advice);
int share_sys_ioctl(int fd, unsigned long request, void *arg);
int64_t share_sys_pwrite(int fd, uintptr_t from, size_t len, uint64_t off);
int64_t share_sys_pread(int fd, uintptr_t to, size_t len, uint64_t off);
int64_t share_sys_lseek(int fd, uint64_t off, int whence);
int share_sys_punch(int fd, uint64_t off, size_t len);
int share_sys_open(const char *path, int flags);
void share_sys_close(int fd);

static inline bool share_sys_failed(uintptr_t result)
{
	return result > (uintptr_t)-4096;
}

/* ---- share_maps.c: what the kernel says about this process ---- */

struct share_vma {
	uintptr_t start, end;
	uint64_t offset, ino;
	dev_t dev;
	int prot;
	bool shared, plain; /* plain: private anonymous memory of no special kind */
};

struct share_walk {
	struct share_state *state;
	int fd;
	bool text; /* an old kernel: read and parse */
	size_t have, pos;
};

/* -EOPNOTSUPP without /proc. */
int share_walk_open(struct share_walk *walk, struct share_state *state);
/* The first mapping that ends behind addr, which only ever grows. -ENOENT behind the last. */
int share_walk_next(struct share_walk *walk, uintptr_t addr, struct share_vma *out);
void share_walk_close(struct share_walk *walk);
/* Whether the kernel finds one mapping without listing all. */
bool share_walk_is_fast(struct share_state *state);

typedef int (*share_mapping_fn)(struct share_state *state, const struct share_vma *vma,
				struct share_range part, void *arg);

/* Calls fn for each mapping's part of the range; for gaps, too, with a mapping of no length. */
int share_each_mapping(struct share_state *state, struct share_range r, share_mapping_fn fn,
		       void *arg);

/* A shared mapping of our memfd; one at the address that is its file offset. */
bool share_in_file(const struct share_state *state, const struct share_vma *vma);
bool share_in_place(const struct share_state *state, const struct share_vma *vma);

/* Pages that hold something: the iterator over stretches of them. */
struct share_scan {
	struct share_state *state;
	int fd;
	bool slow;  /* an old kernel: an entry per page */
	size_t max; /* pages to look for, 0 for all */
	uintptr_t at, end;
	size_t have, pos;
};

int share_scan_open(struct share_scan *scan, struct share_state *state);
void share_scan_begin(struct share_scan *scan, uintptr_t start, uintptr_t end);
/* 1 and a stretch, 0 at the end, or -errno. */
int share_scan_next(struct share_scan *scan, uintptr_t *start, uintptr_t *end);
void share_scan_close(struct share_scan *scan);

/* Threads of this process, 0 when the kernel does not say. */
unsigned int share_threads_count(void);
/* Whether a thread keeps its stack, or libc its block, in r, a part of the mapping. */
bool share_threads_live_in(struct share_state *state, const struct share_vma *vma,
			   struct share_range r);

/* ---- share_uffd.c ---- */

/* Opens it if need be. 0, or -EOPNOTSUPP when this process may not have one. */
int share_uffd_ready(struct share_state *state);
/* Accesses to missing pages wait from now on; with `writes`, writes to present ones, too. */
int share_uffd_block(struct share_state *state, uintptr_t start, size_t len, bool writes);
/* The range was mapped anew: those who wait try again. */
void share_uffd_wake(struct share_state *state, uintptr_t start, size_t len);
/* The range was not mapped anew: as before block. */
void share_uffd_unblock(struct share_state *state, uintptr_t start, size_t len);
void share_uffd_close(struct share_state *state);

/* ---- share_move.c ---- */

/* Decides how; -EOPNOTSUPP when there is no way in. share_move_end() afterwards. */
int share_move_begin_in(struct share_state *state, enum share_method *method);
enum share_method share_move_begin_out(struct share_state *state);
void share_move_end(struct share_state *state, enum share_method method);

/*
 * Makes [start, end), a part of one private mapping, shared. Whatever happened, *done is how far
 * that is true, and [start, *done) is parked at *park.
 */
int share_move_in(struct share_state *state, enum share_method method, const struct share_vma *vma,
		  uintptr_t start, uintptr_t end, uintptr_t *done, uintptr_t *park);
/*
 * Makes [start, end), mapped from our memfd at `offset` with the protection `prot`, private again
 * and frees that part of the memfd. `park` is where the private mapping waits, or 0.
 */
int share_move_out(struct share_state *state, enum share_method method, uintptr_t start,
		   uintptr_t end, uint64_t offset, int prot, uintptr_t park, uintptr_t *done);

/* ---- share_own.c: our own threads ---- */

void share_own_init(struct share_own *own);
void share_own_enter(struct share_own *own);
void share_own_leave(struct share_own *own);
void share_own_rest(struct share_own *own, bool rest);
/* Waits, not for long, until all our threads but the caller rest. False when they do not. */
bool share_own_stop(struct share_own *own, unsigned int threads);
void share_own_resume(struct share_own *own);

/* ---- share_fork.c ---- */

void share_fork_prepare(void);
void share_fork_parent(void);
void share_fork_child(void);

#endif
