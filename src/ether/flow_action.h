/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The objects that actions refer to: counters and samplers; and the references of actions.
 */
#ifndef ETHER_FLOW_ACTION_H
#define ETHER_FLOW_ACTION_H

#include <stdatomic.h>

#include "ether/flow_types.h"
#include "util/api.h"

struct flow_counter {
	_Atomic uint64_t packets, bytes;
	atomic_uint refs;
	struct flow_counter *owner; /* the first counter of the bulk, which has the references */
};

/* An array of `count`; freed as a whole, with the last reference on any of them. */
VB_API struct flow_counter *flow_counter_create(unsigned int count);
VB_API struct flow_counter *flow_counter_get(struct flow_counter *counter);
VB_API void flow_counter_put(struct flow_counter *counter);
VB_API void flow_counter_read(const struct flow_counter *counter, uint64_t *packets,
			      uint64_t *bytes);
VB_API void flow_counter_clear(struct flow_counter *counter);

/* One packet of `ratio` also runs the actions; all go on to `next`, unless it is NULL. */
VB_API int flow_sampler_create(uint32_t ratio, struct flow_table *next,
			       const struct flow_action *actions, unsigned int count,
			       struct flow_sampler **out);
/* After its last rule. Drops the destinations at once, the rest with the last reference. */
VB_API void flow_sampler_destroy(struct flow_sampler *sampler);

/* References on everything that the actions refer to. */
void flow_actions_get(const struct flow_action *actions, unsigned int count);
/* Drops them, except those on destinations, which flow_dests_put() drops. */
void flow_actions_put(const struct flow_action *actions, unsigned int count);
void flow_dests_put(const struct flow_action *actions, unsigned int count);

#endif
