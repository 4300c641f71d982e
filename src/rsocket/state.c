/* SPDX-License-Identifier: BSD-2-Clause */
#include "rsocket/state.h"

struct rs_state rs_state = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.start_lock = PTHREAD_MUTEX_INITIALIZER,
	.service_lock = PTHREAD_MUTEX_INITIALIZER,
};
