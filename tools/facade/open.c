/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls that open a file by name. The names ending in _2 are what fortified programs call.
 */
#include "map.h"
#include "next.h"

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
	return NEXT(open)(facade_path(path, &buf), flags, mode);
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
	return NEXT(open64)(facade_path(path, &buf), flags, mode);
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
	return NEXT(openat)(dirfd, facade_path_at(dirfd, path, &buf), flags, mode);
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
	return NEXT(openat64)(dirfd, facade_path_at(dirfd, path, &buf), flags, mode);
}

FACADE_API int __open_2(const char *path, int flags)
{
	struct facade_buf buf;

	return NEXT(__open_2)(facade_path(path, &buf), flags);
}

FACADE_API int __open64_2(const char *path, int flags)
{
	struct facade_buf buf;

	return NEXT(__open64_2)(facade_path(path, &buf), flags);
}

FACADE_API int __openat_2(int dirfd, const char *path, int flags)
{
	struct facade_buf buf;

	return NEXT(__openat_2)(dirfd, facade_path_at(dirfd, path, &buf), flags);
}

FACADE_API int __openat64_2(int dirfd, const char *path, int flags)
{
	struct facade_buf buf;

	return NEXT(__openat64_2)(dirfd, facade_path_at(dirfd, path, &buf), flags);
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
