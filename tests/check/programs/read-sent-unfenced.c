/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program reads from a peer, and sends on what it gets by the next request of the same queue pair.
 */
#include "rig.h"

void run(struct rig *r)
{
	struct ibv_mr *mr =
		ibv_reg_mr(r->pd, r->buffer, 4096, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
	struct ibv_sge sge = { (uintptr_t)r->buffer + 4096, MESSAGE, r->mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_RDMA_READ,
				  .wr.rdma = { (uintptr_t)r->buffer, mr->rkey } },
			   *bad;

	rig_connect(r, &rig_usual_path);
	post_receive(r, r->inbox);
	must(!ibv_post_send(r->a, &wr, &bad), "ibv_post_send");
#ifdef MENDED
	post_send(r, r->buffer + 4096, IBV_SEND_SIGNALED | IBV_SEND_FENCE);
#else
	post_send(r, r->buffer + 4096, IBV_SEND_SIGNALED);
#endif
	wait_for(r, 2);
	ibv_dereg_mr(mr);
}
