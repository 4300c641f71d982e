/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program starts a helper by fork() while it has memory registered.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "rig.h"

void run(struct rig *r)
{
	pid_t child;

	rig_connect(r, &rig_usual_path);
#ifdef MENDED
	must(!ibv_fork_init(), "ibv_fork_init"); /* better still: at the start of the program */
#endif
	child = fork();
	if (!child) {
		execlp("true", "true", NULL);
		_exit(1);
	}
	waitpid(child, NULL, 0);
}
