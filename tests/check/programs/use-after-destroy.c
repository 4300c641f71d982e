/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program posts to a queue pair that it has destroyed.
 */
#include "rig.h"

void run(struct rig *r)
{
	struct ibv_sge sge = { (uintptr_t)r->inbox, MESSAGE, r->mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	rig_connect(r, &rig_usual_path);
#ifdef MENDED
	ibv_post_recv(r->b, &wr, &bad);
	ibv_destroy_qp(r->b);
#else
	ibv_destroy_qp(r->b);
	ibv_post_recv(r->b, &wr, &bad);
#endif
	r->b = NULL;
}
