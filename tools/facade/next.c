/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Look-up of the wrapped functions. Two threads may look up the same one at once; both find the same.
 */
#include "next.h"

#include <dlfcn.h>
#include <stdlib.h>

/* Made by the linker around everything that NEXT() puts into the section. */
extern struct facade_fn __start_facade_fns[], __stop_facade_fns[];

void *facade_next(struct facade_fn *fn)
{
	void *next = __atomic_load_n(&fn->next, __ATOMIC_RELAXED);

	if (next)
		return next;
	next = dlsym(RTLD_NEXT, fn->name);
	if (!next)
		abort();
	__atomic_store_n(&fn->next, next, __ATOMIC_RELAXED);
	return next;
}

__attribute__((constructor)) static void look_up_all(void)
{
	struct facade_fn *fn;

	for (fn = __start_facade_fns; fn != __stop_facade_fns; fn++)
		facade_next(fn);
}
