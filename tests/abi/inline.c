/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Goes through the inline calls of the public headers and prints what each answers. It is compiled
 * with our headers and with Debian's, and both must print the same on our library; inline.py
 * compares that with inline.txt. So it prints nothing that depends on the host or on the headers.
 *
 * Where an object cannot be created yet, a stand-in that only points to its context takes its
 * place, so that the dispatch is exercised all the same: an operation cannot work without a way to
 * create what it works on.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <infiniband/verbs.h>
#include <rdma/rdma_verbs.h>

static const char *device;

static const char *error_name(int err)
{
	return err ? strerrorname_np(err) : "0";
}

/* a call that returns an errno value */
#define SHOW_ERR(call)                                                                             \
	__extension__({                                                                            \
		int ret_ = (call);                                                                 \
		printf("%s: %s = %s\n", device, #call, error_name(ret_));                          \
		ret_;                                                                              \
	})

/* a call that returns a number, or -1 and errno */
#define SHOW_INT(call)                                                                             \
	__extension__({                                                                            \
		long ret_ = (errno = 0, (call));                                                   \
		printf("%s: %s = %ld, errno %s\n", device, #call, ret_,                            \
		       error_name(ret_ < 0 ? errno : 0));                                          \
		ret_;                                                                              \
	})

/* a call that returns an object, or NULL and errno */
#define SHOW_PTR(call)                                                                             \
	__extension__({                                                                            \
		void *ret_ = (errno = 0, (void *)(call));                                          \
		printf("%s: %s = %s\n", device, #call, ret_ ? "object" : error_name(errno));       \
		ret_;                                                                              \
	})

#define SHOW_VALUE(value) printf("%s: %s = %lld\n", device, #value, (long long)(value))

/* The object, or a stand-in of the right type that knows its context. */
#define OR_STAND_IN(object, ctx)                                                                   \
	__extension__({                                                                            \
		static __typeof__(*(object)) stand_in_;                                            \
		memset(&stand_in_, 0, sizeof(stand_in_));                                          \
		stand_in_.context = (ctx);                                                         \
		(object) ? (object) : &stand_in_;                                                  \
	})

struct objects {
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_cq_ex *cq_ex;
	struct ibv_srq *srq;
	struct ibv_qp *qp;
	struct ibv_qp *qp_ex;
};

static char page[4096] __attribute__((aligned(4096)));

static void queries(struct ibv_context *ctx)
{
	struct ibv_device_attr plain;
	struct ibv_device_attr_ex extended;
	struct ibv_query_device_ex_input input = { .comp_mask = 1 };
	struct ibv_values_ex values = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };
	struct ibv_port_attr port;
	struct ibv_gid_entry gid, gids[512];

	/* both zeroed: whatever padding holds is not the library's business */
	memset(&plain, 0, sizeof(plain));
	memset(&extended, 0, sizeof(extended));
	if (!SHOW_ERR(ibv_query_device(ctx, &plain))) {
		SHOW_VALUE(plain.vendor_id);
		SHOW_VALUE(plain.vendor_part_id);
		SHOW_VALUE(plain.phys_port_cnt);
	}
	if (!SHOW_ERR(ibv_query_device_ex(ctx, NULL, &extended))) {
		SHOW_VALUE(memcmp(&plain, &extended.orig_attr, sizeof(plain)));
		SHOW_VALUE(extended.comp_mask);
		SHOW_VALUE(extended.raw_packet_caps);
	}
	SHOW_ERR(ibv_query_device_ex(ctx, &input, &extended));
	memset(&port, 0, sizeof(port));
	if (!SHOW_ERR(ibv_query_port(ctx, 1, &port))) {
		SHOW_VALUE(port.state);
		SHOW_VALUE(port.max_mtu);
		SHOW_VALUE(port.link_layer);
		SHOW_VALUE(port.flags);
	}
	SHOW_ERR(ibv_query_port(ctx, 0, &port));
	SHOW_ERR(ibv_query_port(ctx, 200, &port));
	SHOW_ERR(ibv_query_rt_values_ex(ctx, &values));
	SHOW_ERR(ibv_query_gid_ex(ctx, 1, 0, &gid, 0));
	SHOW_ERR(ibv_query_gid_ex(ctx, 200, 0, &gid, 0));
	SHOW_VALUE(ibv_query_gid_table(ctx, gids, 512, 0) > 0);
	SHOW_VALUE(ibv_query_gid_table(ctx, gids, 512, 1));
}

static void domains(struct ibv_context *ctx, struct objects *made)
{
	struct ibv_td_init_attr td_attr = { 0 };
	struct ibv_parent_domain_init_attr parent_attr = { .pd = made->pd };
	struct ibv_xrcd_init_attr xrcd_attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
		.oflags = 0,
	};
	struct ibv_td *td = SHOW_PTR(ibv_alloc_td(ctx, &td_attr));
	struct ibv_pd *parent = SHOW_PTR(ibv_alloc_parent_domain(ctx, &parent_attr));
	struct ibv_xrcd *xrcd = SHOW_PTR(ibv_open_xrcd(ctx, &xrcd_attr));

	if (xrcd)
		SHOW_ERR(ibv_close_xrcd(xrcd));
	if (parent)
		SHOW_ERR(ibv_dealloc_pd(parent));
	SHOW_ERR(ibv_dealloc_td(OR_STAND_IN(td, ctx)));
}

static void memory(struct ibv_context *ctx, struct objects *made)
{
	struct ibv_pd *pd = OR_STAND_IN(made->pd, ctx);
	volatile unsigned int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_RELAXED_ORDERING;
	struct ibv_alloc_dm_attr dm_attr = { .length = 64 };
	struct ibv_sge range = { .addr = (uintptr_t)page, .length = 64 };
	struct ibv_mw_bind bind = { .wr_id = 1 };
	struct ibv_mr *mr;
	struct ibv_mw *mw;
	struct ibv_dm *dm;

	/* the old symbol, then, with flags the compiler does not know, ibv_reg_mr_iova2 */
	mr = SHOW_PTR(ibv_reg_mr(pd, page, sizeof(page), IBV_ACCESS_LOCAL_WRITE));
	if (mr)
		SHOW_ERR(ibv_dereg_mr(mr));
	mr = SHOW_PTR(ibv_reg_mr(pd, page, sizeof(page), access));
	SHOW_ERR(ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &range, 1));
	mw = SHOW_PTR(ibv_alloc_mw(pd, IBV_MW_TYPE_1));
	if (!mw) {
		mw = OR_STAND_IN(mw, ctx);
		mw->type = IBV_MW_TYPE_1;
		SHOW_ERR(ibv_bind_mw(OR_STAND_IN(made->qp, ctx), mw, &bind));
	}
	SHOW_ERR(ibv_dealloc_mw(mw));
	if (mr)
		SHOW_ERR(ibv_dereg_mr(mr));
	mr = SHOW_PTR(ibv_alloc_null_mr(pd));
	if (mr)
		SHOW_ERR(ibv_dereg_mr(mr));
	dm = SHOW_PTR(ibv_alloc_dm(ctx, &dm_attr));
	mr = SHOW_PTR(ibv_reg_dm_mr(pd, OR_STAND_IN(dm, ctx), 0, 64, IBV_ACCESS_ZERO_BASED));
	if (mr)
		SHOW_ERR(ibv_dereg_mr(mr));
	SHOW_ERR(ibv_free_dm(OR_STAND_IN(dm, ctx)));
}

static void completion(struct ibv_context *ctx, struct objects *made)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 16, .wc_flags = IBV_WC_STANDARD_FLAGS };
	struct ibv_modify_cq_attr moderation = {
		.attr_mask = IBV_CQ_ATTR_MODERATE,
		.moderate = { .cq_count = 4, .cq_period = 10 },
	};
	struct ibv_poll_cq_attr poll = { 0 };
	struct ibv_cq *cq;
	struct ibv_wc wc[4];

	made->cq = SHOW_PTR(ibv_create_cq(ctx, 16, NULL, NULL, 0));
	made->cq_ex = SHOW_PTR(ibv_create_cq_ex(ctx, &attr));
	cq = OR_STAND_IN(made->cq, ctx);
	SHOW_INT(ibv_poll_cq(cq, 4, wc));
	SHOW_ERR(ibv_req_notify_cq(cq, 0));
	SHOW_ERR(ibv_modify_cq(cq, &moderation));
	if (made->cq_ex)
		SHOW_ERR(ibv_start_poll(made->cq_ex, &poll));
}

static void shared_receive(struct ibv_context *ctx, struct objects *made)
{
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = 16, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_PD,
		.pd = OR_STAND_IN(made->pd, ctx),
	};
	struct ibv_sge sge = { .addr = (uintptr_t)page, .length = 64 };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad = NULL;
	struct ibv_ops_wr op = { .opcode = IBV_WR_TAG_SYNC }, *bad_op = NULL;
	struct ibv_srq *srq;
	uint32_t number;

	made->srq = SHOW_PTR(ibv_create_srq_ex(ctx, &attr));
	srq = OR_STAND_IN(made->srq, ctx);
	SHOW_ERR(ibv_get_srq_num(srq, &number));
	if (SHOW_ERR(ibv_post_srq_recv(srq, &wr, &bad)))
		SHOW_VALUE(bad == &wr);
	if (SHOW_ERR(ibv_post_srq_ops(srq, &op, &bad_op)))
		SHOW_VALUE(bad_op == &op);
}

static void queue_pairs(struct ibv_context *ctx, struct objects *made)
{
	struct ibv_qp_init_attr_ex attr = {
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
		.send_cq = OR_STAND_IN(made->cq, ctx),
		.recv_cq = OR_STAND_IN(made->cq, ctx),
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = OR_STAND_IN(made->pd, ctx),
	};
	struct ibv_qp_open_attr open_attr = { 0 };
	struct ibv_qp_rate_limit_attr limit = { .rate_limit = 1000 };
	struct ibv_sge sge = { .addr = (uintptr_t)page, .length = 64 };
	struct ibv_send_wr send = { .sg_list = &sge, .num_sge = 1 }, *bad_send = NULL;
	struct ibv_recv_wr recv = { .sg_list = &sge, .num_sge = 1 }, *bad_recv = NULL;
	struct ibv_mr region = { .addr = page, .length = sizeof(page), .lkey = 1 };
	struct rdma_cm_id id = { 0 };
	struct ibv_qp *qp;

	/* plain by way of the extended call, then one with operations of its own */
	made->qp = SHOW_PTR(ibv_create_qp_ex(ctx, &attr));
	attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	attr.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE;
	made->qp_ex = SHOW_PTR(ibv_create_qp_ex(ctx, &attr));
	SHOW_PTR(ibv_open_qp(ctx, &open_attr));
	qp = OR_STAND_IN(made->qp, ctx);
	SHOW_ERR(ibv_modify_qp_rate_limit(qp, &limit));
	if (SHOW_ERR(ibv_post_send(qp, &send, &bad_send)))
		SHOW_VALUE(bad_send == &send);
	if (SHOW_ERR(ibv_post_recv(qp, &recv, &bad_recv)))
		SHOW_VALUE(bad_recv == &recv);
	id.qp = qp;
	SHOW_INT(rdma_post_recv(&id, NULL, page, 64, &region));
	SHOW_INT(rdma_post_send(&id, NULL, page, 64, &region, 0));
	if (made->qp_ex) {
		struct ibv_qp_ex *ex = SHOW_PTR(ibv_qp_to_qp_ex(made->qp_ex));

		ibv_wr_start(ex);
		ex->wr_id = 7;
		ibv_wr_send(ex);
		ibv_wr_set_sge(ex, 1, (uintptr_t)page, 64);
		ibv_wr_abort(ex);
	}
}

static void steering(struct ibv_context *ctx, struct objects *made)
{
	struct ibv_wq_init_attr wq_attr = {
		.wq_type = IBV_WQT_RQ,
		.max_wr = 4,
		.max_sge = 1,
		.pd = OR_STAND_IN(made->pd, ctx),
		.cq = OR_STAND_IN(made->cq, ctx),
	};
	struct ibv_wq_attr ready = { .attr_mask = IBV_WQ_ATTR_STATE, .wq_state = IBV_WQS_RDY };
	struct ibv_wq *wq = SHOW_PTR(ibv_create_wq(ctx, &wq_attr));
	struct ibv_rwq_ind_table_init_attr table_attr = { .log_ind_tbl_size = 0, .ind_tbl = &wq };
	struct ibv_flow_attr flow_attr = { .size = sizeof(flow_attr), .port = 1 };
	struct ibv_flow_action_esp_attr esp_attr = { 0 };
	struct ibv_counters_init_attr counters_attr = { 0 };
	struct ibv_counter_attach_attr attach = { 0 };
	struct ibv_rwq_ind_table *table;
	struct ibv_flow_action *action;
	struct ibv_counters *counters;
	struct ibv_flow *flow;
	uint64_t value;

	if (wq) {
		SHOW_ERR(ibv_modify_wq(wq, &ready));
		table = SHOW_PTR(ibv_create_rwq_ind_table(ctx, &table_attr));
		SHOW_ERR(ibv_destroy_rwq_ind_table(OR_STAND_IN(table, ctx)));
		SHOW_ERR(ibv_destroy_wq(wq));
	}
	flow = SHOW_PTR(ibv_create_flow(OR_STAND_IN(made->qp, ctx), &flow_attr));
	if (flow)
		SHOW_ERR(ibv_destroy_flow(flow));
	action = SHOW_PTR(ibv_create_flow_action_esp(ctx, &esp_attr));
	SHOW_ERR(ibv_modify_flow_action_esp(OR_STAND_IN(action, ctx), &esp_attr));
	if (action)
		SHOW_ERR(ibv_destroy_flow_action(action));
	counters = SHOW_PTR(ibv_create_counters(ctx, &counters_attr));
	if (counters) {
		SHOW_ERR(ibv_attach_counters_point_flow(counters, &attach, NULL));
		SHOW_ERR(ibv_read_counters(counters, &value, 1, 0));
		SHOW_ERR(ibv_destroy_counters(counters));
	}
}

static void clean_up(struct objects *made)
{
	if (made->qp_ex)
		SHOW_ERR(ibv_destroy_qp(made->qp_ex));
	if (made->qp)
		SHOW_ERR(ibv_destroy_qp(made->qp));
	if (made->srq)
		SHOW_ERR(ibv_destroy_srq(made->srq));
	if (made->cq_ex)
		SHOW_ERR(ibv_destroy_cq(ibv_cq_ex_to_cq(made->cq_ex)));
	if (made->cq)
		SHOW_ERR(ibv_destroy_cq(made->cq));
	if (made->pd)
		SHOW_ERR(ibv_dealloc_pd(made->pd));
}

static void go_through(struct ibv_device *dev)
{
	struct objects made = { 0 };
	struct ibv_context *ctx;

	device = dev->name;
	SHOW_VALUE(dev->node_type);
	SHOW_VALUE(dev->transport_type);
	SHOW_VALUE(strcmp(dev->name, ibv_get_device_name(dev)));
	ctx = SHOW_PTR(ibv_open_device(dev));
	if (!ctx)
		return;
	SHOW_VALUE(ctx->device == dev);
	SHOW_VALUE(ctx->num_comp_vectors > 0);
	SHOW_VALUE(ctx->abi_compat == __VERBS_ABI_IS_EXTENDED);
	queries(ctx);
	made.pd = SHOW_PTR(ibv_alloc_pd(ctx));
	domains(ctx, &made);
	completion(ctx, &made);
	shared_receive(ctx, &made);
	queue_pairs(ctx, &made);
	memory(ctx, &made);
	steering(ctx, &made);
	clean_up(&made);
	SHOW_ERR(ibv_close_device(ctx));
}

int main(void)
{
	struct ibv_device **list;
	int count = -1;
	int i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	device = "library";
	list = SHOW_PTR(ibv_get_device_list(&count));
	for (i = 0; list && list[i]; i++)
		go_through(list[i]);
	device = "library";
	if (list) {
		SHOW_VALUE(count == i);
		ibv_free_device_list(list);
	}
	return 0;
}
