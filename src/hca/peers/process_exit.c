/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/peers/process_exit.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "hca/hca.h"

static void run(void)
{
	void (*fn)(void) = atomic_load(&hca.peers.process_exit.fn);

	if (fn && atomic_load(&hca.peers.process_exit.process) == getpid())
		fn();
}

void process_exit_call(void (*fn)(void))
{
	void (**facade)(void);
	bool first = !atomic_exchange(&hca.peers.process_exit.fn, fn);

	atomic_store(&hca.peers.process_exit.process, getpid());
	if (!first)
		return;
	(void)at_quick_exit(run); /* fails without memory only: then fn is not called */
	facade = dlsym(RTLD_DEFAULT, "verbena_facade_leave");
	if (facade)
		__atomic_store_n(facade, run, __ATOMIC_RELEASE);
}
