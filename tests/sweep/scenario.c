/* SPDX-License-Identifier: BSD-2-Clause */
#include "scenario.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include "mlx5/ifc.h"
#include "mlx5/ifc_cmd.h"
#include "mlx5/ifc_val.h"

#define WAIT_NS   20000000000ull
#define BUF_BYTES (1u << 17)
#define HALF      (BUF_BYTES / 2)
#define BIG       20000u
#define QKEY      0x1234u
/* wr_id of receives; those of a shared queue need not complete. */
#define OF_RECV 6u
#define OF_SRQ  7u
/* 4 ms where packets may be lost for want of memory; a second where others may keep a process from running. */
#define TIMEOUT (strict ? 18 : 10)
#define RIGHTS                                                                                     \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC)

static bool strict;
static int problems;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static void problem(const char *what, const char *why)
{
	problems++;
	fprintf(stderr, "problem: %s: %s\n", what, why);
}

/* A call that may fail for want of memory. True: it did not. */
static bool did(bool good, const char *what)
{
	if (!good && strict)
		problem(what, strerror(errno));
	return good;
}

#define MAKE(call) did((call) != NULL, #call)
/* For calls that return 0, an errno, or -1 and errno. */
#define DO(call)                                                                                   \
	({                                                                                         \
		int err_ = (call);                                                                 \
		if (err_ > 0)                                                                      \
			errno = err_;                                                              \
		did(!err_, #call);                                                                 \
	})
/* A destruction, which needs no memory. */
#define END(call)                                                                                  \
	do {                                                                                       \
		int err_ = (call);                                                                 \
		if (err_)                                                                          \
			problem(#call, strerror(err_ > 0 ? err_ : errno));                         \
	} while (0)

/* ---- an adapter, and queues that most parts use ---- */

static struct {
	struct ibv_context *ctx;
	bool mlx5, ethernet;
	int gid_index;
	union ibv_gid gid;
	uint16_t lid;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	uint8_t *buf;
	unsigned int sends, receives; /* requests whose completions have not come */
} a;

static bool find_gid(void)
{
	struct ibv_gid_entry e;
	struct ibv_port_attr port;

	if (!DO(ibv_query_port(a.ctx, 1, &port)))
		return false;
	a.lid = port.lid;
	a.ethernet = port.link_layer == IBV_LINK_LAYER_ETHERNET;
	for (a.gid_index = 0; a.gid_index < port.gid_tbl_len; a.gid_index++)
		if (!ibv_query_gid_ex(a.ctx, 1, a.gid_index, &e, 0) &&
		    (!a.ethernet || (e.gid_type == IBV_GID_TYPE_ROCE_V2 && e.gid.raw[0] != 0xfe))) {
			a.gid = e.gid;
			return true;
		}
	return did(false, "a GID");
}

static bool open_adapter(const char *name)
{
	struct ibv_device **list, **d;
	uint8_t *buf = a.buf;

	memset(&a, 0, sizeof(a));
	a.buf = buf;
	a.mlx5 = !strncmp(name, "mlx5", 4);
	list = ibv_get_device_list(NULL);
	if (!MAKE(list))
		return false;
	for (d = list; *d && strcmp(ibv_get_device_name(*d), name) != 0; d++)
		;
	if (MAKE(*d)) {
		a.ctx = ibv_open_device(*d);
		did(a.ctx, "ibv_open_device");
	}
	ibv_free_device_list(list);
	return a.ctx && find_gid();
}

static bool open_queues(void)
{
	a.pd = ibv_alloc_pd(a.ctx);
	if (!MAKE(a.pd))
		return false;
	a.mr = ibv_reg_mr(a.pd, a.buf, BUF_BYTES, RIGHTS);
	a.channel = ibv_create_comp_channel(a.ctx);
	did(a.channel, "ibv_create_comp_channel");
	if (!MAKE(a.mr))
		return false;
	a.cq = ibv_create_cq(a.ctx, 500, NULL, a.channel, 0);
	return MAKE(a.cq);
}

static void close_queues(void)
{
	if (a.cq)
		END(ibv_destroy_cq(a.cq));
	if (a.channel)
		END(ibv_destroy_comp_channel(a.channel));
	if (a.mr)
		END(ibv_dereg_mr(a.mr));
	if (a.pd)
		END(ibv_dealloc_pd(a.pd));
	if (a.ctx)
		END(ibv_close_device(a.ctx));
}

static bool some_open(bool receives)
{
	return a.sends || (receives && a.receives);
}

/*
 * Requests that were accepted complete: sends, and with `receives` receives. With `good` they succeed, if
 * nothing may fail.
 */
static void reap(const char *what, bool receives, bool good)
{
	uint64_t end = now_ns() + WAIT_NS;
	struct ibv_wc wc;

	while (some_open(receives)) {
		int n = ibv_poll_cq(a.cq, 1, &wc);

		if (n < 0) {
			problem(what, "polling fails");
			return;
		}
		if (n && wc.status != IBV_WC_SUCCESS && good && strict)
			problem(what, ibv_wc_status_str(wc.status));
		if (n && wc.wr_id == OF_RECV)
			a.receives--;
		else if (n && wc.wr_id != OF_SRQ)
			a.sends--;
		if (!n && now_ns() > end) {
			problem(what, a.sends ? "a send that was accepted does not complete"
					      : "a receive that was accepted does not complete");
			a.sends = a.receives = 0;
		}
	}
}

/* ---- queue pairs ---- */

static struct ibv_ah_attr address_of(const union ibv_gid *gid, uint16_t lid)
{
	struct ibv_ah_attr attr = { .port_num = 1, .dlid = lid };

	if (a.ethernet) {
		attr.is_global = 1;
		attr.grh.dgid = *gid;
		attr.grh.sgid_index = a.gid_index;
		attr.grh.hop_limit = 64;
	}
	return attr;
}

static bool to_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = RIGHTS, .qkey = QKEY
	};
	bool ud = qp->qp_type == IBV_QPT_UD;

	return DO(ibv_modify_qp(qp, &attr,
				IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
					(ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS)));
}

static bool connect_to(struct ibv_qp *qp, uint32_t qpn, const struct ibv_ah_attr *to)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR,
				    .path_mtu = IBV_MTU_1024,
				    .dest_qp_num = qpn,
				    .ah_attr = *to,
				    .max_dest_rd_atomic = 4,
				    .max_rd_atomic = 4,
				    .min_rnr_timer = 1,
				    .timeout = TIMEOUT,
				    .retry_cnt = 6,
				    .rnr_retry = 6 };
	int mask = IBV_QP_STATE, timeouts = 0;
	enum ibv_qp_type type = qp->qp_type;

	if (!to_init(qp))
		return false;
	if (type != IBV_QPT_UD)
		mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	if (type == IBV_QPT_RC || type == IBV_QPT_XRC_RECV)
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	if (!DO(ibv_modify_qp(qp, &attr, mask)))
		return false;
	if (type == IBV_QPT_XRC_RECV)
		return true;
	attr.qp_state = IBV_QPS_RTS;
	if (type == IBV_QPT_RC || type == IBV_QPT_XRC_SEND)
		timeouts = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			   IBV_QP_MAX_QP_RD_ATOMIC;
	return DO(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN | timeouts));
}

static struct ibv_qp *make_qp(enum ibv_qp_type type, struct ibv_srq *srq)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = type,
		.send_cq = a.cq,
		.recv_cq = a.cq,
		.srq = srq,
		.cap = { .max_send_wr = 16,
			 .max_recv_wr = 16,
			 .max_send_sge = 2,
			 .max_recv_sge = 2 },
	};
	struct ibv_qp *qp = ibv_create_qp(a.pd, &attr);

	did(qp, "ibv_create_qp");
	return qp;
}

/* Ends queue pairs, either of which may be NULL, after all that they have accepted has completed. */
static void end_qps(struct ibv_qp *one, struct ibv_qp *two)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	if (one && one->state != IBV_QPS_RESET)
		END(ibv_modify_qp(one, &attr, IBV_QP_STATE));
	if (two && two->state != IBV_QPS_RESET)
		END(ibv_modify_qp(two, &attr, IBV_QP_STATE));
	reap("flush", true, false);
	if (one)
		END(ibv_destroy_qp(one));
	if (two)
		END(ibv_destroy_qp(two));
}

static void post_recv(struct ibv_qp *qp, struct ibv_srq *srq, uint32_t len)
{
	struct ibv_sge sge = { (uintptr_t)a.buf + HALF, len, a.mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = srq ? OF_SRQ : OF_RECV, .sg_list = &sge, .num_sge = 1 },
			   *bad;

	if (srq)
		DO(ibv_post_srq_recv(srq, &wr, &bad));
	else
		a.receives += DO(ibv_post_recv(qp, &wr, &bad));
}

static void post(struct ibv_qp *qp, struct ibv_send_wr *wr, uint32_t len)
{
	struct ibv_sge sge = { (uintptr_t)a.buf, len, a.mr->lkey };
	struct ibv_send_wr *bad;

	wr->sg_list = &sge;
	wr->num_sge = 1;
	wr->send_flags |= IBV_SEND_SIGNALED;
	a.sends += DO(ibv_post_send(qp, wr, &bad));
}

static void post_rdma(struct ibv_qp *qp, enum ibv_wr_opcode op, uint32_t len, uint64_t addr,
		      uint32_t rkey)
{
	struct ibv_send_wr wr = { .opcode = op };

	if (op == IBV_WR_ATOMIC_FETCH_AND_ADD || op == IBV_WR_ATOMIC_CMP_AND_SWP) {
		wr.wr.atomic.remote_addr = addr;
		wr.wr.atomic.rkey = rkey;
	} else {
		wr.wr.rdma.remote_addr = addr;
		wr.wr.rdma.rkey = rkey;
	}
	post(qp, &wr, len);
}

/* Asks for an event, and takes it if it comes: a completion is there, so it comes at once. */
static void take_event(void)
{
	struct pollfd p = { .fd = a.channel ? a.channel->fd : -1, .events = POLLIN };
	struct ibv_cq *cq;
	void *context;

	while (p.fd >= 0 && poll(&p, 1, 0) > 0 &&
	       did(!ibv_get_cq_event(a.channel, &cq, &context), "ibv_get_cq_event"))
		ibv_ack_cq_events(cq, 1);
}

/* ---- parts: transports ---- */

static void connected(enum ibv_qp_type type, struct ibv_srq *srq)
{
	struct ibv_ah_attr here = address_of(&a.gid, a.lid);
	struct ibv_qp *one = make_qp(type, NULL), *two = make_qp(type, srq);
	uint64_t far = (uintptr_t)a.buf + HALF;
	bool rc = type == IBV_QPT_RC;

	if (!one || !two || !connect_to(one, two->qp_num, &here) ||
	    !connect_to(two, one->qp_num, &here))
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
	reap(rc ? "RC" : "UC", strict, true);
	take_event();
end:
	end_qps(one, two);
}

static void shared_receives(void)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 16, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(a.pd, &attr);

	if (!MAKE(srq))
		return;
	connected(IBV_QPT_RC, srq);
	END(ibv_destroy_srq(srq));
}

static void datagrams(void)
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
	reap("UD", strict, true);
end:
	end_qps(one, two);
	if (ah)
		END(ibv_destroy_ah(ah));
}

static void xrc(void)
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
		reap("XRC", strict, true);
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
				    .timeout = TIMEOUT,
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

static void dynamic(void)
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
		reap("DC", strict, true);
	}
	end_qps(dci, NULL);
	if (dct)
		END(ibv_destroy_qp(dct));
	if (srq)
		END(ibv_destroy_srq(srq));
	if (ah)
		END(ibv_destroy_ah(ah));
}

/* ---- parts: objects ---- */

static void memory_objects(void)
{
	struct ibv_mw *mw = ibv_alloc_mw(a.pd, IBV_MW_TYPE_2);
	struct ibv_parent_domain_init_attr parent_attr = { .pd = a.pd };
	struct ibv_pd *parent = ibv_alloc_parent_domain(a.ctx, &parent_attr);
	struct ibv_alloc_dm_attr dm_attr = { .length = 256 };
	struct ibv_dm *dm = a.mlx5 ? ibv_alloc_dm(a.ctx, &dm_attr) : NULL;
	struct ibv_mr *null = a.mlx5 ? ibv_alloc_null_mr(a.pd) : NULL;
	struct ibv_cq_init_attr_ex cq_attr = { .cqe = 10, .wc_flags = IBV_WC_EX_WITH_BYTE_LEN };
	struct ibv_cq_ex *cq = ibv_create_cq_ex(a.ctx, &cq_attr);
	struct ibv_mr *of_dm;

	did(mw && parent && cq && ((null && dm) || !a.mlx5), "an object");
	if (cq)
		DO(ibv_resize_cq(ibv_cq_ex_to_cq(cq), 1000));
	if (dm) {
		DO(ibv_memcpy_to_dm(dm, 0, a.buf, 64));
		of_dm = ibv_reg_dm_mr(a.pd, dm, 0, 256,
				      IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE);
		if (MAKE(of_dm))
			END(ibv_dereg_mr(of_dm));
		END(ibv_free_dm(dm));
	}
	if (cq)
		END(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)));
	if (null)
		END(ibv_dereg_mr(null));
	if (parent)
		END(ibv_dealloc_pd(parent));
	if (mw)
		END(ibv_dealloc_mw(mw));
}

/* A raw packet queue pair with a rule, and a work queue with an RSS queue pair. */
static void frames(void)
{
	struct {
		struct ibv_flow_attr attr;
		struct ibv_flow_spec_eth eth;
	} rule = {
		.attr = { .size = sizeof(rule), .num_of_specs = 1, .port = 1 },
		.eth = { .type = IBV_FLOW_SPEC_ETH,
			 .size = sizeof(rule.eth),
			 .val.dst_mac = { 2, 0, 0, 0, 0, 1 },
			 .mask.dst_mac = { 255, 255, 255, 255, 255, 255 } },
	};
	struct ibv_wq_init_attr wq_attr = {
		.wq_type = IBV_WQT_RQ, .max_wr = 16, .max_sge = 1, .pd = a.pd, .cq = a.cq
	};
	struct ibv_wq *wq = ibv_create_wq(a.ctx, &wq_attr);
	struct ibv_rwq_ind_table_init_attr table_attr = { .ind_tbl = &wq };
	struct ibv_rwq_ind_table *table;
	struct ibv_qp *raw = make_qp(IBV_QPT_RAW_PACKET, NULL);
	struct ibv_flow *flow;

	if (raw) {
		struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };

		if (DO(ibv_modify_qp(raw, &attr, IBV_QP_STATE | IBV_QP_PORT))) {
			attr.qp_state = IBV_QPS_RTR;
			DO(ibv_modify_qp(raw, &attr, IBV_QP_STATE));
		}
		flow = ibv_create_flow(raw, &rule.attr);
		if (MAKE(flow))
			END(ibv_destroy_flow(flow));
		end_qps(raw, NULL);
	}
	if (!MAKE(wq))
		return;
	table = ibv_create_rwq_ind_table(a.ctx, &table_attr);
	if (MAKE(table))
		END(ibv_destroy_rwq_ind_table(table));
	END(ibv_destroy_wq(wq));
}

static void device_commands(void)
{
	uint8_t out[64] = { 0 }, in[16] = { 0 };
	struct mlx5dv_devx_uar *uar = mlx5dv_devx_alloc_uar(a.ctx, MLX5DV_UAR_ALLOC_TYPE_NC);
	struct mlx5dv_devx_umem *umem =
		mlx5dv_devx_umem_reg(a.ctx, a.buf, 4096, IBV_ACCESS_LOCAL_WRITE);
	struct mlx5dv_devx_event_channel *events = mlx5dv_devx_create_event_channel(a.ctx, 0);
	struct mlx5dv_devx_cmd_comp *comp = mlx5dv_devx_create_cmd_comp(a.ctx);
	struct mlx5dv_devx_msi_vector *vector = mlx5dv_devx_alloc_msi_vector(a.ctx);
	struct mlx5dv_cq dv = { 0 };
	struct mlx5dv_obj raw = { .cq = { .in = a.cq, .out = &dv } };
	struct mlx5dv_devx_obj *pd;

	did(uar && umem && events && comp && vector, "an object of DEVX");
	DO(mlx5dv_init_obj(&raw, MLX5DV_OBJ_CQ));
	ifc_set(in, cmd_in, opcode, IFC_OP_ALLOC_PD);
	pd = mlx5dv_devx_obj_create(a.ctx, in, sizeof(in), out, sizeof(out));
	if (MAKE(pd))
		END(mlx5dv_devx_obj_destroy(pd));
	if (vector)
		END(mlx5dv_devx_free_msi_vector(vector));
	if (comp)
		mlx5dv_devx_destroy_cmd_comp(comp);
	if (events)
		mlx5dv_devx_destroy_event_channel(events);
	if (umem)
		END(mlx5dv_devx_umem_dereg(umem));
	if (uar)
		mlx5dv_devx_free_uar(uar);
}

/* ---- part: another process ---- */

struct hello {
	uint32_t qpn, rkey;
	uint64_t addr;
	union ibv_gid gid;
	uint16_t lid;
};

struct far_end {
	pid_t pid;
	int fd;
};

/* A queue pair that takes what comes, until the process is killed. */
static _Noreturn void far_end_main(int fd)
{
	struct hello me = { 0 }, you;
	struct ibv_ah_attr to;
	struct ibv_qp *qp;
	struct ibv_wc wc;

	strict = true;
	if (!open_adapter("mlx5_0") || !open_queues() || !(qp = make_qp(IBV_QPT_RC, NULL)))
		_exit(1);
	me = (struct hello){ qp->qp_num, a.mr->rkey, (uintptr_t)a.buf, a.gid, a.lid };
	if (write(fd, &me, sizeof(me)) != sizeof(me) || read(fd, &you, sizeof(you)) != sizeof(you))
		_exit(0);
	to = address_of(&you.gid, you.lid);
	if (!connect_to(qp, you.qpn, &to))
		_exit(1);
	for (int i = 0; i < 4; i++)
		post_recv(qp, NULL, BIG);
	if (write(fd, &me, 1) != 1)
		_exit(0);
	for (;;) {
		struct pollfd p = { .fd = fd, .events = POLLIN };

		ibv_poll_cq(a.cq, 1, &wc);
		if (poll(&p, 1, 1) > 0)
			_exit(0); /* the other process is gone */
	}
}

static void get_buffer(void)
{
	if (!a.buf)
		a.buf = mmap(NULL, BUF_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			     -1, 0);
	if (a.buf == MAP_FAILED)
		abort();
}

struct far_end *far_end_start(void)
{
	static struct far_end ends[2];
	static int used;
	struct far_end *far = &ends[used++];
	int fd[2];

	get_buffer();
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd))
		abort();
	far->pid = fork();
	if (!far->pid) {
		close(fd[0]);
		far_end_main(fd[1]);
	}
	close(fd[1]);
	far->fd = fd[0];
	return far;
}

static void far_end_kill(struct far_end *far)
{
	kill(far->pid, SIGKILL);
	waitpid(far->pid, NULL, 0);
	close(far->fd);
}

static void other_process(struct far_end *far)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	struct ibv_qp *qp = make_qp(IBV_QPT_RC, NULL);
	struct hello you, me = { .gid = a.gid, .lid = a.lid };
	struct ibv_ah_attr to;
	char ready;

	if (!qp || read(far->fd, &you, sizeof(you)) != sizeof(you))
		goto end;
	me.qpn = qp->qp_num;
	to = address_of(&you.gid, you.lid);
	if (!connect_to(qp, you.qpn, &to) || write(far->fd, &me, sizeof(me)) != sizeof(me) ||
	    read(far->fd, &ready, 1) != 1)
		goto end;
	post(qp, &wr, 64);
	post(qp, &wr, BIG);
	post_rdma(qp, IBV_WR_RDMA_WRITE, 4096, you.addr, you.rkey);
	post_rdma(qp, IBV_WR_RDMA_READ, 4096, you.addr, you.rkey);
	reap("another process", strict, true);
	far_end_kill(far);
	far = NULL;
	post(qp, &wr, 64);
	if (!strict)
		reap("a dead process", false, false);
end:
	if (far)
		far_end_kill(far);
	end_qps(qp, NULL);
}

/* ---- part: connections by address ---- */

static struct rdma_cm_event *next_event(struct rdma_event_channel *channel)
{
	struct pollfd p = { .fd = channel->fd, .events = POLLIN };
	struct rdma_cm_event *event;

	if (poll(&p, 1, strict ? 20000 : 300) <= 0) {
		did(false, "an event of the connection manager");
		return NULL;
	}
	return did(!rdma_get_cm_event(channel, &event), "rdma_get_cm_event") ? event : NULL;
}

static bool expect_event(struct rdma_event_channel *channel, enum rdma_cm_event_type type,
			 struct rdma_cm_id **id)
{
	struct rdma_cm_event *event = next_event(channel);
	bool good;

	if (!event)
		return false;
	good = event->event == type;
	/* An id that comes with a request is the program's, whatever it expected. */
	if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST && (!good || !id))
		END(rdma_destroy_id(event->id));
	else if (good && id)
		*id = event->id;
	END(rdma_ack_cm_event(event));
	return did(good, rdma_event_str(type));
}

static void connection(void)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *listener = NULL, *id = NULL, *taken = NULL;
	struct sockaddr_storage addr = { 0 };
	struct sockaddr_in *in = (struct sockaddr_in *)&addr;
	struct rdma_conn_param param = { .retry_count = 3, .qp_num = 100 };

	if (!MAKE(channel))
		return;
	in->sin_family = AF_INET;
	memcpy(&in->sin_addr, a.gid.raw + 12, 4);
	if (!DO(rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP)) ||
	    !DO(rdma_bind_addr(listener, (struct sockaddr *)&addr)) ||
	    !DO(rdma_listen(listener, 4)))
		goto end;
	in->sin_port = rdma_get_src_port(listener);
	if (!DO(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP)) ||
	    !DO(rdma_resolve_addr(id, NULL, (struct sockaddr *)&addr, 2000)) ||
	    !expect_event(channel, RDMA_CM_EVENT_ADDR_RESOLVED, NULL) ||
	    !DO(rdma_resolve_route(id, 2000)) ||
	    !expect_event(channel, RDMA_CM_EVENT_ROUTE_RESOLVED, NULL) ||
	    !DO(rdma_connect(id, &param)) ||
	    !expect_event(channel, RDMA_CM_EVENT_CONNECT_REQUEST, &taken))
		goto end;
	param.qp_num = 101;
	DO(rdma_accept(taken, &param));
	expect_event(channel, RDMA_CM_EVENT_CONNECT_RESPONSE, NULL);
end:
	if (taken)
		END(rdma_destroy_id(taken));
	if (id)
		END(rdma_destroy_id(id));
	if (listener)
		END(rdma_destroy_id(listener));
	rdma_destroy_event_channel(channel);
}

/* ---- all of it ---- */

static void on_adapter(const char *name, struct far_end *far)
{
	if (open_adapter(name) && open_queues()) {
		connected(IBV_QPT_RC, NULL);
		connected(IBV_QPT_UC, NULL);
		shared_receives();
		datagrams();
		xrc();
		memory_objects();
		if (far) {
			other_process(far);
			far = NULL;
		}
		if (a.mlx5) {
			dynamic();
			frames();
			if (a.gid.raw[10] == 0xff)
				connection();
			device_commands();
		}
	}
	if (far)
		far_end_kill(far);
	close_queues();
}

int scenario_run(struct far_end *far, bool be_strict)
{
	problems = 0;
	strict = be_strict;
	get_buffer();
	on_adapter("mlx5_0", far);
	if (!getenv("VERBENA_PATH")) /* the wire is of Ethernet only */
		on_adapter("mlx4_0", NULL);
	return problems;
}
