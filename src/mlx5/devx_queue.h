/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages for a program to read from a descriptor: events of a channel, outputs of asynchronous
 * commands. The descriptor is an eventfd that counts them, so that poll() and O_NONBLOCK work as on
 * the kernel's; a message is taken after a read of the descriptor.
 */
#ifndef MLX5_DEVX_QUEUE_H
#define MLX5_DEVX_QUEUE_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

struct devx_note;

struct devx_queue {
	int fd;
	pthread_mutex_t lock; /* innermost */
	STAILQ_HEAD(, devx_note) notes;
	size_t bytes;
};

int devx_queue_init(struct devx_queue *q);
void devx_queue_fini(struct devx_queue *q);

/*
 * A tag other than 0 names the sender: while a message of the same tag is queued, no other is
 * added. -EAGAIN when more than `most` bytes would be queued.
 */
int devx_queue_add(struct devx_queue *q, uint64_t tag, const void *data, size_t len, size_t most);

/*
 * Waits as a read of the descriptor does, and returns its error; else the message's length. A
 * message longer than `room` stays, and the result is -short_errno.
 */
long devx_queue_take(struct devx_queue *q, void *to, size_t room, int short_errno);

#endif
