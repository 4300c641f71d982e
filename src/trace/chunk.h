/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writing records. A thread writes to a chunk of its own, which is mapped from the file: no lock and no system
 * call, and what was written stays when the process is killed. The lock is taken for a new chunk.
 */
#ifndef TRACE_CHUNK_H
#define TRACE_CHUNK_H

#include <stdatomic.h>
#include <stddef.h>

#include "fabric/clock.h"
#include "trace/state.h"
#include "util/api.h"

/* Opens nothing yet: the first record does. `folder` is for one run. */
void trace_chunk_init(const char *folder, uint64_t limit);
/* Another chunk for this thread. NULL: there is none. */
struct trace_record *trace_chunk_next(void);

/* A record with the time, or NULL. trace_put() ends it. */
static inline struct trace_record *trace_get(void)
{
	struct trace_thread *t = &trace_thread;
	struct trace_record *r = t->at;

	if (unlikely(r == t->end)) {
		r = trace_chunk_next();
		if (!r)
			return NULL;
	}
	t->at = r + 1;
	t->idle = NULL;
	r->ns = fabric_now_ns();
	return r;
}

/* A signal handler may have written records behind this one; the reader skips one without a kind. */
static inline void trace_put(struct trace_record *r, enum trace_kind kind)
{
	atomic_signal_fence(memory_order_release);
	*(volatile uint16_t *)&r->kind = kind;
}

/* Takes back the record if it is the newest one. */
static inline bool trace_take_back(struct trace_record *r)
{
	struct trace_thread *t = &trace_thread;

	if (t->at != r + 1)
		return false;
	*(volatile uint16_t *)&r->kind = TRACE_NONE;
	*r = (struct trace_record){ .kind = TRACE_NONE };
	t->at = r;
	return true;
}

#endif
