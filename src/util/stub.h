/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Results of public calls without an implementation. Each public library has a table of these lines
 * in its stubs.c; a call that is implemented loses its line. The tests and docs/support.md read the
 * tables too, so a line is always `STUB_KIND(name)` and nothing else.
 *
 * Nearly every stub takes no arguments, and no public header is included beside it: the program's
 * arguments are not read, so the stub cannot crash, whatever they are.
 */
#ifndef UTIL_STUB_H
#define UTIL_STUB_H

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "util/explain.h"

/* Every kind sets errno, also where the documentation only promises a return value. */
#define STUB_DEFINE(type, name, answer)                                                            \
	VB_API type name(void);                                                                    \
	type name(void)                                                                            \
	{                                                                                          \
		explain_stub(#name);                                                               \
		return answer;                                                                     \
	}

/* NULL, errno EOPNOTSUPP: calls that create, open, import */
#define STUB_PTR(name) STUB_DEFINE(void *, name, NULL)
/* EOPNOTSUPP, positive */
#define STUB_ERRNO(name) STUB_DEFINE(long, name, EOPNOTSUPP)
/* -1, errno EOPNOTSUPP */
#define STUB_MINUS1(name) STUB_DEFINE(long, name, -1)
/* -EOPNOTSUPP: calls that return a count on success */
#define STUB_NEG(name) STUB_DEFINE(long, name, -EOPNOTSUPP)
/* 0: false, the lowest value of an enumeration, or an invalid id */
#define STUB_ZERO(name) STUB_DEFINE(long, name, 0)
/* a constant string */
#define STUB_TEXT(name) STUB_DEFINE(const char *, name, "unknown")
#define STUB_VOID(name) STUB_DEFINE(void, name, )
/* no return value, but a result structure and its size: all zero */
#define STUB_CLEAR(name)                                                                           \
	VB_API void name(void *out, size_t size);                                                  \
	void name(void *out, size_t size)                                                          \
	{                                                                                          \
		explain_stub(#name);                                                               \
		memset(out, 0, size);                                                              \
	}

/*
 * A stub for the older version node of a call, which is served by a refusal only. The current
 * version is defined elsewhere under its plain name; `node` is a string.
 */
#define OLD_DEFINE(type, name, node, answer)                                                       \
	VB_API type old_##name(void);                                                              \
	__asm__(".symver old_" #name "," #name "@" node);                                          \
	type old_##name(void)                                                                      \
	{                                                                                          \
		errno = -explain(ENOSYS,                                                           \
				 #name "@" node                                                    \
				       " has the data structures of an older release, which are "  \
				       "gone; link the program again to get the current version"); \
		return answer;                                                                     \
	}

#define OLD_PTR(name, node)    OLD_DEFINE(void *, name, node, NULL)
#define OLD_ERRNO(name, node)  OLD_DEFINE(long, name, node, ENOSYS)
#define OLD_MINUS1(name, node) OLD_DEFINE(long, name, node, -1)
#define OLD_ZERO(name, node)   OLD_DEFINE(long, name, node, 0)
#define OLD_VOID(name, node)   OLD_DEFINE(void, name, node, )

#endif
