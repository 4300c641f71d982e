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

void forksafe_lock_all(void)
{
	for (struct forksafe *f = first; f; f = f->next)
		pthread_mutex_lock(f->lock);
}

void forksafe_unlock_all(void)
{
	for (struct forksafe *f = first; f; f = f->next)
		pthread_mutex_unlock(f->lock);
}
