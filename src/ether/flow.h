/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The flow engine: tables of rules, and what rules do. Three public APIs and the device's own
 * commands are built on it, and it knows none of them.
 *
 * Each port has a root table per domain, made of rules from everybody; other tables are reached by
 * jumping to them only. A rule is a value under a mask, at a priority (0 first). Rules of one table
 * with the same priority and mask form a group, which is a hash table: a packet costs one look-up
 * per group, however many rules there are. Of two groups of one priority the older one goes first.
 *
 * Threads: frames meet rules without a lock, inside an epoch (fabric/epoch.h); changes are made
 * under one lock. What a rule refers to is counted: objects of the engine live as long as a frame
 * may be looking at a rule with them. A destination is let go of when its rule is destroyed; its
 * owner waits for the guards (ether/steer.h) before it frees it.
 */
#ifndef ETHER_FLOW_H
#define ETHER_FLOW_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ether/flow_key.h"
#include "ether/steer.h"
#include "util/api.h"

enum flow_domain {
	FLOW_RX,
	FLOW_TX,
	FLOW_FDB,     /* the switch in front of the port: both ways */
	FLOW_SNIFFER, /* copies of all that comes and goes; every rule that matches gets one */
	FLOW_DOMAINS,
};

enum flow_op {
	FLOW_OP_COUNT,
	FLOW_OP_TAG,
	FLOW_OP_EDIT,   /* changes the packet, in the order in which actions are given */
	FLOW_OP_SAMPLE, /* every n-th packet also takes another way */
	/* Where it goes, after everything else; several of them: a copy to each. */
	FLOW_OP_DEST,
	FLOW_OP_TABLE,
	FLOW_OP_PORT, /* FDB: FLOW_VPORT_* */
	FLOW_OP_DROP,
	FLOW_OP_MISS, /* what the domain does with what no rule matches */
};

#define FLOW_VPORT_PF     0u
#define FLOW_VPORT_UPLINK 0xffffu

struct flow_table;
struct flow_matcher;
struct flow_rule;
struct flow_counter;
struct flow_edit;
struct flow_sampler;

struct flow_action {
	enum flow_op op;
	uint32_t from; /* FLOW_OP_TABLE: rules before this priority do not see the packet */
	union {
		uint32_t tag;
		uint32_t vport;
		struct ether_dest *dest;
		struct flow_table *table;
		struct flow_counter *counter;
		struct flow_edit *edit;
		struct flow_sampler *sampler;
	};
};

/* ---- tables, matchers, rules ---- */

VB_API int flow_table_root(struct ether_port *port, enum flow_domain domain,
			   struct flow_table **out);
VB_API int flow_table_create(struct ether_port *port, enum flow_domain domain,
			     struct flow_table **out);
/* Its creator's hold; it goes when no rule jumps to it any more. Not for roots. */
VB_API void flow_table_put(struct flow_table *table);

/*
 * A place for rules: refuses a mask with bits that nobody looks at (-EOPNOTSUPP). With the same
 * arguments there may be several, which share their rules' place.
 */
VB_API int flow_matcher_create(struct flow_table *table, uint32_t priority,
			       const struct flow_key *mask, struct flow_matcher **out);
/* -EBUSY while there are rules made through it. */
VB_API int flow_matcher_destroy(struct flow_matcher *matcher);

enum flow_rule_flags {
	FLOW_RULE_GO_ON = 1 << 0, /* rules of lower priority see the packet too */
	FLOW_RULE_ALONE = 1 << 1, /* -EEXIST when the value is there already */
	/* Frames to an address that a rule elsewhere on the switch is there for are not asked for. */
	FLOW_RULE_LEFTOVERS = 1 << 2,
};

/*
 * Rules of a root with the same value under the same mask all take effect, though a queue gets no
 * packet twice, and must not differ in more than their destinations (-EEXIST); in other tables the
 * oldest counts. -EINVAL for a value with bits outside of the mask.
 */
VB_API int flow_rule_create(struct flow_matcher *matcher, const struct flow_key *value,
			    unsigned int flags, const struct flow_action *actions,
			    unsigned int count, struct flow_rule **out);
VB_API void flow_rule_destroy(struct flow_rule *rule);

/* Groups and rules in it, for those who want to know what a look-up costs. */
VB_API void flow_table_size(struct flow_table *table, unsigned int *groups, unsigned int *rules);

/* ---- what actions refer to ---- */

struct flow_counter {
	_Atomic uint64_t packets, bytes;
	atomic_uint refs;
	struct flow_counter *owner; /* of a bulk: holds the memory */
};

/* `count` of them in a row, for bulks; they go together, with the last hold on any of them. */
VB_API struct flow_counter *flow_counter_create(unsigned int count);
VB_API struct flow_counter *flow_counter_get(struct flow_counter *counter);
VB_API void flow_counter_put(struct flow_counter *counter);
VB_API void flow_counter_read(const struct flow_counter *counter, uint64_t *packets,
			      uint64_t *bytes);
VB_API void flow_counter_clear(struct flow_counter *counter);

enum flow_reformat {
	FLOW_ENCAP_L2, /* the data goes before the frame */
	FLOW_DECAP_L2, /* all before the inner frame goes */
	FLOW_ENCAP_L3, /* the data takes the place of the Ethernet header and its tags */
	FLOW_DECAP_L3, /* the data, an Ethernet header, takes the place of all before inner IP */
	FLOW_POP_VLAN,
	FLOW_PUSH_VLAN, /* data: TPID and TCI */
};

#define FLOW_DATA_MAX 512u /* bytes that one edit may put in front */

/* -EINVAL for too much data, or too little for what it must be. */
VB_API int flow_edit_reformat(enum flow_reformat kind, const void *data, size_t len,
			      struct flow_edit **out);
/*
 * `count` commands of 8 bytes each, as a ConnectX has them: set, add, copy. -EINVAL for a field, a
 * command or a range that does not exist.
 */
VB_API int flow_edit_modify(const uint8_t *commands, unsigned int count, struct flow_edit **out);
VB_API void flow_edit_put(struct flow_edit *edit);
/* A push or an encapsulation: what goes in front; 0 for others. */
VB_API size_t flow_edit_data(const struct flow_edit *edit);

/* One packet of `ratio` also takes the actions; all go on to the table, or to nobody (NULL). */
VB_API int flow_sampler_create(uint32_t ratio, struct flow_table *next,
			       const struct flow_action *actions, unsigned int count,
			       struct flow_sampler **out);
/* After its last rule: destinations are let go of at once, the rest when no frame can see it. */
VB_API void flow_sampler_destroy(struct flow_sampler *sampler);

#endif
