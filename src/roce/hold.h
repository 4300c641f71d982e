/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets that fault injection keeps back for a while. A queue belongs to whoever sends or
 * receives; no lock. Time is CLOCK_MONOTONIC nanoseconds and an argument.
 */
#ifndef ROCE_HOLD_H
#define ROCE_HOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct roce_held {
	struct roce_held *next;
	uint64_t due_ns;
	bool swap;         /* leaves behind the next packet, or when due */
	const void *owner; /* whose packet it is; only compared */
	size_t len;
	uint8_t data[];
};

struct roce_hold {
	struct roce_held *first; /* by due_ns; equal ones in order of arrival */
};

/* Copies `len` bytes of each of the two pieces; false without memory: then do not hold it. */
bool roce_hold_add(struct roce_hold *q, uint64_t due_ns, bool swap, const void *owner,
		   const void *head, size_t head_len, const void *data, size_t len);
/* The first that is due for `owner` (any when NULL), out of the queue, for free(); NULL: none. */
struct roce_held *roce_hold_take(struct roce_hold *q, uint64_t now_ns, const void *owner);
/* One that waits for the next packet of `owner`. */
struct roce_held *roce_hold_take_swap(struct roce_hold *q, const void *owner);
uint64_t roce_hold_due(const struct roce_hold *q);
void roce_hold_clear(struct roce_hold *q);

#endif
