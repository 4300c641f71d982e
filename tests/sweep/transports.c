/* SPDX-License-Identifier: BSD-2-Clause */
/* Every transport, between queue pairs of one process. */
#include "scenario.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <infiniband/mlx5dv.h>
/* Asks for an event, and takes it if it comes: a completion is there, so it comes at once. */
static void take_event(void)
{
	struct pollfd p = { .fd = a.channel ? a.channel->fd : -1, .events = POLLIN };
	struct ibv_cq *cq;
	void *context;

	while (p.fd >= 0 && OWN(poll(&p, 1, 0)) > 0 &&
	       did(!ibv_get_cq_event(a.channel, &cq, &context), "ibv_get_cq_event"))
		ibv_ack_cq_events(cq, 1);
}

static void connected(enum ibv_qp_type type, struct ibv_srq *srq)
{
	struct ibv_qp *one = make_qp(type, NULL), *two = make_qp(type, srq);
	uint64_t far = (uintptr_t)a.buf + HALF;
	bool rc = type == IBV_QPT_RC;

	if (!connect_both(one, two))
		goto end;
	DO(ibv_req_notify_cq(a.cq, 0));
	for (int i = 0; i < 2; i++) {
		struct ibv_send_wr wr = { .opcode = i ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND };

		post_recv(two, srq, HALF);
		post(one, &wr, i ? BIG : 64);
	}
	post_rdma(one, IBV_WR_RDMA_WRITE, BIG, far, a.mr->rkey);
	if (rc) {
		post_rdma(one, IBV_WR_RDMA_READ, BIG, far, a.mr->rkey);
		post_rdma(one, IBV_WR_ATOMIC_FETCH_AND_ADD, 8, far, a.mr->rkey);
	}
	reap(rc ? "RC" : "UC", receives_come(), true);
	take_event();
end:
	end_qps(one, two);
}

void part_rc(void)
{
	connected(IBV_QPT_RC, NULL);
}

void part_uc(void)
{
	connected(IBV_QPT_UC, NULL);
}

void part_srq(void)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 16, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(a.pd, &attr);

	if (!MAKE(srq))
		return;
	connected(IBV_QPT_RC, srq);
	END(ibv_destroy_srq(srq));
}

void part_ud(void)
{
	struct ibv_ah_attr here = address_of(&a.gid, a.lid);
	struct ibv_qp *one = make_qp(IBV_QPT_UD, NULL), *two = make_qp(IBV_QPT_UD, NULL);
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	struct ibv_ah *ah = ibv_create_ah(a.pd, &here);

	if (!MAKE(ah) || !one || !two || !connect_to(one, 0, &here) || !connect_to(two, 0, &here))
		goto end;
	post_recv(two, NULL, 4096);
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = two->qp_num;
	wr.wr.ud.remote_qkey = QKEY;
	post(one, &wr, 500);
	reap("UD", receives_come(), true);
end:
	end_qps(one, two);
	if (ah)
		END(ibv_destroy_ah(ah));
}

void part_xrc(void)
{
	struct ibv_ah_attr here = address_of(&a.gid, a.lid);
	struct ibv_xrcd_init_attr xrcd_attr = { .comp_mask = IBV_XRCD_INIT_ATTR_FD |
							     IBV_XRCD_INIT_ATTR_OFLAGS,
						.fd = -1,
						.oflags = O_CREAT };
	struct ibv_xrcd *xrcd = ibv_open_xrcd(a.ctx, &xrcd_attr);
	struct ibv_srq_init_attr_ex srq_attr = {
		.attr = { .max_wr = 16, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = a.pd,
		.xrcd = xrcd,
		.cq = a.cq,
	};
	struct ibv_qp_init_attr_ex attr = { .qp_type = IBV_QPT_XRC_RECV,
					    .comp_mask = IBV_QP_INIT_ATTR_XRCD,
					    .xrcd = xrcd };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	struct ibv_qp *out = NULL, *in = NULL;
	struct ibv_srq *srq = NULL;
	uint32_t srqn;

	if (!MAKE(xrcd))
		return;
	srq = ibv_create_srq_ex(a.ctx, &srq_attr);
	in = ibv_create_qp_ex(a.ctx, &attr);
	out = make_qp(IBV_QPT_XRC_SEND, NULL);
	if (MAKE(srq) & MAKE(in) && out && DO(ibv_get_srq_num(srq, &srqn)) &&
	    connect_to(in, out->qp_num, &here) && connect_to(out, in->qp_num, &here)) {
		post_recv(NULL, srq, 4096);
		wr.qp_type.xrc.remote_srqn = srqn;
		post(out, &wr, 100);
		reap("XRC", receives_come(), true);
	}
	end_qps(out, in);
	if (srq)
		END(ibv_destroy_srq(srq));
	END(ibv_close_xrcd(xrcd));
}

static bool move_dc(struct ibv_qp *qp, bool dct)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .port_num = 1,
				    .qp_access_flags = RIGHTS,
				    .path_mtu = IBV_MTU_1024,
				    .ah_attr = { .port_num = 1 },
				    .min_rnr_timer = 1,
				    .timeout = ack_timeout(),
				    .retry_cnt = 6,
				    .rnr_retry = 6,
				    .max_rd_atomic = 4 };

	if (!DO(ibv_modify_qp(qp, &attr,
			      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				      (dct ? IBV_QP_ACCESS_FLAGS : 0))))
		return false;
	attr.qp_state = IBV_QPS_RTR;
	if (!DO(ibv_modify_qp(qp, &attr,
			      IBV_QP_STATE | IBV_QP_PATH_MTU |
				      (dct ? IBV_QP_AV | IBV_QP_MIN_RNR_TIMER : 0))))
		return false;
	attr.qp_state = IBV_QPS_RTS;
	return dct || DO(ibv_modify_qp(qp, &attr,
				       IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
					       IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
					       IBV_QP_MAX_QP_RD_ATOMIC));
}

void part_dc(void)
{
	struct ibv_srq_init_attr srq_attr = { .attr = { .max_wr = 16, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(a.pd, &srq_attr);
	struct ibv_qp_init_attr_ex attr = { .qp_type = IBV_QPT_DRIVER,
					    .send_cq = a.cq,
					    .recv_cq = a.cq,
					    .srq = srq,
					    .pd = a.pd,
					    .comp_mask = IBV_QP_INIT_ATTR_PD };
	struct mlx5dv_qp_init_attr extra = {
		.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_DC,
		.dc_init_attr = { .dc_type = MLX5DV_DCTYPE_DCT, .dct_access_key = 77 },
	};
	struct ibv_ah_attr here = address_of(&a.gid, a.lid);
	struct ibv_ah *ah = ibv_create_ah(a.pd, &here);
	struct ibv_qp *dct = NULL, *dci = NULL;

	if (MAKE(srq))
		dct = mlx5dv_create_qp(a.ctx, &attr, &extra);
	attr.srq = NULL;
	attr.cap = (struct ibv_qp_cap){ .max_send_wr = 16, .max_send_sge = 1 };
	attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	attr.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE;
	extra.dc_init_attr.dc_type = MLX5DV_DCTYPE_DCI;
	dci = mlx5dv_create_qp(a.ctx, &attr, &extra);
	if (MAKE(ah) & MAKE(dct) & MAKE(dci) && move_dc(dct, true) && move_dc(dci, false)) {
		struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(dci);
		struct mlx5dv_qp_ex *dv = mlx5dv_qp_ex_from_ibv_qp_ex(ex);

		post_recv(NULL, srq, 4096);
		ibv_wr_start(ex);
		ex->wr_flags = IBV_SEND_SIGNALED;
		ibv_wr_send(ex);
		mlx5dv_wr_set_dc_addr(dv, ah, dct->qp_num, 77);
		ibv_wr_set_sge(ex, a.mr->lkey, (uintptr_t)a.buf, 64);
		a.sends += DO(ibv_wr_complete(ex));
		reap("DC", receives_come(), true);
		ibv_wr_start(ex);
		ibv_wr_send(ex);
		mlx5dv_wr_set_dc_addr_stream(dv, ah, dct->qp_num, 77, 1);
		ibv_wr_abort(ex);
	}
	end_qps(dci, NULL);
	if (dct)
		END(ibv_destroy_qp(dct));
	if (srq)
		END(ibv_destroy_srq(srq));
	if (ah)
		END(ibv_destroy_ah(ah));
}
