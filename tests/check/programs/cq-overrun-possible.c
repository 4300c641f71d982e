/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Eight receives are posted to a queue pair whose CQ has room for three completions.
 */
#include "rig.h"

void run(struct rig *r)
{
#ifdef MENDED
	struct ibv_cq *cq = ibv_create_cq(r->context, QUEUE, NULL, NULL, 0);
#else
	struct ibv_cq *cq = ibv_create_cq(r->context, 3, NULL, NULL, 0);
#endif

	ibv_destroy_qp(r->b);
	r->b = rig_create_qp(r, IBV_QPT_RC, cq);
	rig_connect(r, &rig_usual_path);
	for (int i = 0; i < QUEUE; i++)
		post_receive(r, r->inbox + i * MESSAGE);
	ibv_destroy_qp(r->b);
	r->b = NULL;
	ibv_destroy_cq(cq);
}
