/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check/catalog.h"
#include "check_records.h"
#include "say.h"

#define EXIT_FINDINGS 99

/* Packets are lost, repeated, late and out of order, and receivers are not ready, now and then. */
#define ADVERSARY_FAULTS                                                                           \
	"drop p=1%; dup p=1%; reorder p=1%; delay us=300 p=3%; rnr timer=1 p=1% opcode=SEND_ONLY"

int check_set_output(struct check_options *o, const char *option, const char *file, int failure)
{
	int fd = *file ? open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0666) : -1;

	if (fd < 0)
		return say(failure, "%s: '%s' cannot be written: %s", option, file,
			   *file ? strerror(errno) : "the name is empty");
	close(fd);
	if (!strcmp(option, "--json"))
		o->json = file;
	else
		o->junit = file;
	o->on = true;
	return 0;
}

static bool is_known(const char *id, size_t length)
{
	for (int i = 0; i < CHECK_KINDS; i++) {
		const char *known = check_catalog_of(i)->id;

		if (strlen(known) == length && !strncmp(known, id, length))
			return true;
	}
	return false;
}

int check_set_fail_on(struct check_options *o, const char *ids, int failure)
{
	const char *at = ids;

	o->fail_on = ids;
	o->on = true;
	if (!strcmp(ids, "none"))
		return 0;
	do {
		size_t length = strcspn(at, ",");

		if (!is_known(at, length))
			return say(failure,
				   "--fail-on: there is no finding '%.*s'; verbena-check(7) lists "
				   "them, "
				   "and 'none' is none of them",
				   (int)length, at);
		at += length;
	} while (*at++);
	return 0;
}

static int check_line(const char *file, int number, char *line, int failure)
{
	size_t length;

	line[strcspn(line, "#\n")] = 0;
	line += strspn(line, " \t\r");
	length = strcspn(line, " \t\r");
	if (!length || (length == 1 && *line == '*') || is_known(line, length))
		return 0;
	return say(failure, "--suppressions: %s, line %d: there is no finding '%.*s'", file, number,
		   (int)length, line);
}

int check_set_suppressions(struct check_options *o, const char *file, int failure)
{
	/* The program may change its directory before it looks. */
	FILE *f = realpath(file, o->suppressions) ? fopen(o->suppressions, "re") : NULL;
	char *line = NULL;
	size_t size = 0;
	int status = 0, number = 0;

	if (!f)
		return say(failure, "--suppressions: '%s' cannot be read: %s", file,
			   strerror(errno));
	while (!status && getline(&line, &size, f) > 0)
		status = check_line(file, ++number, line, failure);
	free(line);
	fclose(f);
	o->on = true;
	return status;
}

int check_set_adversary(struct check_options *o, const char *seed, int failure)
{
	char *end;

	o->on = true;
	o->seed = seed ? seed : "1";
	errno = 0;
	if (!strtoull(o->seed, &end, 0) || errno || *end)
		return say(failure, "--adversary=SEED: the seed is a number from 1 on, not '%s'",
			   seed);
	return 0;
}

static void set_adversary(const struct check_options *o)
{
	setenv("VERBENA_CHECK_ADVERSARY", o->seed, 1);
	if (o->faults)
		return;
	setenv("VERBENA_PATH", "wire", 1);
	setenv("VERBENA_FAULT", ADVERSARY_FAULTS, 1);
	setenv("VERBENA_FAULT_SEED", o->seed, 1);
}

static void records_name(const struct tree *tree, char out[PATH_MAX])
{
	snprintf(out, PATH_MAX, "%s/findings", tree->path);
}

int check_begin(const struct check_options *o, const struct place *place, const struct tree *tree)
{
	char name[PATH_MAX], *files;
	int fd;

	records_name(tree, name);
	fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return say(EXIT_RUN_FAILED, "cannot make the file for findings, %s: %s", name,
			   strerror(errno));
	close(fd);
	setenv("VERBENA_CHECK", name, 1);
	if (asprintf(&files, "%s/check.supp%s%s", place->libdir, *o->suppressions ? ":" : "",
		     o->suppressions) < 0)
		return say(EXIT_RUN_FAILED, "out of memory");
	setenv("VERBENA_CHECK_SUPPRESSIONS", files, 1);
	free(files);
	if (o->seed)
		set_adversary(o);
	return 0;
}

static bool fails(const struct check_options *o, const char *id, bool note)
{
	const char *at = o->fail_on;
	size_t length = strlen(id);

	if (!at)
		return !note;
	while ((at = strstr(at, id))) {
		bool begins = at == o->fail_on || at[-1] == ',';

		if (begins && (!at[length] || at[length] == ','))
			return true;
		at += length;
	}
	return false;
}

static void print_summary(const struct check_records *r)
{
	unsigned int findings = 0, notes = 0;
	const char *between = ": ";

	if (!r->processes) {
		fputs("verbena check: nothing was checked: no process opened an adapter of "
		      "Verbena's; "
		      "a static program, for one, does not load its libraries\n",
		      stderr);
		return;
	}
	for (int i = 0; i < CHECK_KINDS; i++)
		*(check_catalog_of(i)->note ? &notes : &findings) += r->kinds[i];
	fprintf(stderr, "verbena check: %u finding%s", findings, findings == 1 ? "" : "s");
	if (notes)
		fprintf(stderr, ", %u note%s", notes, notes == 1 ? "" : "s");
	for (int i = 0; i < CHECK_KINDS; i++) {
		if (!r->kinds[i])
			continue;
		fprintf(stderr, "%s%s %u", between, check_catalog_of(i)->id, r->kinds[i]);
		between = ", ";
	}
	fputc('\n', stderr);
}

int check_end(const struct check_options *o, const struct tree *tree, char *const argv[],
	      int status)
{
	struct check_records records;
	char name[PATH_MAX];
	bool failed = false;

	records_name(tree, name);
	if (check_records_read(&records, name))
		return status;
	if (status < EXIT_RUN_FAILED || status > EXIT_NOT_FOUND || records.processes)
		print_summary(&records);
	if (o->json)
		check_records_json(&records, o->json, argv, status);
	if (o->junit)
		check_records_junit(&records, o->junit);
	for (int i = 0; i < CHECK_KINDS; i++)
		failed |= records.kinds[i] &&
			  fails(o, check_catalog_of(i)->id, check_catalog_of(i)->note);
	check_records_free(&records);
	return failed ? EXIT_FINDINGS : status;
}
