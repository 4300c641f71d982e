/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/trace.h"

#include <stdarg.h>
#include <stdio.h>

#include "sim/net.h"

struct trace trace;

void trace_begin(void)
{
	trace.hash = 0xcbf29ce484222325ull;
}

void trace_line(const char *format, ...)
{
	uint64_t ns = net_elapsed_ns();
	va_list args;

	if (!trace.lines)
		return;
	printf("%6llu.%03llu us  ", (unsigned long long)(ns / 1000),
	       (unsigned long long)(ns % 1000));
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
}
