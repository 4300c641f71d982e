/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Copies between processes by the kernel (process_vm_readv(), process_vm_writev()), which go by
 * addresses: the owner of the memory cannot put other pages in their way. A thread may be stopped
 * between its last look at the owner's segment and the system call, and go on when the memory has
 * another use. So the look and the call are one restartable sequence (rseq(2), as glibc registers
 * it for each thread): a thread that was stopped in between looks again.
 *
 * An owner that has changed the word waits for copies that are under way, and not for threads that
 * are stopped (grace_wait_copies()).
 */
#ifndef HCA_VM_COPY_H
#define HCA_VM_COPY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct vm_copy {
	pid_t pid;
	uintptr_t there; /* an address of that process */
	void *here;
	size_t len;
	bool write; /* to that process */
};

/*
 * Whether copies of this process look at the word: glibc 2.35 or later on x86-64, unless the
 * kernel or valgrind has no rseq(2).
 */
bool vm_copy_is_guarded(void);
/* The calling thread can have guarded copies, or the process has none. */
bool vm_copy_is_ready(void);

/*
 * Bytes that were copied, or -errno: -ECANCELED if *word is not `value` and the copy is guarded.
 * `word` may be NULL.
 */
ssize_t vm_copy_run(const struct vm_copy *copy, const _Atomic uint32_t *word, uint32_t value);

#endif
