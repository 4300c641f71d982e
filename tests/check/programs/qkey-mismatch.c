/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program sends a datagram with another Q_Key than that of the queue pair that is to receive it, 0x11111111.
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
	struct ibv_sge in = { (uintptr_t)r->inbox, sizeof(struct ibv_grh) + MESSAGE, r->mr->lkey };
	struct ibv_recv_wr recv = { .sg_list = &in, .num_sge = 1 }, *bad_recv;
	struct ibv_sge out = { (uintptr_t)r->buffer, MESSAGE, r->mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &out,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED,
				  .wr.ud = { .ah = ah, .remote_qpn = qp->qp_num } },
			   *bad;

	rig_activate(r, qp);
#ifdef MENDED
	wr.wr.ud.remote_qkey = 0x11111111;
#else
	wr.wr.ud.remote_qkey = 0x22222222;
#endif
	must(!ibv_post_recv(qp, &recv, &bad_recv), "ibv_post_recv");
	must(!ibv_post_send(qp, &wr, &bad), "ibv_post_send");
	wait_a_while(r);
	ibv_destroy_qp(qp);
	ibv_destroy_ah(ah);
}
