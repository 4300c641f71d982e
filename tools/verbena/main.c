/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The verbena command: looks up the word that follows and hands over.
 */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "place.h"
#include "say.h"
#include "util/api.h"

static const char general_help[] =
	"usage: verbena COMMAND [OPTION...]\n"
	"\n"
	"Software RDMA adapters in user space.\n"
	"\n"
	"  run      run a program on Verbena's libraries\n"
	"  check    run a program, and tell what is wrong with its use of RDMA\n"
	"  trace    run a program, and write a timeline of its posts, packets and completions\n"
	"  why      tell why a queue pair failed, or what it waits for\n"
	"  devices  show the adapters\n"
	"  top      show what running programs do\n"
	"  wire     capture or spoil packets of running programs\n"
	"  unplug   take an adapter away from running programs\n"
	"  plug     plug it in again\n"
	"  doctor   check what this machine lets Verbena do\n"
	"  version  show the version and where the libraries are\n"
	"  help     show this, or the help of a command\n"
	"\n"
	"'verbena COMMAND --help' tells more; so do verbena(1), verbena.conf(5), verbena-env(7).\n"
	"\n"
	"  verbena run -- ibv_devinfo\n";

const char command_version_help[] = "usage: verbena version\n"
				    "\n"
				    "Shows the version and where the libraries are.\n";

static int command_help(int argc, char **argv);

static const struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
} commands[] = {
	{ "run", command_run, command_run_help },
	{ "check", command_check, command_check_help },
	{ "trace", command_trace, command_trace_help },
	{ "why", command_why, command_why_help },
	{ "devices", command_devices, command_devices_help },
	{ "top", command_top, command_top_help },
	{ "wire", command_wire, command_wire_help },
	{ "unplug", command_unplug, command_unplug_help },
	{ "plug", command_plug, command_plug_help },
	{ "doctor", command_doctor, command_doctor_help },
	{ "version", command_version, command_version_help },
	{ "help", command_help, general_help },
};

static const struct command *find(const char *name)
{
	size_t i;

	for (i = 0; i < array_size(commands); i++)
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	return NULL;
}

static int unknown(const char *name)
{
	say(0,
	    "there is no command '%s'; there are run, check, trace, why, devices, top, wire, "
	    "unplug, plug, doctor, version and help",
	    name);
	return say_usage(EXIT_USAGE, NULL);
}

static int command_help(int argc, char **argv)
{
	const struct command *command = find(argc > 1 && argv[1][0] != '-' ? argv[1] : "help");

	if (!command)
		return unknown(argv[1]);
	fputs(command->help, stdout);
	return say_done();
}

int command_version(int argc, char **argv)
{
	static const struct option options[] = { { "help", no_argument, NULL, 'h' }, { 0 } };
	struct place place;
	int option;

	opterr = 0;
	option = getopt_long(argc, argv, "h", options, NULL);
	if (option == 'h') {
		fputs(command_version_help, stdout);
		return say_done();
	}
	if (option >= 0)
		return option_bad(option, argv, "version", EXIT_USAGE);
	if (optind < argc) {
		say(0, "version: takes no argument such as '%s'", argv[optind]);
		return say_usage(EXIT_USAGE, "version");
	}
	printf("verbena %s\n", VB_VERSION);
	if (place_find(&place))
		return EXIT_FAILED;
	printf("libraries: %s\n", place.libdir);
	return say_done();
}

int main(int argc, char **argv)
{
	const struct command *command;

	if (argc < 2) {
		fputs(general_help, stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		return command_help(1, argv);
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V"))
		return command_version(1, argv);
	command = find(argv[1]);
	if (!command)
		return unknown(argv[1]);
	return command->run(argc - 1, argv + 1);
}
