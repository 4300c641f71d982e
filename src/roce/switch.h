/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is always there and mostly off. Every packet asks, so that asking is one load: the switch is
 * the first member of what it switches, which is otherwise nobody's business. And it is one load for
 * all of them, while none in the process is on.
 */
#ifndef ROCE_SWITCH_H
#define ROCE_SWITCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "util/api.h"

struct roce_switch {
	atomic_bool on;
};

static inline bool roce_switch_on(const struct roce_switch *s)
{
	return atomic_load_explicit(&s->on, memory_order_relaxed);
}

/* Whoever is switched has a lock, and holds it. */
void roce_switch_set(struct roce_switch *s, bool on);

extern _Atomic uint32_t roce_switches_on __attribute__((visibility("hidden")));

/* Whether any is on: to be asked first. */
static inline bool roce_switch_any(void)
{
	return unlikely(atomic_load_explicit(&roce_switches_on, memory_order_relaxed));
}

#endif
