/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Forks of a program that has registered memory, and has not asked for pages that survive one.
 */
#ifndef CHECK_FORK_H
#define CHECK_FORK_H

void check_fork_open(void);
/* The process ends: tells of its first such fork. */
void check_fork_tell(void);

#endif
