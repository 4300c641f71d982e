/* SPDX-License-Identifier: BSD-2-Clause */
/* What every verbs program does before it can send: device, memory, queues, connection. */
#include "setup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void setup_check(int failed, const char *what)
{
	if (!failed)
		return;
	perror(what);
	exit(1);
}

static struct ibv_context *open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = NULL;

	setup_check(!list, "ibv_get_device_list");
	for (int i = 0; list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			context = ibv_open_device(list[i]);
	ibv_free_device_list(list);
	setup_check(!context, name);
	return context;
}

/* An Ethernet port has a GID for each of its addresses, in two versions of RoCE. Version 2 travels in UDP packets. */
static int choose_gid(struct ibv_context *context, int entries)
{
	static const uint8_t ipv4[12] = { [10] = 0xff, [11] = 0xff };
	struct ibv_gid_entry entry;

	for (int i = 0; i < entries; i++)
		if (!ibv_query_gid_ex(context, 1, i, &entry, 0) &&
		    entry.gid_type == IBV_GID_TYPE_ROCE_V2 && !memcmp(entry.gid.raw, ipv4, 12))
			return i;
	return 0;
}

struct ibv_ah_attr setup_address(struct ibv_context *context)
{
	struct ibv_ah_attr ah = { .port_num = 1 };
	struct ibv_port_attr port;

	setup_check(ibv_query_port(context, 1, &port), "ibv_query_port");
	ah.dlid = port.lid;
	if (port.link_layer == IBV_LINK_LAYER_ETHERNET) {
		ah.is_global = 1;
		ah.grh.hop_limit = 64;
		ah.grh.sgid_index = choose_gid(context, port.gid_tbl_len);
		setup_check(ibv_query_gid(context, 1, ah.grh.sgid_index, &ah.grh.dgid),
			    "ibv_query_gid");
	}
	return ah;
}

void setup_connect(struct ibv_qp *qp, uint32_t peer)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer,
		.ah_attr = setup_address(qp->context),
		.max_dest_rd_atomic = 1,
		.max_rd_atomic = 1,
		.min_rnr_timer = 12,
		.timeout = 17, /* 0.5 s until a packet is sent again, as on a busy machine */
		.retry_cnt = 7,
		.rnr_retry = 7,
	};

	setup_check(
		ibv_modify_qp(qp, &attr,
			      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
		"INIT");
	attr.qp_state = IBV_QPS_RTR;
	setup_check(ibv_modify_qp(qp, &attr,
				  IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
					  IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
					  IBV_QP_MIN_RNR_TIMER),
		    "RTR");
	attr.qp_state = IBV_QPS_RTS;
	setup_check(ibv_modify_qp(qp, &attr,
				  IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
					  IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
					  IBV_QP_MAX_QP_RD_ATOMIC),
		    "RTS");
}

void setup_device(struct setup *s, const char *device)
{
	s->context = open_device(device);
	s->pd = ibv_alloc_pd(s->context);
	setup_check(!s->pd, "ibv_alloc_pd");
	s->mr = ibv_reg_mr(s->pd, s->memory, sizeof(s->memory),
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	setup_check(!s->mr, "ibv_reg_mr");
	s->cq = ibv_create_cq(s->context, 16, NULL, NULL, 0);
	setup_check(!s->cq, "ibv_create_cq");
}

struct ibv_qp *setup_qp(struct setup *s)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.send_cq = s->cq,
		.recv_cq = s->cq,
		.cap = { .max_send_wr = 16,
			 .max_recv_wr = 16,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	struct ibv_qp *qp = ibv_create_qp(s->pd, &init);

	setup_check(!qp, "ibv_create_qp");
	return qp;
}

void setup_open(struct setup *s, const char *device)
{
	setup_device(s, device);
	for (int i = 0; i < 2; i++)
		s->qp[i] = setup_qp(s);
	for (int i = 0; i < 2; i++)
		setup_connect(s->qp[i], s->qp[!i]->qp_num);
}

void setup_close(struct setup *s)
{
	for (int i = 0; i < 2; i++)
		if (s->qp[i])
			setup_check(ibv_destroy_qp(s->qp[i]), "ibv_destroy_qp");
	setup_check(ibv_destroy_cq(s->cq), "ibv_destroy_cq");
	setup_check(ibv_dereg_mr(s->mr), "ibv_dereg_mr");
	setup_check(ibv_dealloc_pd(s->pd), "ibv_dealloc_pd");
	setup_check(ibv_close_device(s->context), "ibv_close_device");
}
