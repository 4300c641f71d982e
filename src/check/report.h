/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Findings: told once for each kind and place, on standard error, and as a line of JSON in the file that the
 * verbena command gave.
 */
#ifndef CHECK_REPORT_H
#define CHECK_REPORT_H

#include "check/catalog.h"
#include "check/place.h"

#define CHECK_STACKS 3

struct check_report {
	enum check_kind kind;
	char text[768]; /* sentences: what was found, with the values */
	/* The first one is the place that the finding is known by. */
	struct {
		const char *title; /* "posted at" */
		const struct check_place *place;
	} stacks[CHECK_STACKS];
};

void check_report(const struct check_report *report);
/* Reads the environment, and opens the file. */
void check_report_open(void);
/* The last line of a process, without the verbena command. */
void check_report_end(void);

#endif
