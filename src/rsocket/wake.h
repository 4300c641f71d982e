/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads that sleep until something changes on one or several rsockets. Each sleeping call has an
 * eventfd, from a pool; it sleeps on that and on the completion channels. A thread that changes the
 * state of a socket, or takes the event out of its completion channel, wakes the others.
 */
#ifndef RSOCKET_WAKE_H
#define RSOCKET_WAKE_H

#include <sys/queue.h>

/* A call that sleeps, in the list of one of its sockets. */
struct rs_sleeper {
	LIST_ENTRY(rs_sleeper) link;
	int wake_fd;
};

LIST_HEAD(rs_sleepers, rs_sleeper);

/*
 * An eventfd, or -errno. It may be readable from a wake-up that came too late for its last sleeper, so the
 * first sleep on it may end for no reason.
 */
int rs_wake_fd_get(void);
void rs_wake_fd_put(int fd);
/* Makes it unreadable again. */
void rs_wake_fd_clear(int fd);

/* With the lock of the list's socket held: wakes all but the one with this eventfd (-1: all). */
void rs_wake_others(const struct rs_sleepers *sleepers, int but_fd);

#endif
