/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rules with the same value, by age and by destination. Of the rules with one destination the oldest
 * delivers, and the others are echoes.
 */
#include "ether/flow_twins.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "util/hash.h"

/* The rules with one destination, oldest first. */
struct same_dest {
	struct hash_link link; /* in twins->dests, by the address of the destination */
	TAILQ_HEAD(, flow_twin) rules;
};

struct flow_twins {
	TAILQ_HEAD(flow_twin_list, flow_twin) rules; /* oldest first */
	struct hash dests;
};

struct flow_twin {
	struct flow_rule *rule;
	struct flow_twins *of;
	struct same_dest *dest; /* NULL: the rule has not exactly one destination */
	TAILQ_ENTRY(flow_twin) link, dest_link;
};

/* The destination of a rule that has one, and no other action of where the packet goes. */
static const struct ether_dest *only_dest(struct flow_rule *rule)
{
	const struct flow_action *a = flow_rule_actions(rule);
	const struct ether_dest *dest = NULL;

	for (unsigned int i = 0; i < rule->action_count; i++) {
		if (a[i].op < FLOW_OP_SAMPLE)
			continue;
		if (dest || a[i].op != FLOW_OP_DEST)
			return NULL;
		dest = a[i].dest;
	}
	return dest;
}

static struct same_dest *get_dest(struct flow_twins *twins, const struct ether_dest *dest)
{
	struct hash_link *link = hash_find(&twins->dests, (uintptr_t)dest);
	struct same_dest *same;

	if (link)
		return container_of(link, struct same_dest, link);
	same = calloc(1, sizeof(*same));
	if (!same)
		return NULL;
	TAILQ_INIT(&same->rules);
	hash_add(&twins->dests, &same->link, (uintptr_t)dest);
	return same;
}

static int join(struct flow_twins *twins, struct flow_rule *rule, bool once)
{
	const struct ether_dest *dest = once ? only_dest(rule) : NULL;
	struct flow_twin *twin = calloc(1, sizeof(*twin));

	if (!twin)
		return -ENOMEM;
	if (dest) {
		twin->dest = get_dest(twins, dest);
		if (!twin->dest) {
			free(twin);
			return -ENOMEM;
		}
		atomic_store_explicit(&rule->echo, !TAILQ_EMPTY(&twin->dest->rules),
				      memory_order_relaxed);
		TAILQ_INSERT_TAIL(&twin->dest->rules, twin, dest_link);
	}
	twin->rule = rule;
	twin->of = twins;
	TAILQ_INSERT_TAIL(&twins->rules, twin, link);
	flow_rule_rest(rule)->twin = twin;
	return 0;
}

static void free_twins(struct flow_twins *twins)
{
	hash_fini(&twins->dests);
	free(twins);
}

/* The oldest rule with the destination delivers from now on. */
static void leave_dest(struct flow_twins *twins, struct flow_twin *twin)
{
	struct same_dest *same = twin->dest;
	struct flow_twin *next;

	TAILQ_REMOVE(&same->rules, twin, dest_link);
	next = TAILQ_FIRST(&same->rules);
	if (next) {
		atomic_store_explicit(&next->rule->echo, false, memory_order_relaxed);
		return;
	}
	hash_remove(&twins->dests, &same->link);
	free(same);
}

static void leave(struct flow_twin *twin)
{
	struct flow_twins *twins = twin->of;

	if (twin->dest)
		leave_dest(twins, twin);
	TAILQ_REMOVE(&twins->rules, twin, link);
	flow_rule_rest(twin->rule)->twin = NULL;
	free(twin);
	if (TAILQ_EMPTY(&twins->rules))
		free_twins(twins);
}

int flow_twins_add(struct flow_rule *first, struct flow_rule *rule, bool once)
{
	struct flow_twin *oldest = flow_rule_rest(first)->twin, *last;
	struct flow_twins *twins = oldest ? oldest->of : calloc(1, sizeof(*twins));

	if (!twins)
		return -ENOMEM;
	if (!oldest) {
		TAILQ_INIT(&twins->rules);
		if (join(twins, first, once)) {
			free_twins(twins);
			return -ENOMEM;
		}
	}
	last = TAILQ_LAST(&twins->rules, flow_twin_list);
	if (join(twins, rule, once)) {
		if (!oldest)
			leave(flow_rule_rest(first)->twin);
		return -ENOMEM;
	}
	/* [F3] pairs with find_rule() */
	atomic_store_explicit(&last->rule->also, rule, memory_order_release);
	return 0;
}

void flow_twins_remove(struct flow_rule *rule, struct flow_rule **before)
{
	struct flow_twin *twin = flow_rule_rest(rule)->twin, *older;

	*before = NULL;
	if (!twin)
		return;
	older = TAILQ_PREV(twin, flow_twin_list, link);
	if (older) {
		*before = older->rule;
		/* [F3] pairs with find_rule() */
		atomic_store_explicit(&older->rule->also,
				      atomic_load_explicit(&rule->also, memory_order_relaxed),
				      memory_order_release);
	}
	leave(twin);
}
