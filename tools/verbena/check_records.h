/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The findings of a program's processes: lines of JSON in a file, which the checker has written.
 */
#ifndef VERBENA_CHECK_RECORDS_H
#define VERBENA_CHECK_RECORDS_H

#include <stddef.h>

#include "check/catalog.h"

struct check_records {
	char *text;
	char **lines; /* in it, without their ends */
	size_t count;
	unsigned int processes;          /* that were checked */
	unsigned int kinds[CHECK_KINDS]; /* findings of each */
};

/* An exit status other than 0, after a message, when they cannot be read. */
int check_records_read(struct check_records *r, const char *file);
void check_records_free(struct check_records *r);
/* Files that cannot be written are told of, and change nothing else. */
void check_records_json(const struct check_records *r, const char *file, char *const argv[],
			int status);
void check_records_junit(const struct check_records *r, const char *file);

#endif
