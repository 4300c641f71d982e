/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The part of `verbena trace` (and `verbena run --trace`) before and after the program: the file that is asked for,
 * and the folder beside it, in which each process leaves its records.
 */
#ifndef VERBENA_TRACE_H
#define VERBENA_TRACE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct trace_options {
	bool on;
	char output[PATH_MAX]; /* "": the usual name */
	uint64_t limit;        /* bytes of records of each process; 0: the usual */
	char folder[PATH_MAX];
	bool made; /* the file was not there before */
};

/* Each: 0, or `failure` after a message. */
int trace_set_output(struct trace_options *o, const char *file, int failure);
int trace_set_limit(struct trace_options *o, const char *size, int failure);

/* Sets the environment of the program. 0, or an exit status after a message. */
int trace_begin(struct trace_options *o);
/* Writes the timeline and removes the folder. `status` of the program decides whether an empty trace is told. */
void trace_end(struct trace_options *o, int status);

#endif
