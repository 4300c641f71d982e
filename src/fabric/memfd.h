/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory files whose size is sealed: once mapped, no peer can shrink one under us and make us
 * fault.
 *
 * Where the limit of file sizes (ulimit -f) does not allow one, the descriptor stands for System V
 * memory instead (sysv.h): a memory file of 0 bytes, whose position is the id of that memory, plus
 * 1. The functions here take both kinds. Memory that was created must be mapped by its creator, or
 * it stays after the process.
 */
#ifndef FABRIC_MEMFD_H
#define FABRIC_MEMFD_H

#include <stdint.h>

int fabric_memfd_create(const char *name, uint64_t size, int *fd);
/*
 * One that only this process writes: mapped here, read-write, and then sealed against other writes
 * and writable mappings, of any process that gets the fd. System V memory has no such seal.
 */
int fabric_memfd_create_owned(const char *name, uint64_t size, int *fd, void **out);
/* -EPROTO unless the fd is a memfd of exactly that size, sealed so. */
int fabric_memfd_check(int fd, uint64_t size);
/*
 * Maps part of a sparse file, read-write and shared, such that its holes stay holes: a program that
 * has locked its future mappings (mlockall) would otherwise get memory for all of it, at once.
 */
int fabric_memfd_map(int fd, uint64_t offset, uint64_t size, void **out);
/* All of a file, read-only. */
int fabric_memfd_map_read(int fd, uint64_t size, void **out);
/*
 * Maps part of a file, read-write and shared, at a fixed address, in place of what is mapped there.
 */
int fabric_memfd_map_at(int fd, uint64_t offset, uint64_t size, void *at);
/*
 * In the child of a fork: puts a private copy in place of a mapping of the whole file, or nothing
 * when there is no memory for it.
 */
void fabric_memfd_make_private(int fd, void *base, uint64_t size);

#endif
