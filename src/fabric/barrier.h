/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One-sided memory barriers: the side that runs a million times a second orders its accesses for
 * the compiler only, and the rare side makes the kernel run a full barrier on every core where the
 * other side may run.
 */
#ifndef FABRIC_BARRIER_H
#define FABRIC_BARRIER_H

#include <stdbool.h>

/* Registers this process, once per process. Sets what the two questions answer. */
void barrier_init(void);
/* In the child of a fork: not registered any more. */
void barrier_forget(void);

/* Can other processes order us (and we them) with barrier_global()? */
bool barrier_has_global(void);

/* Against the threads of this process. */
void barrier_private(void);
/* Against the threads of every process for which barrier_has_global() holds. */
void barrier_global(void);

#endif
