/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory of a queue: a ring, or two, in one buffer, and a doorbell record of two words.
 */
#ifndef DRIVER_RING_H
#define DRIVER_RING_H

#include "verbs/memory.h"

struct drv_ring {
	struct vb_memory *memory; /* of the context */
	struct vb_buf buf;
	struct vb_buf record;
};

/* Resource types that a driver's direct verbs name to a program's allocators. */
struct drv_ring_types {
	uint64_t buf, record;
};

/* 0 or -ENOMEM. pd: its allocators are used if it has some; may be NULL. */
int drv_ring_alloc(struct drv_ring *ring, struct vb_memory *memory, struct vb_pd *pd, size_t bytes,
		   struct drv_ring_types types);
void drv_ring_free(struct drv_ring *ring);

/* The next power of two. */
static inline uint32_t drv_pow2_up(uint32_t n)
{
	return n <= 1 ? 1 : 1u << (32 - __builtin_clz(n - 1));
}

/* `to` is a power of two. */
static inline uint32_t drv_align_up(uint32_t n, uint32_t to)
{
	return (n + to - 1) & ~(to - 1);
}

#endif
