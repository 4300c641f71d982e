/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program writes one request more than the ring has entries, without a completion of the first.
 */
#include "rig.h"
#include "ring.h"

void run(struct rig *r)
{
	struct ring ring;
	uint32_t count;

	ring_open(&ring, r);
	count = ring.qp.sq.wqe_cnt + 1;
#ifdef MENDED
	while (ring.posted < count) {
		post_receive(r, r->inbox);
		ring_write(&ring, r, ring.posted++, r->buffer);
		ring_doorbell(&ring);
		ring_receive(&ring);
		ring_take(&ring);
		ring_give_back(&ring);
	}
#else
	while (ring.posted < count)
		ring_write(&ring, r, ring.posted++, r->buffer);
	ring_doorbell(&ring);
	do_other_work(r, 10);
#endif
	ring_close(&ring, r);
}
