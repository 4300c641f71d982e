/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The state of shared memory. Everything in it is guarded by its lock (share_state.h), except the
 * threads, which have their own.
 *
 * While pages are being moved, nothing may write to memory that the program could have asked to
 * move: no heap, no static data. So the state lies in a mapping of its own, and so do all buffers.
 */
#ifndef FABRIC_SHARE_TYPES_H
#define FABRIC_SHARE_TYPES_H

#include <pthread.h>
#include <stdatomic.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "fabric/share_tree.h"

/* The memfd is as long as the address space of a user process. */
#if defined(__x86_64__)
#define SHARE_SPACE (1ull << 47)
#else
#define SHARE_SPACE (1ull << 48)
#endif

#define SHARE_SCRATCH     16384u
#define SHARE_THREADS_MAX 8u

/* How threads that write to a page are blocked while it moves. */
enum share_method {
	SHARE_BLOCK_ALL,  /* userfaultfd: any access waits, of user mode and of the kernel */
	SHARE_BLOCK_USER, /* userfaultfd: writes of user mode wait, writes of the kernel fail */
	SHARE_ALONE,      /* no other thread runs */
	SHARE_UNBLOCKED,  /* only out: the page becomes private first, and is then copied */
};

struct share_range {
	uintptr_t start, end;
};

/* Since the process began to share. */
struct share_stats {
	uint64_t bytes;     /* shared now, untouched pages included */
	uint64_t runs;      /* ... in this many stretches of the address space */
	uint64_t segments;  /* entries of the tree of shared ranges */
	uint64_t bytes_in;  /* copied into the memfd */
	uint64_t bytes_out; /* and out of it */
	uint64_t moves_in, moves_out;
	uint64_t ns_in, ns_out;
};

enum share_thread_state {
	SHARE_THREAD_NONE, /* the entry is free */
	SHARE_THREAD_BUSY,
	SHARE_THREAD_IDLE,
};

/* share_threads.c: the library's own threads */
struct share_threads {
	pthread_mutex_t lock; /* inside of share_state.lock */
	pthread_cond_t changed;
	enum share_thread_state state[SHARE_THREADS_MAX];
	bool moving; /* no thread may become busy */
};

struct share_state {
	pthread_mutex_t lock;
	sigset_t signals; /* the holder's signal mask and cancel state from before */
	int cancel;

	bool up, off;
	bool programs_off; /* VERBENA_SHARE=off: memory of the program stays private */
	int fd;
	dev_t dev;
	ino_t ino;
	size_t page;
	uint64_t max_runs;
	bool keep_file; /* pages that move out stay in the memfd, which has other users */

	int uffd; /* -1 when not open */
	bool uffd_tried, uffd_kernel, uffd_shmem;
	int maps_fd;    /* /proc/self/maps for questions about one mapping; -1 when not open */
	pid_t maps_pid; /* ... of this process */
	_Atomic int unnoticed; /* what share_moves_unnoticed() found out: 1 or -1, 0 not yet */

	struct share_threads threads;
	struct share_tree ranges; /* shared pages */
	struct share_tree allocs; /* of share_alloc(); refs is 1 when shared, 0 when private */
	struct share_stats stats;

	int fork_pipe[2]; /* open during a fork of a process that shares memory */

	_Alignas(64) char scratch[SHARE_SCRATCH];
};

#endif
