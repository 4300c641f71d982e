/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program that leaves by _exit() runs no destructor, although the adapter may owe its peers
 * something: an acknowledgement that waits for a reply. The adapter tells us what to call then.
 */
#include <stdlib.h>
#include <unistd.h>

#include "next.h"

/* Set by libverbena (hca/leave.c), which looks for it by this name. */
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
