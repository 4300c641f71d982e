/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program takes an entry of the CQ that was never written for a completion: it does not look at the owner bit.
 */
#include "rig.h"
#include "ring.h"

void run(struct rig *r)
{
	struct ring ring;

	ring_open(&ring, r);
	post_receive(r, r->inbox);
#ifdef MENDED
	ring_write(&ring, r, ring.posted++, r->buffer);
	ring_doorbell(&ring);
	ring_receive(&ring);
	ring_take(&ring);
	ring_give_back(&ring);
#else
	ring.consumed++;
	ring_give_back(&ring);
	ring_write(&ring, r, ring.posted++, r->buffer);
	ring_doorbell(&ring);
	wait_for_error(r);
#endif
	ring_close(&ring, r);
}
