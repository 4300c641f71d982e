/* SPDX-License-Identifier: BSD-2-Clause */
#include "rig.h"

#include <stdio.h>

#define BUFFER 65536

const struct rig_path rig_usual_path = {
	.gid_index = -1,
	.timeout = 14,
	.rnr_retry = 7,
	.max_rd_atomic = 1,
	.max_dest_rd_atomic = 1,
	.mtu = IBV_MTU_1024,
};

void must(bool ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	exit(1);
}

static struct ibv_context *open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = NULL;

	must(list, "ibv_get_device_list");
	for (int i = 0; list[i] && !context; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			context = ibv_open_device(list[i]);
	ibv_free_device_list(list);
	must(context, name);
	return context;
}

struct ibv_qp *rig_create_qp(struct rig *r, enum ibv_qp_type type, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.qp_type = type,
		.cap = { .max_send_wr = QUEUE,
			 .max_recv_wr = QUEUE,
			 .max_send_sge = 1,
			 .max_recv_sge = 1,
			 .max_inline_data = MESSAGE },
	};
	struct ibv_qp *qp = ibv_create_qp(r->pd, &attr);

	must(qp, "ibv_create_qp");
	return qp;
}

/* An IPv4 address if there is one: link-local ones do not lead everywhere. */
static int usual_gid(const struct rig *r)
{
	struct ibv_gid_entry entry;
	int first = -1;

	for (int i = 0; !ibv_query_gid_ex(r->context, 1, i, &entry, 0); i++) {
		if (entry.gid_type == IBV_GID_TYPE_ROCE_V1)
			continue;
		if (entry.gid.raw[10] == 0xff && entry.gid.raw[11] == 0xff)
			return i;
		if (first < 0)
			first = i;
	}
	return first < 0 ? 0 : first;
}

struct ibv_ah_attr rig_address(const struct rig *r, int gid_index)
{
	struct ibv_ah_attr address = { .port_num = 1, .is_global = 1, .grh.hop_limit = 1 };
	struct ibv_port_attr port;

	must(!ibv_query_port(r->context, 1, &port), "ibv_query_port");
	address.dlid = port.lid;
	address.grh.sgid_index = gid_index < 0 ? usual_gid(r) : gid_index;
	must(!ibv_query_gid(r->context, 1, address.grh.sgid_index, &address.grh.dgid),
	     "ibv_query_gid");
	return address;
}

static void to_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = 0x11111111 };
	int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
		   (qp->qp_type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS);

	attr.qp_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
	must(!ibv_modify_qp(qp, &attr, mask), "INIT");
}

static void connect_one(struct rig *r, struct ibv_qp *qp, uint32_t peer,
			const struct rig_path *path)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR,
				    .path_mtu = path->mtu,
				    .dest_qp_num = peer,
				    .max_dest_rd_atomic = path->max_dest_rd_atomic,
				    .min_rnr_timer = 1,
				    .ah_attr = rig_address(r, path->gid_index) };

	to_init(qp);
	must(!ibv_modify_qp(qp, &attr,
			    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				    IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				    IBV_QP_MIN_RNR_TIMER),
	     "RTR");
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS,
				     .timeout = path->timeout,
				     .retry_cnt = 7,
				     .rnr_retry = path->rnr_retry,
				     .max_rd_atomic = path->max_rd_atomic };
	must(!ibv_modify_qp(qp, &attr,
			    IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				    IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC),
	     "RTS");
}

void rig_connect(struct rig *r, const struct rig_path *path)
{
	connect_one(r, r->a, r->b->qp_num, path);
	connect_one(r, r->b, r->a->qp_num, path);
}

void rig_activate(struct rig *r, struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR };

	to_init(qp);
	must(!ibv_modify_qp(qp, &attr, IBV_QP_STATE), "RTR");
	attr.qp_state = IBV_QPS_RTS;
	must(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN), "RTS");
}

void post_receive(struct rig *r, void *to)
{
	struct ibv_sge sge = { (uintptr_t)to, MESSAGE, r->mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	must(!ibv_post_recv(r->b, &wr, &bad), "ibv_post_recv");
}

void post_send(struct rig *r, const void *from, unsigned int flags)
{
	struct ibv_sge sge = { (uintptr_t)from, MESSAGE, r->mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = flags },
			   *bad;

	must(!ibv_post_send(r->a, &wr, &bad), "ibv_post_send");
}

enum ibv_wc_status wait_for(struct rig *r, int count)
{
	struct ibv_wc wc = { .status = IBV_WC_SUCCESS };

	while (count) {
		int got = ibv_poll_cq(r->cq, 1, &wc);

		must(got >= 0, "ibv_poll_cq");
		count -= got;
	}
	return wc.status;
}

static void rig_open(struct rig *r, const char *device)
{
	r->context = open_device(device);
	r->channel = ibv_create_comp_channel(r->context);
	r->pd = ibv_alloc_pd(r->context);
	r->cq = ibv_create_cq(r->context, 4 * QUEUE, NULL, r->channel, 0);
	must(r->channel && r->pd && r->cq, "channel, domain or CQ");
	r->a = rig_create_qp(r, IBV_QPT_RC, r->cq);
	r->b = rig_create_qp(r, IBV_QPT_RC, r->cq);
	r->buffer = aligned_alloc(4096, BUFFER);
	must(r->buffer, "aligned_alloc");
	memset(r->buffer, 0, BUFFER);
	r->inbox = r->buffer + BUFFER / 2;
	r->mr = ibv_reg_mr(r->pd, r->buffer, BUFFER, IBV_ACCESS_LOCAL_WRITE);
	must(r->mr, "ibv_reg_mr");
}

/* Objects that the program has destroyed itself are NULL. */
static void rig_close(struct rig *r)
{
	if (r->a)
		must(!ibv_destroy_qp(r->a), "ibv_destroy_qp");
	if (r->b)
		must(!ibv_destroy_qp(r->b), "ibv_destroy_qp");
	if (r->mr)
		must(!ibv_dereg_mr(r->mr), "ibv_dereg_mr");
	if (r->cq)
		must(!ibv_destroy_cq(r->cq), "ibv_destroy_cq");
	if (r->channel)
		must(!ibv_destroy_comp_channel(r->channel), "ibv_destroy_comp_channel");
	if (r->pd)
		must(!ibv_dealloc_pd(r->pd), "ibv_dealloc_pd");
	if (r->context)
		must(!ibv_close_device(r->context), "ibv_close_device");
	free(r->buffer);
}

int main(int argc, char **argv)
{
	struct rig r = { 0 };

	rig_open(&r, argc > 1 ? argv[1] : "mlx5_0");
	run(&r);
	rig_close(&r);
	return 0;
}
