/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program unmaps a buffer that the adapter is still sending.
 */
#include <sys/mman.h>

#include "rig.h"

void run(struct rig *r)
{
	char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *mr = ibv_reg_mr(r->pd, page, 4096, 0);
	struct ibv_sge sge = { (uintptr_t)page, MESSAGE, mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED },
			   *bad;

	rig_connect(r, &rig_usual_path);
	post_receive(r, r->inbox);
	must(!ibv_post_send(r->a, &wr, &bad), "ibv_post_send");
#ifdef MENDED
	wait_for(r, 2);
	ibv_dereg_mr(mr);
	munmap(page, 4096);
#else
	munmap(page, 4096);
	wait_for(r, 2);
	ibv_dereg_mr(mr);
#endif
}
