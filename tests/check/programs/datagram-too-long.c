/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program posts a receive for a datagram without room for the 40 bytes before it.
 */
#include <time.h>

#include "rig.h"

static void wait_a_while(struct rig *r)
{
	clock_t end = clock() + CLOCKS_PER_SEC / 10;
	struct ibv_wc wc;

	while (clock() < end)
		ibv_poll_cq(r->cq, 1, &wc);
}

void run(struct rig *r)
{
	struct ibv_qp *qp = rig_create_qp(r, IBV_QPT_UD, r->cq);
	struct ibv_ah_attr address = rig_address(r, -1);
	struct ibv_ah *ah = ibv_create_ah(r->pd, &address);
#ifdef MENDED
	struct ibv_sge in = { (uintptr_t)r->inbox, sizeof(struct ibv_grh) + MESSAGE, r->mr->lkey };
#else
	struct ibv_sge in = { (uintptr_t)r->inbox, MESSAGE, r->mr->lkey };
#endif
	struct ibv_recv_wr recv = { .sg_list = &in, .num_sge = 1 }, *bad_recv;
	struct ibv_sge out = { (uintptr_t)r->buffer, MESSAGE, r->mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &out,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED,
				  .wr.ud = { ah, qp->qp_num, 0x11111111 } },
			   *bad;

	rig_activate(r, qp);
	must(!ibv_post_recv(qp, &recv, &bad_recv), "ibv_post_recv");
	must(!ibv_post_send(qp, &wr, &bad), "ibv_post_send");
	wait_a_while(r);
	ibv_destroy_qp(qp);
	ibv_destroy_ah(ah);
}
