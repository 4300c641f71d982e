/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two threads poll a CQ whose lock was taken away.
 */
#include <pthread.h>

#include "rig.h"

static void *poll_once(void *cq)
{
	struct ibv_poll_cq_attr attr = { 0 };

	if (!ibv_start_poll(cq, &attr))
		ibv_end_poll(cq);
	return NULL;
}

void run(struct rig *r)
{
	struct ibv_cq_init_attr_ex init = { .cqe = 4 * QUEUE,
					    .comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
					    .flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED };
	struct ibv_cq_ex *cq = ibv_create_cq_ex(r->context, &init);
	struct ibv_poll_cq_attr attr = { 0 };
	pthread_t other;

	must(cq, "ibv_create_cq_ex");
	ibv_destroy_qp(r->b);
	r->b = rig_create_qp(r, IBV_QPT_RC, ibv_cq_ex_to_cq(cq));
	rig_connect(r, &rig_usual_path);
	post_receive(r, r->inbox);
	post_send(r, r->buffer, IBV_SEND_SIGNALED);
	wait_for(r, 1);
	while (ibv_start_poll(cq, &attr))
		;
#ifdef MENDED
	ibv_end_poll(cq);
	pthread_create(&other, NULL, poll_once, cq);
	pthread_join(other, NULL);
#else
	pthread_create(&other, NULL, poll_once, cq);
	pthread_join(other, NULL);
	ibv_end_poll(cq);
#endif
	ibv_destroy_qp(r->b);
	r->b = NULL;
	ibv_destroy_cq(ibv_cq_ex_to_cq(cq));
}
