/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The wrapped function: the next one of the same name, of libc or of another preloaded library. The
 * constructor looks all of them up, so that signal handlers and forked children need no look-up; calls
 * before the constructor look up their own.
 */
#ifndef FACADE_NEXT_H
#define FACADE_NEXT_H

#define FACADE_API __attribute__((visibility("default")))

struct facade_fn {
	const char *name;
	void *next;
};

void *facade_next(struct facade_fn *fn);

#define NEXT(fn)                                                                                   \
	({                                                                                         \
		static struct facade_fn fn_ __attribute__((section("facade_fns"), used)) = {       \
			.name = #fn,                                                               \
		};                                                                                 \
		(__typeof__(&fn))facade_next(&fn_);                                                \
	})

#endif
