/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of this room (struct hca, hca/hca.h). Types only. */
#ifndef HCA_ENGINE_STATE_H
#define HCA_ENGINE_STATE_H

#include <pthread.h>

#include "util/forksafe.h"

#define HCA_LOCKS_MAX 64

struct engine_state {
	struct forksafe lock[HCA_LOCKS_MAX]; /* registrations of the locks in hca.c's table */
	pthread_mutex_t join_lock;           /* outermost: joining the fabric */
};

#define ENGINE_STATE_INIT                                                                          \
	{                                                                                          \
		.join_lock = PTHREAD_MUTEX_INITIALIZER                                             \
	}

#endif
