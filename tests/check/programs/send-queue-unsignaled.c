/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program never asks for a completion of its sends, and waits for room in the send queue in vain.
 */
#include "rig.h"

static int try_send(struct rig *r, unsigned int flags)
{
	struct ibv_sge sge = { (uintptr_t)r->buffer, MESSAGE, r->mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = flags },
			   *bad;

	return ibv_post_send(r->a, &wr, &bad);
}

void run(struct rig *r)
{
	rig_connect(r, &rig_usual_path);
#ifdef MENDED
	for (int i = 1; i <= 100; i++) {
		bool last = i % 4 == 0;

		post_receive(r, r->inbox);
		must(!try_send(r, last ? IBV_SEND_SIGNALED : 0), "ibv_post_send");
		wait_for(r, last ? 2 : 1);
	}
#else
	for (int i = 0; i < 100; i++) {
		post_receive(r, r->inbox);
		if (try_send(r, 0))
			return; /* ENOMEM, now and for ever */
		wait_for(r, 1); /* the receive; the send never completes */
	}
#endif
}
