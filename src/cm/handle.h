/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The set of pointers that the library has handed out. Every entry point looks its argument up here
 * before it reads a byte of it, so a stale, foreign or made-up pointer is an EINVAL and not a crash.
 */
#ifndef CM_HANDLE_H
#define CM_HANDLE_H

#include "util/hash.h"

enum cm_kind {
	CM_CHANNEL,
	CM_ID,
	CM_EVENT,
};

/* Embedded in every object that is handed out; the key is the public pointer. */
struct cm_handle {
	struct hash_link link;
	enum cm_kind kind;
};

/* With cm.lock held: */
void cm_handle_add(struct cm_handle *handle, enum cm_kind kind, const void *public);
void cm_handle_remove(struct cm_handle *handle);
struct cm_handle *cm_handle_find(enum cm_kind kind, const void *public);

#endif
