/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/poll_set.h"

#include <errno.h>
#include <stdlib.h>

#include "fabric/epoch.h"
#include "fabric/state.h"

static struct fabric_poll_set *no_links(void)
{
	return (struct fabric_poll_set *)&fabric_no_links;
}

static void free_set(struct epoch_node *node)
{
	free(container_of(node, struct fabric_poll_set, epoch));
}

static void replace_set(struct fabric_poll_set *set)
{
	/* [P1] pairs with fabric_poll_each() */
	struct fabric_poll_set *old =
		atomic_exchange_explicit(&fabric.poll.set, set, memory_order_acq_rel);

	if (old != no_links())
		epoch_retire(&old->epoch, free_set);
}

static struct fabric_poll_set *copy_set(uint32_t room)
{
	struct fabric_poll_set *old = atomic_load_explicit(&fabric.poll.set, memory_order_relaxed);
	struct fabric_poll_set *set = malloc(sizeof(*set) + room * sizeof(struct fabric_link *));

	if (!set)
		return NULL;
	set->count = 0;
	for (uint32_t i = 0; i < old->count && i < room; i++)
		set->link[set->count++] = old->link[i];
	return set;
}

int fabric_poll_set_add(struct fabric_link *link)
{
	struct fabric_poll_set *old = atomic_load_explicit(&fabric.poll.set, memory_order_relaxed);
	struct fabric_poll_set *set = copy_set(old->count + 1);

	if (!set)
		return -ENOMEM;
	set->link[set->count++] = link;
	replace_set(set);
	return 0;
}

void fabric_poll_set_remove(struct fabric_link *link)
{
	struct fabric_poll_set *old = atomic_load_explicit(&fabric.poll.set, memory_order_relaxed);
	struct fabric_poll_set *set;
	uint32_t at;

	for (at = 0; at < old->count && old->link[at] != link; at++)
		;
	if (at == old->count)
		return;
	if (old->count == 1) {
		replace_set(no_links());
		return;
	}
	set = copy_set(old->count);
	/* The link is about to be freed, and polling threads cannot be told in any other way. */
	if (!set)
		abort();
	set->link[at] = old->link[old->count - 1];
	set->count--;
	replace_set(set);
}

void fabric_poll_set_clear(void)
{
	struct fabric_poll_set *set = atomic_exchange(&fabric.poll.set, no_links());

	if (set != no_links())
		free(set);
}
