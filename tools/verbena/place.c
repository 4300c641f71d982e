/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the library directory. A directory with libibverbs.so.1 but without libverbena is the
 * distribution's.
 */
#include "place.h"

#include <errno.h>
#include <libgen.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "say.h"
#include "util/api.h"

/* VB_LIBDIR is where the package puts them, relative to the prefix. */
static const char *const candidates[] = {
	VB_LIBDIR,
	"lib",
	"lib/verbena",
	"lib64/verbena",
};

static bool holds(const char *dir, const char *name)
{
	char path[PATH_MAX + 32];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return !access(path, R_OK);
}

static bool try_candidate(const char *prefix, const char *candidate, struct place *out)
{
	char path[PATH_MAX];
	char *real;

	if (snprintf(path, sizeof(path), "%s/%s", prefix, candidate) >= (int)sizeof(path))
		return false;
	if (!holds(path, "libverbena.so.0") || !holds(path, "libibverbs.so.1"))
		return false;
	real = realpath(path, NULL);
	if (!real)
		return false;
	snprintf(out->libdir, sizeof(out->libdir), "%s", real);
	free(real);
	return true;
}

int place_find(struct place *out)
{
	char exe[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	char *prefix;
	size_t i;

	if (n < 0)
		return say(EXIT_FAILED, "cannot tell where this command is: /proc/self/exe: %s",
			   strerror(errno));
	exe[n] = '\0';
	prefix = dirname(dirname(exe));
	for (i = 0; i < array_size(candidates); i++)
		if (try_candidate(prefix, candidates[i], out))
			return 0;
	return say(EXIT_FAILED,
		   "the libraries are missing: no libverbena.so.0 in %s/%s or %s/lib; "
		   "build them with ./do build, or install the package again",
		   prefix, VB_LIBDIR, prefix);
}
