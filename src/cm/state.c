/* SPDX-License-Identifier: BSD-2-Clause */
#include "cm/state.h"

struct cm_state cm = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.signals.write_lock = PTHREAD_MUTEX_INITIALIZER,
	.event_acked = PTHREAD_COND_INITIALIZER,
	.devices = STAILQ_HEAD_INITIALIZER(cm.devices),
	.removed = STAILQ_HEAD_INITIALIZER(cm.removed),
};

__attribute__((constructor)) static void register_locks(void)
{
	forksafe_add(&cm.forksafe, &cm.lock, FORKSAFE_CM);
	forksafe_add(&cm.signals_forksafe, &cm.signals.write_lock, FORKSAFE_CM);
}

void cm_unlock(void)
{
	if (LIST_EMPTY(&cm.signals.pending))
		pthread_mutex_unlock(&cm.lock);
	else
		cm_signals_flush(&cm.signals, &cm.lock);
}
