/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rows are made under the directory's lock, found and added to without it, and never freed: they end with
 * the directory, which the last process of the host takes away.
 */
#include "fabric/port_counts.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fabric/dir_memory.h"
#include "fabric/directory.h"
#include "fabric/dirfile.h"
#include "fabric/folder.h"
#include "fabric/traffic.h"

_Static_assert(FABRIC_PORT_COUNTS == DIR_PORT_COUNTS, "a row has them all");
_Static_assert(FABRIC_PORT_TRAFFIC == DIR_PORT_TRAFFIC, "in the same places");

static struct dir_port *find(struct dir_file *dir, const char *name)
{
	for (unsigned int i = 0; i < DIR_PORTS; i++) {
		struct dir_port *row = &dir->port[i];

		/* [D5] pairs with fabric_port_counts(): the name before the mark */
		if (!atomic_load_explicit(&row->used, memory_order_acquire))
			return NULL;
		if (!strncmp(row->name, name, sizeof(row->name)))
			return row;
	}
	return NULL;
}

/* The lock is held, and there is no such row. */
static struct dir_port *add(struct dir_file *dir, const char *name)
{
	for (unsigned int i = 0; i < DIR_PORTS; i++) {
		struct dir_port *row = &dir->port[i];

		if (atomic_load_explicit(&row->used, memory_order_relaxed))
			continue;
		snprintf(row->name, sizeof(row->name), "%s", name);
		return row;
	}
	return NULL;
}

_Atomic uint64_t *fabric_port_counts(const char *name)
{
	struct dir_file *dir = fabric_directory_file();
	struct dir_port *row = dir ? find(dir, name) : NULL;

	if (!dir || strlen(name) >= sizeof(row->name))
		return NULL;
	if (!row && !fabric_directory_lock()) {
		row = find(dir, name);
		if (!row)
			row = add(dir, name);
		if (row)
			/* [D5] */
			atomic_store_explicit(&row->used, 1, memory_order_release);
		fabric_directory_unlock();
	}
	return row ? row->count : NULL;
}

unsigned int fabric_port_row(const _Atomic uint64_t *counts)
{
	struct dir_file *dir = fabric_directory_file();

	for (unsigned int i = 0; dir && i < DIR_PORTS; i++)
		if (dir->port[i].count == counts)
			return i + 1;
	return 0;
}

/* ---- from outside ---- */

/* The file of the current directory, which is in `folder`; -1: there is none. */
static int open_file(char folder[PATH_MAX], struct stat *st)
{
	char path[PATH_MAX];
	int fd;

	if (!folder_find(folder) || !folder_file_find(path))
		return -1;
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && fstat(fd, st)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

bool fabric_counts_view_is_current(const struct fabric_counts_view *view)
{
	struct stat st = { 0 };
	char folder[PATH_MAX];
	int fd = open_file(folder, &st);

	if (fd < 0)
		return !view->file;
	close(fd);
	return view->file && view->inode == st.st_ino;
}

bool fabric_counts_view_update(struct fabric_counts_view *view)
{
	struct dir_file *file;
	char folder[PATH_MAX];
	struct stat st;
	int fd;

	if (fabric_counts_view_is_current(view))
		return false;
	if (view->file)
		dir_memory_unmap(view->file);
	*view = (struct fabric_counts_view){ 0 };
	fd = open_file(folder, &st);
	if (fd < 0)
		return true;
	if (!dir_memory_map(fd, folder, true, &file)) {
		view->file = file;
		view->inode = st.st_ino;
	}
	close(fd);
	return true;
}

void fabric_counts_view_read(const struct fabric_counts_view *view, const char *name,
			     uint64_t out[FABRIC_PORT_COUNTS])
{
	struct dir_port *row = view->file ? find(view->file, name) : NULL;

	for (unsigned int i = 0; i < FABRIC_PORT_COUNTS; i++)
		out[i] = row ? atomic_load_explicit(&row->count[i], memory_order_relaxed) : 0;
	if (row)
		fabric_traffic_sum(view->file, (unsigned int)(row - view->file->port) + 1,
				   &out[FABRIC_PORT_TRAFFIC]);
}
