/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program posts a receive into memory that it has registered without IBV_ACCESS_LOCAL_WRITE.
 */
#include "rig.h"

static __attribute__((aligned(4096))) char letter[4096];

void run(struct rig *r)
{
#ifdef MENDED
	struct ibv_mr *mr = ibv_reg_mr(r->pd, letter, sizeof(letter), IBV_ACCESS_LOCAL_WRITE);
#else
	struct ibv_mr *mr = ibv_reg_mr(r->pd, letter, sizeof(letter), 0);
#endif
	struct ibv_sge sge = { (uintptr_t)letter, MESSAGE, mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	rig_connect(r, &rig_usual_path);
	must(!ibv_post_recv(r->b, &wr, &bad), "ibv_post_recv");
	post_send(r, r->buffer, IBV_SEND_SIGNALED);
	wait_for(r, 2); /* IBV_WC_LOC_PROT_ERR and IBV_WC_REM_OP_ERR */
	ibv_destroy_qp(r->b);
	r->b = NULL;
	ibv_dereg_mr(mr);
}
