/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program reads completions from the ring, and never stores how many it has read.
 */
#include "rig.h"
#include "ring.h"

void run(struct rig *r)
{
	struct ring ring;

	ring_open(&ring, r);
	for (uint32_t left = ring.cq.cqe_cnt + 1; left; left--) {
		post_receive(r, r->inbox);
		ring_write(&ring, r, ring.posted++, r->buffer);
		ring_doorbell(&ring);
#ifdef MENDED
		ring_receive(&ring);
		ring_take(&ring);
		ring_give_back(&ring);
#else
		if (left == 1) {
			wait_for_error(r); /* this one has no room any more */
			break;
		}
		ring_receive(&ring);
		ring_take(&ring);
#endif
	}
	ring_close(&ring, r);
}
