/* SPDX-License-Identifier: BSD-2-Clause */
#include "check/state.h"

struct check_state check = {
	.queue_lock = PTHREAD_MUTEX_INITIALIZER,
	.object_lock = PTHREAD_MUTEX_INITIALIZER,
	.memory_lock = PTHREAD_MUTEX_INITIALIZER,
	.report_lock = PTHREAD_MUTEX_INITIALIZER,
	.records = -1,
};
