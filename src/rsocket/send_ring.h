/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The send buffer of a stream, as a ring: bytes are reserved in order, and released in order when
 * their send completes. A reservation that reaches the end goes on at the beginning, so it is one
 * or two pieces. The caller provides the lock.
 */
#ifndef RSOCKET_SEND_RING_H
#define RSOCKET_SEND_RING_H

#include <infiniband/verbs.h>
#include <stdint.h>

struct rs_send_ring {
	uint8_t *buf;
	uint32_t size;
	uint32_t at;   /* offset of the next reservation */
	uint32_t free; /* bytes that are not reserved */
	uint32_t lkey;
};

void rs_send_ring_init(struct rs_send_ring *ring, void *buf, uint32_t size, uint32_t lkey);
/* Reserves len bytes, no more than are free. Returns the number of pieces. */
int rs_send_ring_reserve(struct rs_send_ring *ring, uint32_t len, struct ibv_sge pieces[2]);
void rs_send_ring_release(struct rs_send_ring *ring, uint32_t len);

#endif
