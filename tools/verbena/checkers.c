/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * TSAN_OPTIONS and VALGRIND_OPTS. The options that the user has there stay.
 *
 * Valgrind takes any number of suppression files, ThreadSanitizer one: when the user has one already, a file in
 * the run's tree holds both.
 */
#include "checkers.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SUPPRESSIONS "suppressions="

static void set_joined(const char *name, const char *first, char between, const char *second)
{
	char *text;

	if (asprintf(&text, "%s%c%s", first, between, second) < 0)
		return;
	setenv(name, text, 1);
	free(text);
}

/* The last one named counts. False if there is none. */
static bool named_file(const char *options, char file[PATH_MAX])
{
	const char *at = options, *last = NULL;

	while ((at = strstr(at, SUPPRESSIONS))) {
		at += strlen(SUPPRESSIONS);
		last = at;
	}
	if (!last)
		return false;
	if (*last == '"' || *last == '\'')
		snprintf(file, PATH_MAX, "%.*s", (int)strcspn(last + 1, "\"'"), last + 1);
	else
		snprintf(file, PATH_MAX, "%.*s", (int)strcspn(last, ": ,\n\t"), last);
	return true;
}

static bool append(FILE *to, const char *name)
{
	FILE *from = fopen(name, "re");
	char buf[4096];
	size_t n;

	if (!from)
		return false;
	while ((n = fread(buf, 1, sizeof(buf), from)))
		fwrite(buf, 1, n, to);
	fputc('\n', to);
	fclose(from);
	return true;
}

/* A file that cannot be read stays the only one: the sanitizer will say so. */
static bool merge(const char *tree, const char *users, const char *ours, char file[PATH_MAX])
{
	bool done;
	FILE *to;

	if (snprintf(file, PATH_MAX, "%s/tsan.supp", tree) >= PATH_MAX)
		return false;
	to = fopen(file, "we");
	if (!to)
		return false;
	done = append(to, ours) && append(to, users);
	return !fclose(to) && done;
}

static void set_tsan(const char *ours, const char *tree)
{
	const char *options = getenv("TSAN_OPTIONS");
	char users[PATH_MAX], both[PATH_MAX], ours_named[PATH_MAX + 32];

	if (options && named_file(options, users)) {
		if (!strcmp(users, ours) || !tree || !merge(tree, users, ours, both))
			return;
		ours = both;
	}
	snprintf(ours_named, sizeof(ours_named), SUPPRESSIONS "%s", ours);
	if (options && *options)
		set_joined("TSAN_OPTIONS", options, ':', ours_named);
	else
		setenv("TSAN_OPTIONS", ours_named, 1);
}

/* Tools without suppressions would refuse the option without their name before it. */
static void set_valgrind(const char *ours)
{
	const char *options = getenv("VALGRIND_OPTS");
	char text[4 * PATH_MAX];

	if (options && strstr(options, ours))
		return;
	snprintf(text, sizeof(text),
		 "--memcheck:" SUPPRESSIONS "%s --helgrind:" SUPPRESSIONS "%s --drd:" SUPPRESSIONS
		 "%s",
		 ours, ours, ours);
	if (options && *options)
		set_joined("VALGRIND_OPTS", text, ' ', options);
	else
		setenv("VALGRIND_OPTS", text, 1);
}

void checkers_set(const struct place *place, const char *tree)
{
	char file[PATH_MAX];

	/* Libraries that are built with a sanitizer are to be checked themselves. */
	if (*VB_SANITIZE)
		return;
	if (snprintf(file, sizeof(file), "%s/tsan.supp", place->libdir) < (int)sizeof(file))
		set_tsan(file, tree);
	if (snprintf(file, sizeof(file), "%s/valgrind.supp", place->libdir) < (int)sizeof(file))
		set_valgrind(file);
}
