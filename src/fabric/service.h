/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The service thread, one per process: an epoll loop over file descriptors, a timer and posted work.
 * It is started by the first call that needs it, and sleeps unless there is something to do.
 */
#ifndef FABRIC_SERVICE_H
#define FABRIC_SERVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "fabric/thread.h"

/* Runs fn(arg) on the service thread. -ENOMEM, or -ENOTCONN when the fabric is down. */
int fabric_service_run(void (*fn)(void *arg), void *arg);

/* Calls cb on the service thread when `events` (EPOLLIN ...) happen, level-triggered. */
int fabric_service_add_fd(int fd, uint32_t events, void (*cb)(void *arg, uint32_t events),
			  void *arg);
/* Waits for other events from now on; 0: for none. Any thread. */
int fabric_service_mod_fd(int fd, uint32_t events);
/*
 * Before the fd is closed. When it returns, cb neither runs nor will run, unless cb itself called
 * it; hold no lock that cb takes.
 */
int fabric_service_del_fd(int fd);

/* The upcall timers() runs at `ns` or earlier. Costs a load when an earlier time is set. */
void fabric_service_set_deadline(uint64_t ns);

/* True on the service thread. */
static inline bool fabric_service_is_self(void)
{
	return fabric_thread.is_service;
}

/* ---- inside the fabric ---- */

/*
 * Creates the descriptors; the thread starts later. It calls iterate() after each wake-up, which
 * returns when it has to be called again at the latest (absolute time, 0 for at once, UINT64_MAX
 * for never), and finish() before it ends.
 */
int fabric_service_init(uint64_t (*iterate)(uint64_t now_ns), void (*finish)(void));
/* Ends the thread and closes the descriptors. */
void fabric_service_fini(void);
/* Starts the thread unless it runs. -ENOTCONN when the fabric is down. */
int fabric_service_start(void);
/* Makes the thread iterate. Any thread. */
void fabric_service_wake(void);
/* Makes the thread iterate; false when it does not run. */
bool fabric_service_wake_if_running(void);
/* The eventfd that wakes the thread; peers get a copy. */
int fabric_service_wake_fd(void);
/* In the child of a fork, which has no such thread. */
void fabric_service_forked(void);

#endif
