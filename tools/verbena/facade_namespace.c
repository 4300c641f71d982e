/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A /sys and a /dev of the program's own, in a mount namespace; for a user without privileges,
 * inside a user namespace that maps the user to itself. Both are put together on a tmpfs at
 * <tree>/stage out of bind mounts, then moved into place. The stage goes away again, so that no
 * real directory can be reached through the tree, which is going to be deleted.
 */
#include "facade.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "overlay.h"
#include "say.h"

static int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int err = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		err = -errno;
	close(fd);
	return err;
}

static int map_ids(uid_t uid, gid_t gid)
{
	char text[64];
	int err = write_text("/proc/self/setgroups", "deny");

	/* Kernels before 3.19 do not have the file, and need no such promise. */
	if (err && err != -ENOENT)
		return err;
	snprintf(text, sizeof(text), "%u %u 1", uid, uid);
	err = write_text("/proc/self/uid_map", text);
	if (err)
		return err;
	snprintf(text, sizeof(text), "%u %u 1", gid, gid);
	return write_text("/proc/self/gid_map", text);
}

static int unshare_mounts(void)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();

	if (unshare(CLONE_NEWNS)) {
		if (unshare(CLONE_NEWUSER | CLONE_NEWNS))
			return -errno;
		if (map_ids(uid, gid))
			return -EPERM;
	}
	return mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ? -errno : 0;
}

static void stage_name(const struct tree *t, const char *name, char out[PATH_MAX])
{
	snprintf(out, PATH_MAX, "%s/stage/%s", t->path, name);
}

static int make_target(const char *path, mode_t mode)
{
	int fd;

	if (S_ISDIR(mode))
		return mkdir(path, 0755) ? -errno : 0;
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static int copy_link(const char *from, const char *to)
{
	char target[PATH_MAX];
	ssize_t n = readlink(from, target, sizeof(target) - 1);

	if (n < 0)
		return -errno;
	target[n] = '\0';
	return symlink(target, to) ? -errno : 0;
}

/* Makes `from` appear on the stage under `name`. */
static int show(struct tree *t, const char *name, const char *from)
{
	char to[PATH_MAX];
	struct stat st;
	int err;

	stage_name(t, name, to);
	if (lstat(from, &st))
		return errno == ENOENT ? 0 : -errno;
	if (S_ISLNK(st.st_mode))
		return copy_link(from, to);
	err = make_target(to, st.st_mode);
	if (err)
		return err;
	if (!mount(from, to, NULL, MS_BIND | MS_REC, NULL))
		return 0;
	/* A path that cannot be bound (a file that went away, an odd file system) is left empty. */
	return errno == EPERM ? -EPERM : 0;
}

static int own(struct tree *t, const char *name)
{
	char from[PATH_MAX];

	snprintf(from, sizeof(from), "%s/%s", t->path, name);
	return show(t, name, from);
}

static int shared(struct tree *t, const char *name)
{
	char to[PATH_MAX];

	stage_name(t, name, to);
	return mkdir(to, 0755) ? -errno : 0;
}

static int real(struct tree *t, const char *name)
{
	char from[PATH_MAX];

	snprintf(from, sizeof(from), "/%s", name);
	return show(t, name, from);
}

static int put_in_place(struct tree *t, const char *name)
{
	char from[PATH_MAX], to[PATH_MAX];

	stage_name(t, name, from);
	snprintf(to, sizeof(to), "/%s", name);
	return mount(from, to, NULL, MS_BIND | MS_REC, NULL) ? -errno : 0;
}

/* The tree may lie in /dev/shm, which is bound with all mounts below it: not with the stage. */
static int fill_stage(struct tree *t, const char *stage)
{
	static const struct overlay_ops ops = { .own = own, .shared = shared, .real = real };
	int err;

	if (mount("none", stage, NULL, MS_UNBINDABLE, NULL))
		return -errno;
	err = overlay_walk(t, "sys", &ops);
	if (!err)
		err = overlay_walk(t, "dev", &ops);
	if (!err && mount("none", stage, NULL, MS_PRIVATE, NULL))
		err = -errno;
	return err;
}

/* By a descriptor, since its name may be below the new /dev by now. */
static void remove_stage(int fd)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	umount2(path, MNT_DETACH);
}

static int mount_all(struct tree *t)
{
	char stage[PATH_MAX];
	int err, fd;

	stage_name(t, "", stage);
	if (mkdir(stage, 0700) || mount("tmpfs", stage, "tmpfs", 0, "mode=755"))
		return -errno;
	fd = open(stage, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = fill_stage(t, stage);
	if (!err)
		err = put_in_place(t, "sys");
	if (!err)
		err = put_in_place(t, "dev");
	remove_stage(fd);
	close(fd);
	return err;
}

int facade_namespace_enter(struct tree *t)
{
	int err = unshare_mounts();

	if (err)
		return say(EXIT_RUN_FAILED,
			   "this machine does not let you make a mount namespace (%s); "
			   "--facade preload needs none",
			   strerror(-err));
	err = mount_all(t);
	if (err)
		return say(EXIT_RUN_FAILED,
			   "cannot mount a facade over /sys and /dev (%s); "
			   "--facade preload needs no mounts",
			   strerror(-err));
	return 0;
}
