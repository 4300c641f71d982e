/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The trace of a run: a hash over everything that happens (operations, packets, completions, each
 * with its time and by names of the simulation, never by keys, addresses or numbers that the
 * adapter chose), and the lines themselves when they are wanted. Equal hashes mean equal runs.
 */
#ifndef TESTS_SIM_TRACE_H
#define TESTS_SIM_TRACE_H

#include <stdbool.h>
#include <stdint.h>

struct trace {
	uint64_t hash;
	bool lines;   /* print operations and completions */
	bool packets; /* print packets, too */
};

extern struct trace trace;

void trace_begin(void);

static inline void trace_mix(uint64_t value)
{
	trace.hash = (trace.hash ^ value) * 0x100000001b3ull;
	trace.hash ^= trace.hash >> 29;
}

/* A line with the time of the network, if lines are wanted. */
void trace_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
