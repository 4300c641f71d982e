/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `verbena doctor`: what this machine lets the libraries do, one finding after the other.
 */
#include "doctor.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "json.h"
#include "say.h"
#include "util/api.h"

const char command_doctor_help[] =
	"usage: verbena doctor [--json]\n"
	"\n"
	"Checks what this machine, or container, lets Verbena do, and says for each finding what "
	"it\n"
	"means and what would mend it. It changes nothing.\n"
	"\n"
	"  ok       nothing to mend\n"
	"  slower   everything works, something takes longer\n"
	"  limited  something is missing that most programs do not need\n"
	"  missing  programs fail, or packets do not arrive\n"
	"\n"
	"      --json  as a JSON array\n"
	"  -h, --help  show this\n"
	"\n"
	"The exit status is 1 when something is missing, else 0.\n";

static const struct check {
	const char *name;
	void (*run)(struct finding *f);
} checks[] = {
	{ "memory files", doctor_memfd },
	{ "shared memory", doctor_shm },
	{ "userfaultfd", doctor_userfaultfd },
	{ "ptrace scope", doctor_process_vm },
	{ "cores", doctor_cores },
	{ "file sizes", doctor_file_sizes },
	{ "port 4791", doctor_port },
	{ "firewall", doctor_firewall },
	{ "socket buffers", doctor_socket_buffers },
	{ "user namespaces", doctor_user_namespaces },
	{ "address layout", doctor_address_layout },
	{ "trial run", doctor_trial },
};

static const struct {
	const char *word, *colour;
} verdicts[] = {
	[VERDICT_OK] = { "ok", "\033[32m" },
	[VERDICT_SLOWER] = { "slower", "\033[33m" },
	[VERDICT_LIMITED] = { "limited", "\033[33m" },
	[VERDICT_MISSING] = { "missing", "\033[31m" },
};

void finding_set(struct finding *f, enum verdict verdict, const char *means, const char *mend,
		 const char *found, ...)
{
	va_list ap;

	f->verdict = verdict;
	va_start(ap, found);
	vsnprintf(f->found, sizeof(f->found), found, ap);
	va_end(ap);
	snprintf(f->means, sizeof(f->means), "%s", means);
	snprintf(f->mend, sizeof(f->mend), "%s", mend ? mend : "");
}

long doctor_setting(const char *file)
{
	FILE *in = fopen(file, "re");
	long value = -1;

	if (!in)
		return -1;
	if (fscanf(in, "%ld", &value) != 1)
		value = -1;
	fclose(in);
	return value;
}

static bool has_colour(void)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && !(no && *no) && term && strcmp(term, "dumb") != 0;
}

static void print_line(const char *name, const struct finding *f, bool colour)
{
	printf("%s%-8s%s %-16s %s; %s\n", colour ? verdicts[f->verdict].colour : "",
	       verdicts[f->verdict].word, colour ? "\033[0m" : "", name, f->found, f->means);
	if (*f->mend)
		printf("%-25s to mend it: %s\n", "", f->mend);
	fflush(stdout);
}

static void print_object(const char *name, const struct finding *f, bool first)
{
	printf("%s\n  { \"name\": ", first ? "" : ",");
	json_print_string(name);
	printf(", \"verdict\": ");
	json_print_string(verdicts[f->verdict].word);
	printf(",\n    \"found\": ");
	json_print_string(f->found);
	printf(",\n    \"means\": ");
	json_print_string(f->means);
	printf(",\n    \"mend\": ");
	if (*f->mend)
		json_print_string(f->mend);
	else
		printf("null");
	printf(" }");
}

static void print_summary(const unsigned int *count)
{
	if (count[VERDICT_MISSING])
		printf("\nNot everything works here.\n");
	else if (count[VERDICT_SLOWER] || count[VERDICT_LIMITED])
		printf("\nPrograms run here. Try: verbena run -- ibv_devinfo\n");
	else
		printf("\nAll is well. Try: verbena run -- ibv_devinfo\n");
}

static int examine(bool json)
{
	unsigned int count[array_size(verdicts)] = { 0 };
	bool colour = !json && has_colour();
	int status;

	if (json)
		printf("[");
	for (size_t i = 0; i < array_size(checks); i++) {
		struct finding f = { 0 };

		checks[i].run(&f);
		count[f.verdict]++;
		if (json)
			print_object(checks[i].name, &f, !i);
		else
			print_line(checks[i].name, &f, colour);
	}
	if (json)
		printf("\n]\n");
	else
		print_summary(count);
	status = say_done();
	return status ? status : count[VERDICT_MISSING] ? EXIT_FAILED : 0;
}

int command_doctor(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	bool json = false;
	int option;

	opterr = 0;
	while ((option = getopt_long(argc, argv, ":h", options, NULL)) >= 0) {
		if (option == 'h') {
			fputs(command_doctor_help, stdout);
			return say_done();
		}
		if (option != 'j')
			return option_bad(option, argv, "doctor", EXIT_USAGE);
		json = true;
	}
	if (optind < argc) {
		say(0, "doctor: takes no argument such as '%s'", argv[optind]);
		return say_usage(EXIT_USAGE, "doctor");
	}
	return examine(json);
}
