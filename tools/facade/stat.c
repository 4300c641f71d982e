/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls that ask about a file by name. The __x family is what programs built before glibc 2.33
 * call.
 */
#include "map.h"
#include "next.h"

#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

int __xstat(int version, const char *path, struct stat *st);
int __xstat64(int version, const char *path, struct stat64 *st);
int __lxstat(int version, const char *path, struct stat *st);
int __lxstat64(int version, const char *path, struct stat64 *st);
int __fxstatat(int version, int dirfd, const char *path, struct stat *st, int flags);
int __fxstatat64(int version, int dirfd, const char *path, struct stat64 *st, int flags);

FACADE_API int stat(const char *path, struct stat *st)
{
	struct facade_buf buf;

	return NEXT(stat)(facade_path(path, &buf), st);
}

FACADE_API int stat64(const char *path, struct stat64 *st)
{
	struct facade_buf buf;

	return NEXT(stat64)(facade_path(path, &buf), st);
}

FACADE_API int lstat(const char *path, struct stat *st)
{
	struct facade_buf buf;

	return NEXT(lstat)(facade_path(path, &buf), st);
}

FACADE_API int lstat64(const char *path, struct stat64 *st)
{
	struct facade_buf buf;

	return NEXT(lstat64)(facade_path(path, &buf), st);
}

FACADE_API int fstatat(int dirfd, const char *path, struct stat *st, int flags)
{
	struct facade_buf buf;

	return NEXT(fstatat)(dirfd, facade_path_at(dirfd, path, &buf), st, flags);
}

FACADE_API int fstatat64(int dirfd, const char *path, struct stat64 *st, int flags)
{
	struct facade_buf buf;

	return NEXT(fstatat64)(dirfd, facade_path_at(dirfd, path, &buf), st, flags);
}

FACADE_API int __xstat(int version, const char *path, struct stat *st)
{
	struct facade_buf buf;

	return NEXT(__xstat)(version, facade_path(path, &buf), st);
}

FACADE_API int __xstat64(int version, const char *path, struct stat64 *st)
{
	struct facade_buf buf;

	return NEXT(__xstat64)(version, facade_path(path, &buf), st);
}

FACADE_API int __lxstat(int version, const char *path, struct stat *st)
{
	struct facade_buf buf;

	return NEXT(__lxstat)(version, facade_path(path, &buf), st);
}

FACADE_API int __lxstat64(int version, const char *path, struct stat64 *st)
{
	struct facade_buf buf;

	return NEXT(__lxstat64)(version, facade_path(path, &buf), st);
}

FACADE_API int __fxstatat(int version, int dirfd, const char *path, struct stat *st, int flags)
{
	struct facade_buf buf;

	return NEXT(__fxstatat)(version, dirfd, facade_path_at(dirfd, path, &buf), st, flags);
}

FACADE_API int __fxstatat64(int version, int dirfd, const char *path, struct stat64 *st, int flags)
{
	struct facade_buf buf;

	return NEXT(__fxstatat64)(version, dirfd, facade_path_at(dirfd, path, &buf), st, flags);
}

FACADE_API int statx(int dirfd, const char *path, int flags, unsigned int mask, struct statx *st)
{
	struct facade_buf buf;

	return NEXT(statx)(dirfd, facade_path_at(dirfd, path, &buf), flags, mask, st);
}

FACADE_API int access(const char *path, int mode)
{
	struct facade_buf buf;

	return NEXT(access)(facade_path(path, &buf), mode);
}

FACADE_API int faccessat(int dirfd, const char *path, int mode, int flags)
{
	struct facade_buf buf;

	return NEXT(faccessat)(dirfd, facade_path_at(dirfd, path, &buf), mode, flags);
}

FACADE_API int euidaccess(const char *path, int mode)
{
	struct facade_buf buf;

	return NEXT(euidaccess)(facade_path(path, &buf), mode);
}

FACADE_API int eaccess(const char *path, int mode)
{
	struct facade_buf buf;

	return NEXT(eaccess)(facade_path(path, &buf), mode);
}

FACADE_API int statfs(const char *path, struct statfs *st)
{
	struct facade_buf buf;

	return NEXT(statfs)(facade_path(path, &buf), st);
}

FACADE_API int statfs64(const char *path, struct statfs64 *st)
{
	struct facade_buf buf;

	return NEXT(statfs64)(facade_path(path, &buf), st);
}

FACADE_API int statvfs(const char *path, struct statvfs *st)
{
	struct facade_buf buf;

	return NEXT(statvfs)(facade_path(path, &buf), st);
}

FACADE_API int statvfs64(const char *path, struct statvfs64 *st)
{
	struct facade_buf buf;

	return NEXT(statvfs64)(facade_path(path, &buf), st);
}

/* `ls -l` asks for these and complains when they answer ENOENT. */
FACADE_API ssize_t getxattr(const char *path, const char *name, void *value, size_t size)
{
	struct facade_buf buf;

	return NEXT(getxattr)(facade_path(path, &buf), name, value, size);
}

FACADE_API ssize_t lgetxattr(const char *path, const char *name, void *value, size_t size)
{
	struct facade_buf buf;

	return NEXT(lgetxattr)(facade_path(path, &buf), name, value, size);
}

FACADE_API ssize_t listxattr(const char *path, char *names, size_t size)
{
	struct facade_buf buf;

	return NEXT(listxattr)(facade_path(path, &buf), names, size);
}

FACADE_API ssize_t llistxattr(const char *path, char *names, size_t size)
{
	struct facade_buf buf;

	return NEXT(llistxattr)(facade_path(path, &buf), names, size);
}

FACADE_API int inotify_add_watch(int fd, const char *path, uint32_t mask)
{
	struct facade_buf buf;

	return NEXT(inotify_add_watch)(fd, facade_path(path, &buf), mask);
}
