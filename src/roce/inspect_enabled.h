/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * On/off flags of captures and fault scripts. Every packet tests them, so a test is one load: the flag is
 * the first member of the object, which is otherwise opaque. roce_inspect_enabled() tests all flags of the
 * process at once; packets test it first.
 */
#ifndef ROCE_INSPECT_ENABLED_H
#define ROCE_INSPECT_ENABLED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "util/api.h"

struct roce_inspect_flag {
	atomic_bool on;
};

static inline bool roce_inspect_flag_on(const struct roce_inspect_flag *f)
{
	return atomic_load_explicit(&f->on, memory_order_relaxed);
}

/* The caller holds the lock of the object that the flag belongs to. */
void roce_inspect_flag_set(struct roce_inspect_flag *f, bool on);

/* Flags of this process that are on. */
extern _Atomic uint32_t roce_inspect_enabled_count __attribute__((visibility("hidden")));

static inline bool roce_inspect_enabled(void)
{
	return unlikely(atomic_load_explicit(&roce_inspect_enabled_count, memory_order_relaxed));
}

#endif
