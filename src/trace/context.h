/* SPDX-License-Identifier: BSD-2-Clause */
/* Contexts: the driver's operations, whose place the trace's have taken (attach.c). */
#ifndef TRACE_CONTEXT_H
#define TRACE_CONTEXT_H

#include "verbs/context.h"

struct trace_context {
	struct trace_context *next; /* in trace.contexts; never freed */
	struct ibv_context_ops driver;
};

static inline const struct ibv_context_ops *trace_driver_of(struct ibv_context *context)
{
	return &((const struct trace_context *)to_context(context)->watch)->driver;
}

#endif
