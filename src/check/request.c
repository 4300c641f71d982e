/* SPDX-License-Identifier: BSD-2-Clause */
#include "check/request.h"

#include <errno.h>
#include <stdlib.h>

#define SLOTS_LEAST 16u
#define SLOTS_MOST  (1u << 17)

int check_ring_init(struct check_ring *ring, uint32_t count)
{
	uint32_t slots = SLOTS_LEAST;

	while (slots < 2 * (uint64_t)count && slots < SLOTS_MOST)
		slots *= 2;
	ring->slots = calloc(slots, sizeof(*ring->slots));
	ring->mask = slots - 1;
	ring->head = ring->tail = 0;
	return ring->slots ? 0 : -ENOMEM;
}

void check_ring_fini(struct check_ring *ring)
{
	free(ring->slots);
	*ring = (struct check_ring){ 0 };
}

struct check_request *check_ring_next(struct check_ring *ring)
{
	if (!ring->slots || ring->head - ring->tail > ring->mask)
		return NULL;
	return check_ring_at(ring, ring->head);
}

uint64_t check_ring_horizon(const struct check_ring *ring)
{
	uint32_t slots = ring->mask + 1;

	/* Slots are taken again in order: the oldest one that is left was completed after all before it. */
	return ring->slots && ring->head > slots ? check_ring_at(ring, ring->head)->completed : 0;
}

static bool overlaps(const struct check_piece *a, const struct check_piece *b)
{
	return a->addr < b->addr + b->length && b->addr < a->addr + a->length;
}

bool check_request_touches(const struct check_request *a, const struct check_request *b)
{
	for (unsigned int i = 0; i < a->count; i++)
		for (unsigned int j = 0; j < b->count; j++)
			if (overlaps(&a->pieces[i], &b->pieces[j]))
				return true;
	return false;
}

bool check_ring_used(const struct check_ring *ring, const struct check_request *r, bool read)
{
	uint32_t slots = ring->mask + 1, count;

	if (!ring->slots)
		return false;
	count = ring->head < slots ? ring->head : slots;
	for (uint32_t i = 1; i <= count; i++) {
		const struct check_request *other = check_ring_at(ring, ring->head - i);

		if ((other->completed && other->completed < r->posted) ||
		    other->posted == r->posted)
			continue;
		if ((other->target || read) && check_request_touches(other, r))
			return true;
	}
	return false;
}
