/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "world.h"

struct world world;

void trace(const char *fmt, ...)
{
	va_list ap;

	printf("%d ", world.line);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
}

const char *error_name(int number)
{
	const char *name = strerrorname_np(number);

	return name ? name : "?";
}

void trace_result(const char *call, int result)
{
	if (result == 0)
		trace("%s: 0", call);
	else if (result < 0)
		trace("%s: -1 %s", call, error_name(errno));
	else
		trace("%s: %s", call, error_name(result));
}

void trace_pointer(const char *call, const void *pointer)
{
	trace("%s: %s", call, pointer ? "0" : error_name(errno));
}

int world_number(const struct words *w, const char *kind)
{
	long long n = words_number(w, kind, -1);

	if (n >= 0 && n < MOST_OBJECTS)
		return (int)n;
	trace("no %s", kind);
	return -1;
}

int world_find_qp(uint32_t qpn)
{
	int i;

	for (i = 0; i < MOST_OBJECTS; i++)
		if (world.end[i].qp && world.end[i].number == qpn)
			return i;
	return -1;
}
