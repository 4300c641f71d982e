/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The file of settings: lines of key=value. A writer replaces the file by rename(2), so that a
 * reader sees either the old or the new settings, and then notifies the folder's FIFOs, which the
 * service threads watch (fabric/folder.h).
 */
#include "hca/inspect/control.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fabric/directory.h"
#include "fabric/folder.h"
#include "fabric/service.h"
#include "hca/hca.h"
#include "hca/inspect/inspect.h"
#include "util/explain.h"

#define FILE_NAME "settings"
#define FILE_MAX  8192

/* ---- the file ---- */

/* Fills `text`; "" without a file. A file of another user is ignored. */
static void read_file(const char *folder, char *text, size_t size)
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

static int write_file(const char *folder, const char *text)
{
	char path[PATH_MAX + 32], temp[PATH_MAX + 32];
	size_t len = strlen(text);
	int fd, err = 0;

	snprintf(path, sizeof(path), "%s/%s", folder, FILE_NAME);
	snprintf(temp, sizeof(temp), "%s/%s.%d", folder, FILE_NAME, (int)getpid());
	fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return explain(errno, "%s cannot be written: %s", temp, strerror(errno));
	if (write(fd, text, len) != (ssize_t)len)
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

int hca_control_set(const char *key, const char *value)
{
	char old[FILE_MAX], text[2 * FILE_MAX];
	struct folder_file file;
	size_t at;
	int fd, err;

	if (strlen(key) + strlen(value) > FILE_MAX / 2 || strchr(value, '\n'))
		return explain(EINVAL, "a setting is one line of at most %d bytes, unlike '%s'",
			       FILE_MAX / 2, value);
	err = folder_file_open(&file, &fd);
	if (err)
		return err;
	read_file(file.folder, old, sizeof(old));
	at = copy_others(old, key, text);
	if (*value)
		snprintf(text + at, sizeof(text) - at, "%s=%s\n", key, value);
	err = write_file(file.folder, text);
	close(fd);
	return err;
}

/* ---- this process ---- */

static void apply(const char *folder)
{
	static const char *const keys[] = { "capture", "fault" };
	char text[FILE_MAX];

	read_file(folder, text, sizeof(text));
	for (size_t i = 0; i < array_size(keys); i++) {
		size_t len = strlen(keys[i]);
		char *line = text, *value = NULL;

		while (*line && !value) {
			if (!strncmp(line, keys[i], len) && line[len] == '=')
				value = line + len + 1;
			else
				line += strcspn(line, "\n") + (strchr(line, '\n') != NULL);
		}
		if (value)
			value = strndup(value, strcspn(value, "\n"));
		inspect_set(keys[i], value ? value : "");
		free(value);
	}
}

static void file_changed(void *arg, uint32_t events)
{
	apply(fabric_folder());
}

void control_start(void)
{
	struct control_state *state = &hca.inspect.control;

	if (atomic_exchange(&state->started, true))
		return;
	if (!folder_fifo_open(fabric_folder(), &state->fd) &&
	    fabric_service_add_fd(state->fd, EPOLLHUP | EPOLLET, file_changed, NULL)) {
		close(state->fd); /* later changes are not noticed */
		state->fd = -1;
	}
	apply(fabric_folder());
}

void control_stop(void)
{
	struct control_state *state = &hca.inspect.control;

	if (state->fd >= 0)
		close(state->fd);
	state->fd = -1;
	atomic_store(&state->started, false);
}
