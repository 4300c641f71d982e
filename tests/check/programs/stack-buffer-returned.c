/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A function sends from its own stack and returns; the completion is polled by its caller.
 */
#include "rig.h"

static __attribute__((noinline)) struct ibv_mr *send_greeting(struct rig *r)
{
	char greeting[MESSAGE] = "hello";
	struct ibv_mr *mr = ibv_reg_mr(r->pd, greeting, sizeof(greeting), 0);
	struct ibv_sge sge = { (uintptr_t)greeting, sizeof(greeting), mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED },
			   *bad;

	must(!ibv_post_send(r->a, &wr, &bad), "ibv_post_send");
#ifdef MENDED
	wait_for(r, 2);
#endif
	return mr;
}

void run(struct rig *r)
{
	struct ibv_mr *mr;

	rig_connect(r, &rig_usual_path);
	post_receive(r, r->inbox);
	mr = send_greeting(r);
#ifndef MENDED
	wait_for(r, 2);
#endif
	ibv_dereg_mr(mr);
}
