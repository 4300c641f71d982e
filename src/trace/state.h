/* SPDX-License-Identifier: BSD-2-Clause */
/* State of the trace, one per process, and of each thread. */
#ifndef TRACE_STATE_H
#define TRACE_STATE_H

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "trace/record.h"
#include "util/forksafe.h"

struct trace_context;

struct trace_slot {
	uint64_t number; /* of the chunk */
	bool taken;      /* a thread writes to it */
};

struct trace_state {
	pthread_mutex_t lock; /* all but `stopped` */
	struct forksafe forksafe;
	struct trace_context *contexts;
	pthread_key_t key; /* whose destructor gives up the chunk of a thread that ends */
	char folder[PATH_MAX], path[PATH_MAX + 64];
	unsigned int files;
	struct trace_head *head; /* NULL: there is no file yet */
	struct trace_slot *slots;
	uint32_t slot_count, slots_most;
	uint64_t chunks;      /* that were begun */
	_Atomic bool stopped; /* there is no room, or no file */
};

struct trace_thread {
	struct trace_record *at, *end; /* of the chunk; equal: full, or none */
	struct trace_record *idle;     /* the newest record, if it is of polls that find nothing */
	struct trace_chunk *chunk;
	uint32_t slot;
	bool keyed;
};

extern struct trace_state trace;
extern _Thread_local struct trace_thread trace_thread;

#endif
