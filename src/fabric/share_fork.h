/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fork: the child has private copies of all pages, as of the moment of the fork.
 */
#ifndef FABRIC_SHARE_FORK_H
#define FABRIC_SHARE_FORK_H

/* Registers the fork handlers, when the library is loaded. */
void share_fork_watch(void);

#endif
