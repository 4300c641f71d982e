/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is always there and mostly off. Every packet asks, so that asking is one load: the switch is
 * the first member of what it switches, which is otherwise nobody's business.
 */
#ifndef ROCE_SWITCH_H
#define ROCE_SWITCH_H

#include <stdatomic.h>
#include <stdbool.h>

struct roce_switch {
	atomic_bool on;
};

static inline bool roce_switch_on(const struct roce_switch *s)
{
	return atomic_load_explicit(&s->on, memory_order_relaxed);
}

#endif
