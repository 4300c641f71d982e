/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The folder of the host directory's file: $VERBENA_DIR, or a folder of our own in /dev/shm,
 * $XDG_RUNTIME_DIR or /tmp. Folder and file must belong to the user and be closed to others;
 * otherwise they are refused ($VERBENA_DIR) or passed over, never repaired.
 */
#ifndef FABRIC_FOLDER_H
#define FABRIC_FOLDER_H

#include <limits.h>
#include <stdbool.h>

#define FOLDER_CHOSEN (-1)

struct folder_file {
	char folder[PATH_MAX];
	char name[64];
	/* index of its place, whose folder is removed when it is empty; or FOLDER_CHOSEN */
	int base;
	/* Set by the caller, 0 at first: bits of places in which no folder is made any more. */
	unsigned int no_room;
};

/*
 * Finds or makes folder and file; the fd is open for reading and writing. A file that turns out to
 * have no room is unlinked, file->no_room gets the bit 1 << file->base, and the next call tries the
 * next place.
 */
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
