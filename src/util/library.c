/* SPDX-License-Identifier: BSD-2-Clause */
#include "util/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "util/explain.h"

#define FUNCTIONS_MOST 64

int library_open(const char *soname, const char *const names[], void *functions[], size_t count)
{
	void *handle, *found[FUNCTIONS_MOST];

	if (count > FUNCTIONS_MOST)
		return -EINVAL;
	handle = dlopen(soname, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (!handle)
		return explain(ENOENT, "%s cannot be loaded: %s", soname, dlerror());
	for (size_t i = 0; i < count; i++) {
		found[i] = dlsym(handle, names[i]);
		if (!found[i]) {
			dlclose(handle);
			return explain(ENOENT, "%s has no function %s", soname, names[i]);
		}
	}
	memcpy(functions, found, count * sizeof(found[0]));
	return 0;
}
