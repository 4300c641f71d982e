/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The userfaultfd(2) by which the service thread learns of stores to closed doorbell pages (uar.h)
 * and of reads of closed pages of a CQ alias (cq_alias.h). A thread that faults waits in the kernel
 * until its page is opened.
 *
 * The lock hca.queue.watch_lock is held for all functions.
 */
#ifndef HCA_UFFD_H
#define HCA_UFFD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Opens the descriptor at the first call. `readable` is called on the service thread when faults
 * wait. Where the kernel permits no userfaultfd, the functions below fail.
 */
void uffd_open(void (*readable)(void *arg, uint32_t events));
/* The address of the next fault; false when there is none. */
bool uffd_next(uintptr_t *address);

/* Stores to [start, start + length) can be caught. */
bool uffd_register_stores(void *start, size_t length);
/* Catches stores from now on, or lets them and the threads that wait go on. */
bool uffd_protect(void *start, size_t length, bool on);

/* Accesses to pages of a shared mapping that have no page table entry are caught from now on. */
bool uffd_register_minor(void *start, size_t length);
/* Gives the page its page table entry back, and lets threads that wait go on. */
bool uffd_continue(void *page, size_t length);

/* Ends all catching in the range, and lets threads that wait go on. */
void uffd_unregister(void *start, size_t length);

/* In a forked child: closes the descriptor, which is the parent's. */
void uffd_forked(void);

#endif
