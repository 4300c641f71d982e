/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program stores to the doorbell register for each request, and forgets the doorbell record.
 */
#include "rig.h"
#include "ring.h"

void run(struct rig *r)
{
	struct ring ring;

	ring_open(&ring, r);
	for (int i = 0; i < 2; i++) {
		post_receive(r, r->inbox);
		ring_write(&ring, r, ring.posted++, r->buffer);
#ifdef MENDED
		ring_doorbell(&ring);
		ring_receive(&ring);
		ring_take(&ring);
		ring_give_back(&ring);
#else
		ring_register(&ring);
		do_other_work(r, 200);
#endif
	}
	ring_close(&ring, r);
}
