/* SPDX-License-Identifier: BSD-2-Clause */
/* Extended verbs: completions that are read one by one, requests built call by call, tags. */
#include "scenario.h"

#include <fcntl.h>
#include <string.h>
#include <infiniband/tm_types.h>

#define ALL_OPS                                                                                    \
	(IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_SEND_WITH_INV |       \
	 IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |                          \
	 IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |                            \
	 IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW | \
	 IBV_QP_EX_WITH_FLUSH | IBV_QP_EX_WITH_ATOMIC_WRITE)

static struct ibv_qp *make_ex(enum ibv_qp_type type, uint64_t ops)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = type,
		.send_cq = a.cq,
		.recv_cq = a.cq,
		.cap = { .max_send_wr = 32,
			 .max_recv_wr = 16,
			 .max_send_sge = 2,
			 .max_recv_sge = 1,
			 .max_inline_data = 64 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = a.pd,
		.send_ops_flags = ops,
	};
	struct ibv_qp *qp = ibv_create_qp_ex(a.ctx, &attr);

	did(qp, "ibv_create_qp_ex");
	return qp;
}

/* The peer invalidates the window that is bound at last. */
static void invalidate(struct ibv_qp *qp, uint32_t rkey)
{
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(qp);

	ibv_wr_start(ex);
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send_inv(ex, rkey);
	ibv_wr_set_sge(ex, a.mr->lkey, (uintptr_t)a.buf, 64);
	a.sends += DO(ibv_wr_complete(ex));
}

static void chain(struct ibv_qp_ex *ex, struct ibv_mr *mr, struct ibv_mw *mw)
{
	const uint64_t here = (uintptr_t)a.buf, far = here + HALF;
	struct ibv_data_buf bufs[2] = { { a.buf, 8 }, { a.buf, 8 } };
	struct ibv_sge sges[2] = { { here, 8, a.mr->lkey }, { here, 8, a.mr->lkey } };
	struct ibv_mw_bind_info bind = {
		.mr = mr, .addr = here, .length = 4096, .mw_access_flags = IBV_ACCESS_REMOTE_READ
	};
	uint32_t rkey = ibv_inc_rkey(mw->rkey);

	ibv_wr_start(ex);
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(ex);
	ibv_wr_set_sge_list(ex, 2, sges);
	ibv_wr_send_imm(ex, 5);
	ibv_wr_set_inline_data(ex, a.buf, 8);
	ibv_wr_rdma_write(ex, a.mr->rkey, far);
	ibv_wr_set_inline_data_list(ex, 2, bufs);
	ibv_wr_rdma_write_imm(ex, a.mr->rkey, far, 6);
	ibv_wr_set_sge(ex, a.mr->lkey, here, 64);
	ibv_wr_rdma_read(ex, a.mr->rkey, far);
	ibv_wr_set_sge(ex, a.mr->lkey, here, 64);
	ibv_wr_atomic_cmp_swp(ex, a.mr->rkey, far, 0, 1);
	ibv_wr_set_sge(ex, a.mr->lkey, here, 8);
	ibv_wr_atomic_fetch_add(ex, a.mr->rkey, far, 1);
	ibv_wr_set_sge(ex, a.mr->lkey, here, 8);
	ibv_wr_atomic_write(ex, a.mr->rkey, far, a.buf);
	ibv_wr_flush(ex, mr->rkey, far, 64, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
	ibv_wr_bind_mw(ex, mw, rkey, &bind);
	ibv_wr_local_inv(ex, rkey);
	ibv_wr_bind_mw(ex, mw, ibv_inc_rkey(rkey), &bind);
	if (DO(ibv_wr_complete(ex)))
		a.sends += 12;
	ibv_wr_start(ex);
	ibv_wr_send(ex);
	ibv_wr_abort(ex);
}

void part_wr(void)
{
	struct ibv_mr *mr = ibv_reg_mr(a.pd, a.buf, BUF_BYTES,
				       RIGHTS | IBV_ACCESS_MW_BIND | IBV_ACCESS_FLUSH_GLOBAL);
	struct ibv_mw *mw = ibv_alloc_mw(a.pd, IBV_MW_TYPE_2);
	struct ibv_qp *one = make_ex(IBV_QPT_RC, ALL_OPS), *two = make_ex(IBV_QPT_RC, ALL_OPS);

	if (MAKE(mr) & MAKE(mw) && connect_both(one, two)) {
		struct ibv_qp_attr attr = { .qp_access_flags = RIGHTS | IBV_ACCESS_FLUSH_GLOBAL };

		if (DO(ibv_modify_qp(two, &attr, IBV_QP_ACCESS_FLAGS))) {
			uint32_t first = mw->rkey;

			for (int i = 0; i < 3; i++)
				post_recv(two, NULL, 4096);
			chain(ibv_qp_to_qp_ex(one), mr, mw);
			reap("a chain", receives_come(), true);
			post_recv(one, NULL, 4096);
			invalidate(two, ibv_inc_rkey(ibv_inc_rkey(first)));
			reap("an invalidation", receives_come(), true);
		}
	}
	end_qps(one, two);
	if (mw)
		END(ibv_dealloc_mw(mw));
	if (mr)
		END(ibv_dereg_mr(mr));
}

/* Datagrams by calls, and an address from what came with one. */
void part_wr_ud(void)
{
	struct ibv_ah_attr here = address_of(&a.gid, a.lid), back;
	struct ibv_qp *qp = make_ex(IBV_QPT_UD, IBV_QP_EX_WITH_SEND);
	struct ibv_ah *ah = ibv_create_ah(a.pd, &here), *from;
	struct ibv_grh *grh = (struct ibv_grh *)(a.buf + HALF);
	struct ibv_wc wc = { .wc_flags = IBV_WC_GRH, .slid = a.lid };

	if (MAKE(ah) && qp && connect_to(qp, 0, &here)) {
		struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(qp);

		post_recv(qp, NULL, 4096);
		ibv_wr_start(ex);
		ex->wr_flags = IBV_SEND_SIGNALED;
		ibv_wr_send(ex);
		ibv_wr_set_ud_addr(ex, ah, qp->qp_num, QKEY);
		ibv_wr_set_sge(ex, a.mr->lkey, (uintptr_t)a.buf, 64);
		a.sends += DO(ibv_wr_complete(ex));
		reap("UD by calls", receives_come(), true);
		if (receives_come()) {
			DO(ibv_init_ah_from_wc(a.ctx, 1, &wc, grh, &back));
			from = ibv_create_ah_from_wc(a.pd, &wc, grh, 1);
			if (MAKE(from))
				END(ibv_destroy_ah(from));
		}
	}
	end_qps(qp, NULL);
	if (ah)
		END(ibv_destroy_ah(ah));
}

void part_mcast(void)
{
	union ibv_gid group = { .raw = { 0xff, 0x0e, [10] = 0xff, 0xff, 239, 1, 2, 3 } };
	struct ibv_qp *qp = make_qp(IBV_QPT_UD, NULL);
	struct ibv_ah_attr here = address_of(&a.gid, a.lid);

	if (!a.ethernet)
		group = (union ibv_gid){ .raw = { 0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, [15] = 5 } };
	if (qp && connect_to(qp, 0, &here) &&
	    DO(ibv_attach_mcast(qp, &group, a.ethernet ? 0 : 0xc005)))
		END(ibv_detach_mcast(qp, &group, a.ethernet ? 0 : 0xc005));
	end_qps(qp, NULL);
}

/* ---- completions ---- */

static void read_all(struct ibv_cq_ex *cq)
{
	ibv_wc_read_opcode(cq);
	ibv_wc_read_vendor_err(cq);
	ibv_wc_read_byte_len(cq);
	ibv_wc_read_imm_data(cq);
	ibv_wc_read_invalidated_rkey(cq);
	ibv_wc_read_qp_num(cq);
	ibv_wc_read_src_qp(cq);
	ibv_wc_read_wc_flags(cq);
	ibv_wc_read_slid(cq);
	ibv_wc_read_sl(cq);
	ibv_wc_read_dlid_path_bits(cq);
	if (!a.mlx5)
		return;
	ibv_wc_read_completion_ts(cq);
	ibv_wc_read_completion_wallclock_ns(cq);
	ibv_wc_read_cvlan(cq);
	ibv_wc_read_flow_tag(cq);
}

/* Polls until so many completions have come. */
static void reap_ex(struct ibv_cq_ex *cq, unsigned int count)
{
	uint64_t end = now_ns() + WAIT_NS;
	struct ibv_poll_cq_attr attr = { 0 };

	while (count) {
		int err = ibv_start_poll(cq, &attr);

		if (err == ENOENT) {
			if (now_ns() < end)
				continue;
			problem("extended completions", "a request does not complete");
			return;
		}
		if (err) {
			problem("ibv_start_poll", strerror(err));
			return;
		}
		do {
			read_all(cq);
			count--;
		} while (!ibv_next_poll(cq));
		ibv_end_poll(cq);
	}
}

void part_cq(void)
{
	struct ibv_cq_init_attr_ex init = {
		.cqe = 10,
		.wc_flags = IBV_WC_STANDARD_FLAGS |
			    (a.mlx5 ? IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
					      IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK |
					      IBV_WC_EX_WITH_CVLAN | IBV_WC_EX_WITH_FLOW_TAG
				    : 0)
	};
	struct ibv_modify_cq_attr moderate = { .attr_mask = IBV_CQ_ATTR_MODERATE,
					       .moderate = { 4, 10 } };
	struct ibv_cq_ex *cq = ibv_create_cq_ex(a.ctx, &init);
	struct ibv_cq *plain = cq ? ibv_cq_ex_to_cq(cq) : NULL, *shared = a.cq;
	struct ibv_qp_attr err = { .qp_state = IBV_QPS_ERR };
	struct ibv_qp *qp = NULL;
	unsigned int posted;

	if (!MAKE(cq))
		return;
	DO(ibv_modify_cq(plain, &moderate));
	DO(ibv_resize_cq(plain, 1000));
	a.cq = plain;
	qp = make_qp(IBV_QPT_RC, NULL);
	if (qp && to_init(qp)) {
		for (int i = 0; i < 3; i++)
			post_recv(qp, NULL, 64);
		posted = a.receives;
		a.receives = 0;
		END(ibv_modify_qp(qp, &err, IBV_QP_STATE));
		reap_ex(cq, posted);
	}
	if (qp)
		END(ibv_destroy_qp(qp));
	a.cq = shared;
	END(ibv_destroy_cq(plain));
}

/* ---- tags, and XRC by calls ---- */

void part_tags(void)
{
	struct ibv_cq_init_attr_ex cq_init = {
		.cqe = 64, .wc_flags = IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_TM_INFO
	};
	struct ibv_cq_ex *cq = ibv_create_cq_ex(a.ctx, &cq_init);
	struct ibv_srq_init_attr_ex init = {
		.attr = { .max_wr = 16, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_CQ |
			     IBV_SRQ_INIT_ATTR_TM,
		.srq_type = IBV_SRQT_TM,
		.pd = a.pd,
		.cq = cq ? ibv_cq_ex_to_cq(cq) : NULL,
		.tm_cap = { .max_num_tags = 8, .max_ops = 8 },
	};
	struct ibv_ops_wr op = { .opcode = IBV_WR_TAG_SYNC,
				 .flags = IBV_OPS_SIGNALED | IBV_OPS_TM_SYNC },
			  *bad;
	struct ibv_poll_cq_attr attr = { 0 };
	uint64_t end = now_ns() + WAIT_NS;
	struct ibv_wc_tm_info info;
	struct ibv_srq *srq;
	int err;

	if (!MAKE(cq))
		return;
	srq = ibv_create_srq_ex(a.ctx, &init);
	if (MAKE(srq) && DO(ibv_post_srq_ops(srq, &op, &bad))) {
		do
			err = ibv_start_poll(cq, &attr);
		while (err == ENOENT && now_ns() < end);
		if (err) {
			problem("a list of tags", "an operation does not complete");
		} else {
			ibv_wc_read_tm_info(cq, &info);
			ibv_end_poll(cq);
		}
	}
	if (srq)
		END(ibv_destroy_srq(srq));
	END(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)));
}

void part_xrc_calls(void)
{
	struct ibv_xrcd_init_attr xrcd_attr = { .comp_mask = IBV_XRCD_INIT_ATTR_FD |
							     IBV_XRCD_INIT_ATTR_OFLAGS,
						.fd = -1,
						.oflags = O_CREAT };
	struct ibv_xrcd *xrcd = ibv_open_xrcd(a.ctx, &xrcd_attr);
	struct ibv_qp_init_attr_ex attr = { .qp_type = IBV_QPT_XRC_RECV,
					    .comp_mask = IBV_QP_INIT_ATTR_XRCD,
					    .xrcd = xrcd };
	struct ibv_qp_open_attr open = { .comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD |
						      IBV_QP_OPEN_ATTR_TYPE,
					 .xrcd = xrcd,
					 .qp_type = IBV_QPT_XRC_RECV };
	struct ibv_qp *in, *same, *out = NULL;

	if (!MAKE(xrcd))
		return;
	in = ibv_create_qp_ex(a.ctx, &attr);
	if (MAKE(in)) {
		open.qp_num = in->qp_num;
		same = ibv_open_qp(a.ctx, &open);
		if (MAKE(same))
			END(ibv_destroy_qp(same));
		END(ibv_destroy_qp(in));
	}
	if (a.mlx5)
		out = make_ex(IBV_QPT_XRC_SEND, IBV_QP_EX_WITH_SEND);
	if (out) {
		struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(out);

		ibv_wr_start(ex);
		ibv_wr_send(ex);
		ibv_wr_set_xrc_srqn(ex, 1);
		ibv_wr_abort(ex);
		END(ibv_destroy_qp(out));
	}
	END(ibv_close_xrcd(xrcd));
}
