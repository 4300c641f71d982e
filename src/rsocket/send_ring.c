/* SPDX-License-Identifier: BSD-2-Clause */
#include "rsocket/send_ring.h"

#include <assert.h>

void rs_send_ring_init(struct rs_send_ring *ring, void *buf, uint32_t size, uint32_t lkey)
{
	*ring = (struct rs_send_ring){ .buf = buf, .size = size, .free = size, .lkey = lkey };
}

int rs_send_ring_reserve(struct rs_send_ring *ring, uint32_t len, struct ibv_sge pieces[2])
{
	const uint32_t to_end = ring->size - ring->at;
	const uint32_t first = len < to_end ? len : to_end;

	assert(len <= ring->free);
	ring->free -= len;
	pieces[0] = (struct ibv_sge){ .addr = (uintptr_t)ring->buf + ring->at,
				      .length = first,
				      .lkey = ring->lkey };
	pieces[1] = (struct ibv_sge){ .addr = (uintptr_t)ring->buf,
				      .length = len - first,
				      .lkey = ring->lkey };
	ring->at += len;
	if (ring->at >= ring->size)
		ring->at -= ring->size;
	return len > first ? 2 : 1;
}

void rs_send_ring_release(struct rs_send_ring *ring, uint32_t len)
{
	ring->free += len;
	assert(ring->free <= ring->size);
}
