/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes the file `netlink`: what a kernel with these adapters would answer to `rdma` and `devlink`. A snapshot,
 * as the files below /sys are.
 */
#ifndef VERBENA_NETLINK_H
#define VERBENA_NETLINK_H

#include "facts.h"
#include "tree.h"

/* 0 or -errno. */
int netlink_write(struct tree *t, const struct facts *facts);

#endif
