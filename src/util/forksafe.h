/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Locks that are free in the child of a fork. The thread that forks first takes every lock that is
 * registered here, so that the child inherits none that another thread held, and no data that
 * another thread had changed half-way.
 *
 *	struct port_table {
 *		pthread_mutex_t lock;
 *		struct forksafe forksafe;
 *		...
 *	};
 *
 *	pthread_mutex_init(&table->lock, NULL);
 *	forksafe_add(&table->forksafe, &table->lock, FORKSAFE_PORT);
 *
 * Ranks are the order in which the locks nest, outermost first.
 */
#ifndef UTIL_FORKSAFE_H
#define UTIL_FORKSAFE_H

#include <pthread.h>
#include <sys/queue.h>

#include "util/api.h"

enum forksafe_rank {
	FORKSAFE_CM,       /* ids, channels and connections of librdmacm, which calls the verbs */
	FORKSAFE_CONTEXT,  /* the library's lists of devices, drivers and contexts */
	FORKSAFE_JOIN,     /* joining the host's fabric */
	FORKSAFE_SETTING,  /* applying the host's settings, which fails queue pairs */
	FORKSAFE_DOORBELL, /* the doorbell watch, which executes work requests */
	FORKSAFE_GROUP,    /* multicast memberships */
	FORKSAFE_PORT,     /* GID tables, ports of the wire */
	FORKSAFE_ADAPTER,
	FORKSAFE_ASYNC,
	FORKSAFE_SHARE,  /* claims of registered memory on shared pages */
	FORKSAFE_OBJECT, /* tables of objects; none nests in another */
	FORKSAFE_LEAF,
};

struct forksafe {
	pthread_mutex_t *lock;
	enum forksafe_rank rank;
	SLIST_ENTRY(forksafe) entry;
};

/*
 * Registers a lock for the life of the process; the caller keeps the memory of both. The child of a fork
 * inherits the registration: add each lock once, not again when the child starts anew.
 */
VB_API void forksafe_add(struct forksafe *node, pthread_mutex_t *lock, enum forksafe_rank rank);

/* Around a fork; the fabric calls them (hca/host.c), since its own locks nest inside of these. */
void forksafe_lock_all(void);
void forksafe_unlock_all(void);

#endif
