/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records of a run, of all threads of all its processes in the order of time. Files are mapped, not read into memory.
 */
#ifndef VERBENA_TRACE_READ_H
#define VERBENA_TRACE_READ_H

#include <stdbool.h>
#include <stddef.h>

#include "trace/record.h"
#include "util/array.h"

struct trace_file {
	const struct trace_head *head;
	size_t size;
};

/* The records of a thread. */
struct trace_cursor {
	unsigned int file;
	uint32_t tid;
	const char *name; /* of the thread, 16 bytes */
	ARRAY_OF(const struct trace_chunk *) chunks;
	size_t chunk, record; /* the next one */
};

struct trace_reader {
	ARRAY_OF(struct trace_file) files;
	ARRAY_OF(struct trace_cursor *) heap; /* by the time of the next record */
	ARRAY_OF(struct trace_cursor *) all;
};

/* 0, or -errno. */
int trace_read_open(struct trace_reader *r, const char *folder);
/* The next record and the thread that wrote it; NULL: that was the last. */
const struct trace_record *trace_read_next(struct trace_reader *r, struct trace_cursor **thread);
void trace_read_close(struct trace_reader *r);

#endif
