/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rpoll() over rsockets and ordinary descriptors.
 */
#ifndef RSOCKET_POLL_H
#define RSOCKET_POLL_H

#include <poll.h>
#include <pthread.h>
#include <stdint.h>

#include "rsocket/wake.h"

/* Another list by which the poll is woken: it returns 0 then, before its time. */
struct rs_poll_interrupt {
	pthread_mutex_t *lock;
	struct rs_sleepers *sleepers;
	const uint32_t *generation; /* guarded by the lock; the poll ends when it is not `seen` */
	uint32_t seen;
};

/* The number of descriptors with events, or -errno. `interrupt` may be NULL. */
int rs_poll(struct pollfd *fds, nfds_t count, int timeout_ms,
	    const struct rs_poll_interrupt *interrupt);

#endif
