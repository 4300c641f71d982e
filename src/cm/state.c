/* SPDX-License-Identifier: BSD-2-Clause */
#include "cm/state.h"

struct cm_state cm = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.event_acked = PTHREAD_COND_INITIALIZER,
	.devices = STAILQ_HEAD_INITIALIZER(cm.devices),
};
