/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program creates an address handle for each datagram, all to one destination.
 */
#include "rig.h"

static void send_to(struct rig *r, struct ibv_qp *qp, struct ibv_ah *ah)
{
	struct ibv_sge in = { (uintptr_t)r->inbox, sizeof(struct ibv_grh) + MESSAGE, r->mr->lkey };
	struct ibv_recv_wr recv = { .sg_list = &in, .num_sge = 1 }, *bad_recv;
	struct ibv_sge sge = { (uintptr_t)r->buffer, MESSAGE, r->mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED },
			   *bad;

	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = qp->qp_num;
	wr.wr.ud.remote_qkey = 0x11111111;
	must(!ibv_post_recv(qp, &recv, &bad_recv), "ibv_post_recv");
	must(!ibv_post_send(qp, &wr, &bad), "ibv_post_send");
	wait_for(r, 2);
}

void run(struct rig *r)
{
	struct ibv_qp *qp = rig_create_qp(r, IBV_QPT_UD, r->cq);
	struct ibv_ah_attr address = rig_address(r, -1);
	struct ibv_ah *ah;

	rig_activate(r, qp);
#ifdef MENDED
	ah = ibv_create_ah(r->pd, &address);
	for (int i = 0; i < 100; i++)
		send_to(r, qp, ah);
	ibv_destroy_ah(ah);
#else
	for (int i = 0; i < 100; i++) {
		ah = ibv_create_ah(r->pd, &address);
		send_to(r, qp, ah);
		ibv_destroy_ah(ah);
	}
#endif
	ibv_destroy_qp(qp);
}
