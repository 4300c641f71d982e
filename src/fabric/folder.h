/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the directory file lies: $VERBENA_DIR, or a folder of our own in /dev/shm or
 * $XDG_RUNTIME_DIR. The folder and the file belong to the user and to nobody else; anything that
 * looks different is refused, never repaired.
 */
#ifndef FABRIC_FOLDER_H
#define FABRIC_FOLDER_H

#include <limits.h>
#include <stdbool.h>

struct folder_file {
	char folder[PATH_MAX];
	char name[64];
	bool own; /* the folder is ours to remove */
};

/* Finds or makes folder and file; the fd is open for reading and writing. */
int folder_file_open(struct folder_file *file, int *fd);
/*
 * Removes the file if it is still the one behind the fd, its bell, and the folder if it is then
 * empty.
 */
void folder_file_unlink(const struct folder_file *file, int fd);

/*
 * The bell beside the file: a descriptor that reports EPOLLHUP, edge-triggered, whenever somebody
 * rings all bells of the folder. For processes that are in the directory. -errno.
 */
int folder_bell_open(const char *folder, int *fd);
void folder_bells_ring(const char *folder);

#endif
