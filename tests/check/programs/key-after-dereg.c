/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program posts a request with the key of a region that it has deregistered.
 */
#include "rig.h"

void run(struct rig *r)
{
	rig_connect(r, &rig_usual_path);
	post_receive(r, r->inbox);
#ifdef MENDED
	post_send(r, r->buffer, IBV_SEND_SIGNALED);
	wait_for(r, 2);
#else
	struct ibv_mr *mr = ibv_reg_mr(r->pd, r->buffer, MESSAGE, 0);
	struct ibv_sge sge = { (uintptr_t)r->buffer, MESSAGE, mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED },
			   *bad;

	ibv_dereg_mr(mr);
	must(!ibv_post_send(r->a, &wr, &bad), "ibv_post_send");
	wait_for(r, 1); /* it fails: IBV_WC_LOC_PROT_ERR */
#endif
}
