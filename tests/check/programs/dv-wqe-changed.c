/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program writes to the ring itself, and reuses an entry whose request is not completed.
 */
#include "rig.h"
#include "ring.h"

static void send(struct ring *ring, struct rig *r, const void *from)
{
	ring_write(ring, r, ring->posted++, from);
	ring_doorbell(ring);
	do_other_work(r, 10);
}

void run(struct rig *r)
{
	struct ring ring;

	ring_open(&ring, r);
#ifdef MENDED
	post_receive(r, r->inbox);
	post_receive(r, r->inbox + MESSAGE);
	send(&ring, r, r->buffer);
	send(&ring, r, r->buffer + MESSAGE);
#else
	send(&ring, r, r->buffer);
	ring_write(&ring, r, 0, r->buffer + MESSAGE);
	send(&ring, r, r->buffer + MESSAGE);
	post_receive(r, r->inbox);
	post_receive(r, r->inbox + MESSAGE);
#endif
	ring_take(&ring);
	ring_take(&ring);
	ring_give_back(&ring);
	ring_close(&ring, r);
}
