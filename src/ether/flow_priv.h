/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inside the flow engine. The lock is flow_lock; what readers follow without it is atomic, or
 * constant from publication on.
 */
#ifndef ETHER_FLOW_PRIV_H
#define ETHER_FLOW_PRIV_H

#include <pthread.h>

#include "ether/flow.h"
#include "fabric/epoch.h"

extern pthread_mutex_t flow_lock;

/* Rules of one priority and mask. Open addressing; a slot is a rule, empty, or used once. */
struct flow_slots {
	struct fabric_retire retire;
	uint32_t mask;
	uint32_t used; /* slots that are not empty */
	_Atomic(struct flow_rule *) at[];
};

struct flow_group {
	struct fabric_retire retire;
	struct flow_table *table;
	uint32_t priority;
	uint32_t matchers; /* under flow_lock, as rules */
	uint32_t rules;
	unsigned int parts; /* of a key that the mask looks at */
	_Atomic(struct flow_slots *) slots;
	struct flow_key mask;
	/* The words of the mask that are not 0. */
	uint8_t word_count;
	uint8_t word[FLOW_KEY_WORDS];
	uint64_t word_mask[FLOW_KEY_WORDS];
};

struct flow_groups {
	struct fabric_retire retire;
	uint32_t count;
	struct flow_group *at[]; /* by priority, then age */
};

struct flow_table {
	struct fabric_retire retire;
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
 * What a frame looks at comes first, and begins with a cache line: with a 5-tuple and an action or
 * two it takes up two lines. Behind value are the actions, and then what only changes need.
 */
struct flow_rule {
	uint32_t hash;
	uint8_t flags;
	uint8_t action_count;
	uint8_t words;    /* of value */
	atomic_bool echo; /* its queue has the packet from an older rule; written under flow_lock */
	/* The next one with the same value. Written under flow_lock. */
	_Atomic(struct flow_rule *) also;
	uint64_t value[]; /* the group's words, masked */
};

struct flow_rule_rest {
	struct flow_rule *rule;
	struct flow_matcher *matcher;
	struct fabric_retire retire;
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

/* What a packet that leaves ends as: handed to the caller of ether_steer_out(). */
struct flow_out {
	bool is_there;
	uint8_t *own;
	struct ether_frame frame;
};

/* A packet on its way through the tables. */
struct flow_run {
	struct ether_port *port;
	struct flow_out *out; /* NULL for a packet that came in */
	uint8_t domain;       /* enum flow_domain */
	uint8_t hops;
	uint8_t filled; /* parts of the key */
	uint32_t hash;  /* of the key in group `hashed` */
	const struct flow_group *hashed;
	uint8_t *own;         /* the block with the frame's bytes, if they are ours to change */
	const uint8_t *given; /* the bytes that it came with */
	uint32_t reg_b;
	struct ether_frame frame;
	struct flow_key key;
};

/* flow_edit.c */
struct flow_edit *flow_edit_get(struct flow_edit *edit);
/* false: the packet cannot be changed so, and is dropped. */
bool flow_edit_apply(const struct flow_edit *edit, struct flow_run *run);
/* Makes the bytes the run's own, with room for `front` more before them. */
bool flow_run_own(struct flow_run *run, uint32_t front);

/* flow_modify.c */
struct flow_modify_step {
	uint8_t op;       /* 1 set, 2 add, 3 copy */
	uint8_t to, from; /* in its table of fields */
	uint8_t to_shift, from_shift, width;
	uint32_t data;
};

int flow_modify_parse(const uint8_t *command, struct flow_modify_step *out);
void flow_modify_apply(const struct flow_modify_step *steps, unsigned int count,
		       struct flow_run *run);

/* flow_action.c */
void flow_actions_get(const struct flow_action *actions, unsigned int count);
void flow_actions_put(const struct flow_action *actions, unsigned int count);
void flow_sampler_put(struct flow_sampler *sampler);
void flow_dests_put(const struct flow_action *actions, unsigned int count);

/* flow_match.c: the packet through one table */
void flow_run_table(struct flow_run *run, struct flow_table *table);

#define FLOW_HOPS 64 /* tables that a packet may pass; more is a loop, and it is dropped */

/* The hash of a value: one step per word, then the end. */
static inline uint64_t flow_hash_step(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 29;
}

static inline uint32_t flow_hash_end(uint64_t hash)
{
	return (uint32_t)(hash ^ hash >> 32);
}

#endif
