/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The library's state: the tables of objects that programs name by pointer or number, each under a
 * lock of its own. No lock nests in another, except that handle_lock is innermost.
 */
#ifndef VERBS_STATE_H
#define VERBS_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "util/forksafe.h"
#include "util/hash.h"

struct vb_device;
struct vb_driver;
struct vb_observer;

#define VERBS_LOCKS 6

struct verbs_state {
	pthread_mutex_t device_lock;
	struct vb_device *devices; /* array; made once, never freed */

	pthread_mutex_t driver_lock;
	const struct vb_driver *drivers[2]; /* by enum hca_driver; NULL: not loaded yet */

	pthread_mutex_t root_lock;
	struct hash roots; /* opened contexts, by uid */

	pthread_mutex_t xrc_lock;
	struct hash xrc_handles; /* handles of XRC receive QPs, by QP number */

	pthread_mutex_t wq_lock;
	struct hash wqs, ind_tables; /* by the address of the public struct */

	pthread_mutex_t handle_lock;
	struct hash handles; /* struct vb_handle, by kind and number */

	pthread_once_t observer_once;
	const struct vb_observer *observer; /* set before the first context; NULL: none */

	atomic_bool fork_prepared; /* the program has asked for it, or whether it is needed */
	atomic_uint last_handle;   /* of the kinds that the adapter has no number for */
	struct forksafe forksafe[VERBS_LOCKS];
};

extern struct verbs_state verbs_state;

#endif
