/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Loads the driver libraries, from the folder of libibverbs itself. They are never unloaded: a
 * program may hold pointers into them.
 */
#include "verbs/driver.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "util/explain.h"
#include "verbs/state.h"

static const char *const libraries[] = {
	[HCA_DRIVER_MLX5] = "libmlx5.so.1",
	[HCA_DRIVER_MLX4] = "libmlx4.so.1",
};

_Static_assert(array_size(libraries) == array_size(verbs_state.drivers), "a place for each driver");

/*
 * By its full path first: RUNPATH is not enough, since programs (and sanitizers) that wrap dlopen()
 * make it search their own RUNPATH.
 */
void *vb_library_open(const char *library)
{
	char path[PATH_MAX];
	const char *slash;
	void *handle;
	Dl_info us;

	if (dladdr(libraries, &us) && (slash = strrchr(us.dli_fname, '/'))) {
		snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - us.dli_fname), us.dli_fname,
			 library);
		handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		if (handle)
			return handle;
	}
	return dlopen(library, RTLD_NOW | RTLD_LOCAL);
}

static const struct vb_driver *load(const char *library)
{
	const struct vb_driver *driver;
	void *handle = vb_library_open(library);

	if (!handle)
		return explain_null(ELIBACC, "%s cannot be loaded: %s", library, dlerror());
	driver = dlvsym(handle, "verbena_driver", "VERBENA_PRIVATE_0");
	if (!driver) {
		dlclose(handle);
		return explain_null(ELIBBAD,
				    "the %s that was found is not Verbena's; put Verbena's library "
				    "folder first in LD_LIBRARY_PATH (verbena run does)",
				    library);
	}
	if (driver->abi != VB_DRIVER_ABI) {
		dlclose(handle);
		return explain_null(ELIBBAD, "%s is from another build than libibverbs.so.1",
				    library);
	}
	return driver;
}

const struct vb_driver *vb_driver_get(const struct hca_adapter *adapter)
{
	const struct vb_driver **driver = &verbs_state.drivers[adapter->model->driver], *found;

	pthread_mutex_lock(&verbs_state.driver_lock);
	found = *driver;
	pthread_mutex_unlock(&verbs_state.driver_lock);
	if (found)
		return found;
	/* Without the lock: the library's constructors register locks (util/forksafe.h). */
	found = load(libraries[adapter->model->driver]);
	pthread_mutex_lock(&verbs_state.driver_lock);
	if (!*driver)
		*driver = found;
	pthread_mutex_unlock(&verbs_state.driver_lock);
	return found;
}
