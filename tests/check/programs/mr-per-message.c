/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program registers its buffer for each message.
 */
#include "rig.h"

static void send_from(struct rig *r, struct ibv_mr *mr)
{
	struct ibv_sge sge = { (uintptr_t)mr->addr, MESSAGE, mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED },
			   *bad;

	post_receive(r, r->inbox);
	must(!ibv_post_send(r->a, &wr, &bad), "ibv_post_send");
	wait_for(r, 2);
}

void run(struct rig *r)
{
	struct ibv_mr *mr;

	rig_connect(r, &rig_usual_path);
#ifdef MENDED
	mr = ibv_reg_mr(r->pd, r->buffer, MESSAGE, 0);
	for (int i = 0; i < 100; i++)
		send_from(r, mr);
	ibv_dereg_mr(mr);
#else
	for (int i = 0; i < 100; i++) {
		mr = ibv_reg_mr(r->pd, r->buffer, MESSAGE, 0);
		send_from(r, mr);
		ibv_dereg_mr(mr);
	}
#endif
}
