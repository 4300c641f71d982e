/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Eventfds that are made readable with cm.lock held, and written once it is released: a thread that waits
 * for one takes the lock first, and on a busy core it runs at once, before the thread that wrote.
 */
#ifndef CM_SIGNAL_H
#define CM_SIGNAL_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/queue.h>

/* cm.lock guards the members. */
struct cm_signal {
	int fd;
	bool is_pending; /* in the list: to be written */
	unsigned int
		unread; /* times that it was, or is about to be, written since it was cleared */
	LIST_ENTRY(cm_signal) entry;
};

struct cm_signals {
	LIST_HEAD(, cm_signal) pending;
	pthread_mutex_t write_lock; /* held from the release of cm.lock until all are written */
};

/* With cm.lock held: the descriptor becomes readable. */
void cm_signal_raise(struct cm_signals *signals, struct cm_signal *signal);
/* With cm.lock held: the descriptor is not readable any more. */
void cm_signal_clear(struct cm_signals *signals, struct cm_signal *signal);
/* With cm.lock held: the descriptor is closed. */
void cm_signal_close(struct cm_signals *signals, struct cm_signal *signal);
/* Releases cm.lock, and writes. */
void cm_signals_flush(struct cm_signals *signals, pthread_mutex_t *lock);

#endif
