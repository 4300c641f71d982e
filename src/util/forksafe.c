/* SPDX-License-Identifier: BSD-2-Clause */
#include "util/forksafe.h"

#include <stddef.h>

static struct forksafe *first; /* by rank; constant once there are threads */

void forksafe_add(struct forksafe *f)
{
	struct forksafe **at = &first;

	while (*at && (*at)->rank <= f->rank)
		at = &(*at)->next;
	f->next = *at;
	*at = f;
}

static void prepare(void)
{
	for (struct forksafe *f = first; f; f = f->next)
		pthread_mutex_lock(f->lock);
}

static void release(void)
{
	for (struct forksafe *f = first; f; f = f->next)
		pthread_mutex_unlock(f->lock);
}

static void arm(void)
{
	pthread_atfork(prepare, release, release);
}

void forksafe_arm(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, arm);
}
