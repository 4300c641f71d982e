/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Called by a process that has joined, without locks. A file is unlinked with the lock for changes
 * on it held and no lock on any slot: a process that has opened it meanwhile finds, once it has the
 * lock, that the file has no name any more, and looks for another one (directory.c). An empty
 * folder may be one that a process has just made; that process makes it again (folder.c).
 */
#include "fabric/litter.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "fabric/dirfile.h"
#include "fabric/folder_scan.h"
#include "util/api.h"

#define FAILURES_KEPT 3600 /* seconds */
#define ANSWERS_KEPT  60

/* True with the lock for changes held, when no process has its slot's byte locked. */
static bool lock_dead(int fd)
{
	struct flock changes = { .l_type = F_WRLCK, .l_start = DIR_LOCK_CHANGES, .l_len = 1 };
	struct flock slots = { .l_type = F_WRLCK,
			       .l_start = DIR_LOCK_SLOT(0),
			       .l_len = FABRIC_SLOTS };

	return !fcntl(fd, F_OFD_SETLK, &changes) && !fcntl(fd, F_OFD_GETLK, &slots) &&
	       slots.l_type == F_UNLCK;
}

/* True when the file is gone, or was none. */
static bool remove_file(int folder, const char *name)
{
	char other[NAME_MAX + 1];
	struct stat opened, named;
	bool dead;
	int fd = openat(folder, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return errno == ENOENT;
	dead = !fstat(fd, &opened) && S_ISREG(opened.st_mode) && lock_dead(fd) &&
	       !fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) && opened.st_ino == named.st_ino;
	if (dead) {
		snprintf(other, sizeof(other), FOLDER_FIFO "%s", name + strlen(FOLDER_FILE));
		unlinkat(folder, other, 0);
		snprintf(other, sizeof(other), FOLDER_MEMORY "%s", name + strlen(FOLDER_FILE));
		unlinkat(folder, other, 0);
		unlinkat(folder, name, 0);
	}
	close(fd);
	return dead;
}

static void remove_files(int folder)
{
	int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);

	if (!dir && copy >= 0)
		close(copy);
	for (struct dirent *d; dir && (d = readdir(dir));)
		if (!strncmp(d->d_name, FOLDER_FILE, strlen(FOLDER_FILE)) &&
		    !remove_file(folder, d->d_name))
			break;
	if (dir)
		closedir(dir);
}

/* What inspection leaves. Failures are those of a namespace in which no process has run for an hour. */
static void remove_old(int folder)
{
	static const struct {
		const char *prefix;
		time_t kept;
	} kinds[] = { { FOLDER_FAILURES, FAILURES_KEPT },
		      { FOLDER_ASK, ANSWERS_KEPT },
		      { FOLDER_ANSWER, ANSWERS_KEPT } };
	int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	struct stat st;

	if (!dir && copy >= 0)
		close(copy);
	for (struct dirent *d; dir && (d = readdir(dir));)
		for (size_t i = 0; i < array_size(kinds); i++)
			if (!strncmp(d->d_name, kinds[i].prefix, strlen(kinds[i].prefix)) &&
			    !fstatat(folder, d->d_name, &st, AT_SYMLINK_NOFOLLOW) &&
			    time(NULL) - st.st_mtime > kinds[i].kept)
				unlinkat(folder, d->d_name, 0);
	if (dir)
		closedir(dir);
}

static bool clean(const struct folder_spot *spot, void *arg)
{
	const char *own = arg;
	size_t len = strlen(own);
	struct stat st;

	if (!strncmp(spot->name, own, len) && (!spot->name[len] || spot->name[len] == '.'))
		return true;
	if (!fstatat(spot->fd, FOLDER_SETTINGS, &st, AT_SYMLINK_NOFOLLOW))
		return true;
	remove_files(spot->fd);
	remove_old(spot->fd);
	/* Fails unless it is empty. */
	unlinkat(spot->base_fd, spot->name, AT_REMOVEDIR);
	return true;
}

void litter_remove(void)
{
	char own[NAME_MAX + 1], prefix[64];

	folder_name(folder_netns(), own);
	snprintf(prefix, sizeof(prefix), "verbena-%u-", (unsigned int)geteuid());
	folder_scan(prefix, clean, own);
}
