/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program polls one completion, arms the CQ while another one lies in it, and sleeps.
 */
#include "rig.h"

static void sleep_until_event(struct rig *r)
{
	struct ibv_cq *cq;
	void *context;

	must(!ibv_get_cq_event(r->channel, &cq, &context), "ibv_get_cq_event");
	ibv_ack_cq_events(cq, 1);
}

/* Two messages have arrived, and their receives are completed. */
static struct ibv_cq *receive_two(struct rig *r)
{
	struct ibv_cq *sends = ibv_create_cq(r->context, QUEUE, NULL, NULL, 0);
	struct ibv_wc wc;

	ibv_destroy_qp(r->a);
	r->a = rig_create_qp(r, IBV_QPT_RC, sends);
	rig_connect(r, &rig_usual_path);
	ibv_req_notify_cq(r->cq, 0);
	post_receive(r, r->inbox);
	post_receive(r, r->inbox + MESSAGE);
	post_send(r, r->buffer, 0);
	post_send(r, r->buffer, IBV_SEND_SIGNALED);
	while (!ibv_poll_cq(sends, 1, &wc))
		;
	return sends;
}

void run(struct rig *r)
{
	struct ibv_cq *sends = receive_two(r);
	struct ibv_wc wc;

	sleep_until_event(r);
#ifdef MENDED
	ibv_req_notify_cq(r->cq, 0);
	for (int left = 2; left;)
		left -= ibv_poll_cq(r->cq, 1, &wc);
#else
	while (!ibv_poll_cq(r->cq, 1, &wc))
		;
	ibv_req_notify_cq(r->cq, 0);
	sleep_until_event(r); /* for ever, on some adapters */
	while (!ibv_poll_cq(r->cq, 1, &wc))
		;
#endif
	ibv_destroy_qp(r->a);
	r->a = NULL;
	ibv_destroy_cq(sends);
}
