/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Contexts: the driver's operations, whose place the checker's have taken (attach.c).
 */
#ifndef CHECK_CONTEXT_H
#define CHECK_CONTEXT_H

#include <stdatomic.h>
#include <stdbool.h>

#include "verbs/context.h"

struct check_context {
	struct check_context *next; /* in check.contexts; never freed */
	struct ibv_context_ops driver;
	atomic_bool queried; /* the program has asked for the device's attributes */
};

static inline struct check_context *check_context_of(struct ibv_context *context)
{
	return to_context(context)->watch;
}

#endif
