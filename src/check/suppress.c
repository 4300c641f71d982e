/* SPDX-License-Identifier: BSD-2-Clause */
#include "check/suppress.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/state.h"

struct check_rule {
	struct check_rule *next;
	char *id, *pattern; /* pattern: NULL for any */
};

static int add(char *line)
{
	struct check_rule *rule;
	char *save, *id, *pattern;

	line[strcspn(line, "#\n")] = 0;
	id = strtok_r(line, " \t\r", &save);
	if (!id)
		return 0;
	pattern = strtok_r(NULL, "\r", &save);
	if (pattern)
		pattern += strspn(pattern, " \t");
	rule = calloc(1, sizeof(*rule));
	if (!rule)
		return -ENOMEM;
	rule->id = strdup(id);
	rule->pattern = pattern && *pattern ? strdup(pattern) : NULL;
	rule->next = check.suppressions;
	check.suppressions = rule;
	return rule->id ? 0 : -ENOMEM;
}

static int read_file(const char *name)
{
	FILE *file = fopen(name, "re");
	char *line = NULL;
	size_t size = 0;
	int err = 0;

	if (!file)
		return -errno;
	while (!err && getline(&line, &size, file) > 0)
		err = add(line);
	free(line);
	fclose(file);
	return err;
}

int check_suppress_read(const char *files, const char **bad)
{
	char *copy = strdup(files), *save, *name;
	int err = copy ? 0 : -ENOMEM;

	*bad = files;
	for (name = copy ? strtok_r(copy, ":", &save) : NULL; name && !err;
	     name = strtok_r(NULL, ":", &save))
		err = read_file(name);
	free(copy);
	return err;
}

static bool matches(const struct check_rule *rule, const char *const frames[], unsigned int count)
{
	if (!rule->pattern)
		return true;
	for (unsigned int i = 0; i < count; i++)
		if (!fnmatch(rule->pattern, frames[i], 0))
			return true;
	return false;
}

bool check_suppressed(const char *id, const char *const frames[], unsigned int count)
{
	for (const struct check_rule *rule = check.suppressions; rule; rule = rule->next)
		if ((!strcmp(rule->id, id) || !strcmp(rule->id, "*")) &&
		    matches(rule, frames, count))
			return true;
	return false;
}
