/* SPDX-License-Identifier: BSD-2-Clause */
#include "cm/state.h"

struct cm_state cm = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.event_acked = PTHREAD_COND_INITIALIZER,
	.devices = STAILQ_HEAD_INITIALIZER(cm.devices),
};

__attribute__((constructor)) static void register_lock(void)
{
	forksafe_add(&cm.forksafe, &cm.lock, FORKSAFE_CM);
}
