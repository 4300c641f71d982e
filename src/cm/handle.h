/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The library's one lock, and the set of pointers it has handed out.
 *
 * Every entry point looks its argument up here before it reads a byte of it, so a stale, foreign
 * or made-up pointer is an EINVAL and not a crash. All of this is control path: cm_lock guards
 * the set, the ids, the channels with their queues, the ports in use and the list of adapters.
 */
#ifndef CM_HANDLE_H
#define CM_HANDLE_H

#include <pthread.h>

enum cm_kind {
	CM_CHANNEL,
	CM_ID,
	CM_EVENT,
};

/* Part of every object handed out. */
struct cm_handle {
	struct cm_handle *next;
	const void *public; /* what the program holds */
	enum cm_kind kind;
};

extern pthread_mutex_t cm_lock;

/* With cm_lock held: */
void cm_handle_add(struct cm_handle *handle, enum cm_kind kind, const void *public);
void cm_handle_remove(struct cm_handle *handle);
struct cm_handle *cm_handle_find(enum cm_kind kind, const void *public);

/* Calls visit() for every handle of a kind. */
void cm_handle_each(enum cm_kind kind, void (*visit)(struct cm_handle *handle, void *arg),
		    void *arg);

/* From 0 or -errno inside to librdmacm's 0, or -1 and errno. */
int cm_answer(int err);

#endif
