/* SPDX-License-Identifier: BSD-2-Clause */
#include "verbs/state.h"

struct verbs_state verbs_state = {
	.device_lock = PTHREAD_MUTEX_INITIALIZER,
	.driver_lock = PTHREAD_MUTEX_INITIALIZER,
	.root_lock = PTHREAD_MUTEX_INITIALIZER,
	.xrc_lock = PTHREAD_MUTEX_INITIALIZER,
	.wq_lock = PTHREAD_MUTEX_INITIALIZER,
	.handle_lock = PTHREAD_MUTEX_INITIALIZER,
	.observer_once = PTHREAD_ONCE_INIT,
};

__attribute__((constructor)) static void register_locks(void)
{
	pthread_mutex_t *locks[VERBS_LOCKS] = {
		&verbs_state.device_lock, &verbs_state.driver_lock, &verbs_state.root_lock,
		&verbs_state.xrc_lock,    &verbs_state.wq_lock,     &verbs_state.handle_lock
	};

	for (int i = 0; i < VERBS_LOCKS; i++)
		forksafe_add(&verbs_state.forksafe[i], locks[i],
			     locks[i] == &verbs_state.handle_lock ? FORKSAFE_LEAF
								  : FORKSAFE_CONTEXT);
}
