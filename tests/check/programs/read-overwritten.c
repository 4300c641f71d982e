/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program reads a value from a peer, and writes the next one to the same place by the next request.
 */
#include "rig.h"

static void post(struct rig *r, enum ibv_wr_opcode opcode, char *local, const struct ibv_mr *remote,
		 unsigned int flags)
{
	struct ibv_sge sge = { (uintptr_t)local, MESSAGE, r->mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = opcode,
				  .send_flags = flags,
				  .wr.rdma = { (uintptr_t)remote->addr, remote->rkey } },
			   *bad;

	must(!ibv_post_send(r->a, &wr, &bad), "ibv_post_send");
}

void run(struct rig *r)
{
	struct ibv_mr *remote = ibv_reg_mr(r->pd, r->inbox, 4096,
					   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
						   IBV_ACCESS_REMOTE_WRITE);

	rig_connect(r, &rig_usual_path);
	post(r, IBV_WR_RDMA_READ, r->buffer, remote, 0);
#ifdef MENDED
	post(r, IBV_WR_RDMA_WRITE, r->buffer + MESSAGE, remote, IBV_SEND_SIGNALED | IBV_SEND_FENCE);
#else
	post(r, IBV_WR_RDMA_WRITE, r->buffer + MESSAGE, remote, IBV_SEND_SIGNALED);
#endif
	wait_for(r, 1);
	ibv_dereg_mr(remote);
}
