/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Flow rules.
 */
#ifndef ETHER_FLOW_RULE_H
#define ETHER_FLOW_RULE_H

#include "ether/flow_key.h"
#include "ether/flow_types.h"
#include "util/api.h"

enum flow_rule_flags {
	FLOW_RULE_GO_ON = 1 << 0, /* the packet goes on to rules of lower priority */
	FLOW_RULE_ALONE = 1 << 1, /* -EEXIST when the value is there already */
	/* Takes frames to addresses that no port of the switch takes. */
	FLOW_RULE_UNCLAIMED = 1 << 2,
};

/*
 * Rules of a root with the same value under the same mask all take effect, though a destination gets
 * no packet twice; they may differ in their destinations only (-EEXIST). In other tables the oldest
 * one takes effect. -EINVAL for a value with bits outside the mask.
 */
VB_API int flow_rule_create(struct flow_matcher *matcher, const struct flow_key *value,
			    unsigned int flags, const struct flow_action *actions,
			    unsigned int count, struct flow_rule **out);
VB_API void flow_rule_destroy(struct flow_rule *rule);

/* Marks a slot whose rule was destroyed: probing goes on behind it. */
extern const struct flow_rule flow_rule_gone;

#endif
