/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The function that a call of ours stands in front of: the next of its name, which is libc's or
 * that of another preloaded library. The constructor looks all of them up, so that a signal
 * handler or the child of a fork finds them ready; calls that come in before it look up their own.
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
