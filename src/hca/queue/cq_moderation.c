/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Timers of completion events that are held back, in a heap. run_lock is held while expired() is called, and
 * is taken before a CQ's lock: it keeps a CQ from being freed meanwhile. The heap's own lock is innermost.
 *
 * An event that was sent before its time, since enough entries had come, leaves its timer in the heap: to set
 * it again is cheaper than to remove it each time, and expired() checks whether an event is held back.
 */
#include "hca/queue/cq_moderation.h"

#include <pthread.h>

#include "hca/hca.h"

int cq_moderation_hold(struct cq_moderation *timer, uint64_t due_ns)
{
	int err;

	timer->used = true;
	pthread_mutex_lock(&hca.queue.cq_moderation.lock);
	err = heap_set(&hca.queue.cq_moderation.due, &timer->node, due_ns);
	pthread_mutex_unlock(&hca.queue.cq_moderation.lock);
	if (!err)
		hca_wake_at(due_ns);
	return err;
}

void cq_moderation_forget(struct cq_moderation *timer)
{
	if (!timer->used)
		return;
	pthread_mutex_lock(&hca.queue.cq_moderation.run_lock);
	pthread_mutex_lock(&hca.queue.cq_moderation.lock);
	heap_remove(&hca.queue.cq_moderation.due, &timer->node);
	pthread_mutex_unlock(&hca.queue.cq_moderation.lock);
	pthread_mutex_unlock(&hca.queue.cq_moderation.run_lock);
}

/* The timer that has expired first, taken out of the heap; NULL: *next is when one will. */
static struct cq_moderation *pop(uint64_t now_ns, uint64_t *next)
{
	struct heap *due = &hca.queue.cq_moderation.due;
	struct heap_node *first;

	pthread_mutex_lock(&hca.queue.cq_moderation.lock);
	first = heap_first(due);
	*next = first ? first->key : UINT64_MAX;
	if (first && first->key <= now_ns)
		heap_remove(due, first);
	else
		first = NULL;
	pthread_mutex_unlock(&hca.queue.cq_moderation.lock);
	return first ? container_of(first, struct cq_moderation, node) : NULL;
}

uint64_t cq_moderation_run(uint64_t now_ns)
{
	struct cq_moderation *timer;
	uint64_t next;

	pthread_mutex_lock(&hca.queue.cq_moderation.run_lock);
	while ((timer = pop(now_ns, &next)))
		timer->expired(timer, now_ns);
	pthread_mutex_unlock(&hca.queue.cq_moderation.run_lock);
	return next;
}

void cq_moderation_forked(void)
{
	heap_fini(&hca.queue.cq_moderation.due);
}
