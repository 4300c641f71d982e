/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What can go wrong: allocations (alloc_hook.c) and system calls (sys_hook.c) are counted by kind, and the
 * n-th of one kind fails, in whichever thread.
 */
#ifndef TESTS_HOOK_H
#define TESTS_HOOK_H

#include <stdbool.h>

enum hook_kind {
	HOOK_ALLOC,
	HOOK_ENOMEM,
	HOOK_EMFILE,
	HOOK_ENOSPC,
	HOOK_EINTR,
	HOOK_EAGAIN,
	HOOK_EPERM,
	HOOK_KINDS
};

/* The n-th of this kind from now on fails; with `all`, the ones after it, too. 0: none. */
void hook_arm(enum hook_kind kind, long n, bool all);
/* None fails any more. */
void hook_disarm(void);
/* How many of a kind there were while armed. */
long hook_count(enum hook_kind kind);
/*
 * Counts one, and says whether it fails. One that cannot fail for ever, so that it is right to try again until it
 * succeeds, is not lasting: every second one does not fail.
 */
bool hook_fails(enum hook_kind kind, bool lasting);
/* Whether what failed first was called, however deeply, by this function. */
bool hook_was_in(const char *function);
/* Prints the stack of what failed first. */
void hook_print(void);

/* Allocations that were not freed. */
long alloc_hook_live(void);
/* From now on notes the stack of each allocation; slow. */
void alloc_hook_record(void);
/* Prints the stacks of those that were not freed. */
void alloc_hook_print_live(void);

/* From now on all system calls of this process and its children pass through the hook. False: not possible. */
bool sys_hook_install(void);
/* A system call that is neither counted nor fails. */
long sys_hook_raw(long nr, long a, long b, long c, long d, long e, long f);

#endif
