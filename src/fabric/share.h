/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Registered memory is shared memory. The pages of a range are moved, in place and while other
 * threads use them, into one sparse memfd per process in which the file offset of a page is its
 * virtual address; a peer that has the memfd maps any of it.
 *
 * Called by the adapter when memory regions come and go, from any thread. The mutex inside is
 * innermost: no other lock is taken and no callback runs while it is held, with all signals blocked.
 * -EOPNOTSUPP means that this memory cannot be shared, or not by this process: the caller then uses
 * another way to reach it.
 *
 * What a program can notice:
 * - Where userfaultfd only knows user mode (no privilege), a system call of another thread that
 *   writes to a page at the very moment it moves fails with EFAULT; so does a process_vm_writev()
 *   of another process. A second try succeeds.
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
 * Shares the whole pages that cover [va, va + len); each call needs one put of the same range.
 * Ranges may nest and overlap. Pages that were never touched take no memory.
 * -EOPNOTSUPP: memory that cannot move (files, shared mappings, stacks, huge pages, executable
 * pages, pages under the program's own userfaultfd), no way to move it without losing an update, or
 * VERBENA_SHARE=off. -EFAULT: part of it is not mapped, or not accessible at all. -ENOMEM.
 * On an error nothing has changed.
 */
int share_range_get(void *va, size_t len);

/*
 * The last put of a page makes it private again, in place, contents kept, and frees its part of
 * the memfd. The caller has made sure that no peer writes to it any more. The program may have
 * unmapped the memory or mapped something else there.
 */
void share_range_put(void *va, size_t len);

/*
 * A fork puts all references of share_range_get(), in the parent too: before it the process has private
 * memory, of which the kernel makes the child's copy. The caller gets them again afterwards, and keeps peers from
 * the memory meanwhile. A pin stays: the child copies these pages a moment after the fork, when
 * the parent may be using them again. Pinned ranges are whole pages, as other data on them would be copied too late;
 * -EOPNOTSUPP for others.
 */
int share_range_pin(void *va, size_t len);
void share_range_unpin(void *va, size_t len);

/* Whether memory can be shared while other threads of the program run. */
bool share_moves_beside_threads(void);
/* ... and no system call of theirs that uses the memory fails. */
bool share_moves_unnoticed(void);

/*
 * Whether every page of the range is mapped, and writable if `write` is set: 0 or -EFAULT;
 * -EOPNOTSUPP when the kernel does not tell.
 */
int share_range_check(const void *va, size_t len, bool write);

/* Whether every page of the range is shared now. */
bool share_covers(const void *va, size_t len);

/* Whether a page of the range is shared now. */
bool share_touches(const void *va, size_t len);

/* The memfd, for peers to map; -1 when this process can share nothing. The same until a fork. */
int share_fd(void);

/*
 * The library's own threads. Where userfaultfd is forbidden, memory moves only while no thread can
 * write to it: when the process has one thread beside those that are declared here and idle. A
 * thread brackets its life with begin and end. It is busy at first, becomes idle before it sleeps
 * and busy after, which waits for a move to end. A thread that shares memory, or waits for one that
 * does, must not be idle.
 */
void share_thread_begin(void);
void share_thread_end(void);
void share_thread_idle(void);
void share_thread_busy(void);

struct share_stats;

void share_stats(struct share_stats *out);

#endif
