/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the function to call before the process leaves without destructors. It may be called in a
 * signal handler, and by the child of a vfork(), which is not the one that leaves.
 */
#include "hca/peers/process_exit.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

static void (*_Atomic last)(void);
static _Atomic pid_t process;

static void run(void)
{
	void (*fn)(void) = atomic_load(&last);

	if (fn && atomic_load(&process) == getpid())
		fn();
}

void process_exit_call(void (*fn)(void))
{
	void (**facade)(void);
	bool first = !atomic_exchange(&last, fn);

	atomic_store(&process, getpid());
	if (!first)
		return;
	(void)at_quick_exit(run); /* without the memory for it, what is owed is lost */
	/* The one that stands in front of _exit(), should it be preloaded. */
	facade = dlsym(RTLD_DEFAULT, "verbena_facade_leave");
	if (facade)
		__atomic_store_n(facade, run, __ATOMIC_RELEASE);
}
