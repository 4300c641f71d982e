/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rules, and the hash table of a group. Slots are changed one at a time under flow_lock, so that
 * readers find every other rule meanwhile; a hash table that is half full is replaced by a larger
 * one.
 */
#include "ether/flow_rule.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ether/aso.h"
#include "ether/flow_action.h"
#include "ether/flow_layout.h"
#include "ether/flow_twins.h"
#include "ether/port.h"
#include "ether/state.h"
#include "util/explain.h"

#define SLOTS_MIN 8u
#define LINE      64u

const struct flow_rule flow_rule_gone;

static void free_slots(struct epoch_node *node)
{
	free(container_of(node, struct flow_slots, epoch));
}

static void free_rule(struct epoch_node *node)
{
	struct flow_rule *rule = container_of(node, struct flow_rule_rest, epoch)->rule;

	flow_actions_put(flow_rule_actions(rule), rule->action_count);
	free(rule);
}

static struct flow_rule *slot_load(struct flow_slots *slots, uint32_t i)
{
	return atomic_load_explicit(&slots->at[i], memory_order_relaxed);
}

static void slot_store(struct flow_slots *slots, uint32_t i, struct flow_rule *rule)
{
	/* [F3] pairs with find_rule(): a rule's contents before the rule */
	atomic_store_explicit(&slots->at[i], rule, memory_order_release);
}

static struct flow_rule *rule_also(struct flow_rule *rule)
{
	return atomic_load_explicit(&rule->also, memory_order_relaxed);
}

static bool same_value(const struct flow_group *group, const struct flow_rule *a,
		       const struct flow_rule *b)
{
	return a->hash == b->hash &&
	       !memcmp(a->value, b->value, group->word_count * sizeof(a->value[0]));
}

/* Makes room for one more rule: at most half of the slots are in use, so that probes are short. */
static int grow(struct flow_group *group)
{
	struct flow_slots *old = atomic_load_explicit(&group->slots, memory_order_relaxed), *slots;
	uint32_t size = SLOTS_MIN;

	if (old && (old->used + 1) * 2 <= old->mask + 1)
		return 0;
	while (size < (group->rules + 1) * 4)
		size *= 2;
	slots = calloc(1, sizeof(*slots) + size * sizeof(slots->at[0]));
	if (!slots)
		return -ENOMEM;
	slots->mask = size - 1;
	for (uint32_t i = 0; old && i <= old->mask; i++) {
		struct flow_rule *rule = slot_load(old, i);
		uint32_t at;

		if (!rule || rule == &flow_rule_gone)
			continue;
		for (at = rule->hash & slots->mask; slot_load(slots, at);)
			at = (at + 1) & slots->mask;
		atomic_init(&slots->at[at], rule);
		slots->used++;
	}
	/* [F3] */
	atomic_store_explicit(&group->slots, slots, memory_order_release);
	if (old)
		epoch_retire(&old->epoch, free_slots);
	return 0;
}

/* ---- rules of a root with one value ---- */

static bool has_op(struct flow_rule *rule, enum flow_op op)
{
	const struct flow_action *a = flow_rule_actions(rule);

	for (unsigned int i = 0; i < rule->action_count; i++)
		if (a[i].op == op)
			return true;
	return false;
}

static uint32_t tag_of(struct flow_rule *rule)
{
	const struct flow_action *a = flow_rule_actions(rule);
	uint32_t tag = 0;

	for (unsigned int i = 0; i < rule->action_count; i++)
		if (a[i].op == FLOW_OP_TAG)
			tag = a[i].tag;
	return tag;
}

/* On the device such rules are one entry with several destinations: all else must be equal. */
static int check_alike(struct flow_rule *old, struct flow_rule *rule)
{
	if (has_op(old, FLOW_OP_DROP) != has_op(rule, FLOW_OP_DROP) ||
	    has_op(old, FLOW_OP_EDIT) != has_op(rule, FLOW_OP_EDIT))
		return explain(EEXIST, "a rule with this value exists, and one of the two drops or "
				       "changes packets");
	if (has_op(rule, FLOW_OP_TAG) && tag_of(old) != tag_of(rule))
		return explain(EEXIST, "a rule with this value exists, with tag 0x%x and not 0x%x",
			       tag_of(old), tag_of(rule));
	return 0;
}

/* Behind the rules with its value; in a root, each destination gets a packet once. */
static int add_behind(const struct flow_group *group, struct flow_rule *first,
		      struct flow_rule *rule)
{
	bool root = group->table->root;
	int err = root ? check_alike(first, rule) : 0;

	if (err)
		return err;
	if (flow_twins_add(first, rule, root))
		return explain(ENOMEM, "no memory for another rule with this value");
	return 0;
}

static int add(struct flow_group *group, struct flow_rule *rule)
{
	struct flow_slots *slots;
	uint32_t at, free_at = UINT32_MAX;
	struct flow_rule *here;

	if (grow(group))
		return explain(ENOMEM, "no memory for a larger hash table");
	slots = atomic_load_explicit(&group->slots, memory_order_relaxed);
	for (at = rule->hash & slots->mask; (here = slot_load(slots, at));
	     at = (at + 1) & slots->mask) {
		if (here == &flow_rule_gone) {
			if (free_at == UINT32_MAX)
				free_at = at;
			continue;
		}
		if (!same_value(group, here, rule))
			continue;
		if (rule->flags & FLOW_RULE_ALONE)
			return explain(EEXIST, "the matcher has a rule with this value already");
		return add_behind(group, here, rule);
	}
	if (free_at == UINT32_MAX) {
		free_at = at;
		slots->used++;
	}
	slot_store(slots, free_at, rule);
	return 0;
}

static void take_out(struct flow_group *group, struct flow_rule *rule)
{
	struct flow_slots *slots = atomic_load_explicit(&group->slots, memory_order_relaxed);
	uint32_t at = rule->hash & slots->mask;
	struct flow_rule *before, *next = rule_also(rule);

	flow_twins_remove(rule, &before);
	if (before)
		return;
	while (slot_load(slots, at) != rule)
		at = (at + 1) & slots->mask;
	if (next) {
		slot_store(slots, at, next);
	} else if (slot_load(slots, (at + 1) & slots->mask)) {
		slot_store(slots, at, (struct flow_rule *)&flow_rule_gone);
	} else {
		slot_store(slots, at, NULL);
		slots->used--;
	}
}

/* ---- checks ---- */

static int check_action(const struct flow_table *table, const struct flow_action *action)
{
	static const char *const names[FLOW_DOMAINS] = {
		"receiving",
		"sending",
		"the switch",
		"sniffing",
		"packets of queue pairs",
		"packets of queue pairs",
		"packets of queue pairs",
		"packets of queue pairs",
	};
	enum flow_domain domain = table->domain;
	bool fits = true;

	switch (action->op) {
	case FLOW_OP_DEST:
		fits = domain == FLOW_RX || domain == FLOW_SNIFFER;
		break;
	case FLOW_OP_TAG:
		fits = domain == FLOW_RX;
		break;
	case FLOW_OP_PORT:
		fits = domain == FLOW_FDB;
		break;
	case FLOW_OP_ASO:
		if (action->reg >= FLOW_REGISTERS || action->from >= aso_count(action->aso))
			return explain(EINVAL, "register %u, object %u; there are %u and %u",
				       action->reg, action->from, FLOW_REGISTERS,
				       aso_count(action->aso));
		fits = !flow_domain_is_rdma(domain) && domain != FLOW_SNIFFER;
		break;
	case FLOW_OP_EDIT:
	case FLOW_OP_SAMPLE:
		fits = !flow_domain_is_rdma(domain);
		break;
	case FLOW_OP_TABLE:
		if (action->table->domain != domain || action->table->port != table->port)
			return explain(EINVAL, "a rule may jump to tables of its own port and "
					       "domain only");
		if (action->table->root && table->root)
			return explain(EINVAL, "a rule of a root table may not jump to it");
		break;
	default:
		break;
	}
	if (!fits)
		return explain(EINVAL, "an action of the rule is not allowed for %s",
			       names[domain]);
	return 0;
}

static int check_rule(const struct flow_matcher *matcher, const struct flow_key *value,
		      const struct flow_action *actions, unsigned int count)
{
	const struct flow_group *group = matcher->group;

	if (count > UINT8_MAX)
		return explain(EINVAL, "%u actions; a rule may have %u", count, UINT8_MAX);
	for (unsigned int i = 0; i < FLOW_KEY_WORDS; i++)
		if (value->words[i] & ~group->mask.words[i])
			return explain(EINVAL,
				       "the value has bits at byte %u that are not in the "
				       "mask",
				       i * 8);
	for (unsigned int i = 0; i < count; i++) {
		int err = check_action(group->table, &actions[i]);

		if (err)
			return err;
	}
	return 0;
}

/* Tells the switch which frames the rules want. */
static void want(const struct flow_matcher *matcher, const struct flow_rule *rule, int delta)
{
	const struct flow_table *table = matcher->group->table;
	const struct flow_group *group = matcher->group;
	enum ether_wanted kind = ETHER_WANTED;
	uint8_t mac[8] = { 0 };

	if (!table->root || table->domain == FLOW_TX || !table->port)
		return;
	if (flow_domain_is_rdma(table->domain)) {
		ether_port_count_rdma(table->domain == FLOW_RDMA_TX ||
					      table->domain == FLOW_RDMA_TRANSPORT_TX,
				      delta);
		return;
	}
	/* A rule on the address alone takes all frames to it. */
	if (rule->flags & FLOW_RULE_UNCLAIMED)
		kind = ETHER_WANTED_UNCLAIMED;
	else if (table->domain == FLOW_RX && !(rule->flags & FLOW_RULE_GO_ON) &&
		 group->word_count == 1 && !group->mask.bytes[14] && !group->mask.bytes[15])
		kind = ETHER_WANTED_CLAIMED;
	for (unsigned int i = 0; i < group->word_count; i++)
		if (group->word[i] == 1) /* the word of the destination MAC */
			memcpy(mac, &rule->value[i], sizeof(mac));
	ether_port_want(table->port, mac, group->mask.bytes + 8, kind, delta);
}

/* ---- rules ---- */

static struct flow_rule *new_rule(struct flow_matcher *matcher, const struct flow_key *value,
				  unsigned int flags, const struct flow_action *actions,
				  unsigned int count)
{
	const struct flow_group *group = matcher->group;
	size_t size = sizeof(struct flow_rule) + group->word_count * sizeof(uint64_t) +
		      count * sizeof(*actions) + sizeof(struct flow_rule_rest);
	struct flow_rule *rule = aligned_alloc(LINE, (size + LINE - 1) / LINE * LINE);
	uint64_t hash = 0;

	if (!rule)
		return NULL;
	memset(rule, 0, size);
	rule->flags = flags;
	rule->action_count = count;
	rule->words = group->word_count;
	for (unsigned int i = 0; i < group->word_count; i++) {
		rule->value[i] = value->words[group->word[i]];
		hash = flow_hash_step(hash, rule->value[i]);
	}
	rule->hash = flow_hash_end(hash);
	if (count)
		memcpy(flow_rule_actions(rule), actions, count * sizeof(*actions));
	flow_rule_rest(rule)->rule = rule;
	flow_rule_rest(rule)->matcher = matcher;
	return rule;
}

int flow_rule_create(struct flow_matcher *matcher, const struct flow_key *value, unsigned int flags,
		     const struct flow_action *actions, unsigned int count, struct flow_rule **out)
{
	struct flow_group *group = matcher->group;
	struct flow_rule *rule;
	int err = check_rule(matcher, value, actions, count);

	if (err)
		return err;
	rule = new_rule(matcher, value, flags, actions, count);
	if (!rule)
		return explain(ENOMEM, "no memory for a rule");
	flow_actions_get(actions, count);
	pthread_mutex_lock(&ether_state.flow_lock);
	err = add(group, rule);
	if (err) {
		pthread_mutex_unlock(&ether_state.flow_lock);
		flow_dests_put(actions, count);
		flow_actions_put(actions, count);
		free(rule);
		return err;
	}
	matcher->rules++;
	group->rules++;
	group->table->rules++;
	pthread_mutex_unlock(&ether_state.flow_lock);
	want(matcher, rule, 1);
	*out = rule;
	return 0;
}

void flow_rule_destroy(struct flow_rule *rule)
{
	struct flow_matcher *matcher = flow_rule_rest(rule)->matcher;
	struct flow_group *group = matcher->group;

	want(matcher, rule, -1);
	pthread_mutex_lock(&ether_state.flow_lock);
	take_out(group, rule);
	matcher->rules--;
	group->rules--;
	group->table->rules--;
	pthread_mutex_unlock(&ether_state.flow_lock);
	flow_dests_put(flow_rule_actions(rule), rule->action_count);
	epoch_retire(&flow_rule_rest(rule)->epoch, free_rule);
}
