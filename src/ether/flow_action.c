/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * References of actions; counters; samplers.
 */
#include "ether/flow_action.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ether/aso.h"
#include "ether/flow_edit.h"
#include "ether/flow_layout.h"
#include "ether/flow_table.h"
#include "util/explain.h"

static void sampler_put(struct flow_sampler *sampler);

void flow_actions_get(const struct flow_action *actions, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++) {
		const struct flow_action *a = &actions[i];

		if (a->op == FLOW_OP_DEST)
			ether_dest_get(a->dest);
		else if (a->op == FLOW_OP_TABLE)
			atomic_fetch_add(&a->table->refs, 1);
		else if (a->op == FLOW_OP_COUNT)
			flow_counter_get(a->counter);
		else if (a->op == FLOW_OP_EDIT)
			flow_edit_get(a->edit);
		else if (a->op == FLOW_OP_ASO)
			aso_get(a->aso);
		else if (a->op == FLOW_OP_SAMPLE)
			atomic_fetch_add(&a->sampler->refs, 1);
	}
}

void flow_actions_put(const struct flow_action *actions, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++) {
		const struct flow_action *a = &actions[i];

		if (a->op == FLOW_OP_TABLE)
			flow_table_put(a->table);
		else if (a->op == FLOW_OP_COUNT)
			flow_counter_put(a->counter);
		else if (a->op == FLOW_OP_EDIT)
			flow_edit_put(a->edit);
		else if (a->op == FLOW_OP_ASO)
			aso_put(a->aso);
		else if (a->op == FLOW_OP_SAMPLE)
			sampler_put(a->sampler);
	}
}

void flow_dests_put(const struct flow_action *actions, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		if (actions[i].op == FLOW_OP_DEST)
			ether_dest_put(actions[i].dest);
}

/* ---- counters ---- */

struct flow_counter *flow_counter_create(unsigned int count)
{
	struct flow_counter *bulk = calloc(count, sizeof(*bulk));

	if (!bulk)
		return NULL;
	for (unsigned int i = 0; i < count; i++)
		bulk[i].owner = bulk;
	atomic_init(&bulk->refs, 1);
	return bulk;
}

struct flow_counter *flow_counter_get(struct flow_counter *counter)
{
	atomic_fetch_add(&counter->owner->refs, 1);
	return counter;
}

void flow_counter_put(struct flow_counter *counter)
{
	if (atomic_fetch_sub(&counter->owner->refs, 1) == 1)
		free(counter->owner);
}

void flow_counter_read(const struct flow_counter *counter, uint64_t *packets, uint64_t *bytes)
{
	*packets = atomic_load_explicit(&counter->packets, memory_order_relaxed);
	*bytes = atomic_load_explicit(&counter->bytes, memory_order_relaxed);
}

void flow_counter_clear(struct flow_counter *counter)
{
	atomic_store_explicit(&counter->packets, 0, memory_order_relaxed);
	atomic_store_explicit(&counter->bytes, 0, memory_order_relaxed);
}

/* ---- samplers ---- */

int flow_sampler_create(uint32_t ratio, struct flow_table *next, const struct flow_action *actions,
			unsigned int count, struct flow_sampler **out)
{
	struct flow_sampler *s;

	if (!ratio)
		return explain(EINVAL, "a sampler needs a ratio of at least 1");
	s = calloc(1, sizeof(*s) + count * sizeof(*actions));
	if (!s)
		return explain(ENOMEM, "no memory for a sampler");
	atomic_init(&s->refs, 1);
	s->ratio = ratio;
	s->next = next;
	if (next)
		atomic_fetch_add(&next->refs, 1);
	s->action_count = count;
	memcpy(s->actions, actions, count * sizeof(*actions));
	flow_actions_get(actions, count);
	*out = s;
	return 0;
}

static void sampler_put(struct flow_sampler *sampler)
{
	if (atomic_fetch_sub(&sampler->refs, 1) != 1)
		return;
	flow_actions_put(sampler->actions, sampler->action_count);
	if (sampler->next)
		flow_table_put(sampler->next);
	free(sampler);
}

void flow_sampler_destroy(struct flow_sampler *sampler)
{
	flow_dests_put(sampler->actions, sampler->action_count);
	sampler_put(sampler);
}
