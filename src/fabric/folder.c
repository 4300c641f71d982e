/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds, creates and removes the folder and the file of the host directory. Called by directory.c
 * and, for FIFOs, by the adapter. No lock: a process unlinks the file with the lock on it held, and
 * a process that has opened it checks again once it has the lock.
 *
 * All processes of a user in a network namespace must find the same file, though any user may make
 * folders of any name in /dev/shm and /tmp, and a place may be full for one process and have room
 * for the next. So the folder is not known by its name or place, but by being safe (folder_scan.h)
 * and having the file in it. At any time one folder at most has it: see create().
 */
#include "fabric/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "fabric/folder_scan.h"
#include "util/explain.h"

#define ATTEMPTS 1000
#define WAITS                                                                                      \
	100 /* naps until an empty folder counts as abandoned; longer when the machine is busy */
#define NAP_NS 300000u

static int open_file_at(int folder, const struct folder_file *file, int flags, int *out)
{
	struct stat st;
	int fd;

	fd = openat(folder, file->name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | flags, 0600);
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

/* ---- a folder that the user has chosen ---- */

static int open_chosen(struct folder_file *file, const char *chosen, int *out)
{
	struct stat st;
	int folder, err;

	if (mkdir(chosen, 0700) && errno != EEXIST)
		return -errno;
	/* The program may change its working directory before we unlink. */
	if (!realpath(chosen, file->folder))
		return -errno;
	file->base = FOLDER_CHOSEN;
	folder = open(file->folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder < 0)
		return -errno;
	if (fstat(folder, &st) || st.st_uid != geteuid() || (st.st_mode & 022))
		err = explain(
			EPERM,
			"%s must be a folder of user %u that no other user may write to; its owner "
			"is %u, its mode %o",
			file->folder, (unsigned int)geteuid(), (unsigned int)st.st_uid,
			(unsigned int)(st.st_mode & 07777));
	else
		err = open_file_at(folder, file, O_CREAT, out);
	close(folder);
	return err;
}

/* ---- the usual folders ---- */

/* Best first. */
enum state {
	STATE_READY, /* it has the file */
	STATE_LEFT,  /* it has something else, such as settings */
	STATE_EMPTY, /* another process is making it, or was killed meanwhile */
	STATE_NONE,  /* there is no folder, or the file in it is not safe */
};

struct candidate {
	enum state state;
	int base;
	char name[NAME_MAX + 1];
};

static bool is_empty(int folder)
{
	int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	bool empty = true;

	if (!dir) {
		if (copy >= 0)
			close(copy);
		return false;
	}
	for (struct dirent *d; empty && (d = readdir(dir));)
		empty = !strcmp(d->d_name, ".") || !strcmp(d->d_name, "..");
	closedir(dir);
	return empty;
}

static enum state state_of(int folder, const char *file)
{
	struct stat st;

	if (!fstatat(folder, file, &st, AT_SYMLINK_NOFOLLOW))
		return S_ISREG(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 077)
			       ? STATE_READY
			       : STATE_NONE;
	return is_empty(folder) ? STATE_EMPTY : STATE_LEFT;
}

struct search {
	const struct folder_file *file;
	char usual[NAME_MAX +
		   1]; /* name of the folder, or its beginning: a dot and a number follow */
	struct candidate best;
};

static bool is_candidate(const struct search *s, const char *name)
{
	size_t len = strlen(s->usual);

	return !strncmp(name, s->usual, len) && (!name[len] || name[len] == '.');
}

/* All processes look for the same one: in the order of states, places, names. */
static bool is_better(const struct candidate *a, const struct candidate *b)
{
	if (a->state != b->state)
		return a->state < b->state;
	return a->base != b->base ? a->base < b->base : strcmp(a->name, b->name) < 0;
}

static bool look_at(const struct folder_spot *spot, void *arg)
{
	struct search *s = arg;
	struct candidate c = { .base = spot->base };

	if (!is_candidate(s, spot->name))
		return true;
	c.state = state_of(spot->fd, s->file->name);
	memcpy(c.name, spot->name, sizeof(c.name));
	if (c.state != STATE_NONE && (s->best.state == STATE_NONE || is_better(&c, &s->best)))
		s->best = c;
	/* There is only one with the file. */
	return s->best.state != STATE_READY;
}

static struct candidate find_best(const struct folder_file *file, unsigned long long netns)
{
	struct search s = { .file = file, .best.state = STATE_NONE };
	char path[PATH_MAX];
	int base, folder;

	folder_name(netns, s.usual);
	/* Nearly always: nothing else has to be looked at. */
	if (folder_base_open(0, &base, path)) {
		folder = folder_open_safe(base, s.usual);
		if (folder >= 0 && state_of(folder, file->name) == STATE_READY)
			s.best = (struct candidate){ .state = STATE_READY };
		if (folder >= 0)
			close(folder);
		close(base);
	}
	if (s.best.state == STATE_READY)
		memcpy(s.best.name, s.usual, sizeof(s.best.name));
	else
		folder_scan(s.usual, look_at, &s);
	return s.best;
}

/* Fills in file->folder and opens the file in the folder of the place. */
static int open_in(struct folder_file *file, int base, const char *name, int flags, int *out)
{
	char path[PATH_MAX];
	int base_fd, folder, err;

	if (!folder_base_open(base, &base_fd, path))
		return -ENOENT;
	folder = folder_open_safe(base_fd, name);
	close(base_fd);
	if (folder < 0)
		return -ENOENT;
	snprintf(file->folder, sizeof(file->folder), "%.*s/%s",
		 (int)(sizeof(file->folder) - NAME_MAX - 2), path, name);
	file->base = base;
	err = open_file_at(folder, file, flags, out);
	close(folder);
	return err;
}

struct claim {
	const struct search *search;
	int base;
	const char *name; /* of the folder that this process has made */
	bool lost;
};

/*
 * Removes another folder that no process has put a file into. One that has something in it is used
 * instead.
 */
static bool remove_other(const struct folder_spot *spot, void *arg)
{
	struct claim *c = arg;

	if (!is_candidate(c->search, spot->name) ||
	    (spot->base == c->base && !strcmp(spot->name, c->name)) ||
	    state_of(spot->fd, c->search->file->name) == STATE_NONE)
		return true;
	if (unlinkat(spot->base_fd, spot->name, AT_REMOVEDIR) && errno != ENOENT)
		c->lost = true;
	return !c->lost;
}

/*
 * The folder that this process makes: of the usual name, or with a random number where that one is
 * taken.
 */
static int make_folder(int base_fd, const char *path, const char *usual, char name[NAME_MAX + 1])
{
	uint32_t number;

	snprintf(name, NAME_MAX + 1, "%s", usual);
	for (int i = 0; i < ATTEMPTS; i++) {
		if (!mkdirat(base_fd, name, 0700))
			return 0;
		if (errno != EEXIST)
			return -errno;
		if (!i)
			explain_note("%s/%s is not a folder that only user %u can use; taking "
				     "another name",
				     path, name, (unsigned int)geteuid());
		if (getrandom(&number, sizeof(number), 0) != sizeof(number))
			return -EIO;
		snprintf(name, NAME_MAX + 1, "%.64s.%08x", usual, (unsigned int)number);
	}
	return -EEXIST;
}

/*
 * Makes a folder and the file in it, when there was none. Other processes may do so at the same
 * moment, in another folder if names are taken from them or a place has no room. Each removes the
 * folders of the others before it creates its file. A folder with a file in it cannot be removed,
 * and in one that was removed no file can be created; so one process wins, or none and all try
 * again (-EAGAIN).
 */
static int create(struct folder_file *file, unsigned long long netns, int base, int *out)
{
	struct search s = { .file = file };
	struct claim c = { .search = &s, .base = base };
	char path[PATH_MAX], name[NAME_MAX + 1];
	int base_fd, err;

	folder_name(netns, s.usual);
	if (!folder_base_open(base, &base_fd, path))
		return -ENOENT;
	err = make_folder(base_fd, path, s.usual, name);
	if (err)
		goto close_base;
	c.name = name;
	folder_scan(s.usual, remove_other, &c);
	err = c.lost ? -ENOENT : open_in(file, base, name, O_CREAT, out);
	if (err)
		unlinkat(base_fd, name, AT_REMOVEDIR);
	if (err == -ENOENT)
		err = -EAGAIN;
close_base:
	close(base_fd);
	return err;
}

static void nap(void)
{
	struct timespec t = { .tv_nsec = NAP_NS };
	uint32_t random = 0;

	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) == sizeof(random))
		t.tv_nsec += random % NAP_NS;
	nanosleep(&t, NULL);
}

static void remove_abandoned(const struct candidate *c)
{
	char path[PATH_MAX];
	int base_fd;

	if (!folder_base_open(c->base, &base_fd, path))
		return;
	unlinkat(base_fd, c->name, AT_REMOVEDIR);
	close(base_fd);
}

/* -EAGAIN: another process was faster. Places that cannot be used are added to file->no_room. */
static int create_somewhere(struct folder_file *file, unsigned long long netns, int *out)
{
	int err = -ENOENT, first = 0;

	for (int base = 0; base < FOLDER_BASES; base++) {
		if (file->no_room & 1u << base)
			continue;
		err = create(file, netns, base, out);
		if (!err || err == -EAGAIN)
			return err;
		file->no_room |= 1u << base;
		if (!first || first == -ENOENT)
			first = err;
	}
	return first ? first : -ENOSPC;
}

static int open_usual(struct folder_file *file, unsigned long long netns, int *out)
{
	int err = -EAGAIN, waits = 0;

	for (int i = 0; i < ATTEMPTS && err == -EAGAIN; i++) {
		struct candidate c = find_best(file, netns);

		switch (c.state) {
		case STATE_READY:
			err = open_in(file, c.base, c.name, 0, out);
			break;
		case STATE_LEFT:
			err = open_in(file, c.base, c.name, O_CREAT, out);
			break;
		case STATE_EMPTY:
			if (++waits % WAITS == 0)
				remove_abandoned(&c);
			else
				nap();
			err = -EAGAIN;
			break;
		default:
			err = create_somewhere(file, netns, out);
			if (err == -EAGAIN)
				nap();
			break;
		}
		/* The last process has removed it since. */
		if (err == -ENOENT && c.state != STATE_NONE)
			err = -EAGAIN;
	}
	return err;
}

/* ---- the interface ---- */

bool folder_find(char path[PATH_MAX])
{
	const char *chosen = getenv("VERBENA_DIR");
	unsigned long long netns = folder_netns();
	struct folder_file file = { 0 };
	struct candidate c;
	int base_fd;
	size_t len;

	if (chosen && *chosen)
		return realpath(chosen, path);
	snprintf(file.name, sizeof(file.name), FOLDER_FILE "%llu", netns);
	c = find_best(&file, netns);
	if (c.state > STATE_LEFT || !folder_base_open(c.base, &base_fd, path))
		return false;
	close(base_fd);
	len = strlen(path);
	snprintf(path + len, PATH_MAX - len, "/%s", c.name);
	return true;
}

bool folder_file_find(char path[PATH_MAX])
{
	size_t len;

	if (!folder_find(path))
		return false;
	len = strlen(path);
	return snprintf(path + len, PATH_MAX - len, "/" FOLDER_FILE "%llu", folder_netns()) <
	       (int)(PATH_MAX - len);
}

int folder_file_open(struct folder_file *file, int *fd)
{
	const char *chosen = getenv("VERBENA_DIR");
	unsigned long long netns = folder_netns();
	int err;

	snprintf(file->name, sizeof(file->name), FOLDER_FILE "%llu", netns);
	if (chosen && *chosen)
		err = open_chosen(file, chosen, fd);
	else
		err = open_usual(file, netns, fd);
	/* EPERM was explained where it was decided. */
	if (!err || err == -EPERM)
		return err;
	return explain(-err,
		       "%s cannot hold the host directory: %s; VERBENA_DIR names the folder to use",
		       chosen && *chosen ? chosen : "a folder in /dev/shm, XDG_RUNTIME_DIR or /tmp",
		       strerror(-err));
}

void folder_file_unlink(const struct folder_file *file, int fd)
{
	struct stat ours, theirs;
	char other[sizeof(file->name) + sizeof(FOLDER_MEMORY)];
	const char *number = file->name + sizeof(FOLDER_FILE) - 1;
	int folder;

	folder = open(file->folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder < 0)
		return;
	if (!fstat(fd, &ours) && !fstatat(folder, file->name, &theirs, AT_SYMLINK_NOFOLLOW) &&
	    ours.st_ino == theirs.st_ino && ours.st_dev == theirs.st_dev) {
		snprintf(other, sizeof(other), FOLDER_FIFO "%s", number);
		unlinkat(folder, other, 0);
		snprintf(other, sizeof(other), FOLDER_MEMORY "%s", number);
		unlinkat(folder, other, 0);
		unlinkat(folder, file->name, 0);
	}
	close(folder);
	if (file->base != FOLDER_CHOSEN)
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

	snprintf(path, sizeof(path), "%s/" FOLDER_FIFO "%llu", folder, folder_netns());
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

		if (strncmp(d->d_name, FOLDER_FIFO, sizeof(FOLDER_FIFO) - 1))
			continue;
		/* Fails without readers. */
		fd = openat(dirfd(dir), d->d_name, O_WRONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
		if (fd >= 0)
			close(fd);
	}
	if (dir)
		closedir(dir);
}
