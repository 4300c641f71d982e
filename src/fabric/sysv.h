/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * System V shared memory: the only shared memory for which the limit of file sizes (RLIMIT_FSIZE)
 * does not count. memfd.c and dir_memory.c use it where that limit is too small. A piece of memory
 * is known by its id, to processes in the same IPC namespace. It is marked as to be destroyed when
 * it is first attached, so it goes with the last process that has it attached, however that ends.
 */
#ifndef FABRIC_SYSV_H
#define FABRIC_SYSV_H

#include <stdbool.h>
#include <stdint.h>

/* Makes memory of zeros; pages come with the first access. -errno. */
int sysv_create(uint64_t size, int *id);
/* Removes what processes of this user have made and were killed before they attached it. */
void sysv_sweep(void);
/* True when the id is memory of this user with exactly that size. */
bool sysv_has_size(int id, uint64_t size);
/* Attaches all of it. */
int sysv_attach(int id, bool read_only, void **base);
/* Maps a part at a fixed address, in place of what is mapped there. */
int sysv_map_at(int id, uint64_t offset, uint64_t size, void *at);

#endif
