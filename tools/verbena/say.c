/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages of the command.
 */
#include "say.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int say(int status, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fprintf(stderr, "verbena: %s\n", text);
	return status;
}

int say_usage(int status, const char *command)
{
	if (command)
		fprintf(stderr, "Try 'verbena %s --help'.\n", command);
	else
		fprintf(stderr, "Try 'verbena --help'.\n");
	return status;
}

int say_done(void)
{
	if (fflush(stdout) || ferror(stdout))
		return say(EXIT_FAILED, "cannot write the output: %s", strerror(errno));
	return 0;
}
