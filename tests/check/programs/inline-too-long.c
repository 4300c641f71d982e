/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program sends more inline data than the queue pair was granted, and does not look at the result.
 */
#include "rig.h"

#define LETTER 4096

void run(struct rig *r)
{
	struct ibv_sge in = { (uintptr_t)r->inbox, LETTER, r->mr->lkey };
	struct ibv_sge out = { (uintptr_t)r->buffer, LETTER, r->mr->lkey };
	struct ibv_recv_wr recv = { .sg_list = &in, .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr send = { .sg_list = &out,
				    .num_sge = 1,
				    .opcode = IBV_WR_SEND,
				    .send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE },
			   *bad_send;

	rig_connect(r, &rig_usual_path);
	must(!ibv_post_recv(r->b, &recv, &bad_recv), "ibv_post_recv");
#ifdef MENDED
	send.send_flags &= ~(unsigned int)IBV_SEND_INLINE;
	must(!ibv_post_send(r->a, &send, &bad_send), "ibv_post_send");
	wait_for(r, 2);
#else
	ibv_post_send(r->a, &send, &bad_send);
#endif
}
