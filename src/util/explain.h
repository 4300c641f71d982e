/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Explanations of errors: one sentence for every call that is refused, saying what was wrong and
 * what would be right, with the values. The function that decides an error explains it, once.
 *
 *	if (port > ports)
 *		return explain(EINVAL, "port %u does not exist; %s has ports 1 to %u", ...);
 *
 * VERBENA_EXPLAIN=1 writes the sentences to stderr, VERBENA_EXPLAIN=FILE appends them to FILE,
 * unset or 0 keeps them to the calling thread's last sentence, which tests and tools read.
 */
#ifndef UTIL_EXPLAIN_H
#define UTIL_EXPLAIN_H

#include "util/api.h"

/* Records the sentence; returns -err, so that a check can end in `return explain(...)`. */
VB_API int explain(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3), cold));

/* explain() with a result that compilers and analyzers see: never 0 for a constant error. */
#define explain(err, ...)                                                                          \
	({                                                                                         \
		const int explain_err_ = (err);                                                    \
		(explain)(explain_err_, __VA_ARGS__);                                              \
		-explain_err_;                                                                     \
	})

/* explain() for entry points that answer NULL or -1 and set errno. */
#define explain_null(err, ...) (errno = -explain((err), __VA_ARGS__), NULL)

/* A public call that has no implementation. Returns EOPNOTSUPP and sets errno to it. */
VB_API int explain_stub(const char *call) __attribute__((cold));

/* A condition worth a line that is no error, such as a fallback. Same destinations. */
VB_API void explain_note(const char *fmt, ...) __attribute__((format(printf, 1, 2), cold));

/* The calling thread's last sentence, "" when there was none. */
VB_API const char *explain_last(void);

#endif
