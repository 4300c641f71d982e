/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls that open a file by name. The names ending in _2 are what fortified programs call.
 */
#include "map.h"
#include "next.h"
#include "umad.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>

int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int dirfd, const char *path, int flags);
int __openat64_2(int dirfd, const char *path, int flags);

static bool has_mode(int flags)
{
	return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE;
}

FACADE_API int open(const char *path, int flags, ...)
{
	struct facade_buf buf;
	mode_t mode = 0;
	va_list ap;

	va_start(ap, flags);
	if (has_mode(flags))
		mode = va_arg(ap, mode_t);
	va_end(ap);
	path = facade_path(path, &buf);
	return umad_opened(NEXT(open)(path, flags, mode), path, flags);
}

FACADE_API int open64(const char *path, int flags, ...)
{
	struct facade_buf buf;
	mode_t mode = 0;
	va_list ap;

	va_start(ap, flags);
	if (has_mode(flags))
		mode = va_arg(ap, mode_t);
	va_end(ap);
	path = facade_path(path, &buf);
	return umad_opened(NEXT(open64)(path, flags, mode), path, flags);
}

FACADE_API int openat(int dirfd, const char *path, int flags, ...)
{
	struct facade_buf buf;
	mode_t mode = 0;
	va_list ap;

	va_start(ap, flags);
	if (has_mode(flags))
		mode = va_arg(ap, mode_t);
	va_end(ap);
	path = facade_path_at(dirfd, path, &buf);
	return umad_opened(NEXT(openat)(dirfd, path, flags, mode), path, flags);
}

FACADE_API int openat64(int dirfd, const char *path, int flags, ...)
{
	struct facade_buf buf;
	mode_t mode = 0;
	va_list ap;

	va_start(ap, flags);
	if (has_mode(flags))
		mode = va_arg(ap, mode_t);
	va_end(ap);
	path = facade_path_at(dirfd, path, &buf);
	return umad_opened(NEXT(openat64)(dirfd, path, flags, mode), path, flags);
}

FACADE_API int __open_2(const char *path, int flags)
{
	struct facade_buf buf;

	path = facade_path(path, &buf);
	return umad_opened(NEXT(__open_2)(path, flags), path, flags);
}

FACADE_API int __open64_2(const char *path, int flags)
{
	struct facade_buf buf;

	path = facade_path(path, &buf);
	return umad_opened(NEXT(__open64_2)(path, flags), path, flags);
}

FACADE_API int __openat_2(int dirfd, const char *path, int flags)
{
	struct facade_buf buf;

	path = facade_path_at(dirfd, path, &buf);
	return umad_opened(NEXT(__openat_2)(dirfd, path, flags), path, flags);
}

FACADE_API int __openat64_2(int dirfd, const char *path, int flags)
{
	struct facade_buf buf;

	path = facade_path_at(dirfd, path, &buf);
	return umad_opened(NEXT(__openat64_2)(dirfd, path, flags), path, flags);
}

FACADE_API int creat(const char *path, mode_t mode)
{
	struct facade_buf buf;

	return NEXT(creat)(facade_path(path, &buf), mode);
}

FACADE_API int creat64(const char *path, mode_t mode)
{
	struct facade_buf buf;

	return NEXT(creat64)(facade_path(path, &buf), mode);
}

FACADE_API FILE *fopen(const char *path, const char *mode)
{
	struct facade_buf buf;

	return NEXT(fopen)(facade_path(path, &buf), mode);
}

FACADE_API FILE *fopen64(const char *path, const char *mode)
{
	struct facade_buf buf;

	return NEXT(fopen64)(facade_path(path, &buf), mode);
}

FACADE_API FILE *freopen(const char *path, const char *mode, FILE *stream)
{
	struct facade_buf buf;

	return NEXT(freopen)(facade_path(path, &buf), mode, stream);
}

FACADE_API FILE *freopen64(const char *path, const char *mode, FILE *stream)
{
	struct facade_buf buf;

	return NEXT(freopen64)(facade_path(path, &buf), mode, stream);
}
