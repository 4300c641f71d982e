/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two queue pairs are created in one thread domain, and two threads post to them at one time.
 */
#include <pthread.h>

#include "rig.h"

static struct ibv_qp *create_in(struct rig *r, struct ibv_pd *domain)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = r->cq,
		.recv_cq = r->cq,
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = QUEUE,
			 .max_recv_wr = QUEUE,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = domain,
		.send_ops_flags = IBV_QP_EX_WITH_SEND,
	};
	struct ibv_qp *qp = ibv_create_qp_ex(r->context, &attr);

	must(qp, "ibv_create_qp_ex");
	return qp;
}

static void *receive(void *rig)
{
	post_receive(rig, ((struct rig *)rig)->inbox);
	return NULL;
}

static void send(struct rig *r)
{
	struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(r->a);
	pthread_t other;

#ifdef MENDED
	pthread_create(&other, NULL, receive, r);
	pthread_join(other, NULL);
#endif
	ibv_wr_start(qp);
	qp->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(qp);
	ibv_wr_set_sge(qp, r->mr->lkey, (uintptr_t)r->buffer, MESSAGE);
#ifndef MENDED
	pthread_create(&other, NULL, receive, r);
	pthread_join(other, NULL);
#endif
	must(!ibv_wr_complete(qp), "ibv_wr_complete");
	wait_for(r, 2);
}

void run(struct rig *r)
{
	struct ibv_td_init_attr none = { 0 };
	struct ibv_td *td = ibv_alloc_td(r->context, &none);
	struct ibv_parent_domain_init_attr parent = { .pd = r->pd, .td = td };
	struct ibv_pd *domain = ibv_alloc_parent_domain(r->context, &parent);

	must(domain, "ibv_alloc_parent_domain");
	ibv_destroy_qp(r->a);
	ibv_destroy_qp(r->b);
	r->a = create_in(r, domain);
	r->b = create_in(r, domain);
	rig_connect(r, &rig_usual_path);
	send(r);
	ibv_destroy_qp(r->a);
	ibv_destroy_qp(r->b);
	r->a = r->b = NULL;
	ibv_dealloc_pd(domain);
	ibv_dealloc_td(td);
}
