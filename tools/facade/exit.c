/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * _exit() runs no destructors, although acknowledgements to peers may be pending: the adapter library
 * registers a function here that sends them.
 */
#include <stdlib.h>
#include <unistd.h>

#include "next.h"

/* Set by libverbena (hca/peers/process_exit.c), which looks for it by this name. */
FACADE_API void (*verbena_facade_leave)(void);

static void leave(void)
{
	void (*fn)(void) = __atomic_load_n(&verbena_facade_leave, __ATOMIC_ACQUIRE);

	if (fn)
		fn();
}

FACADE_API void _exit(int status)
{
	leave();
	NEXT(_exit)(status);
	__builtin_unreachable();
}

FACADE_API void _Exit(int status)
{
	leave();
	NEXT(_Exit)(status);
	__builtin_unreachable();
}
