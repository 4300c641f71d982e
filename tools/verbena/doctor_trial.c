/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The last check: `verbena run` of a program that opens every adapter. It finds what no other check looks for: limits of
 * descriptors and address space, a configuration that cannot be read, no place for the facade.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "doctor.h"
#include "util/api.h"

/* Far more than it takes on a busy machine. */
#define LIMIT_S 300
/* With the words before it, it fits a finding. */
#define SAID_SIZE 256

/* In the child. What these variables ask for would leave files, or spoil packets. */
static void become_trial(int out, const char *self)
{
	static const char *const unwanted[] = { "VERBENA_CAPTURE",     "VERBENA_FAULT",
						"VERBENA_STAT",        "VERBENA_CHECK",
						"VERBENA_EXPLAIN",     "VERBENA_TRACE",
						"VERBENA_TRACE_LIMIT", "VERBENA_DUMP_ON",
						"VERBENA_DUMP_AFTER" };
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (size_t i = 0; i < array_size(unwanted); i++)
		unsetenv(unwanted[i]);
	if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 || dup2(nothing, STDOUT_FILENO) < 0 ||
	    dup2(out, STDERR_FILENO) < 0)
		_exit(1);
	alarm(LIMIT_S);
	execl(self, self, "run", "--", self, "devices", (char *)NULL);
	_exit(1);
}

/* The last line that the stream has, without the command's name before it. */
static void read_last_line(int fd, char out[SAID_SIZE])
{
	static const char name[] = "verbena: ";
	FILE *in = fdopen(fd, "r");
	char line[SAID_SIZE]; /* longer ones count as several */

	strcpy(out, "without a message");
	if (!in) {
		close(fd);
		return;
	}
	while (fgets(line, sizeof(line), in)) {
		const char *text = strncmp(line, name, strlen(name)) ? line : line + strlen(name);

		line[strcspn(line, "\n")] = '\0';
		if (*text)
			memcpy(out, text, strlen(text) + 1);
	}
	fclose(in);
}

/* Whether the program ended well; what it said last. */
static bool try_run(char said[SAID_SIZE])
{
	char self[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	int ends[2], status = -1;
	pid_t pid;

	if (len < 0 || pipe2(ends, O_CLOEXEC)) {
		snprintf(said, SAID_SIZE, "%s", strerror(errno));
		return false;
	}
	self[len] = '\0';
	pid = fork();
	if (!pid)
		become_trial(ends[1], self);
	close(ends[1]);
	read_last_line(ends[0], said);
	if (pid > 0)
		waitpid(pid, &status, 0);
	return !status;
}

void doctor_trial(struct finding *f)
{
	char said[SAID_SIZE];

	if (try_run(said))
		finding_set(f, VERDICT_OK, "programs run here", NULL,
			    "'verbena run' started a program, which opened the adapters");
	else
		finding_set(f, VERDICT_MISSING, "programs do not run here",
			    "the cause that the message names; 'verbena run --explain -- "
			    "ibv_devinfo' may tell more",
			    "'verbena run -- verbena devices' failed: %s", said);
}
