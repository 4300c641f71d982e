/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The service thread of rsockets: runs handlers of descriptors that become readable, one at a time.
 * Connection events, keep-alive timers and the UDP sockets of datagram rsockets are served here, so
 * a program that never calls in does not hold its peers up.
 */
#ifndef RSOCKET_SERVICE_H
#define RSOCKET_SERVICE_H

#include "rsocket/watch.h"

/* Starts the thread. */
int rs_service_start(void);
/* From now on the handler runs while watch->fd is readable. */
int rs_service_watch(struct rs_watch *watch);
/* The handler does not run any more when this returns. Without a lock that the handler takes. */
void rs_service_unwatch(struct rs_watch *watch);

/* Keeps handlers from running meanwhile. */
void rs_service_lock(void);
void rs_service_unlock(void);

#endif
