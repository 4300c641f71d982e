/* SPDX-License-Identifier: BSD-2-Clause */
#include "util/forksafe.h"

#include <stddef.h>

/* The list is held locked across a fork: no lock can be added between lock_all and unlock_all. */
static struct {
	pthread_mutex_t lock;
	SLIST_HEAD(, forksafe) nodes; /* by rank, in order of registration within a rank */
} registry = { .lock = PTHREAD_MUTEX_INITIALIZER };

void forksafe_add(struct forksafe *node, pthread_mutex_t *lock, enum forksafe_rank rank)
{
	struct forksafe *at, *before = NULL;

	node->lock = lock;
	node->rank = rank;
	pthread_mutex_lock(&registry.lock);
	SLIST_FOREACH(at, &registry.nodes, entry) {
		if (at->rank > rank)
			break;
		before = at;
	}
	if (before)
		SLIST_INSERT_AFTER(before, node, entry);
	else
		SLIST_INSERT_HEAD(&registry.nodes, node, entry);
	pthread_mutex_unlock(&registry.lock);
}

void forksafe_lock_all(void)
{
	struct forksafe *at;

	pthread_mutex_lock(&registry.lock);
	SLIST_FOREACH(at, &registry.nodes, entry)
		pthread_mutex_lock(at->lock);
}

void forksafe_unlock_all(void)
{
	struct forksafe *at;

	SLIST_FOREACH(at, &registry.nodes, entry)
		pthread_mutex_unlock(at->lock);
	pthread_mutex_unlock(&registry.lock);
}
