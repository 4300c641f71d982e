/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A timeline in the Trace Event Format of Chrome, which Perfetto reads: a track for each thread, with calls; one
 * for each queue pair, with what the adapter does; and flows between them.
 */
#ifndef VERBENA_TRACE_JSON_H
#define VERBENA_TRACE_JSON_H

#include <stdint.h>
#include <stdio.h>

struct trace_reader;

/* Of records; 0: there are none. Errors of the file are those of ferror(). */
uint64_t trace_json_write(struct trace_reader *r, FILE *to);

#endif
