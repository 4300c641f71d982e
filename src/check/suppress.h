/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Suppressions. Lines of a file, "#" begins a comment:
 *
 *	id [PATTERN]
 *
 * The finding is not told if its id matches and PATTERN, with the wildcards of the shell, matches the text of
 * a frame of one of its stacks, the name of the program, or is left out.
 */
#ifndef CHECK_SUPPRESS_H
#define CHECK_SUPPRESS_H

#include <stdbool.h>

/* Several files, separated by colons. 0, or -errno with `*bad` set to the file. */
int check_suppress_read(const char *files, const char **bad);
bool check_suppressed(const char *id, const char *const frames[], unsigned int count);

#endif
