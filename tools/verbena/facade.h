/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The facade of a run: files where programs look for adapters, in one of two ways. `preload` leads
 * libc's calls to the tree; `namespace` mounts the tree over /sys and /dev for this program alone.
 */
#ifndef VERBENA_FACADE_H
#define VERBENA_FACADE_H

#include "tree.h"

enum facade_kind {
	FACADE_PRELOAD,
	FACADE_NAMESPACE,
	FACADE_NONE,
};

/* Fills the tree from the adapters that the environment describes. An exit status. */
int facade_fill(struct tree *t, enum facade_kind kind);

/* Writes the map that the preload library needs beside the adapters' files. 0 or -errno. */
int facade_preload_prepare(struct tree *t);

/*
 * Gives the calling process its own /sys and /dev. Only a process with one thread may call it. An
 * exit status, after saying why.
 */
int facade_namespace_enter(struct tree *t);

#endif
