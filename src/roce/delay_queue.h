/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets that fault injection delays. A queue belongs to one sender or receiver and has no lock. Times are
 * arguments, in CLOCK_MONOTONIC nanoseconds.
 */
#ifndef ROCE_DELAY_QUEUE_H
#define ROCE_DELAY_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

struct roce_delayed {
	LIST_ENTRY(roce_delayed) link;
	uint64_t due_ns;
	bool swap;         /* leaves after the owner's next packet, or when due */
	const void *owner; /* the endpoint; only compared */
	size_t len;
	uint8_t data[];
};

/* Ordered by due_ns; equal ones in order of arrival. All zero is an empty queue. */
LIST_HEAD(roce_delay_queue, roce_delayed);

static inline bool roce_delay_queue_is_empty(const struct roce_delay_queue *q)
{
	return LIST_EMPTY(q);
}

/* Copies `head` and `data` into one new entry. False without memory: the packet is not delayed then. */
bool roce_delay_queue_add(struct roce_delay_queue *q, uint64_t due_ns, bool swap, const void *owner,
			  const void *head, size_t head_len, const void *data, size_t len);
/* Removes the first entry of `owner` (NULL: any) that is due; NULL when none is. The caller frees it. */
struct roce_delayed *roce_delay_queue_take(struct roce_delay_queue *q, uint64_t now_ns,
					   const void *owner);
/* Removes an entry of `owner` that waits for its next packet; NULL when there is none. */
struct roce_delayed *roce_delay_queue_take_swap(struct roce_delay_queue *q, const void *owner);
/* When the first entry is due; UINT64_MAX when the queue is empty. */
uint64_t roce_delay_queue_due(const struct roce_delay_queue *q);
void roce_delay_queue_clear(struct roce_delay_queue *q);

#endif
