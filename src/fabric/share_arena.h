/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Arenas of libc's malloc, which fork() writes to in the child before any handler runs there.
 */
#ifndef FABRIC_SHARE_ARENA_H
#define FABRIC_SHARE_ARENA_H

#include <stdbool.h>

#include "fabric/share_types.h"

/* Whether the control block of an arena lies in the range, which is readable memory. */
bool share_arena_begins_in(const struct share_state *state, struct share_range r);

#endif
