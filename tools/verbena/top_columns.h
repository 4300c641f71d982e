/* SPDX-License-Identifier: BSD-2-Clause */
/* Columns of `verbena top`, and how each thing is called there. */
#ifndef VERBENA_TOP_COLUMNS_H
#define VERBENA_TOP_COLUMNS_H

#include "top_host.h"

#define TOP_CELL 64 /* bytes of a column's text */

/* A queue pair, or a process without any. */
struct top_row {
	const struct top_process *process;
	const struct top_qp *qp; /* NULL: none, or it is not known */
};

struct top_column {
	const char *title;
	const char *key; /* --sort */
	int width;
	bool left; /* texts begin at the left, numbers end at the right */
	bool down; /* the greatest first */
	void (*text)(const struct top_row *row, char out[TOP_CELL]);
	/* The key of the order; NULL: the text. */
	double (*value)(const struct top_row *row);
};

extern const struct top_column top_columns[];
extern const size_t top_column_count;

const char *top_type_name(const struct top_qp *q);
const char *top_state_name(const struct top_qp *q);
const char *top_health_name(const struct top_process *p);
/* The process's name; control characters are question marks. */
void top_name(const struct top_process *p, char out[TOP_CELL]);
/* The address of the other end, "" when there is none. */
void top_address(const struct top_qp *q, char out[TOP_CELL]);
/* Three digits and a unit of 1000s. */
void top_short(double n, char out[TOP_CELL]);

#endif
