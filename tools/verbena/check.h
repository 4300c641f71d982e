/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The part of `verbena check` (and `verbena run --check`) before and after the program: options, and what
 * becomes of the findings that its processes leave in a file.
 */
#ifndef VERBENA_CHECK_H
#define VERBENA_CHECK_H

#include <limits.h>
#include <stdbool.h>

#include "place.h"
#include "tree.h"

struct check_options {
	bool on;
	const char *json, *junit;    /* files, or NULL */
	const char *fail_on;         /* list of ids; NULL: all but notes */
	char suppressions[PATH_MAX]; /* the user's file, or "" */
	const char *seed;            /* of the adversary, or NULL */
	bool faults;                 /* the user gave --fault */
};

/* Each: 0, or `failure` after a message. */
int check_set_output(struct check_options *o, const char *option, const char *file, int failure);
int check_set_fail_on(struct check_options *o, const char *ids, int failure);
int check_set_suppressions(struct check_options *o, const char *file, int failure);
int check_set_adversary(struct check_options *o, const char *seed, int failure);

/* Sets the environment of the program. 0, or an exit status after a message. */
int check_begin(const struct check_options *o, const struct place *place, const struct tree *tree);
/* Writes the reports; returns the exit status of the command. */
int check_end(const struct check_options *o, const struct tree *tree, char *const argv[],
	      int status);

#endif
