/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The folder of the host directory's file: $VERBENA_DIR, or a folder of our own in /dev/shm or
 * $XDG_RUNTIME_DIR. Folder and file must belong to the user and be closed to others; otherwise they
 * are refused, never repaired.
 */
#ifndef FABRIC_FOLDER_H
#define FABRIC_FOLDER_H

#include <limits.h>
#include <stdbool.h>

struct folder_file {
	char folder[PATH_MAX];
	char name[64];
	bool own; /* we made up the folder's name, and remove it when it is empty */
};

/* Finds or makes folder and file; the fd is open for reading and writing. */
int folder_file_open(struct folder_file *file, int *fd);
/* The path of the folder that folder_file_open() would use, if it is there. Makes nothing. */
bool folder_find(char path[PATH_MAX]);
/* Likewise the path of the file. */
bool folder_file_find(char path[PATH_MAX]);
/*
 * Removes the file if it is still the one behind the fd, its notification FIFO, and the folder if it
 * is then empty.
 */
void folder_file_unlink(const struct folder_file *file, int fd);

/*
 * The notification FIFO beside the file: a descriptor that reports EPOLLHUP, edge-triggered, on each
 * folder_fifos_notify(). For processes that are in the directory. -errno.
 */
int folder_fifo_open(const char *folder, int *fd);
/* Notifies the readers of all FIFOs in the folder. */
void folder_fifos_notify(const char *folder);

#endif
