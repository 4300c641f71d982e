/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Eight messages come, and their CQ has room for three completions.
 */
#include "rig.h"

static __attribute__((unused)) void wait_for_error(struct rig *r)
{
	struct ibv_async_event event;

	do {
		must(!ibv_get_async_event(r->context, &event), "ibv_get_async_event");
		ibv_ack_async_event(&event);
	} while (event.event_type != IBV_EVENT_CQ_ERR);
}

void run(struct rig *r)
{
#ifdef MENDED
	struct ibv_cq *cq = ibv_create_cq(r->context, QUEUE, NULL, NULL, 0);
#else
	struct ibv_cq *cq = ibv_create_cq(r->context, 3, NULL, NULL, 0);
#endif

	must(cq, "ibv_create_cq");
	ibv_destroy_qp(r->b);
	r->b = rig_create_qp(r, IBV_QPT_RC, cq);
	rig_connect(r, &rig_usual_path);
	for (int i = 0; i < QUEUE; i++)
		post_receive(r, r->inbox + i * MESSAGE);
	for (int i = 0; i < QUEUE; i++)
		post_send(r, r->buffer, IBV_SEND_SIGNALED);
#ifdef MENDED
	wait_for(r, QUEUE);
#else
	wait_for_error(r);
#endif
	ibv_destroy_qp(r->b);
	r->b = NULL;
	ibv_destroy_cq(cq);
}
