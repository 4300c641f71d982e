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

static struct fabric_link *at(const struct fabric_poll_set *set, uint32_t i)
{
	return atomic_load_explicit(&set->link[i], memory_order_relaxed);
}

static void push(struct fabric_poll_set *set, struct fabric_link *link)
{
	atomic_init(&set->link[set->count++], link);
}

static bool contains(const struct fabric_poll_set *set, const struct fabric_link *link)
{
	for (uint32_t i = 0; i < set->count; i++)
		if (at(set, i) == link)
			return true;
	return false;
}

/* Each link once, without `except`, and room for one more. */
static struct fabric_poll_set *copy_set(const struct fabric_poll_set *old,
					const struct fabric_link *except)
{
	struct fabric_poll_set *set =
		malloc(sizeof(*set) + (old->count + 1) * sizeof(set->link[0]));

	if (!set)
		return NULL;
	set->count = 0;
	set->doubled = false;
	for (uint32_t i = 0; i < old->count; i++)
		if (at(old, i) != except && !(old->doubled && contains(set, at(old, i))))
			push(set, at(old, i));
	return set;
}

int fabric_poll_set_add(struct fabric_link *link)
{
	struct fabric_poll_set *set =
		copy_set(atomic_load_explicit(&fabric.poll.set, memory_order_relaxed), NULL);

	if (!set)
		return -ENOMEM;
	push(set, link);
	replace_set(set);
	return 0;
}

/* Without memory for another set: the link's place is taken by another one, which is polled twice. */
static void overwrite(struct fabric_poll_set *set, const struct fabric_link *link,
		      struct fabric_link *other)
{
	for (uint32_t i = 0; i < set->count; i++)
		if (at(set, i) == link)
			atomic_store_explicit(&set->link[i], other, memory_order_relaxed);
	set->doubled = true;
}

void fabric_poll_set_remove(struct fabric_link *link)
{
	struct fabric_poll_set *old = atomic_load_explicit(&fabric.poll.set, memory_order_relaxed);
	struct fabric_link *other = NULL;
	struct fabric_poll_set *set;

	if (!contains(old, link))
		return;
	for (uint32_t i = 0; i < old->count && !other; i++)
		other = at(old, i) != link ? at(old, i) : NULL;
	if (!other) {
		replace_set(no_links());
		return;
	}
	set = copy_set(old, link);
	if (set)
		replace_set(set);
	else
		overwrite(old, link, other);
}

void fabric_poll_set_clear(void)
{
	struct fabric_poll_set *set = atomic_exchange(&fabric.poll.set, no_links());

	if (set != no_links())
		free(set);
}
