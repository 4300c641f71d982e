/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Folders of this user in the places where host directories may be: /dev/shm, XDG_RUNTIME_DIR and
 * /tmp. Any user may make folders of any name in two of them. A folder counts only if it is a
 * folder and not a link to one, belongs to this user, and is closed to others; all others are
 * passed over.
 */
#ifndef FABRIC_FOLDER_SCAN_H
#define FABRIC_FOLDER_SCAN_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#define FOLDER_BASES     3
#define FOLDER_FILE      "host-"   /* + number of the network namespace */
#define FOLDER_FIFO      "notify-" /* likewise */
#define FOLDER_SETTINGS  "settings"
#define FOLDER_FAILURES  "failures" /* of queue pairs (hca/inspect/failure.c) */
#define FOLDER_OLD       ".old"
#define FOLDER_ASK       "ask-"    /* + process and asker: a question (hca/inspect/query.c), ... */
#define FOLDER_ANSWER    "answer-" /* ... and its answer */
#define FOLDER_MEMORY    "memory-" /* likewise: dir_memory.h */
#define FOLDER_PATH_ROOM 64 /* bytes that PATH_MAX keeps for the name of a file in the folder */

struct folder_spot {
	int base;                /* index of the place: 0 to FOLDER_BASES - 1 */
	int base_fd;             /* the place, while folder_scan() calls */
	int fd;                  /* the folder, likewise */
	char name[NAME_MAX + 1]; /* of the folder */
};

/*
 * The number of this process's network namespace; without /proc, all processes are taken to be in
 * one.
 */
unsigned long long folder_netns(void);
/* "verbena-UID-NUMBER" */
void folder_name(unsigned long long netns, char name[NAME_MAX + 1]);

/*
 * The path of a place; false when there is none, or when other users could remove folders of ours
 * from it.
 */
bool folder_base_open(int base, int *fd, char path[PATH_MAX]);
/* Opens a folder of the place if it is safe: a descriptor, or -errno; -EPERM: passed over. */
int folder_open_safe(int base_fd, const char *name);

/*
 * Calls fn for each safe folder whose name begins with `prefix`, until fn returns false. Folders
 * that are made meanwhile may be missed; those that were there before are not.
 */
void folder_scan(const char *prefix, bool (*fn)(const struct folder_spot *spot, void *arg),
		 void *arg);

#endif
