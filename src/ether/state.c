/* SPDX-License-Identifier: BSD-2-Clause */
#include "ether/state.h"

#include <stdlib.h>

#include "fabric/clock.h"

static uint64_t system_now_ns(void)
{
	return fabric_now_ns();
}

struct ether_state ether_state = {
	.now_ns = system_now_ns,
	.flow_lock = PTHREAD_MUTEX_INITIALIZER,
	.port_lock = PTHREAD_MUTEX_INITIALIZER,
};

__attribute__((constructor)) static void init(void)
{
	struct ether_state *s = &ether_state;

	forksafe_add(&s->flow_forksafe, &s->flow_lock, FORKSAFE_OBJECT);
	forksafe_add(&s->port_forksafe, &s->port_lock, FORKSAFE_LEAF);
	s->has_changed_frame = !pthread_key_create(&s->changed_frame, free);
}

void ether_set_clock(uint64_t (*now_ns)(void))
{
	ether_state.now_ns = now_ns;
}
