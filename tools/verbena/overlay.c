/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The walk over a tree and the real machine side by side.
 */
#include "overlay.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/api.h"

/* Directories of real adapters: the software adapters replace them. */
static bool is_exclusive(const char *name)
{
	static const char *const patterns[] = {
		"sys/class/infiniband*",
		"sys/class/misc/rdma_cm",
		"sys/devices/pci*/*",
		"dev/infiniband",
	};
	size_t i;

	for (i = 0; i < array_size(patterns); i++)
		if (!fnmatch(patterns[i], name, FNM_PATHNAME))
			return true;
	return false;
}

static bool is_shared(struct tree *t, const char *name)
{
	char real[PATH_MAX];
	struct stat st;

	if (is_exclusive(name) || fstatat(t->fd, name, &st, AT_SYMLINK_NOFOLLOW) ||
	    !S_ISDIR(st.st_mode))
		return false;
	snprintf(real, sizeof(real), "/%s", name);
	return !lstat(real, &st) && S_ISDIR(st.st_mode);
}

static int visit_tree(struct tree *t, const char *name, const struct overlay_ops *ops)
{
	if (!is_shared(t, name))
		return ops->own(t, name);
	return overlay_walk(t, name, ops);
}

static int visit_real(struct tree *t, const char *name, const struct overlay_ops *ops)
{
	struct stat st;

	if (!fstatat(t->fd, name, &st, AT_SYMLINK_NOFOLLOW))
		return 0;
	return ops->real(t, name);
}

typedef int visitor(struct tree *t, const char *name, const struct overlay_ops *ops);

/* Calls `visit` for each entry of the directory fd, which it takes over. */
static int each_entry(int fd, struct tree *t, const char *parent, const struct overlay_ops *ops,
		      visitor *visit)
{
	struct dirent *entry;
	char name[PATH_MAX];
	int err = 0;
	DIR *dir = fdopendir(fd);

	if (!dir) {
		err = -errno;
		close(fd);
		return err;
	}
	while (!err && (entry = readdir(dir))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		snprintf(name, sizeof(name), "%s/%s", parent, entry->d_name);
		err = visit(t, name, ops);
	}
	closedir(dir);
	return err;
}

int overlay_walk(struct tree *t, const char *name, const struct overlay_ops *ops)
{
	int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
	char real[PATH_MAX];
	int fd, err;

	err = ops->shared(t, name);
	if (err)
		return err;
	fd = openat(t->fd, name, flags);
	if (fd < 0)
		return -errno;
	err = each_entry(fd, t, name, ops, visit_tree);
	if (err)
		return err;
	snprintf(real, sizeof(real), "/%s", name);
	fd = open(real, flags);
	if (fd < 0)
		return 0;
	return each_entry(fd, t, name, ops, visit_real);
}
