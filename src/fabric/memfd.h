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
/*
 * Maps part of a sparse file, read-write and shared, such that its holes stay holes: a program that
 * has locked its future mappings (mlockall) would otherwise get memory for all of it, at once.
 */
int fabric_memfd_map(int fd, uint64_t offset, uint64_t size, void **out);

#endif
