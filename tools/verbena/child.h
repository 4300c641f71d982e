/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The processes that a run starts, and the signals in between. The command blocks signals before
 * it makes anything that has to be taken away again, and looks at them only while it waits.
 */
#ifndef VERBENA_CHILD_H
#define VERBENA_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct signals {
	sigset_t old_mask;
	struct sigaction old_chld;
};

void signals_hold(struct signals *s);

/*
 * fork(); the child has the signals as they were.
 */
pid_t child_fork(const struct signals *s);

/* In a child: die when the command is killed, so that no program outlives its run by accident. */
void child_follow_parent(void);

/*
 * Passes signals on until the child is gone, and calls `tick`, if there is one, some times per second. The child's
 * exit status, 128 + n when signal n ended it.
 */
int child_wait(pid_t pid, void (*tick)(void *arg), void *arg);

/* Becomes the program. Returns only on failure: an exit status, after saying why. */
int child_exec(char *const argv[]);

#endif
