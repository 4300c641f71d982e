/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Loads the checker or the trace, and tells it when the process ends: a destructor here runs after those of the
 * program and of all libraries that use this one.
 */
#include "verbs/observer_load.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "verbs/driver.h"
#include "verbs/observer.h"

static const struct kind {
	const char *variable, *library, *entry, *nothing;
} kinds[] = {
	{ "VERBENA_CHECK", "libverbena-check.so.0", "verbena_check_attach", "checked" },
	{ "VERBENA_TRACE", "libverbena-trace.so.0", "verbena_trace_attach", "traced" },
};

static const struct vb_observer *load(const struct kind *k)
{
	const struct vb_observer *(*attach)(void);
	const struct vb_observer *observer;
	void *handle = vb_library_open(k->library);

	attach = handle ? dlsym(handle, k->entry) : NULL;
	if (!attach) {
		fprintf(stderr, "verbena: %s is set, and nothing is %s: %s\n", k->variable,
			k->nothing, dlerror());
		return NULL;
	}
	observer = attach();
	if (observer && observer->abi != VB_OBSERVER_ABI) {
		fprintf(stderr,
			"verbena: %s is set, and nothing is %s: %s is from another build than "
			"libibverbs.so.1\n",
			k->variable, k->nothing, k->library);
		return NULL;
	}
	return observer;
}

/* There is one observer: a program that is checked is not traced. */
static void load_once(void)
{
	for (size_t i = 0; i < array_size(kinds); i++) {
		const char *wanted = getenv(kinds[i].variable);

		if (!wanted || !*wanted || !strcmp(wanted, "0"))
			continue;
		verbs_state.observer = load(&kinds[i]);
		return;
	}
}

void vb_observer_load(void)
{
	pthread_once(&verbs_state.observer_once, load_once);
}

__attribute__((destructor)) static void tell_exit(void)
{
	vb_observe(exiting);
}
