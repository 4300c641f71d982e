/* SPDX-License-Identifier: BSD-2-Clause */
/* Traffic of known numbers for traces: ROUNDS messages and RDMA writes; with STAY=1 it then waits for its end. */
#include <stdio.h>
#include <unistd.h>

#include "check/rig.h"

static void write_there(struct rig *r, const struct ibv_mr *mr)
{
	struct ibv_sge sge = { (uintptr_t)r->buffer, MESSAGE, r->mr->lkey };
	struct ibv_send_wr wr = { .wr_id = 2,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_RDMA_WRITE,
				  .send_flags = IBV_SEND_SIGNALED,
				  .wr.rdma = { (uintptr_t)r->inbox, mr->rkey } },
			   *bad;

	must(!ibv_post_send(r->a, &wr, &bad), "ibv_post_send");
}

void run(struct rig *r)
{
	const char *rounds = getenv("ROUNDS");
	struct ibv_mr *mr =
		ibv_reg_mr(r->pd, r->inbox, 4096, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);

	must(mr, "ibv_reg_mr");
	rig_connect(r, &rig_usual_path);
	for (int i = 0; i < (rounds ? atoi(rounds) : 10); i++) {
		post_receive(r, r->inbox);
		post_send(r, r->buffer, IBV_SEND_SIGNALED);
		must(wait_for(r, 2) == IBV_WC_SUCCESS, "SEND");
		write_there(r, mr);
		must(wait_for(r, 1) == IBV_WC_SUCCESS, "RDMA WRITE");
	}
	must(!ibv_dereg_mr(mr), "ibv_dereg_mr");
	puts("done");
	fflush(stdout);
	if (getenv("STAY"))
		for (;;)
			pause();
}
