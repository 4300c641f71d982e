/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The state of rsockets in this process. Each member names the file that it belongs to.
 */
#ifndef RSOCKET_STATE_H
#define RSOCKET_STATE_H

#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "rsocket/config.h"
#include "rsocket/watch.h"
#include "util/array.h"

struct rs_slot;

/* Descriptors below 2^20 can be rsockets. */
#define RS_TABLE_BLOCKS 1024

struct rs_state {
	pthread_mutex_t lock; /* innermost: wake_fds, allocation of blocks */
	_Atomic(struct rs_slot *) blocks[RS_TABLE_BLOCKS]; /* table.c */
	ARRAY_OF(int) wake_fds;                            /* wake.c: eventfds not in use */

	/* start.c: constant once `ready` is set, under start_lock */
	pthread_mutex_t start_lock;
	_Atomic bool ready;
	struct rs_config config;
	struct rdma_event_channel *channel; /* of all ids */
	struct rs_watch channel_watch;
	bool fork_handled; /* stays set in the child */

	/* service.c; the lock is held while a handler runs, and is outside of sockets' locks */
	pthread_mutex_t service_lock;
	int service_epoll;
	bool service_runs; /* under start_lock */
};

extern struct rs_state rs_state;

#endif
