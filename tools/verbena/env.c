/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * LD_LIBRARY_PATH, LD_PRELOAD and VERBENA_FACADE. The user's entries in the
 * loader's variables stay, behind Verbena's.
 */
#include "env.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "say.h"

/*
 * A link to libverbena-facade.so. ASan's runtime ends a program in which another library comes before it, and tells
 * its own by this part of the name. The facade may come first: what it calls next is then the runtime's.
 */
#define FACADE_LIBRARY "libverbena-facade.libasan.so"

/* The sanitizer's runtime must come first in any program; "" in a plain build. */
#ifndef VB_SANITIZER_RUNTIME
#define VB_SANITIZER_RUNTIME ""
#endif

int env_check(const struct place *place)
{
	if (strpbrk(place->libdir, " :;\t\n$"))
		return say(
			EXIT_RUN_FAILED,
			"the loader cannot be given libraries in '%s': no blank, colon, semicolon "
			"or $ may be in the name; install to another prefix",
			place->libdir);
	return 0;
}

static bool is_first(const char *list, const char *item)
{
	size_t n = strlen(item);

	return !strncmp(list, item, n) && (!list[n] || strchr(": ", list[n]));
}

static void set_joined(const char *name, const char *first, const char *second)
{
	char *text;

	if (asprintf(&text, "%s:%s", first, second) < 0)
		return;
	setenv(name, text, 1);
	free(text);
}

static void prepend(const char *name, const char *item)
{
	const char *old = getenv(name);

	if (!old || !*old)
		setenv(name, item, 1);
	else if (!is_first(old, item))
		set_joined(name, item, old);
}

static void append(const char *name, const char *item)
{
	const char *old = getenv(name);

	if (!old || !*old)
		setenv(name, item, 1);
	else
		set_joined(name, old, item);
}

static void preload_facade(const struct place *place, const char *facade)
{
	char path[PATH_MAX + 32];

	snprintf(path, sizeof(path), "%s/%s", place->libdir, FACADE_LIBRARY);
	prepend("LD_PRELOAD", path);
	setenv("VERBENA_FACADE", facade, 1);
}

void env_set_libraries(const struct place *place, const char *facade)
{
	prepend("LD_LIBRARY_PATH", place->libdir);
	if (facade)
		preload_facade(place, facade);
	if (!*VB_SANITIZER_RUNTIME)
		return;
	prepend("LD_PRELOAD", VB_SANITIZER_RUNTIME);
	/* Unmodified programs exit without freeing all memory; do not report their leaks. */
	setenv("ASAN_OPTIONS", "detect_leaks=0", 0);
}

static bool is_ours(const char *item)
{
	const char *base = strrchr(item, '/');

	return !strcmp(base ? base + 1 : item, FACADE_LIBRARY);
}

/* Removes the preload library from LD_PRELOAD. */
static void remove_preload(void)
{
	const char *old = getenv("LD_PRELOAD");
	char *copy, *item, *save;

	if (!old)
		return;
	copy = strdup(old);
	unsetenv("LD_PRELOAD");
	for (item = copy ? strtok_r(copy, ": ", &save) : NULL; item;
	     item = strtok_r(NULL, ": ", &save))
		if (!is_ours(item))
			append("LD_PRELOAD", item);
	free(copy);
}

bool env_drop_facade(void)
{
	if (!getenv("VERBENA_FACADE"))
		return false;
	unsetenv("VERBENA_FACADE");
	remove_preload();
	return true;
}
