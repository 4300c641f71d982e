/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `verbena unplug` and `verbena plug`: take an adapter away from programs that are running, and give it
 * back. The libraries of the programs do it.
 */
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>

#include "command.h"
#include "hca/inspect/unplug.h"
#include "say.h"
#include "util/explain.h"

const char command_unplug_help[] = "usage: verbena unplug ADAPTER\n"
				   "\n"
				   "Takes the adapter away from the user's processes, those that "
				   "run and those to come, as if\n"
				   "it were pulled out of its slot, until 'verbena plug ADAPTER'.\n"
				   "\n"
				   "  -h, --help  show this\n";

const char command_plug_help[] =
	"usage: verbena plug ADAPTER\n"
	"\n"
	"Plugs an adapter in again. Programs that had it open open it anew.\n"
	"\n"
	"  -h, --help  show this\n";

static int order(int argc, char **argv, bool unplug)
{
	static const struct option options[] = { { "help", no_argument, NULL, 'h' }, { 0 } };
	const char *command = unplug ? "unplug" : "plug";
	int option;

	opterr = 0;
	while ((option = getopt_long(argc, argv, "+:h", options, NULL)) >= 0) {
		if (option != 'h')
			return option_bad(option, argv, command, EXIT_USAGE);
		fputs(unplug ? command_unplug_help : command_plug_help, stdout);
		return say_done();
	}
	if (argc - optind != 1) {
		say(0, "%s: the name of one adapter, such as mlx5_0", command);
		return say_usage(EXIT_USAGE, command);
	}
	if (hca_unplug_order(argv[optind], unplug))
		return say(EXIT_FAILED, "%s: %s", command, explain_last());
	return say_done();
}

int command_unplug(int argc, char **argv)
{
	return order(argc, argv, true);
}

int command_plug(int argc, char **argv)
{
	return order(argc, argv, false);
}
