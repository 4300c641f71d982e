/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls that answer with a path name. They look in the tree and answer with the name that the
 * program knows: /sys/devices/..., never the tree's own place.
 */
#include "map.h"
#include "next.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *__realpath_chk(const char *path, char *out, size_t out_size);
ssize_t __readlink_chk(const char *path, char *out, size_t size, size_t out_size);
ssize_t __readlinkat_chk(int dirfd, const char *path, char *out, size_t size, size_t out_size);
void __chk_fail(void) __attribute__((noreturn));

FACADE_API char *realpath(const char *restrict path, char *restrict out)
{
	struct facade_buf buf;

	return facade_unmap(NEXT(realpath)(facade_path(path, &buf), out));
}

FACADE_API char *__realpath_chk(const char *path, char *out, size_t out_size)
{
	if (out_size < PATH_MAX)
		__chk_fail();
	return realpath(path, out);
}

FACADE_API char *canonicalize_file_name(const char *path)
{
	return realpath(path, NULL);
}

/* Links below /proc, such as /proc/self/fd/5, lead into the tree and are no part of it. */
static bool may_show_tree(const char *path, const char *mapped)
{
	return mapped != path || (facade_active() && path && !strncmp(path, "/proc/", 6));
}

static ssize_t shown_link(struct facade_buf *link, ssize_t len, char *out, size_t size)
{
	size_t hidden, n;

	link->path[len] = '\0';
	hidden = facade_hidden(link->path, (size_t)len);
	n = (size_t)len - hidden;
	if (n > size)
		n = size;
	memcpy(out, link->path + hidden, n);
	return (ssize_t)n;
}

FACADE_API ssize_t readlink(const char *restrict path, char *restrict out, size_t size)
{
	struct facade_buf buf, link;
	const char *mapped = facade_path(path, &buf);
	ssize_t len;

	if (!size || !may_show_tree(path, mapped))
		return NEXT(readlink)(mapped, out, size);
	len = NEXT(readlink)(mapped, link.path, sizeof(link.path) - 1);
	return len < 0 ? len : shown_link(&link, len, out, size);
}

FACADE_API ssize_t readlinkat(int dirfd, const char *restrict path, char *restrict out, size_t size)
{
	struct facade_buf buf, link;
	const char *mapped = facade_path_at(dirfd, path, &buf);
	ssize_t len;

	if (!size || !may_show_tree(path, mapped))
		return NEXT(readlinkat)(dirfd, mapped, out, size);
	len = NEXT(readlinkat)(dirfd, mapped, link.path, sizeof(link.path) - 1);
	return len < 0 ? len : shown_link(&link, len, out, size);
}

FACADE_API ssize_t __readlink_chk(const char *path, char *out, size_t size, size_t out_size)
{
	if (size > out_size)
		__chk_fail();
	return readlink(path, out, size);
}

FACADE_API ssize_t __readlinkat_chk(int dirfd, const char *path, char *out, size_t size,
				    size_t out_size)
{
	if (size > out_size)
		__chk_fail();
	return readlinkat(dirfd, path, out, size);
}
