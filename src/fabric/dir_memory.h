/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory of the host directory: its file, or System V memory (sysv.h) where the first process's
 * limit of file sizes is smaller than the directory. The file is empty then, and serves for its
 * locks; a symbolic link beside it, "memory-NUMBER", names the id and a random number that the
 * memory begins with. Processes without a limit use that memory as well, until the last one is
 * gone.
 */
#ifndef FABRIC_DIR_MEMORY_H
#define FABRIC_DIR_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

struct dir_file;

/*
 * Maps a directory that was completed. -ENODATA: it is empty, or its creator died; -EPROTO: it is
 * of another version.
 */
int dir_memory_map(int fd, const char *folder, bool read_only, struct dir_file **out);
/* Makes room for a new one and maps it, all zero. The lock is held. -ENOSPC, -EFBIG. */
int dir_memory_create(int fd, const char *folder, struct dir_file **out);
/* Makes room for an element of the arrays from DIR_SPARSE on. The lock is held. -ENOSPC. */
int dir_memory_reserve(int fd, const struct dir_file *file, const void *element, size_t size);
void dir_memory_unmap(struct dir_file *file);

#endif
