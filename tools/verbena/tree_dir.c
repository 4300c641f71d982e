/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writing into a run's tree. Directories on the way to a file come into being with it.
 */
#include "tree.h"
#include "util/file_limit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void fail(struct tree *t, int err)
{
	if (!t->err)
		t->err = err;
}

static void format(struct tree *t, char *out, size_t size, const char *fmt, va_list ap)
{
	int n = vsnprintf(out, size, fmt, ap);

	if (n < 0 || n >= (int)size)
		fail(t, -ENAMETOOLONG);
}

void tree_dir_init(struct tree_dir *d, struct tree *t, const char *fmt, ...)
{
	va_list ap;

	d->tree = t;
	va_start(ap, fmt);
	format(t, d->path, sizeof(d->path), fmt, ap);
	va_end(ap);
}

void tree_dir_below(struct tree_dir *d, const struct tree_dir *parent, const char *fmt, ...)
{
	char name[256];
	va_list ap;

	va_start(ap, fmt);
	format(parent->tree, name, sizeof(name), fmt, ap);
	va_end(ap);
	tree_dir_init(d, parent->tree, "%s/%s", parent->path, name);
}

/* Makes every directory that `path` goes through, its last component excluded. */
static int make_parents(int fd, const char *path)
{
	char copy[PATH_MAX];
	char *slash;

	snprintf(copy, sizeof(copy), "%s", path);
	for (slash = strchr(copy, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdirat(fd, copy, 0755) && errno != EEXIST)
			return -errno;
		*slash = '/';
	}
	return 0;
}

static void name_in(const struct tree_dir *d, const char *name, char path[PATH_MAX])
{
	snprintf(path, PATH_MAX, "%s/%s", d->path, name);
}

void tree_dir_make(const struct tree_dir *d)
{
	char path[PATH_MAX];
	int err;

	name_in(d, "", path);
	err = make_parents(d->tree->fd, path);
	if (err)
		fail(d->tree, err);
}

static int open_new(int dirfd, const char *path, mode_t mode)
{
	int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
	int fd = openat(dirfd, path, flags, mode);

	if (fd >= 0 || errno != ENOENT)
		return fd;
	if (make_parents(dirfd, path))
		return -1;
	return openat(dirfd, path, flags, mode);
}

void tree_dir_bytes(const struct tree_dir *d, const char *name, const void *bytes, size_t len)
{
	char path[PATH_MAX];
	int fd, err;

	name_in(d, name, path);
	fd = open_new(d->tree->fd, path, 0444);
	if (fd < 0) {
		fail(d->tree, -errno);
		return;
	}
	err = file_append(fd, bytes, len);
	if (err)
		fail(d->tree, err);
	close(fd);
}

void tree_dir_device(const struct tree_dir *d, const char *name)
{
	char path[PATH_MAX];
	int fd;

	name_in(d, name, path);
	fd = open_new(d->tree->fd, path, 0600);
	if (fd < 0)
		fail(d->tree, -errno);
	else
		close(fd);
}

void tree_dir_file(const struct tree_dir *d, const char *name, const char *fmt, ...)
{
	char text[4096];
	va_list ap;

	va_start(ap, fmt);
	format(d->tree, text, sizeof(text), fmt, ap);
	va_end(ap);
	tree_dir_bytes(d, name, text, strlen(text));
}

void tree_dir_again(const struct tree_dir *d, const char *name, const char *first)
{
	char path[PATH_MAX], from[PATH_MAX];

	name_in(d, name, path);
	name_in(d, first, from);
	/* Not every file system has hard links. */
	if (linkat(d->tree->fd, from, d->tree->fd, path, 0) && symlinkat(first, d->tree->fd, path))
		fail(d->tree, -errno);
}

void tree_dir_link(const struct tree_dir *d, const char *name, const char *fmt, ...)
{
	char path[PATH_MAX], target[PATH_MAX];
	va_list ap;

	va_start(ap, fmt);
	format(d->tree, target, sizeof(target), fmt, ap);
	va_end(ap);
	name_in(d, name, path);
	if (!symlinkat(target, d->tree->fd, path))
		return;
	if (errno == ENOENT && !make_parents(d->tree->fd, path) &&
	    !symlinkat(target, d->tree->fd, path))
		return;
	if (errno != EEXIST)
		fail(d->tree, -errno);
}
