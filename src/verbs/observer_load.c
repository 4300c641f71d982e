/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Loads the checker, and tells it when the process ends: a destructor here runs after those of the program
 * and of all libraries that use this one.
 */
#include "verbs/observer_load.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "verbs/driver.h"
#include "verbs/observer.h"

#define LIBRARY "libverbena-check.so.0"

static const struct vb_observer *load(void)
{
	const struct vb_observer *(*attach)(void);
	const struct vb_observer *observer;
	void *handle = vb_library_open(LIBRARY);

	attach = handle ? dlsym(handle, "verbena_check_attach") : NULL;
	if (!attach) {
		fprintf(stderr, "verbena: VERBENA_CHECK is set, and nothing is checked: %s\n",
			dlerror());
		return NULL;
	}
	observer = attach();
	if (observer && observer->abi != VB_OBSERVER_ABI) {
		fprintf(stderr, "verbena: VERBENA_CHECK is set, and nothing is checked: " LIBRARY
				" is from another build than libibverbs.so.1\n");
		return NULL;
	}
	return observer;
}

static void load_once(void)
{
	const char *wanted = getenv("VERBENA_CHECK");

	if (wanted && *wanted && strcmp(wanted, "0"))
		verbs_state.observer = load();
}

void vb_observer_load(void)
{
	pthread_once(&verbs_state.observer_once, load_once);
}

__attribute__((destructor)) static void tell_exit(void)
{
	vb_observe(exiting);
}
