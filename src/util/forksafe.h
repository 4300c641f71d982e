/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Locks that are whole in the child of a fork. A thread that forks takes every lock registered
 * here first, so that none is held half-way by a thread which the child does not have.
 *
 *	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
 *	FORKSAFE(lock, FORKSAFE_PORT);
 *
 * Ranks are the order in which the locks nest, outermost first.
 */
#ifndef UTIL_FORKSAFE_H
#define UTIL_FORKSAFE_H

#include <pthread.h>

#include "util/api.h"

enum forksafe_rank {
	FORKSAFE_CONTEXT, /* the library's lists of devices, drivers and contexts */
	FORKSAFE_JOIN,
	FORKSAFE_BELL,  /* the watch over raw rings, which carries out what it finds */
	FORKSAFE_GROUP, /* memberships, which look into GID tables and ports of the wire */
	FORKSAFE_PORT,
	FORKSAFE_ADAPTER,
	FORKSAFE_ASYNC,
	FORKSAFE_OBJECT, /* tables of objects; none nests in another */
	FORKSAFE_LEAF,
};

struct forksafe {
	pthread_mutex_t *lock;
	enum forksafe_rank rank;
	struct forksafe *next;
};

/* From constructors, before there are threads. */
VB_API void forksafe_add(struct forksafe *f);

/* Around a fork; the fabric calls them (hca/host.c), since its own locks nest inside of these. */
void forksafe_lock_all(void);
void forksafe_unlock_all(void);

#define FORKSAFE(mutex, order)                                                                     \
	static struct forksafe mutex##_forksafe = { .lock = &(mutex), .rank = (order) };           \
	__attribute__((constructor)) static void mutex##_register(void)                            \
	{                                                                                          \
		forksafe_add(&mutex##_forksafe);                                                   \
	}                                                                                          \
	_Static_assert(1, "a semicolon follows")

#endif
