/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds, creates and removes the folder and the file of the host directory. Called by directory.c
 * and, for FIFOs, by the adapter. No lock: a process unlinks the file with the lock on it held, and a
 * process that has opened it checks again once it has the lock.
 */
#include "fabric/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/explain.h"

#define FILE_ATTEMPTS 100
#define FILE_PREFIX   "host-"
#define FIFO_PREFIX   "notify-"

static unsigned long long netns_inode(void)
{
	struct stat st;

	/* Without /proc, all processes are taken to be in one namespace. */
	return stat("/proc/self/ns/net", &st) ? 0 : st.st_ino;
}

/* Opens the folder, created when missing. `strict`: closed to other users, also for reading. */
static int open_folder(const char *path, bool strict, int *out)
{
	mode_t forbidden = strict ? 077 : 022;
	struct stat st;
	int fd;

	if (mkdir(path, 0700) && errno != EEXIST)
		return -errno;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || st.st_uid != geteuid() || (st.st_mode & forbidden)) {
		close(fd);
		return explain(EPERM,
			       "%s must be a folder of user %u, without access for others; its "
			       "owner is %u, its mode %o",
			       path, (unsigned int)geteuid(), (unsigned int)st.st_uid,
			       (unsigned int)(st.st_mode & 07777));
	}
	*out = fd;
	return 0;
}

static int open_file_at(int folder, const struct folder_file *file, int *out)
{
	struct stat st;
	int fd;

	fd = openat(folder, file->name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
	    (st.st_mode & 077)) {
		close(fd);
		return explain(EPERM,
			       "%s/%s must be a file of user %u with mode 600; its owner is %u, "
			       "its mode %o",
			       file->folder, file->name, (unsigned int)geteuid(),
			       (unsigned int)st.st_uid, (unsigned int)st.st_mode);
	}
	*out = fd;
	return 0;
}

/* Fills in file->folder for one candidate and opens the file in it. */
static int try_folder(struct folder_file *file, const char *path, bool own, int *fd)
{
	int folder = -1, err = 0;

	/* The last process that leaves removes the folder, perhaps between the two steps here. */
	for (int i = 0; i < FILE_ATTEMPTS; i++) {
		err = open_folder(path, own, &folder);
		if (err)
			return err;
		snprintf(file->folder, sizeof(file->folder), "%s", path);
		file->own = own;
		err = open_file_at(folder, file, fd);
		close(folder);
		if (err != -ENOENT)
			return err;
	}
	return err;
}

static int open_chosen(struct folder_file *file, const char *chosen, int *fd)
{
	char absolute[PATH_MAX];

	if (mkdir(chosen, 0700) && errno != EEXIST)
		return -errno;
	/* The program may change its working directory before we unlink. */
	if (!realpath(chosen, absolute))
		return -errno;
	return try_folder(file, absolute, false, fd);
}

#define BASES 2

/* The usual folder in /dev/shm (0) or XDG_RUNTIME_DIR (1). False: there is no such path. */
static bool usual_path(int base, unsigned long long inode, char *path, size_t size)
{
	const char *bases[BASES] = { "/dev/shm", getenv("XDG_RUNTIME_DIR") };

	return bases[base] && bases[base][0] == '/' &&
	       snprintf(path, size, "%s/verbena-%u-%llu", bases[base], (unsigned int)geteuid(),
			inode) < (int)size;
}

static int open_usual(struct folder_file *file, unsigned long long inode, int *fd)
{
	char path[PATH_MAX - 64];
	int err = -ENOENT;

	for (int i = 0; err && i < BASES; i++)
		if (usual_path(i, inode, path, sizeof(path)))
			err = try_folder(file, path, true, fd);
	return err;
}

bool folder_find(char path[PATH_MAX])
{
	const char *chosen = getenv("VERBENA_DIR");
	bool found = false;

	if (chosen && *chosen)
		return realpath(chosen, path);
	for (int i = 0; !found && i < BASES; i++)
		found = usual_path(i, netns_inode(), path, PATH_MAX - 64) && !access(path, X_OK);
	return found;
}

bool folder_file_find(char path[PATH_MAX])
{
	size_t len;

	if (!folder_find(path))
		return false;
	len = strlen(path);
	return snprintf(path + len, PATH_MAX - len, "/" FILE_PREFIX "%llu", netns_inode()) <
	       (int)(PATH_MAX - len);
}

int folder_file_open(struct folder_file *file, int *fd)
{
	const char *chosen = getenv("VERBENA_DIR");
	unsigned long long inode = netns_inode();
	int err;

	snprintf(file->name, sizeof(file->name), FILE_PREFIX "%llu", inode);
	if (chosen && *chosen)
		err = open_chosen(file, chosen, fd);
	else
		err = open_usual(file, inode, fd);
	/* EPERM was explained where it was decided. */
	if (!err || err == -EPERM)
		return err;
	return explain(-err,
		       "%s cannot hold the host directory: %s; VERBENA_DIR names the folder to use",
		       chosen && *chosen ? chosen : "a folder in /dev/shm or XDG_RUNTIME_DIR",
		       strerror(-err));
}

void folder_file_unlink(const struct folder_file *file, int fd)
{
	struct stat ours, theirs;
	char fifo[sizeof(file->name)];
	int folder;

	folder = open(file->folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder < 0)
		return;
	if (!fstat(fd, &ours) && !fstatat(folder, file->name, &theirs, AT_SYMLINK_NOFOLLOW) &&
	    ours.st_ino == theirs.st_ino && ours.st_dev == theirs.st_dev) {
		snprintf(fifo, sizeof(fifo), FIFO_PREFIX "%s",
			 file->name + sizeof(FILE_PREFIX) - 1);
		unlinkat(folder, fifo, 0);
		unlinkat(folder, file->name, 0);
	}
	close(folder);
	if (file->own)
		rmdir(file->folder);
}

/*
 * No data is written to the FIFO: its readers get an event when a writer opens and closes it. Not
 * inotify: closing its descriptor takes long, seconds on a busy machine, in every process that ends.
 */
int folder_fifo_open(const char *folder, int *out)
{
	char path[PATH_MAX + 64];
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "%s/" FIFO_PREFIX "%llu", folder, netns_inode());
	if (mkfifo(path, 0600) && errno != EEXIST)
		return -errno;
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || !S_ISFIFO(st.st_mode) || st.st_uid != geteuid()) {
		close(fd);
		return explain(EPERM, "%s must be a FIFO of user %u", path,
			       (unsigned int)geteuid());
	}
	*out = fd;
	return 0;
}

void folder_fifos_notify(const char *folder)
{
	DIR *dir = opendir(folder);

	for (struct dirent *d; dir && (d = readdir(dir));) {
		int fd;

		if (strncmp(d->d_name, FIFO_PREFIX, sizeof(FIFO_PREFIX) - 1))
			continue;
		/* Fails without readers. */
		fd = openat(dirfd(dir), d->d_name, O_WRONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
		if (fd >= 0)
			close(fd);
	}
	if (dir)
		closedir(dir);
}
