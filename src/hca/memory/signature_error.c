/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/memory/signature_error.h"

#include <pthread.h>
#include <sys/queue.h>

void signature_error_raise(struct signature_error *e, const struct hca_sig_error *error)
{
	pthread_mutex_lock(&hca.memory.signature.lock);
	e->error = *error;
	e->thread = pthread_self();
	e->listed = true;
	LIST_INSERT_HEAD(&hca.memory.signature.list, e, link);
	atomic_fetch_add_explicit(&hca.memory.signature.errors, 1, memory_order_relaxed);
	pthread_mutex_unlock(&hca.memory.signature.lock);
}

/* Lock held. */
static void unlist(struct signature_error *e)
{
	LIST_REMOVE(e, link);
	e->listed = false;
	atomic_fetch_sub_explicit(&hca.memory.signature.errors, 1, memory_order_relaxed);
}

void signature_error_drop(struct signature_error *e)
{
	pthread_mutex_lock(&hca.memory.signature.lock);
	if (e->listed)
		unlist(e);
	pthread_mutex_unlock(&hca.memory.signature.lock);
}

bool signature_error_take(struct hca_sig_error *out)
{
	struct signature_error *e;

	pthread_mutex_lock(&hca.memory.signature.lock);
	LIST_FOREACH(e, &hca.memory.signature.list, link)
		if (pthread_equal(e->thread, pthread_self())) {
			*out = e->error;
			unlist(e);
			break;
		}
	pthread_mutex_unlock(&hca.memory.signature.lock);
	return e;
}
