/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program fetches an event, never acknowledges it, and destroys the CQ: ibv_destroy_cq() does not return.
 */
#include <unistd.h>

#include "rig.h"

void run(struct rig *r)
{
	struct ibv_cq *cq;
	void *context;

	rig_connect(r, &rig_usual_path);
	ibv_req_notify_cq(r->cq, 0);
	post_receive(r, r->inbox);
	post_send(r, r->buffer, IBV_SEND_SIGNALED);
	must(!ibv_get_cq_event(r->channel, &cq, &context), "ibv_get_cq_event");
	wait_for(r, 2);
	ibv_destroy_qp(r->a);
	ibv_destroy_qp(r->b);
	r->a = r->b = NULL;
#ifdef MENDED
	ibv_ack_cq_events(cq, 1);
#else
	alarm(1); /* ends the program */
#endif
	ibv_destroy_cq(r->cq);
	r->cq = NULL;
}
