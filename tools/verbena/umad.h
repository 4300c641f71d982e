/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * /dev/infiniband/umadN of a run with the preload library: sockets in its tree. The command listens to them; with the
 * first connection it starts a process that serves all of them until the run ends.
 */
#ifndef VERBENA_UMAD_H
#define VERBENA_UMAD_H

#include "facts.h"
#include "tree.h"

/* Leaves the ports for umad_open(), in the order of the devices' numbers. 0 or -errno. */
int umad_write(struct tree *t, const struct facts *facts);

struct umad;

/* Of the tree that was written; NULL: programs find no such devices. */
struct umad *umad_open(const struct tree *t);
/* Looks for the first connection. */
void umad_follow(struct umad *u);
void umad_close(struct umad *u);

#endif
