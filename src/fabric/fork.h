/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fork: the child has the fabric's memory but none of its threads and links. There the fabric is
 * down, until fabric_init().
 */
#ifndef FABRIC_FORK_H
#define FABRIC_FORK_H

/* Registers the fork handlers, once. 0 or -ENOMEM. fabric.init_lock held. */
int fabric_fork_watch(void);

#endif
