/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The constructor looks all calls up, so that signal handlers and forked children need no look-up.
 * Libraries that are started before this one call earlier and look up what they call.
 */
#include "rspreload/real.h"

#include <dlfcn.h>
#include <stdlib.h>

static const char *const names[] = {
#define NAME(name) [RSP_CALL_##name] = #name,
	RSP_CALLS(NAME)
#undef NAME
};

void *rsp_real_find(enum rsp_call call)
{
	void *fn = dlsym(RTLD_NEXT, names[call]);

	if (!fn)
		abort();
	atomic_store_explicit(&rsp.real[call], fn, memory_order_relaxed);
	return fn;
}

__attribute__((constructor)) static void find_all(void)
{
	enum rsp_call call;

	for (call = 0; call < RSP_CALL_COUNT; call++)
		rsp_real(call);
}
