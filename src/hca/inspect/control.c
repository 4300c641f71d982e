/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The file of orders: lines of key=value, replaced as a whole by renaming, so that who reads it
 * reads one state of it. Who changes it rings the folder's bells, which service threads listen to.
 */
#include "hca/inspect/control.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fabric/directory.h"
#include "fabric/folder.h"
#include "fabric/service.h"
#include "hca/inspect/inspect.h"
#include "util/explain.h"

#define ORDERS      "orders"
#define ORDERS_MOST 8192

static int doorbell_watch_fd = -1; /* constant while the service thread knows it */
static _Atomic bool begun;

/* ---- the file ---- */

/* Fills `text`; "" when there is none. Only what is the user's own is obeyed. */
static void read_orders(const char *folder, char *text, size_t size)
{
	char path[PATH_MAX + sizeof(ORDERS) + 1];
	struct stat st;
	ssize_t n = 0;
	int fd;

	text[0] = 0;
	snprintf(path, sizeof(path), "%s/%s", folder, ORDERS);
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid())
		n = read(fd, text, size - 1);
	close(fd);
	text[n > 0 ? n : 0] = 0;
}

static int write_orders(const char *folder, const char *text)
{
	char path[PATH_MAX + 32], aside[PATH_MAX + 32];
	size_t len = strlen(text);
	int fd, err = 0;

	snprintf(path, sizeof(path), "%s/%s", folder, ORDERS);
	snprintf(aside, sizeof(aside), "%s/%s.%d", folder, ORDERS, (int)getpid());
	fd = open(aside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return explain(errno, "%s cannot be written: %s", aside, strerror(errno));
	if (write(fd, text, len) != (ssize_t)len)
		err = explain(EIO, "%s cannot be written", aside);
	close(fd);
	if (!err && rename(aside, path))
		err = explain(errno, "%s cannot be replaced: %s", path, strerror(errno));
	if (err)
		unlink(aside);
	else if (!len)
		unlink(path); /* nothing is ordered */
	if (!err)
		folder_fifos_notify(folder);
	return err;
}

/* All lines but those of `key`. */
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

int hca_control_order(const char *key, const char *value)
{
	char old[ORDERS_MOST], text[2 * ORDERS_MOST];
	struct folder_file file;
	size_t at;
	int fd, err;

	if (strlen(key) + strlen(value) > ORDERS_MOST / 2 || strchr(value, '\n'))
		return explain(EINVAL, "'%s' is too long an order, or has more than one line",
			       value);
	err = folder_file_open(&file, &fd);
	if (err)
		return err;
	read_orders(file.folder, old, sizeof(old));
	at = copy_others(old, key, text);
	if (*value)
		snprintf(text + at, sizeof(text) - at, "%s=%s\n", key, value);
	err = write_orders(file.folder, text);
	close(fd);
	return err;
}

/* ---- obeying ---- */

static void obey(const char *folder)
{
	static const char *const keys[] = { "capture", "fault" };
	char text[ORDERS_MOST];

	read_orders(folder, text, sizeof(text));
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

static void changed(void *arg, uint32_t events)
{
	obey(fabric_folder());
}

void control_begin(void)
{
	if (atomic_exchange(&begun, true))
		return;
	if (!folder_fifo_open(fabric_folder(), &doorbell_watch_fd) &&
	    fabric_service_add_fd(doorbell_watch_fd, EPOLLHUP | EPOLLET, changed, NULL)) {
		close(doorbell_watch_fd);
		doorbell_watch_fd = -1; /* then what is ordered later is not heard of */
	}
	obey(fabric_folder());
}

void control_forked(void)
{
	if (doorbell_watch_fd >= 0)
		close(doorbell_watch_fd);
	doorbell_watch_fd = -1;
	begun = false;
}
