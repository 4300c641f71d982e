/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tables, groups and rules in memory, for the files that change them and for steer.c, which reads them.
 * Changes are made under flow_lock; fields that readers follow without it are atomic, or constant from
 * publication on.
 */
#ifndef ETHER_FLOW_LAYOUT_H
#define ETHER_FLOW_LAYOUT_H

#include <stdatomic.h>
#include <stdbool.h>

#include "ether/flow_key.h"
#include "ether/flow_types.h"
#include "ether/port_types.h"
#include "fabric/epoch.h"

/* Open addressing; a slot is a rule, NULL (empty), or &flow_rule_gone (a rule was destroyed). */
struct flow_slots {
	struct epoch_node epoch;
	uint32_t mask;
	uint32_t used; /* slots that are not empty */
	_Atomic(struct flow_rule *) at[];
};

/* Rules of one priority and mask. */
struct flow_group {
	struct epoch_node epoch;
	struct flow_table *table;
	uint32_t priority;
	uint32_t matchers; /* under flow_lock, as rules */
	uint32_t rules;
	unsigned int parts; /* of a key that have bits in the mask */
	_Atomic(struct flow_slots *) slots;
	struct flow_key mask;
	/* The words of the mask that are not 0. */
	uint8_t word_count;
	uint8_t word[FLOW_KEY_WORDS];
	uint64_t word_mask[FLOW_KEY_WORDS];
};

struct flow_groups {
	struct epoch_node epoch;
	uint32_t count;
	struct flow_group *at[]; /* by priority, then age */
};

struct flow_table {
	struct epoch_node epoch;
	struct ether_port *port;
	uint8_t domain; /* enum flow_domain */
	bool root;
	atomic_uint refs;
	uint32_t rules;                       /* under flow_lock */
	_Atomic(struct flow_groups *) groups; /* NULL: none */
};

struct flow_matcher {
	struct flow_group *group;
	uint32_t rules; /* under flow_lock */
};

/*
 * The fields that matching reads come first, at the start of a cache line: with a 5-tuple and one or
 * two actions they fill two lines. The actions follow the value, then struct flow_rule_rest, which
 * only changes need.
 */
struct flow_rule {
	uint32_t hash;
	uint8_t flags;
	uint8_t action_count;
	uint8_t words;    /* of value */
	atomic_bool echo; /* an older rule delivers to its destination; written under flow_lock */
	/* The next one with the same value. Written under flow_lock. */
	_Atomic(struct flow_rule *) also;
	uint64_t value[]; /* the group's words, masked */
};

struct flow_rule_rest {
	struct flow_rule *rule;
	struct flow_matcher *matcher;
	struct flow_twin *twin; /* NULL: no other rule has had its value; under flow_lock */
	struct epoch_node epoch;
};

static inline struct flow_action *flow_rule_actions(struct flow_rule *rule)
{
	return (struct flow_action *)(rule->value + rule->words);
}

static inline struct flow_rule_rest *flow_rule_rest(struct flow_rule *rule)
{
	return (struct flow_rule_rest *)(flow_rule_actions(rule) + rule->action_count);
}

struct flow_port {
	_Atomic(struct flow_table *) root[FLOW_DOMAINS];
};

struct flow_sampler {
	atomic_uint refs;
	uint32_t ratio;
	atomic_uint seen;
	struct flow_table *next;
	unsigned int action_count;
	struct flow_action actions[];
};

#define FLOW_HOPS                                                                                  \
	64 /* tables that a packet may pass through; with more it is dropped, as in a loop */

/*
 * The hash of a value: one step per word, then the end. Addresses and ports that count up differ in the
 * highest bits of a word: the end mixes those into the low bits, which choose the slot.
 */
static inline uint64_t flow_hash_step(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 29;
}

static inline uint32_t flow_hash_end(uint64_t hash)
{
	return (uint32_t)((hash ^ __builtin_bswap64(hash)) * 0xd6e8feb86659fd93ull >> 32);
}

#endif
