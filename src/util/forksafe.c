/* SPDX-License-Identifier: BSD-2-Clause */
#include "util/forksafe.h"

#include <stdatomic.h>
#include <stddef.h>

/*
 * Locks are added without a lock, since a driver's constructor adds its own while the thread that loads it
 * holds one of those. forksafe_lock_all() sorts them into the list, which stays locked across the fork.
 */
static struct {
	pthread_mutex_t lock;
	SLIST_HEAD(, forksafe) nodes; /* by rank, in order of registration within a rank */
	_Atomic(struct forksafe *) added;
} registry = { .lock = PTHREAD_MUTEX_INITIALIZER };

void forksafe_add(struct forksafe *node, pthread_mutex_t *lock, enum forksafe_rank rank)
{
	struct forksafe *first = atomic_load(&registry.added);

	node->lock = lock;
	node->rank = rank;
	do
		SLIST_NEXT(node, entry) = first;
	while (!atomic_compare_exchange_weak(&registry.added, &first, node));
}

static void insert(struct forksafe *node)
{
	struct forksafe *at, *before = NULL;

	SLIST_FOREACH(at, &registry.nodes, entry) {
		if (at->rank > node->rank)
			break;
		before = at;
	}
	if (before)
		SLIST_INSERT_AFTER(before, node, entry);
	else
		SLIST_INSERT_HEAD(&registry.nodes, node, entry);
}

/* The newest comes first; the oldest is to be inserted first. */
static void insert_added(struct forksafe *node)
{
	struct forksafe *older = NULL, *next;

	for (; node; node = next) {
		next = SLIST_NEXT(node, entry);
		SLIST_NEXT(node, entry) = older;
		older = node;
	}
	for (; older; older = next) {
		next = SLIST_NEXT(older, entry);
		insert(older);
	}
}

void forksafe_lock_all(void)
{
	struct forksafe *at;

	pthread_mutex_lock(&registry.lock);
	insert_added(atomic_exchange(&registry.added, NULL));
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

#if VB_TSAN
/*
 * Shows the thread sanitizer the order of all locks once in each process: it then reports every thread
 * that has nested two of them the other way round, even if no fork came at a moment when that mattered.
 */
__attribute__((destructor)) static void show_order(void)
{
	forksafe_lock_all();
	forksafe_unlock_all();
}
#endif
