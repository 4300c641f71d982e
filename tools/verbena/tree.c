/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The life of a run's directory. It is called verbena-run-XXXXXX, lies in $XDG_RUNTIME_DIR,
 * /dev/shm or /tmp, and is locked by flock() for as long as its run lives, which the kernel undoes however the
 * run ends. Between mkdir and flock another run may remove it as that of a killed run: then the lock
 * fails or the name is gone, and another name is tried.
 */
#include "tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define TREE_PREFIX "verbena-run-"
#define TREE_TRIES  16
/* Three times what 16 adapters with two ports each take. */
#define TREE_ROOM  (32u << 20)
#define TREE_FILES 36000u

/* The directory that holds trees, without links in its name, so that names can be compared. */
static int find_base(const char *candidate, char *base, size_t size)
{
	char *real;
	int err = 0;

	if (!candidate || *candidate != '/')
		return -ENOENT;
	if (access(candidate, W_OK | X_OK))
		return -errno;
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

static int create_in(struct tree *t, const char *candidate)
{
	char base[sizeof(t->path)];
	int tries = 0, err = find_base(candidate, base, sizeof(base));

	if (err)
		return err;
	do
		err = try_create(t, base);
	while (err == -EAGAIN && ++tries < TREE_TRIES);
	return err;
}

/* A file system without a limit of inodes has none to tell. */
static bool has_room(const char *path)
{
	struct statvfs st;

	return !statvfs(path, &st) && (uint64_t)st.f_bavail * st.f_frsize >= TREE_ROOM &&
	       (!st.f_files || st.f_favail >= TREE_FILES);
}

/*
 * A tree is some hundred files that live for seconds: in memory that is 1 ms, while an ext4 without a journal takes
 * 300 ms once many inodes were removed of late, which it does not use again for a minute. Of a container with a
 * read-only root, /dev/shm may be the only place that can be written.
 */
int tree_create(struct tree *t)
{
	int err;

	t->err = 0;
	err = create_in(t, getenv("XDG_RUNTIME_DIR"));
	if (!err || (has_room("/dev/shm") && !create_in(t, "/dev/shm")))
		return 0;
	err = create_in(t, "/tmp");
	return err && create_in(t, "/dev/shm") ? err : 0;
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
	sweep_base("/dev/shm");
	sweep_base("/tmp");
}
