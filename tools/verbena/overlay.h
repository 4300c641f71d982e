/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How a run's tree and the real machine fit together, name by name, for both kinds of facade.
 * Names are relative to both roots: "sys/class/infiniband" is in the tree and may be in /sys.
 */
#ifndef VERBENA_OVERLAY_H
#define VERBENA_OVERLAY_H

#include "tree.h"

struct overlay_ops {
	/* The tree alone answers for this name and what is below it. */
	int (*own)(struct tree *t, const char *name);
	/* A directory of both; called before its entries. */
	int (*shared)(struct tree *t, const char *name);
	/* An entry of a shared directory that only the real machine has. */
	int (*real)(struct tree *t, const char *name);
};

/* Walks everything below `name`, a directory of both. 0 or the first failure. */
int overlay_walk(struct tree *t, const char *name, const struct overlay_ops *ops);

#endif
