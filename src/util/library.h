/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Libraries that few programs need: opened when an object is created that needs one, so that other
 * programs do not pay for loading and relocating it.
 */
#ifndef UTIL_LIBRARY_H
#define UTIL_LIBRARY_H

#include <stddef.h>

#include "util/api.h"

/*
 * Opens a library for the rest of the process and writes the addresses of its functions, all or none.
 * Not under a spin lock: the loader has a lock of its own.
 */
VB_API int library_open(const char *soname, const char *const names[], void *functions[],
			size_t count);

#endif
