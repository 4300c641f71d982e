/* SPDX-License-Identifier: BSD-2-Clause */
#include "netns.h"

#include "cmocka_all.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define INSIDE "VERBENA_TEST_NETNS"

extern char **environ;

static bool run(const char *command)
{
	/* A sanitizer's preload is for the test, not for the tools it calls. */
	char *argv[] = { "env", "-u", "LD_PRELOAD", "sh", "-c", (char *)command, NULL };
	int status;
	pid_t pid;

	if (posix_spawnp(&pid, "env", NULL, NULL, argv, environ))
		return false;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return false;
	return WIFEXITED(status) && !WEXITSTATUS(status);
}

void netns_enter(char **argv)
{
	const char *way = NULL;

	if (getenv(INSIDE))
		return;
	if (!run("ip -V >/dev/null 2>&1")) {
		printf("SKIPPED: no ip command (package iproute2)\n");
		exit(77);
	}
	if (run("unshare --net ip link >/dev/null 2>&1"))
		way = "--net";
	else if (run("unshare --map-root-user --net ip link >/dev/null 2>&1"))
		way = "--map-root-user";
	if (!way) {
		printf("SKIPPED: neither a network namespace nor a user namespace is allowed "
		       "here\n");
		exit(77);
	}
	setenv(INSIDE, "1", 1);
	execlp("unshare", "unshare", "--net", way, argv[0], argv[1], NULL);
	perror("unshare");
	exit(1);
}

static bool run_ip(const char *fmt, va_list ap, bool quiet)
{
	char command[256] = "ip ";

	vsnprintf(command + 3, sizeof(command) - 16, fmt, ap);
	if (quiet)
		strcat(command, " 2>/dev/null");
	return run(command);
}

void netns_ip(const char *fmt, ...)
{
	va_list ap;
	bool done;

	va_start(ap, fmt);
	done = run_ip(fmt, ap, false);
	va_end(ap);
	if (!done)
		fail_msg("ip %s ... failed", fmt);
}

bool netns_try_ip(const char *fmt, ...)
{
	va_list ap;
	bool done;

	va_start(ap, fmt);
	done = run_ip(fmt, ap, true);
	va_end(ap);
	return done;
}
