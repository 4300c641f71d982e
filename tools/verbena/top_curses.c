/* SPDX-License-Identifier: BSD-2-Clause */
#include "top_curses.h"

#ifdef VB_CURSES

#include <string.h>

#include "util/api.h"
#include "util/library.h"

int top_curses_load(struct curses *c)
{
	static const char *const names[] = {
#define X(name) #name,
		TOP_CURSES(X)
#undef X
	};
	void *functions[array_size(names)];
	int err = library_open("libncursesw.so.6", names, functions, array_size(names));

	_Static_assert(sizeof(functions) == sizeof(*c), "a pointer for each name, in their order");
	if (!err)
		memcpy(c, functions, sizeof(functions));
	return err;
}

#endif
