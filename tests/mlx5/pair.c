/* SPDX-License-Identifier: BSD-2-Clause */
#include "pair.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sched.h>
#include <time.h>

#define ACCESS                                                                                     \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND | IBV_ACCESS_FLUSH_GLOBAL)

int pair_sgid_index;
const char *pair_device = "mlx5_0";

int pair_find_roce_v2(void)
{
	struct ibv_context *ctx = pair_open("mlx5_0");
	struct ibv_gid_entry e;
	int i = 0;

	/* Link-local ones are made of the adapter's address, which the interface may not have. */
	while (i < 16 && (ibv_query_gid_ex(ctx, 1, i, &e, 0) ||
			  e.gid_type != IBV_GID_TYPE_ROCE_V2 || e.gid.raw[0] == 0xfe))
		i++;
	assert_in_range(i, 0, 15);
	assert_int_equal(ibv_close_device(ctx), 0);
	return i;
}

struct ibv_context *pair_open(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = NULL;

	assert_non_null(list);
	for (int i = 0; list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			ctx = ibv_open_device(list[i]);
	ibv_free_device_list(list);
	assert_non_null(ctx);
	return ctx;
}

static struct ibv_cq *make_cq(struct pair *p, const struct pair_wish *wish)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = wish->cqe ? wish->cqe : 1024,
		.wc_flags = wish->wc_flags ? wish->wc_flags : IBV_WC_STANDARD_FLAGS,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
		.flags = wish->cq_flags,
	};
	struct ibv_cq_ex *cq = ibv_create_cq_ex(p->ctx, &attr);

	assert_non_null(cq);
	return ibv_cq_ex_to_cq(cq);
}

static void make_srq(struct pair *p, bool xrc)
{
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = 100, .max_sge = 2 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD,
		.srq_type = xrc ? IBV_SRQT_XRC : IBV_SRQT_BASIC,
		.pd = p->pd,
	};

	if (xrc) {
		attr.comp_mask |= IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_XRCD;
		attr.cq = p->cq[1];
		attr.xrcd = p->xrcd;
	}
	p->srq = ibv_create_srq_ex(p->ctx, &attr);
	assert_non_null(p->srq);
}

static struct ibv_qp *make_qp(struct pair *p, const struct pair_wish *wish, int side)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = wish->type,
		.send_cq = p->cq[side],
		.recv_cq = p->cq[side],
		.cap = wish->cap,
		.sq_sig_all = wish->sig_all,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = p->pd,
	};
	struct ibv_qp *qp;

	if (!attr.cap.max_send_wr)
		attr.cap.max_send_wr = 64;
	if (!attr.cap.max_recv_wr)
		attr.cap.max_recv_wr = 64;
	if (!attr.cap.max_send_sge)
		attr.cap.max_send_sge = 4;
	if (!attr.cap.max_recv_sge)
		attr.cap.max_recv_sge = 2;
	if (wish->type == IBV_QPT_XRC_SEND) {
		attr.cap.max_recv_wr = attr.cap.max_recv_sge = 0;
		attr.recv_cq = NULL;
	}
	if (side == 1 && wish->srq)
		attr.srq = p->srq;
	if (wish->ops) {
		attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
		attr.send_ops_flags = wish->ops;
	}
	qp = ibv_create_qp_ex(p->ctx, &attr);
	assert_non_null(qp);
	return qp;
}

static struct ibv_qp *make_tgt(struct pair *p)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_XRC_RECV,
		.comp_mask = IBV_QP_INIT_ATTR_XRCD,
		.xrcd = p->xrcd,
	};
	struct ibv_qp *qp = ibv_create_qp_ex(p->ctx, &attr);

	assert_non_null(qp);
	return qp;
}

static void to_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .port_num = 1,
				    .qkey = PAIR_QKEY,
				    .qp_access_flags = ACCESS & ~IBV_ACCESS_MW_BIND };
	int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;

	mask |= qp->qp_type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;
	assert_int_equal(ibv_modify_qp(qp, &attr, mask), 0);
}

static struct ibv_ah_attr own_address(struct ibv_context *ctx)
{
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1, .grh = { .hop_limit = 64 } };

	attr.grh.sgid_index = pair_sgid_index;
	assert_int_equal(ibv_query_gid(ctx, 1, pair_sgid_index, &attr.grh.dgid), 0);
	return attr;
}

static void to_rts(struct ibv_qp *qp, uint32_t peer)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer,
		.max_dest_rd_atomic = 16,
		.min_rnr_timer = 12,
		.ah_attr = own_address(qp->context),
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 16,
	};
	const int rtr = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	const int responds = IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	const int asks = IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY;
	int to_rtr = IBV_QP_STATE, to_rts = IBV_QP_STATE | IBV_QP_SQ_PSN;

	switch (qp->qp_type) {
	case IBV_QPT_RC:
		to_rtr |= rtr | responds;
		to_rts |= asks | IBV_QP_TIMEOUT;
		break;
	case IBV_QPT_XRC_SEND:
		to_rtr |= rtr;
		to_rts |= asks | IBV_QP_TIMEOUT;
		break;
	case IBV_QPT_XRC_RECV:
		to_rtr |= rtr | responds;
		to_rts |= IBV_QP_TIMEOUT;
		break;
	case IBV_QPT_UC:
		to_rtr |= rtr;
		break;
	default:
		break;
	}
	assert_int_equal(ibv_modify_qp(qp, &attr, to_rtr), 0);
	attr.qp_state = IBV_QPS_RTS;
	assert_int_equal(ibv_modify_qp(qp, &attr, to_rts), 0);
}

void pair_connect(struct pair *p)
{
	for (int side = 0; side < 2; side++) {
		struct ibv_qp *peer = p->tgt[!side] ? p->tgt[!side] : p->qp[!side];

		to_init(p->qp[side]);
		if (p->tgt[side])
			to_init(p->tgt[side]);
		to_rts(p->qp[side], peer->qp_num);
		if (p->tgt[side])
			to_rts(p->tgt[side], p->qp[!side]->qp_num);
	}
}

static void set_state(struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE), 0);
}

void pair_to_reset(struct ibv_qp *qp)
{
	set_state(qp, IBV_QPS_RESET);
}

void pair_to_error(struct ibv_qp *qp)
{
	set_state(qp, IBV_QPS_ERR);
}

void pair_make(struct pair *p, const struct pair_wish *wish)
{
	bool xrc = wish->type == IBV_QPT_XRC_SEND;
	struct ibv_ah_attr ah;

	memset(p, 0, sizeof(*p));
	p->ctx = pair_open(pair_device);
	p->pd = ibv_alloc_pd(p->ctx);
	assert_non_null(p->pd);
	p->buf = aligned_alloc(4096, PAIR_BUF);
	assert_non_null(p->buf);
	memset(p->buf, 0, PAIR_BUF);
	p->mr = ibv_reg_mr(p->pd, p->buf, PAIR_BUF, ACCESS);
	assert_non_null(p->mr);
	for (int side = 0; side < 2; side++)
		p->cq[side] = make_cq(p, wish);
	if (xrc) {
		struct ibv_xrcd_init_attr attr = { .comp_mask = IBV_XRCD_INIT_ATTR_FD |
								IBV_XRCD_INIT_ATTR_OFLAGS,
						   .fd = -1,
						   .oflags = O_CREAT };

		p->xrcd = ibv_open_xrcd(p->ctx, &attr);
		assert_non_null(p->xrcd);
	}
	if (wish->srq || xrc)
		make_srq(p, xrc);
	for (int side = 0; side < 2; side++) {
		p->qp[side] = make_qp(p, wish, side);
		if (xrc)
			p->tgt[side] = make_tgt(p);
	}
	ah = own_address(p->ctx);
	p->ah = ibv_create_ah(p->pd, &ah);
	assert_non_null(p->ah);
	if (!wish->unconnected)
		pair_connect(p);
}

void pair_drop(struct pair *p)
{
	for (int side = 0; side < 2; side++) {
		if (p->qp[side])
			assert_int_equal(ibv_destroy_qp(p->qp[side]), 0);
		if (p->tgt[side])
			assert_int_equal(ibv_destroy_qp(p->tgt[side]), 0);
	}
	if (p->srq)
		assert_int_equal(ibv_destroy_srq(p->srq), 0);
	for (int side = 0; side < 2; side++)
		if (p->cq[side])
			assert_int_equal(ibv_destroy_cq(p->cq[side]), 0);
	if (p->xrcd)
		assert_int_equal(ibv_close_xrcd(p->xrcd), 0);
	assert_int_equal(ibv_destroy_ah(p->ah), 0);
	assert_int_equal(ibv_dereg_mr(p->mr), 0);
	assert_int_equal(ibv_dealloc_pd(p->pd), 0);
	assert_int_equal(ibv_close_device(p->ctx), 0);
	free(p->buf);
}

struct ibv_sge pair_sge(const struct pair *p, size_t offset, uint32_t length)
{
	return (struct ibv_sge){ .addr = (uintptr_t)p->buf + offset,
				 .length = length,
				 .lkey = p->mr->lkey };
}

void pair_post_recv(struct pair *p, int side, uint64_t wr_id, size_t offset, uint32_t length)
{
	struct ibv_sge sge = pair_sge(p, offset, length);
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 }, *bad;

	if (side == 1 && p->srq)
		assert_int_equal(ibv_post_srq_recv(p->srq, &wr, &bad), 0);
	else
		assert_int_equal(ibv_post_recv(p->qp[side], &wr, &bad), 0);
}

void pair_fill_wr(const struct pair *p, struct ibv_send_wr *wr, size_t remote_offset)
{
	uint64_t remote = (uintptr_t)p->buf + remote_offset;
	uint32_t srqn;

	switch (p->qp[0]->qp_type) {
	case IBV_QPT_UD:
		wr->wr.ud.ah = p->ah;
		wr->wr.ud.remote_qpn = p->qp[1]->qp_num;
		wr->wr.ud.remote_qkey = PAIR_QKEY;
		return;
	case IBV_QPT_XRC_SEND:
		assert_int_equal(ibv_get_srq_num(p->srq, &srqn), 0);
		wr->qp_type.xrc.remote_srqn = srqn;
		break;
	default:
		break;
	}
	if (wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP || wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr->wr.atomic.remote_addr = remote;
		wr->wr.atomic.rkey = p->mr->rkey;
	} else {
		wr->wr.rdma.remote_addr = remote;
		wr->wr.rdma.rkey = p->mr->rkey;
	}
}

void pair_post(struct pair *p, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	assert_int_equal(ibv_post_send(p->qp[0], wr, &bad), 0);
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ull + t.tv_nsec / 1000000;
}

struct ibv_wc pair_wait(struct ibv_cq *cq)
{
	uint64_t end = now_ms() + 20000;
	struct ibv_wc wc;
	int n;

	while (!(n = ibv_poll_cq(cq, 1, &wc))) {
		if (now_ms() > end)
			fail_msg("no completion");
		sched_yield();
	}
	assert_int_equal(n, 1);
	return wc;
}

struct ibv_wc pair_expect(struct ibv_cq *cq, enum ibv_wc_opcode opcode, uint64_t wr_id)
{
	struct ibv_wc wc = pair_wait(cq);

	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, opcode);
	assert_int_equal(wc.wr_id, wr_id);
	return wc;
}

void pair_pattern(uint8_t *buf, size_t length, uint8_t seed)
{
	for (size_t i = 0; i < length; i++)
		buf[i] = seed + i * 7 + (i >> 8);
}

bool pair_is_pattern(const uint8_t *buf, size_t length, uint8_t seed)
{
	for (size_t i = 0; i < length; i++)
		if (buf[i] != (uint8_t)(seed + i * 7 + (i >> 8)))
			return false;
	return true;
}
