/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages that wait for a program behind a descriptor: events of a channel, answers to queries.
 * The descriptor is an eventfd that counts them, so that poll() and O_NONBLOCK mean what they mean
 * on the kernel's; whoever takes a message has read the descriptor first.
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
 * A tag other than 0 stands for who sends: what it has sent before and nobody has taken yet says it
 * all, and nothing is added. -EAGAIN when more than `most` bytes would wait.
 */
int devx_queue_add(struct devx_queue *q, uint64_t tag, const void *data, size_t len, size_t most);

/*
 * Waits as a read of the descriptor does; its error is returned. A message that `room` is too
 * short for stays, and the answer is -short_errno. The length, otherwise.
 */
long devx_queue_take(struct devx_queue *q, void *to, size_t room, int short_errno);

#endif
