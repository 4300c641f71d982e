/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * /dev/infiniband/umadN: sockets of the tree, with the command at the other end (tools/verbena/umad.c). open() connects
 * to them, so that reading, writing and waiting need no wrapper; ioctl() is a message.
 */
#ifndef FACADE_UMAD_H
#define FACADE_UMAD_H

#include <stdbool.h>

/* The result of opening `path` by libc: `fd` itself, or a connection. */
int umad_opened(int fd, const char *path, int flags);
bool umad_is(int fd);
/* 0 or -errno. */
int umad_ioctl(int fd, unsigned long request, void *arg);

#endif
