/* SPDX-License-Identifier: BSD-2-Clause */
/* Called by folder.c and litter.c. No state, no lock. */
#include "fabric/folder_scan.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

unsigned long long folder_netns(void)
{
	struct stat st;

	return stat("/proc/self/ns/net", &st) ? 0 : st.st_ino;
}

void folder_name(unsigned long long netns, char name[NAME_MAX + 1])
{
	snprintf(name, NAME_MAX + 1, "verbena-%u-%llu", (unsigned int)geteuid(), netns);
}

/* Processes of a user get the same path, as far as their environments agree. */
static bool base_path(int base, char path[PATH_MAX])
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	int len = -1;

	if (base == 0)
		len = snprintf(path, PATH_MAX, "/dev/shm");
	else if (base == 1 && runtime && *runtime == '/')
		len = snprintf(path, PATH_MAX, "%s", runtime);
	else if (base == 1 && (!runtime || !*runtime))
		len = snprintf(path, PATH_MAX, "/run/user/%u", (unsigned int)geteuid());
	else if (base == 2)
		len = snprintf(path, PATH_MAX, "/tmp");
	return len > 0 && len < PATH_MAX - NAME_MAX - FOLDER_PATH_ROOM;
}

bool folder_base_open(int base, int *out, char path[PATH_MAX])
{
	struct stat st;
	int fd;

	if (!base_path(base, path))
		return false;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return false;
	/*
	 * Where all users may write, only the sticky bit keeps them from removing what is not
	 * theirs.
	 */
	if (fstat(fd, &st) || (st.st_uid && st.st_uid != geteuid()) ||
	    ((st.st_mode & 022) && !(st.st_mode & S_ISVTX))) {
		close(fd);
		return false;
	}
	*out = fd;
	return true;
}

int folder_open_safe(int base_fd, const char *name)
{
	struct stat st;
	int fd = openat(base_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (!fstat(fd, &st) && st.st_uid == geteuid() && !(st.st_mode & 077))
		return fd;
	close(fd);
	return -EPERM;
}

static bool scan_base(int base, const char *prefix,
		      bool (*fn)(const struct folder_spot *spot, void *arg), void *arg)
{
	struct folder_spot spot = { .base = base };
	char path[PATH_MAX];
	bool more = true;
	DIR *dir;
	int copy;

	if (!folder_base_open(base, &spot.base_fd, path))
		return true;
	copy = fcntl(spot.base_fd, F_DUPFD_CLOEXEC, 0);
	dir = copy < 0 ? NULL : fdopendir(copy);
	for (struct dirent *d; dir && more && (d = readdir(dir));) {
		if (strncmp(d->d_name, prefix, strlen(prefix)) != 0)
			continue;
		spot.fd = folder_open_safe(spot.base_fd, d->d_name);
		if (spot.fd < 0)
			continue;
		snprintf(spot.name, sizeof(spot.name), "%s", d->d_name);
		more = fn(&spot, arg);
		close(spot.fd);
	}
	if (dir)
		closedir(dir);
	else if (copy >= 0)
		close(copy);
	close(spot.base_fd);
	return more;
}

void folder_scan(const char *prefix, bool (*fn)(const struct folder_spot *spot, void *arg),
		 void *arg)
{
	for (int base = 0; base < FOLDER_BASES; base++)
		if (!scan_base(base, prefix, fn, arg))
			break;
}
