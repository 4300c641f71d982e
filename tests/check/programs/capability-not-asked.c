/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program posts an atomic operation, and has not asked whether the adapter has them.
 */
#include "rig.h"

void run(struct rig *r)
{
	struct ibv_sge sge = { (uintptr_t)r->buffer, sizeof(uint64_t), r->mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
				  .send_flags = IBV_SEND_SIGNALED },
			   *bad;
	struct ibv_mr *counter = ibv_reg_mr(r->pd, r->inbox, sizeof(uint64_t),
					    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC);
#ifdef MENDED
	struct ibv_device_attr attr;

	must(!ibv_query_device(r->context, &attr), "ibv_query_device");
	must(attr.atomic_cap != IBV_ATOMIC_NONE, "the adapter has no atomic operations");
#endif

	rig_connect(r, &rig_usual_path);
	wr.wr.atomic.remote_addr = (uintptr_t)r->inbox;
	wr.wr.atomic.rkey = counter->rkey;
	wr.wr.atomic.compare_add = 1;
	must(!ibv_post_send(r->a, &wr, &bad), "ibv_post_send");
	wait_for(r, 1);
	ibv_dereg_mr(counter);
}
