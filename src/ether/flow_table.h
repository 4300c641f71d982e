/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Flow tables and matchers.
 */
#ifndef ETHER_FLOW_TABLE_H
#define ETHER_FLOW_TABLE_H

#include "ether/flow_key.h"
#include "ether/flow_types.h"
#include "ether/port_types.h"
#include "util/api.h"

VB_API int flow_table_root(struct ether_port *port, enum flow_domain domain,
			   struct flow_table **out);
VB_API int flow_table_create(struct ether_port *port, enum flow_domain domain,
			     struct flow_table **out);
/* Drops the creator's reference; the table lives while rules jump to it. Not for roots. */
VB_API void flow_table_put(struct flow_table *table);

/*
 * A matcher makes rules possible with a priority and a mask. -EOPNOTSUPP: the mask has bits that are
 * not matched on. Matchers with the same priority and mask share one group.
 */
VB_API int flow_matcher_create(struct flow_table *table, uint32_t priority,
			       const struct flow_key *mask, struct flow_matcher **out);
/* -EBUSY while it has rules. */
VB_API int flow_matcher_destroy(struct flow_matcher *matcher);

/* Groups and rules of the table: the cost of a look-up, for tests and tools. */
VB_API void flow_table_size(struct flow_table *table, unsigned int *groups, unsigned int *rules);

#endif
