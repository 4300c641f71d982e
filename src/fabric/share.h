/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Registered memory is shared memory. The pages of a range are moved, in place and while other
 * threads use them, into one sparse memfd per process in which the file offset of a page is its
 * virtual address; a peer that has the memfd maps any of it.
 *
 * Called by the adapter when memory regions come and go, from any thread. One mutex inside, which
 * is a leaf: nothing else is locked and nobody is called back while it is held. Whoever holds it
 * has its signals blocked. Errors are 0 or -errno; -EOPNOTSUPP says "not this memory, or not here"
 * and is a reason to use another way to reach it, not to fail.
 *
 * What a program can notice:
 * - Where userfaultfd only knows user mode (no privilege), a system call of another thread that
 *   writes to a page at the very moment it moves fails with EFAULT; so does a process_vm_writev()
 *   of another process. Whoever tries again succeeds.
 * - Transfers of the kernel that hold the old page (O_DIRECT, pinned io_uring buffers) while it
 *   moves miss the new one; so do waiters on a process-shared futex in it.
 * - Memory must not be moved or grown with mremap() (realloc of a large block) while registered.
 * - A child made by a bare fork system call, past libc, keeps sharing its parent's pages.
 */
#ifndef FABRIC_SHARE_H
#define FABRIC_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/api.h"

/*
 * Shares the whole pages that cover [va, va + len); each needs one put of the same range. Ranges
 * may nest and overlap. Pages that nobody touched so far take no memory.
 * -EOPNOTSUPP: memory that cannot move (files, shared mappings, stacks, huge pages, executable
 * pages, pages under somebody else's userfaultfd), no way to move it without losing an update, or
 * VERBENA_SHARE=off. -EFAULT: part of it is not mapped, or not accessible at all. -ENOMEM.
 * Whatever is returned but 0, nothing changed.
 */
int share_range_get(void *va, size_t len);

/*
 * The last put of a page makes it private again, in place, contents kept, and frees its part of
 * the memfd. Peers no longer write to it, which the caller has made sure of. The program may have
 * unmapped the memory or mapped something else there.
 */
void share_range_put(void *va, size_t len);

/*
 * Whether every page of the range is mapped, and may be written if `write` says so: 0 or -EFAULT;
 * -EOPNOTSUPP when the kernel does not tell.
 */
int share_range_check(const void *va, size_t len, bool write);

/* Whether every page of the range is shared now. */
bool share_covers(const void *va, size_t len);

/* The memfd, for peers to map; -1 when this process can share nothing. The same until a fork. */
int share_fd(void);

/*
 * Zeroed memory that is born shared; plain private memory where sharing is off. NULL: ENOMEM.
 * share_range_get() works on it. After share_free() it is unmapped, whoever still has a range in
 * it.
 */
void *share_alloc(size_t len);
/* The same for memory that is no program's: shared with VERBENA_SHARE=off, too. */
void *share_alloc_device(size_t len);
void share_free(void *va);

/*
 * Threads of our own. Where userfaultfd is forbidden, memory moves only while nobody can write to
 * it: when the process has one thread beside those that are declared here and rest. A thread
 * brackets its life with begin and end; it begins working, and says rest before it sleeps and work
 * after, which waits for a move to end. Threads that share memory, or wait for one that does, must
 * not be resting.
 */
void share_thread_begin(void);
void share_thread_end(void);
void share_thread_rest(void);
void share_thread_work(void);

struct share_stats {
	uint64_t bytes;     /* shared now, untouched pages included */
	uint64_t runs;      /* ... in this many stretches of the address space */
	uint64_t segments;  /* entries of our books */
	uint64_t bytes_in;  /* copied into the memfd since the process began to share */
	uint64_t bytes_out; /* and out of it */
	uint64_t moves_in, moves_out;
	uint64_t ns_in, ns_out;
};

void share_stats(struct share_stats *out);

/* ---- the other side: a peer's memory ---- */

/* Borrows the peer's memfd, which must stay open. No lock: whoever owns the view orders its use. */
struct share_view {
	int fd;
	bool self;     /* it is our own, which is mapped already */
	size_t mapped; /* bytes */
};

/* -EPROTO when the descriptor is not such a memfd. */
int share_view_init(struct share_view *view, int fd);
/* Our address for the peer's peer_va, good for len bytes; NULL: errno is EINVAL or ENOMEM. */
void *share_view_map(struct share_view *view, uint64_t peer_va, size_t len);
/* What map returned, and its len. */
void share_view_unmap(struct share_view *view, void *local, size_t len);
/* Every mapping must have been unmapped. */
void share_view_fini(struct share_view *view);

#endif
