/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory files whose size is sealed: once mapped, no peer can shrink one under us and make us
 * fault.
 */
#ifndef FABRIC_MEMFD_H
#define FABRIC_MEMFD_H

#include <stdint.h>

int fabric_memfd_create(const char *name, uint64_t size, int *fd);
/* -EPROTO unless the fd is a memfd of exactly that size, sealed so. */
int fabric_memfd_check(int fd, uint64_t size);

#endif
