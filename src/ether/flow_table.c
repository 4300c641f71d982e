/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tables, their groups and matchers, under flow_lock. A table's list of groups is replaced as a whole
 * when a group is added or removed, so both take time in proportion to the number of groups; a group
 * exists per priority and mask, not per rule.
 */
#include "ether/flow_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ether/flow_layout.h"
#include "ether/state.h"
#include "util/explain.h"

/* ---- tables ---- */

static struct flow_table *new_table(struct ether_port *port, enum flow_domain domain, bool root)
{
	struct flow_table *table = calloc(1, sizeof(*table));

	if (!table)
		return NULL;
	table->port = port;
	table->domain = domain;
	table->root = root;
	atomic_init(&table->refs, 1);
	return table;
}

int flow_table_create(struct ether_port *port, enum flow_domain domain, struct flow_table **out)
{
	struct flow_table *table = new_table(port, domain, false);

	if (!table)
		return explain(ENOMEM, "no memory for a flow table");
	*out = table;
	return 0;
}

static int make_engine(struct ether_port *port, struct flow_port **out)
{
	struct flow_port *engine = __atomic_load_n(&port->engine, __ATOMIC_ACQUIRE);

	if (!engine) {
		engine = calloc(1, sizeof(*engine));
		if (!engine)
			return explain(ENOMEM, "no memory for the tables of a port");
		/* [F1] pairs with ether_steer() */
		__atomic_store_n(&port->engine, engine, __ATOMIC_RELEASE);
	}
	*out = engine;
	return 0;
}

int flow_table_root(struct ether_port *port, enum flow_domain domain, struct flow_table **out)
{
	struct flow_port *engine;
	struct flow_table *table;
	int err;

	pthread_mutex_lock(&ether_state.flow_lock);
	err = make_engine(port, &engine);
	if (err)
		goto unlock;
	table = atomic_load_explicit(&engine->root[domain], memory_order_relaxed);
	if (!table) {
		table = new_table(port, domain, true);
		if (!table) {
			err = explain(ENOMEM, "no memory for a root table");
			goto unlock;
		}
		/* [F1] */
		atomic_store_explicit(&engine->root[domain], table, memory_order_release);
	}
	*out = table;
unlock:
	pthread_mutex_unlock(&ether_state.flow_lock);
	return err;
}

/* Frees at once: rules that jump here have references until no reader can see them. */
void flow_table_put(struct flow_table *table)
{
	if (atomic_fetch_sub(&table->refs, 1) != 1)
		return;
	free(atomic_load(&table->groups));
	free(table);
}

void flow_table_size(struct flow_table *table, unsigned int *groups, unsigned int *rules)
{
	struct flow_groups *list;

	pthread_mutex_lock(&ether_state.flow_lock);
	list = atomic_load_explicit(&table->groups, memory_order_relaxed);
	*groups = list ? list->count : 0;
	*rules = table->rules;
	pthread_mutex_unlock(&ether_state.flow_lock);
}

/* ---- groups ---- */

static void free_groups(struct epoch_node *node)
{
	free(container_of(node, struct flow_groups, epoch));
}

static void free_group(struct epoch_node *node)
{
	struct flow_group *group = container_of(node, struct flow_group, epoch);

	free(atomic_load(&group->slots));
	free(group);
}

/* Replaces the list by one with the group at `place`, or, with group NULL, without that at `place`. */
static int change_groups(struct flow_table *table, uint32_t place, struct flow_group *group)
{
	struct flow_groups *old = atomic_load_explicit(&table->groups, memory_order_relaxed);
	uint32_t count = old ? old->count : 0, now = group ? count + 1 : count - 1;
	struct flow_groups *list = NULL;

	if (now) {
		uint32_t skip = group ? 0 : 1, gap = group ? 1 : 0;

		list = malloc(sizeof(*list) + now * sizeof(list->at[0]));
		if (!list)
			return -ENOMEM;
		list->count = now;
		if (old && place)
			memcpy(list->at, old->at, place * sizeof(list->at[0]));
		if (group)
			list->at[place] = group;
		if (old && count > place + skip)
			memcpy(list->at + place + gap, old->at + place + skip,
			       (count - place - skip) * sizeof(list->at[0]));
	}
	/* [F2] pairs with run_table_from(): a list's contents before the list */
	atomic_store_explicit(&table->groups, list, memory_order_release);
	if (old)
		epoch_retire(&old->epoch, free_groups);
	return 0;
}

static struct flow_group *new_group(struct flow_table *table, uint32_t priority,
				    const struct flow_key *mask)
{
	struct flow_group *group = aligned_alloc(_Alignof(struct flow_group), sizeof(*group));

	if (!group)
		return NULL;
	memset(group, 0, sizeof(*group));
	group->table = table;
	group->priority = priority;
	group->mask = *mask;
	group->parts = flow_key_parts(mask);
	for (unsigned int i = 0; i < FLOW_KEY_WORDS; i++) {
		if (!mask->words[i])
			continue;
		group->word[group->word_count] = i;
		group->word_mask[group->word_count++] = mask->words[i];
	}
	return group;
}

static int find_group(struct flow_table *table, uint32_t priority, const struct flow_key *mask,
		      struct flow_group **out)
{
	struct flow_groups *list = atomic_load_explicit(&table->groups, memory_order_relaxed);
	uint32_t place = 0, count = list ? list->count : 0;
	struct flow_group *group;

	for (; place < count && list->at[place]->priority <= priority; place++) {
		group = list->at[place];
		if (group->priority == priority && !memcmp(&group->mask, mask, sizeof(*mask))) {
			*out = group;
			return 0;
		}
	}
	group = new_group(table, priority, mask);
	if (!group)
		return -ENOMEM;
	if (change_groups(table, place, group)) {
		free(group);
		return -ENOMEM;
	}
	*out = group;
	return 0;
}

/* ---- matchers ---- */

int flow_matcher_create(struct flow_table *table, uint32_t priority, const struct flow_key *mask,
			struct flow_matcher **out)
{
	const char *part = flow_key_unknown(mask);
	struct flow_matcher *matcher;

	if (part)
		return explain(EOPNOTSUPP, "the mask has bits in its %s that cannot be matched",
			       part);
	matcher = calloc(1, sizeof(*matcher));
	if (!matcher)
		return explain(ENOMEM, "no memory for a matcher");
	pthread_mutex_lock(&ether_state.flow_lock);
	if (find_group(table, priority, mask, &matcher->group)) {
		pthread_mutex_unlock(&ether_state.flow_lock);
		free(matcher);
		return explain(ENOMEM, "no memory for a group of rules");
	}
	matcher->group->matchers++;
	pthread_mutex_unlock(&ether_state.flow_lock);
	atomic_fetch_add(&table->refs, 1);
	*out = matcher;
	return 0;
}

int flow_matcher_destroy(struct flow_matcher *matcher)
{
	struct flow_group *group = matcher->group;
	struct flow_table *table = group->table;

	pthread_mutex_lock(&ether_state.flow_lock);
	if (matcher->rules) {
		pthread_mutex_unlock(&ether_state.flow_lock);
		return explain(EBUSY, "the matcher still has %u rules", matcher->rules);
	}
	if (!--group->matchers) {
		struct flow_groups *list =
			atomic_load_explicit(&table->groups, memory_order_relaxed);
		uint32_t place = 0;

		while (list->at[place] != group)
			place++;
		/* Without memory for a shorter list the empty group stays, and is used again. */
		if (!change_groups(table, place, NULL))
			epoch_retire(&group->epoch, free_group);
	}
	pthread_mutex_unlock(&ether_state.flow_lock);
	free(matcher);
	flow_table_put(table);
	return 0;
}
