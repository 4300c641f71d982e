/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Options that describe adapters. They only become environment variables; the adapter library
 * reads and checks those, here as in the program that is run.
 */
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "say.h"

int option_adapter(const char *spec, int failure)
{
	static bool again;
	const char *old = again ? getenv("VERBENA_ADAPTERS") : NULL;
	char *text;

	if (!*spec || *spec == ',' || strchr(spec, ';'))
		return say(failure,
			   "--adapter takes NAME[,key=value...], such as mlx5_0,interface=eth0, "
			   "not '%s'; give it once for each adapter",
			   spec);
	/* The first one replaces what the environment had, the others join it. */
	if (asprintf(&text, "%s%s%s", old ? old : "", old ? ";" : "", spec) < 0)
		return say(failure, "out of memory");
	setenv("VERBENA_ADAPTERS", text, 1);
	free(text);
	again = true;
	return 0;
}

int option_config(const char *file, int failure)
{
	char *real = realpath(file, NULL);

	if (!real || access(real, R_OK)) {
		free(real);
		return say(failure, "--config: '%s' cannot be read: %s", file, strerror(errno));
	}
	/* The program may change its directory before it looks. */
	setenv("VERBENA_CONFIG", real, 1);
	free(real);
	return 0;
}

int option_bad(int option, char **argv, const char *command, int failure)
{
	if (option == ':')
		say(0, "%s: option '%s' needs a value", command, argv[optind - 1]);
	else if (optopt && !strncmp(argv[optind - 1], "--", 2))
		say(0, "%s: option '%s' takes no value", command, argv[optind - 1]);
	else if (optopt)
		say(0, "%s: there is no option '-%c'", command, optopt);
	else
		say(0, "%s: there is no option '%s'", command, argv[optind - 1]);
	return say_usage(failure, command);
}
