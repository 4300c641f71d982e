/* SPDX-License-Identifier: BSD-2-Clause */
#include "loop.h"

#include <string.h>
#include <time.h>

struct ibv_ah *loop_ah(struct ibv_pd *pd)
{
	struct ibv_ah_attr attr = { .port_num = 1 };
	struct ibv_port_attr port;
	struct ibv_ah *ah;

	assert_int_equal(ibv_query_port(pd->context, 1, &port), 0);
	if (port.link_layer == IBV_LINK_LAYER_ETHERNET) {
		attr.is_global = 1;
		assert_int_equal(ibv_query_gid(pd->context, 1, 0, &attr.grh.dgid), 0);
	} else {
		attr.dlid = port.lid;
	}
	ah = ibv_create_ah(pd, &attr);
	assert_non_null(ah);
	return ah;
}

void loop_open(struct loop *l, struct ibv_context *context)
{
	struct ibv_qp_init_attr init = {
		.cap = { .max_send_wr = 16,
			 .max_recv_wr = 16,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = IBV_QPT_UD,
		.sq_sig_all = 1,
	};
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = 0x11 };

	memset(l, 0, sizeof(*l));
	l->context = context;
	l->pd = ibv_alloc_pd(context);
	assert_non_null(l->pd);
	l->channel = ibv_create_comp_channel(context);
	assert_non_null(l->channel);
	l->cq = ibv_create_cq(context, 16, l, l->channel, 0);
	assert_non_null(l->cq);
	init.send_cq = init.recv_cq = l->cq;
	l->qp = ibv_create_qp(l->pd, &init);
	assert_non_null(l->qp);
	assert_int_equal(
		ibv_modify_qp(l->qp, &attr,
			      IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_QKEY),
		0);
	attr.qp_state = IBV_QPS_RTR;
	assert_int_equal(ibv_modify_qp(l->qp, &attr, IBV_QP_STATE), 0);
	attr.qp_state = IBV_QPS_RTS;
	assert_int_equal(ibv_modify_qp(l->qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN), 0);
	l->ah = loop_ah(l->pd);
}

void loop_close(struct loop *l)
{
	assert_int_equal(ibv_destroy_ah(l->ah), 0);
	assert_int_equal(ibv_destroy_qp(l->qp), 0);
	assert_int_equal(ibv_destroy_cq(l->cq), 0);
	if (l->channel)
		assert_int_equal(ibv_destroy_comp_channel(l->channel), 0);
	assert_int_equal(ibv_dealloc_pd(l->pd), 0);
}

void loop_send(struct loop *l)
{
	struct ibv_send_wr wr = {
		.wr_id = 5,
		.opcode = IBV_WR_SEND,
		.wr.ud = { .ah = l->ah, .remote_qpn = 0xfffffe, .remote_qkey = 0x11 },
	};
	struct ibv_send_wr *bad;

	assert_int_equal(ibv_post_send(l->qp, &wr, &bad), 0);
}

void loop_poll(struct loop *l)
{
	struct timespec start, now;
	struct ibv_wc wc;
	int n;

	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		n = ibv_poll_cq(l->cq, 1, &wc);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (!n && now.tv_sec - start.tv_sec < TEST_WAIT_MS / 1000);
	assert_int_equal(n, 1);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.wr_id, 5);
}
