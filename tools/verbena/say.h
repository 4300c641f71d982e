/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages to the person at the terminal: what is wrong, and what would be right. Used by every
 * command.
 */
#ifndef VERBENA_SAY_H
#define VERBENA_SAY_H

#include <stdbool.h>

/* Exit statuses as those of env(1) and timeout(1): 126 and 127 are about the program. */
enum exit_status {
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_RUN_FAILED = 125,
	EXIT_NOT_EXECUTABLE = 126,
	EXIT_NOT_FOUND = 127,
};

/* "verbena: <sentence>" on stderr. Returns `status`, so that a check can end in `return say(...)`.
 */
int say(int status, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The sentence that ends every message about a wrong option or word. */
int say_usage(int status, const char *command);

/*
 * Flushes standard output; a full disk or a closed pipe is a failure, not a success with half the
 * output. Returns the exit status.
 */
int say_done(void);

#endif
