/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The allocator of the program that this is linked into, in front of libc's: it counts, and fails where
 * it is told to. It is used by all libraries of the process, libc included.
 */
#ifndef TESTS_ALLOC_HOOK_H
#define TESTS_ALLOC_HOOK_H

#include <stdbool.h>

/* The n-th allocation from now on fails, in whichever thread; with `all`, the ones after it, too. 0: none. */
void alloc_hook_arm(long n, bool all);
/* None fails any more. Returns how many were counted. */
long alloc_hook_disarm(void);
/* Allocations that were not freed. */
long alloc_hook_live(void);
/* Prints the stack of the allocation that failed first. */
void alloc_hook_print(void);

#endif
