/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The library's state. `lock` guards changes of the table and all of the epoll instances; it is never
 * held across an r-call or a call that may block.
 */
#ifndef RSPRELOAD_STATE_H
#define RSPRELOAD_STATE_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/queue.h>

#include "rspreload/calls.h"
#include "rspreload/config.h"
#include "rspreload/table.h"

struct rsp_epoll;

struct rsp_state {
	_Atomic(void *) real[RSP_CALL_COUNT]; /* real.h */
	struct rsp_table table;
	pthread_once_t once; /* for all below */
	struct rsp_config config;
	/* RS_SQ_SIZE, RS_RQ_SIZE, RS_INLINE; 0: the rsocket's own default */
	int sq_size, rq_size, inline_size;
	bool late;          /* RDMAV_FORK_SAFE */
	const void *own[3]; /* load addresses of Verbena's libraries */
	pthread_mutex_t lock;
	pthread_cond_t late_done; /* a slot is no longer RSP_LATE_BUSY */
	LIST_HEAD(, rsp_epoll) epolls;
};

extern struct rsp_state rsp;

/* Reads the configuration; before the first socket. */
void rsp_state_start(void);

static inline void rsp_lock(void)
{
	pthread_mutex_lock(&rsp.lock);
}

static inline void rsp_unlock(void)
{
	pthread_mutex_unlock(&rsp.lock);
}

#endif
