/* SPDX-License-Identifier: BSD-2-Clause */
#include "xrc.h"

#include <fcntl.h>
#include <unistd.h>

#define FILE_NAME "/tmp/verbena-xrc-XXXXXX"

#define OPS                                                                                        \
	(IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_READ |              \
	 IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_FLUSH | IBV_QP_EX_WITH_ATOMIC_WRITE)

static char file_name[64];
static int file = -1;

void xrc_make_file(void)
{
	strcpy(file_name, FILE_NAME);
	file = mkstemp(file_name);
	check(file >= 0);
}

void xrc_remove_file(void)
{
	unlink(file_name);
}

struct ibv_xrcd *xrc_open_domain(struct ibv_context *ctx)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = file,
		.oflags = O_CREAT,
	};

	return must(ibv_open_xrcd(ctx, &attr));
}

void xrc_need(void)
{
	if (!(rig_attr()->device_cap_flags & IBV_DEVICE_XRC))
		rig_skip("the adapter has no XRC");
}

struct ibv_srq *xrc_make_srq(struct end *e, struct ibv_xrcd *xrcd)
{
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = 32, .max_sge = 2 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_XRCD |
			     IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_PD,
		.srq_type = IBV_SRQT_XRC,
		.pd = e->pd,
		.xrcd = xrcd,
		.cq = e->rcq,
	};

	return must(ibv_create_srq_ex(e->ctx, &attr));
}

static struct ibv_qp *make_recv_qp(struct end *e, struct ibv_xrcd *xrcd)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_XRC_RECV,
		.comp_mask = IBV_QP_INIT_ATTR_XRCD,
		.xrcd = xrcd,
	};

	return must(ibv_create_qp_ex(e->ctx, &attr));
}

struct end *xrc_open_half(enum ibv_qp_type type, struct ibv_xrcd *xrcd)
{
	struct options o = options_of(IBV_QPT_RC);
	struct end *e = end_open(&o);

	end_drop_qp(e);
	e->o.type = type;
	if (rig_is_mlx5())
		e->o.qp_access |= IBV_ACCESS_FLUSH_GLOBAL;
	if (type == IBV_QPT_XRC_RECV) {
		e->qp = make_recv_qp(e, xrcd);
	} else {
		struct ibv_qp_init_attr_ex attr = {
			.qp_type = IBV_QPT_XRC_SEND,
			.send_cq = e->scq,
			.cap = { .max_send_wr = 32, .max_send_sge = 2 },
			.comp_mask = IBV_QP_INIT_ATTR_PD,
			.pd = e->pd,
		};

		/* A ConnectX-3 has no ibv_wr_*(). */
		if (rig_is_mlx5()) {
			attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
			attr.send_ops_flags = OPS;
		}
		e->qp = must(ibv_create_qp_ex(e->ctx, &attr));
	}
	return e;
}

void xrc_post(struct ibv_srq *srq, struct end *e, uint64_t id, size_t off, uint32_t len)
{
	struct ibv_sge sge = { (uintptr_t)e->buf + off, len, e->mr->lkey };
	struct ibv_recv_wr *bad, wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 };

	check_ok(ibv_post_srq_recv(srq, &wr, &bad));
}

void xrc_send(struct end *e, uint32_t srqn, enum ibv_wr_opcode op, uint64_t id, uint32_t len)
{
	struct ibv_sge sge = { (uintptr_t)e->buf, len, e->mr->lkey };
	struct ibv_send_wr *bad, wr = { .wr_id = id,
					.sg_list = &sge,
					.num_sge = 1,
					.opcode = op,
					.send_flags = IBV_SEND_SIGNALED };

	wr.qp_type.xrc.remote_srqn = srqn;
	wr.wr.rdma.remote_addr = e->to.va;
	wr.wr.rdma.rkey = e->to.rkey;
	check_ok(ibv_post_send(e->qp, &wr, &bad));
}
