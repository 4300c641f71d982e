/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The life of a run's directory. It is called verbena-run-XXXXXX, lies in $XDG_RUNTIME_DIR or
 * /tmp, and is locked by flock() for as long as its run lives, which the kernel undoes however the
 * run ends. Between mkdir and flock another run may remove it as that of a killed run: then the lock
 * fails or the name is gone, and another name is tried.
 */
#include "tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define TREE_PREFIX "verbena-run-"
#define TREE_TRIES  16

/* The directory that holds trees, without links in its name, so that names can be compared. */
static int find_base(const char *candidate, char *base, size_t size)
{
	char *real;
	int err = 0;

	if (!candidate || *candidate != '/' || access(candidate, W_OK | X_OK))
		return -ENOENT;
	real = realpath(candidate, NULL);
	if (!real)
		return -errno;
	if (strlen(real) + sizeof(TREE_PREFIX) + 8 > size)
		err = -ENAMETOOLONG;
	else
		memcpy(base, real, strlen(real) + 1);
	free(real);
	return err;
}

static bool same_file(int fd, const char *path)
{
	struct stat a, b;

	return !fstat(fd, &a) && !lstat(path, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static int try_create(struct tree *t, const char *base)
{
	int n = snprintf(t->path, sizeof(t->path), "%s/%sXXXXXX", strcmp(base, "/") ? base : "",
			 TREE_PREFIX);

	if (n >= (int)sizeof(t->path))
		return -ENAMETOOLONG;
	if (!mkdtemp(t->path))
		return -errno;
	t->fd = open(t->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (t->fd < 0)
		return errno == ENOENT ? -EAGAIN : -errno;
	if (!flock(t->fd, LOCK_EX | LOCK_NB) && same_file(t->fd, t->path))
		return 0;
	close(t->fd);
	return -EAGAIN;
}

int tree_create(struct tree *t)
{
	char base[sizeof(t->path)];
	int err, tries = 0;

	t->err = 0;
	err = find_base(getenv("XDG_RUNTIME_DIR"), base, sizeof(base));
	if (err)
		err = find_base("/tmp", base, sizeof(base));
	if (err)
		return err;
	do
		err = try_create(t, base);
	while (err == -EAGAIN && ++tries < TREE_TRIES);
	return err;
}

static void empty_dir(int fd, dev_t dev);

static void remove_entry(int dirfd, const char *name, dev_t dev)
{
	struct stat st;
	int fd;

	if (!unlinkat(dirfd, name, 0) || errno == ENOENT)
		return;
	fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && !fstat(fd, &st) && st.st_dev == dev)
		empty_dir(fd, dev);
	else if (fd >= 0)
		close(fd);
	unlinkat(dirfd, name, AT_REMOVEDIR);
}

/* Takes fd over. */
static void empty_dir(int fd, dev_t dev)
{
	struct dirent *entry;
	DIR *dir = fdopendir(fd);

	if (!dir) {
		close(fd);
		return;
	}
	while ((entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			remove_entry(dirfd(dir), entry->d_name, dev);
	closedir(dir);
}

static void remove_tree(int fd, const char *path)
{
	struct stat st;
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);

	if (copy < 0)
		return;
	if (fstat(copy, &st))
		close(copy);
	else
		empty_dir(copy, st.st_dev);
	rmdir(path);
}

void tree_destroy(struct tree *t)
{
	remove_tree(t->fd, t->path);
	close(t->fd);
	t->fd = -1;
}

static void sweep_one(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return;
	if (!fstat(fd, &st) && st.st_uid == geteuid() && !flock(fd, LOCK_EX | LOCK_NB) &&
	    same_file(fd, path))
		remove_tree(fd, path);
	close(fd);
}

static void sweep_base(const char *candidate)
{
	char base[PATH_MAX / 2], path[PATH_MAX];
	struct dirent *entry;
	DIR *dir;

	if (find_base(candidate, base, sizeof(base)))
		return;
	dir = opendir(base);
	if (!dir)
		return;
	while ((entry = readdir(dir))) {
		if (strncmp(entry->d_name, TREE_PREFIX, strlen(TREE_PREFIX)) != 0)
			continue;
		snprintf(path, sizeof(path), "%s/%s", base, entry->d_name);
		sweep_one(path);
	}
	closedir(dir);
}

void tree_sweep(void)
{
	sweep_base(getenv("XDG_RUNTIME_DIR"));
	sweep_base("/tmp");
}
