/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sharing of registered memory is suspended around forks, which make all of it private (fabric/share.h). Peers read
 * in the segment that they cannot map memory of this process: they copy through the kernel, or send packets. Some
 * time after the last fork the service thread shares everything again, so that a process that forks often moves
 * its memory only once.
 */
#ifndef HCA_MR_SUSPEND_H
#define HCA_MR_SUSPEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hca/peers/open_section.h"

/* The process has a segment. */
void mr_suspend_joined(void);
/* Around a fork in the parent, before and after all locks. */
void mr_suspend_fork_begins(void);
void mr_suspend_fork_ends(void);
/*
 * All memory becomes private, and what is registered stays so, since these sections of stopped peers may still access the pages
 * that it has. Without locks. False: there is no room for them, or a fork is under way.
 */
bool mr_suspend_for_stopped(const struct open_section *open, size_t count);
/* In the child. */
void mr_suspend_forked(void);
/* Service thread: shares memory again when it is time; returns when to call next. */
uint64_t mr_suspend_run(uint64_t now_ns);

#endif
