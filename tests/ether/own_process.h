/* SPDX-License-Identifier: BSD-2-Clause */
/* A test program that starts itself once more, with a device as its argument. */
#ifndef OWN_PROCESS_H
#define OWN_PROCESS_H

#include "verbs_test.h"

#include <unistd.h>

/*
 * A process of its own, not a fork of this one: what it shares is the switch. `theirs` is STDIN_FILENO
 * or STDOUT_FILENO, which becomes one end of a pipe; the other is ours.
 */
static inline pid_t own_process(const char *program, const char *device, int theirs, int *ours)
{
	int fds[2], end = theirs == STDIN_FILENO ? 0 : 1;
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		dup2(fds[end], theirs);
		close(fds[!end]);
		execl(program, program, device, (char *)NULL);
		_exit(127);
	}
	close(fds[end]);
	*ours = fds[!end];
	return pid;
}

#endif
