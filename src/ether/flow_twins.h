/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rules of one group with the same value. The oldest is in the slot of the hash table, and `also` links
 * the others behind it, for readers. What adding and removing need beside that is allocated with the
 * second rule of a value, so that both take constant time however many such rules there are. All of it
 * under flow_lock.
 */
#ifndef ETHER_FLOW_TWINS_H
#define ETHER_FLOW_TWINS_H

#include <stdbool.h>

#include "ether/flow_layout.h"

/*
 * Appends the rule to those of the oldest one, `first`. With `once`, a destination that an older rule
 * delivers to gets no second copy: the rule is an echo. 0 or -ENOMEM.
 */
int flow_twins_add(struct flow_rule *first, struct flow_rule *rule, bool once);

/*
 * Removes the rule from its twins, if it has any. *before is the one whose `also` pointed to it, which
 * now points to the next one; NULL: the rule was the oldest, and the caller changes its slot.
 */
void flow_twins_remove(struct flow_rule *rule, struct flow_rule **before);

#endif
