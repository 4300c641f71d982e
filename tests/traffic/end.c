/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ends: a queue pair with its domain, queues and memory; and work for it.
 */
#include "rig.h"

#include <arpa/inet.h>
#include <sys/mman.h>

struct options options_of(enum ibv_qp_type type)
{
	struct options o = {
		.type = type,
		.send_wr = 64,
		.recv_wr = 64,
		.send_sge = 2,
		.recv_sge = 2,
		.cqe = 256,
		.bytes = 1 << 16,
		.mr_access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			     IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
		.qp_access =
			IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
		.mtu = IBV_MTU_1024,
		.timeout = 18, /* about a second: peers on a busy machine are slow, not dead */
		.retry_cnt = 7,
		.rnr_retry = 7,
		.min_rnr_timer = 1,
		.rd_atomic = 4,
		.psn = 0xfffff0, /* wraps around soon */
		.qkey = 0x11111111,
	};

	if (type == IBV_QPT_UC)
		o.qp_access = IBV_ACCESS_REMOTE_WRITE;
	return o;
}

static void make_srq(struct end *e)
{
	struct ibv_srq_init_attr attr = {
		.attr = { .max_wr = e->o.recv_wr, .max_sge = e->o.recv_sge },
	};

	e->srq = must(ibv_create_srq(e->pd, &attr));
}

static void make_tags(struct end *e)
{
	struct ibv_cq_init_attr_ex cq = { .cqe = (uint32_t)e->o.cqe,
					  .wc_flags =
						  IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_TM_INFO };
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = e->o.recv_wr, .max_sge = e->o.recv_sge },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_CQ |
			     IBV_SRQ_INIT_ATTR_TM,
		.srq_type = IBV_SRQT_TM,
		.pd = e->pd,
		.tm_cap = { .max_num_tags = e->o.tags, .max_ops = e->o.tag_ops },
	};

	e->rcq = ibv_cq_ex_to_cq(must(ibv_create_cq_ex(e->ctx, &cq)));
	attr.cq = e->rcq;
	e->srq = must(ibv_create_srq_ex(e->ctx, &attr));
	/* Its send queue is the receive queue's. */
	e->o.send_wr = e->o.send_sge = e->o.inline_bytes = 0;
}

static void make_qp(struct end *e)
{
	struct ibv_qp_init_attr attr = {
		.qp_context = e,
		.send_cq = e->scq,
		.recv_cq = e->rcq,
		.srq = e->srq,
		.cap = { .max_send_wr = e->o.send_wr,
			 .max_recv_wr = e->srq ? 0 : e->o.recv_wr,
			 .max_send_sge = e->o.send_sge,
			 .max_recv_sge = e->srq ? 0 : e->o.recv_sge,
			 .max_inline_data = e->o.inline_bytes },
		.qp_type = e->o.type,
		.sq_sig_all = e->o.sig_all,
	};

	if (e->o.send_ops) {
		struct ibv_qp_init_attr_ex ex = {
			.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
			.pd = e->pd,
			.send_ops_flags = e->o.send_ops,
		};

		memcpy(&ex, &attr, offsetof(struct ibv_qp_init_attr_ex, comp_mask));
		e->qp = must(ibv_create_qp_ex(e->ctx, &ex));
		return;
	}
	e->qp = must(ibv_create_qp(e->pd, &attr));
}

struct end *end_open(const struct options *o)
{
	struct end *e = end_open_in(o, rig_context(), must(ibv_alloc_pd(rig_context())));

	e->owns_pd = true;
	return e;
}

struct end *end_open_in(const struct options *o, struct ibv_context *ctx, struct ibv_pd *pd)
{
	struct end *e = must(calloc(1, sizeof(*e)));

	e->o = o ? *o : options_of(IBV_QPT_RC);
	e->ctx = ctx;
	e->pd = pd;
	if (e->o.events)
		e->channel = must(ibv_create_comp_channel(e->ctx));
	e->scq = must(ibv_create_cq(e->ctx, e->o.cqe, e, e->channel, 0));
	if (e->o.tags)
		make_tags(e);
	else
		e->rcq = must(ibv_create_cq(e->ctx, e->o.cqe, e, e->channel, 0));
	if (e->o.srq)
		make_srq(e);
	make_qp(e);
	e->buf = pages(e->o.bytes);
	e->mr = must(ibv_reg_mr(e->pd, e->buf, e->o.bytes, e->o.mr_access));
	return e;
}

struct end *end_twin(struct end *e)
{
	struct end *twin = must(calloc(1, sizeof(*twin)));

	*twin = *e;
	make_qp(twin);
	return twin;
}

void twin_close(struct end *e)
{
	end_drop_qp(e);
	free(e);
}

void end_drop_qp(struct end *e)
{
	if (e->qp)
		check_ok(ibv_destroy_qp(e->qp));
	e->qp = NULL;
}

void end_close(struct end *e)
{
	end_drop_qp(e);
	if (e->mr)
		check_ok(ibv_dereg_mr(e->mr));
	if (e->srq)
		check_ok(ibv_destroy_srq(e->srq));
	check_ok(ibv_destroy_cq(e->scq));
	check_ok(ibv_destroy_cq(e->rcq));
	if (e->channel)
		check_ok(ibv_destroy_comp_channel(e->channel));
	if (e->owns_pd)
		check_ok(ibv_dealloc_pd(e->pd));
	munmap(e->buf, e->o.bytes);
	free(e);
}

struct address end_address(const struct end *e)
{
	struct ibv_port_attr port;
	struct address a = {
		.qpn = e->qp->qp_num,
		.psn = e->o.psn,
		.rkey = e->mr->rkey,
		.va = (uintptr_t)e->buf,
		.len = e->o.bytes,
	};

	check_ok(ibv_query_port(e->ctx, 1, &port));
	a.lid = port.lid;
	check_ok(ibv_query_gid(e->ctx, 1, rig_gid_index(), &a.gid));
	return a;
}

void address_to_ah_attr(const struct address *to, struct ibv_ah_attr *attr)
{
	*attr = (struct ibv_ah_attr){ .port_num = 1 };
	if (rig_is_ethernet()) {
		attr->is_global = 1;
		attr->grh.dgid = to->gid;
		attr->grh.sgid_index = rig_gid_index();
		attr->grh.hop_limit = 64;
	} else {
		attr->dlid = to->lid;
	}
}

/* ---- states ---- */

static bool is_type(const struct end *e, enum ibv_qp_type type)
{
	return e->o.type == type;
}

void end_to_init(struct end *e)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qkey = e->o.qkey,
		.qp_access_flags = e->o.qp_access,
	};

	check_ok(ibv_modify_qp(
		e->qp, &attr,
		IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			(is_type(e, IBV_QPT_UD) ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS)));
}

void end_to_rtr(struct end *e, const struct address *to)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = e->o.mtu,
		.max_dest_rd_atomic = e->o.rd_atomic,
		.min_rnr_timer = e->o.min_rnr_timer,
	};
	int mask = IBV_QP_STATE;

	if (to) {
		e->to = *to;
		attr.dest_qp_num = to->qpn;
		attr.rq_psn = to->psn;
		address_to_ah_attr(to, &attr.ah_attr);
		attr.ah_attr.grh.traffic_class = e->o.traffic_class;
	}
	if (!is_type(e, IBV_QPT_UD))
		mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	if (is_type(e, IBV_QPT_RC) || is_type(e, IBV_QPT_XRC_RECV))
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	check_ok(ibv_modify_qp(e->qp, &attr, mask));
}

void end_to_rts(struct end *e)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.sq_psn = e->o.psn,
		.timeout = e->o.timeout,
		.retry_cnt = e->o.retry_cnt,
		.rnr_retry = e->o.rnr_retry,
		.max_rd_atomic = e->o.rd_atomic,
	};
	int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;

	if (is_type(e, IBV_QPT_RC) || is_type(e, IBV_QPT_XRC_SEND))
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MAX_QP_RD_ATOMIC;
	if (is_type(e, IBV_QPT_XRC_RECV))
		mask |= IBV_QP_TIMEOUT;
	check_ok(ibv_modify_qp(e->qp, &attr, mask));
}

void end_connect(struct end *e, const struct address *to)
{
	end_to_init(e);
	end_to_rtr(e, to);
	end_to_rts(e);
}

static void go(struct end *e, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	check_ok(ibv_modify_qp(e->qp, &attr, IBV_QP_STATE));
}

void end_reset(struct end *e)
{
	go(e, IBV_QPS_RESET);
}

void end_to_error(struct end *e)
{
	go(e, IBV_QPS_ERR);
}

enum ibv_qp_state end_state(const struct end *e)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	check_ok(ibv_query_qp(e->qp, &attr, IBV_QP_STATE, &init));
	return attr.qp_state;
}

void ends_connect(struct end *a, struct end *b)
{
	struct address to_a = end_address(a), to_b = end_address(b);

	end_connect(a, &to_b);
	end_connect(b, &to_a);
}

struct pair pair_open(const struct options *o)
{
	struct pair p = { end_open(o), end_open(o) };

	ends_connect(p.a, p.b);
	return p;
}

void pair_close(struct pair *p)
{
	end_close(p->a);
	end_close(p->b);
}

/* ---- work ---- */

int try_post(struct end *e, const struct work *w)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)e->buf + w->off,
		.length = w->len,
		.lkey = e->mr->lkey,
	};
	struct ibv_send_wr *bad = NULL, wr = {
		.wr_id = w->id,
		.sg_list = &sge,
		.num_sge = w->len ? 1 : 0,
		.opcode = w->op,
		.send_flags = w->flags,
		.imm_data = htonl(w->imm),
	};
	int err;

	switch (w->op) {
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		wr.wr.atomic.remote_addr = w->raddr;
		wr.wr.atomic.rkey = w->rkey;
		wr.wr.atomic.compare_add = w->compare;
		wr.wr.atomic.swap = w->swap;
		break;
	case IBV_WR_SEND_WITH_INV:
	case IBV_WR_LOCAL_INV:
		wr.invalidate_rkey = w->imm;
		break;
	default:
		if (w->ah) {
			wr.wr.ud.ah = w->ah;
			wr.wr.ud.remote_qpn = w->qpn;
			wr.wr.ud.remote_qkey = w->qkey;
		} else {
			wr.wr.rdma.remote_addr = w->raddr;
			wr.wr.rdma.rkey = w->rkey;
		}
		break;
	}
	err = ibv_post_send(e->qp, &wr, &bad);
	if (err)
		check(bad == &wr);
	return err;
}

void post(struct end *e, const struct work *w)
{
	check_ok(try_post(e, w));
}

void post_recv(struct end *e, uint64_t id, size_t off, uint32_t len)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)e->buf + off,
		.length = len,
		.lkey = e->mr->lkey,
	};
	struct ibv_recv_wr *bad = NULL, wr = {
		.wr_id = id,
		.sg_list = &sge,
		.num_sge = len ? 1 : 0,
	};

	if (e->srq)
		check_ok(ibv_post_srq_recv(e->srq, &wr, &bad));
	else
		check_ok(ibv_post_recv(e->qp, &wr, &bad));
}

/* A message there and one back: acknowledgements of what was before have come with the answer. */
void pair_settle(struct pair *p)
{
	const struct work mark = { .op = IBV_WR_SEND };

	post_recv(p->a, 0, 0, 0);
	post_recv(p->b, 0, 0, 0);
	post(p->a, &mark);
	check_equal(wait_wc(p->b->rcq).status, IBV_WC_SUCCESS);
	post(p->b, &mark);
	check_equal(wait_wc(p->a->rcq).status, IBV_WC_SUCCESS);
}
