/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A writer locks the folder, since the new settings are made of the old ones. It replaces the file by rename(2),
 * so that a reader, which takes no lock, sees either the old or the new settings, and then notifies the folder's
 * FIFOs, which the service threads watch (fabric/folder.h). After a writer that was killed the lock is free, the
 * file is whole, and the next writer overwrites its temporary file. The same order, given again, notifies again.
 */
#include "hca/inspect/setting.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fabric/fabric.h"
#include "fabric/directory.h"
#include "fabric/folder.h"
#include "util/explain.h"
#include "util/file_limit.h"

#define FILE_NAME "settings"

/* A file of another user is ignored. */
void setting_read(const char *folder, char *text, size_t size)
{
	char path[PATH_MAX + sizeof(FILE_NAME) + 1];
	struct stat st;
	ssize_t n = 0;
	int fd;

	text[0] = 0;
	snprintf(path, sizeof(path), "%s/%s", folder, FILE_NAME);
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid())
		n = read(fd, text, size - 1);
	close(fd);
	text[n > 0 ? n : 0] = 0;
}

static int lock_folder(const char *folder, int *out)
{
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int err;

	if (fd < 0)
		return explain(errno, "%s cannot be opened: %s", folder, strerror(errno));
	do
		err = flock(fd, LOCK_EX) ? errno : 0;
	while (err == EINTR);
	if (err) {
		close(fd);
		return explain(err, "%s cannot be locked: %s", folder, strerror(err));
	}
	*out = fd;
	return 0;
}

/* The folder is locked. */
static int write_file(const char *folder, const char *text)
{
	char path[PATH_MAX + 32], temp[PATH_MAX + 32];
	size_t len = strlen(text);
	int fd, err = 0;

	snprintf(path, sizeof(path), "%s/%s", folder, FILE_NAME);
	snprintf(temp, sizeof(temp), "%s/%s.new", folder, FILE_NAME);
	fd = open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return explain(errno, "%s cannot be written: %s", temp, strerror(errno));
	if (file_append(fd, text, len))
		err = explain(EIO, "%s cannot be written", temp);
	close(fd);
	if (!err && rename(temp, path))
		err = explain(errno, "%s cannot be replaced: %s", path, strerror(errno));
	if (err)
		unlink(temp);
	else if (!len)
		unlink(path);
	if (!err)
		folder_fifos_notify(folder);
	return err;
}

/* Copies all lines but those of `key`; returns the length. */
static size_t copy_others(const char *from, const char *key, char *to)
{
	size_t key_len = strlen(key), at = 0;

	while (*from) {
		size_t n = strcspn(from, "\n");

		if (strncmp(from, key, key_len) || from[key_len] != '=') {
			memcpy(to + at, from, n);
			to[at + n] = '\n';
			at += n + 1;
		}
		from += n + (from[n] == '\n');
	}
	to[at] = 0;
	return at;
}

/* The folder is locked. */
static int change(const char *folder, const char *key, setting_edit *edit, const void *arg)
{
	char old[SETTING_MAX], value[SETTING_MAX], text[2 * SETTING_MAX];
	size_t at;

	setting_read(folder, old, sizeof(old));
	setting_find(old, key, value, sizeof(value));
	edit(value, arg);
	if (strlen(key) + strlen(value) > SETTING_MAX / 2 || strchr(value, '\n'))
		return explain(EINVAL, "a setting is one line of at most %d bytes, unlike '%s'",
			       SETTING_MAX / 2, value);
	at = copy_others(old, key, text);
	if (*value)
		snprintf(text + at, sizeof(text) - at, "%s=%s\n", key, value);
	return write_file(folder, text);
}

int setting_change(const char *key, setting_edit *edit, const void *arg)
{
	struct folder_file file = { 0 };
	int fd, lock = -1, err;

	err = folder_file_open(&file, &fd);
	if (err)
		return err;
	err = lock_folder(file.folder, &lock);
	if (!err) {
		err = change(file.folder, key, edit, arg);
		close(lock);
	}
	close(fd);
	return err;
}

static void replace(char value[SETTING_MAX], const void *arg)
{
	snprintf(value, SETTING_MAX, "%s", (const char *)arg);
}

int hca_setting_set(const char *key, const char *value)
{
	return setting_change(key, replace, value);
}

void setting_find(const char *text, const char *key, char *value, size_t size)
{
	size_t len = strlen(key);

	value[0] = 0;
	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		if (strncmp(line, key, len) || line[len] != '=')
			continue;
		line += len + 1;
		snprintf(value, size, "%.*s", (int)strcspn(line, "\n"), line);
		return;
	}
}

void hca_setting_get(const char *key, char *value, size_t size)
{
	char folder[PATH_MAX], text[SETTING_MAX];

	value[0] = 0;
	if (!folder_find(folder))
		return;
	setting_read(folder, text, sizeof(text));
	setting_find(text, key, value, size);
}
