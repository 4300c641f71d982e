/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which path names the preload library redirects, and to where. The tree is named by
 * VERBENA_FACADE; its file `map` lists what it stands for, one line each:
 *
 *	+/sys/class/infiniband		this name and everything below it
 *	=/sys/bus/pci/devices		this name alone
 *
 * `verbena run` writes the list; nothing here knows adapters. The table is filled once, by the
 * first call or the constructor, and never changes, so that no lock is needed afterwards.
 */
#ifndef FACADE_MAP_H
#define FACADE_MAP_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* Each redirected call has one of these on its stack. */
struct facade_buf {
	char path[PATH_MAX];
};

bool facade_active(void);

/* The name to hand to libc: `path` itself, or its counterpart in the tree, written to `buf`. */
const char *facade_path(const char *path, struct facade_buf *buf);
const char *facade_path_at(int dirfd, const char *path, struct facade_buf *buf);

/* The name of a file of the tree itself, such as `map`; false without a tree. */
bool facade_file(const char *name, char *path, size_t size);

/* How many leading bytes of `path` name the tree and must not be seen; 0 for any other path. */
size_t facade_hidden(const char *path, size_t len);

/* Takes those bytes away in place. NULL stays NULL. */
char *facade_unmap(char *path);

#endif
