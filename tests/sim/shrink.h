/* SPDX-License-Identifier: BSD-2-Clause */
/* The shortest program that still fails: the test runs itself with fewer and fewer operations. */
#ifndef TESTS_SIM_SHRINK_H
#define TESTS_SIM_SHRINK_H

#include <stdint.h>

struct program;

/*
 * Options that a run of the same simulation needs, besides those that say which operations it has.
 */
struct shrink_options {
	const char *self;
	uint64_t seed;
	unsigned int hosts;
	const char *mutation; /* or NULL */
	int kind;             /* exit status of the failure */
};

/* Prints the operations that are left, and the trace. Does not return to a run that has failed. */
void shrink_run(const struct shrink_options *options, unsigned int ops);
/* Leaves out what the text, of shrink_run(), does not have. */
void shrink_apply(const char *text, struct program *p);

#endif
