/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `verbena wire`: captures and faults of programs that are running. The libraries of
 * the programs do it; the arguments are checked here, so that errors are printed at once.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "hca/inspect/setting.h"
#include "hca/inspect/fault_script.h"
#include "say.h"
#include "util/explain.h"

const char command_wire_help[] =
	"usage: verbena wire capture FILE|off\n"
	"       verbena wire fault RULES|FILE|off\n"
	"\n"
	"Tells the user's processes, those that run and those to come, to write their packets to\n"
	"FILE, or to spoil those on the wire by rules (verbena-fault(7)), until it is off.\n"
	"\n"
	"  -h, --help  show this\n";

static int order(const char *key, const char *value)
{
	if (hca_setting_set(key, value))
		return say(EXIT_FAILED, "wire %s: %s", key, explain_last());
	return say_done();
}

static int capture(const char *file)
{
	int fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	char *real;
	int status;

	if (fd < 0)
		return say(EXIT_FAILED, "'%s' cannot be written: %s", file, strerror(errno));
	close(fd);
	real = realpath(file, NULL);
	if (!real)
		return say(EXIT_FAILED, "'%s': %s", file, strerror(errno));
	status = order("capture", real);
	free(real);
	return status;
}

static int fault(const char *spec)
{
	char *real = strpbrk(spec, " ;=") ? NULL : realpath(spec, NULL);
	int status;

	if (hca_faults_check(real ? real : spec))
		status = say(EXIT_FAILED, "wire fault: %s", explain_last());
	else
		status = order("fault", real ? real : spec);
	free(real);
	return status;
}

int command_wire(int argc, char **argv)
{
	static const struct option options[] = { { "help", no_argument, NULL, 'h' }, { 0 } };
	int option;

	opterr = 0;
	while ((option = getopt_long(argc, argv, "+:h", options, NULL)) >= 0) {
		if (option != 'h')
			return option_bad(option, argv, "wire", EXIT_USAGE);
		fputs(command_wire_help, stdout);
		return say_done();
	}
	if (argc - optind != 2 ||
	    (strcmp(argv[optind], "capture") && strcmp(argv[optind], "fault"))) {
		say(0, "wire: 'capture' or 'fault', then what to do, or 'off'");
		return say_usage(EXIT_USAGE, "wire");
	}
	if (!strcmp(argv[optind + 1], "off"))
		return order(argv[optind], "");
	return strcmp(argv[optind], "fault") ? capture(argv[optind + 1]) : fault(argv[optind + 1]);
}
