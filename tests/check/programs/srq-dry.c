/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The receives of a shared receive queue are used up before the program posts new ones.
 */
#include <time.h>

#include "rig.h"

static void replace_receiver(struct rig *r, struct ibv_srq *srq)
{
	struct ibv_qp_init_attr attr = { .send_cq = r->cq,
					 .recv_cq = r->cq,
					 .srq = srq,
					 .qp_type = IBV_QPT_RC,
					 .cap = { .max_send_wr = QUEUE, .max_send_sge = 1 } };

	ibv_destroy_qp(r->b);
	r->b = ibv_create_qp(r->pd, &attr);
	must(r->b, "ibv_create_qp");
	rig_connect(r, &rig_usual_path);
}

static void post_shared_receive(struct rig *r, struct ibv_srq *srq)
{
	struct ibv_sge sge = { (uintptr_t)r->inbox, MESSAGE, r->mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	must(!ibv_post_srq_recv(srq, &wr, &bad), "ibv_post_srq_recv");
}

static __attribute__((unused)) void do_other_work(struct rig *r)
{
	clock_t end = clock() + CLOCKS_PER_SEC / 10;
	struct ibv_wc wc;

	while (clock() < end)
		must(!ibv_poll_cq(r->cq, 1, &wc), "nothing can be completed yet");
}

void run(struct rig *r)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = QUEUE, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(r->pd, &init);

	must(srq, "ibv_create_srq");
	replace_receiver(r, srq);
#ifdef MENDED
	post_shared_receive(r, srq);
	post_send(r, r->buffer, IBV_SEND_SIGNALED);
#else
	post_send(r, r->buffer, IBV_SEND_SIGNALED);
	do_other_work(r);
	post_shared_receive(r, srq);
#endif
	wait_for(r, 2);
	ibv_destroy_qp(r->b);
	r->b = NULL;
	ibv_destroy_srq(srq);
}
