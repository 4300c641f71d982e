/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A private directory for one run, and the files in it. The run holds a lock on the directory; a
 * directory without one belongs to a run that died, and the next run takes it away.
 */
#ifndef VERBENA_TREE_H
#define VERBENA_TREE_H

#include <limits.h>
#include <stddef.h>

struct tree {
	int fd;  /* the directory, locked */
	int err; /* the first error of a tree_dir_* call below, as -errno */
	char path[PATH_MAX / 2];
};

/* A place inside the tree; names given to it are relative. */
struct tree_dir {
	struct tree *tree;
	char path[512];
};

int tree_create(struct tree *t);

/* Removes the tree and everything in it; follows no link and enters no other file system. */
void tree_destroy(struct tree *t);

/* Removes the trees of runs that are no more. */
void tree_sweep(void);

/* The writers remember the first failure in tree->err, so that it is checked once at the end. */
void tree_dir_init(struct tree_dir *d, struct tree *t, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void tree_dir_below(struct tree_dir *d, const struct tree_dir *parent, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void tree_dir_make(const struct tree_dir *d);
void tree_dir_file(const struct tree_dir *d, const char *name, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* An empty file that only the user can open: it stands for a device that is known by its name. */
void tree_dir_device(const struct tree_dir *d, const char *name);
void tree_dir_bytes(const struct tree_dir *d, const char *name, const void *bytes, size_t len);
/* A further name for a file of the same directory: hundreds of entries read alike. */
void tree_dir_again(const struct tree_dir *d, const char *name, const char *first);
void tree_dir_link(const struct tree_dir *d, const char *name, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
