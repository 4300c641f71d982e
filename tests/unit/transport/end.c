/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmocka_all.h"

#include "transport/end.h"

#include <stdlib.h>
#include <string.h>

#include "hca/device/adapter_list.h"
#include "hca/device/port.h"
#include "hca/hca.h"
#include "hca/queue/cq.h"
#include "hca/queue/srq.h"
#include "hca/transport/qp.h"
#include "hca/transport/qp_modify.h"
#include "hca/transport/sq.h"
#include "roce/opcode.h"

static const struct hca_adapter *const *adapters;
static struct hca_ctx contexts[2];
static struct hca_async events[2];

/* ---- the ring format: arrays of decoded work ---- */

static bool sq_ready(const struct hca_sq_ring *sq, uint32_t index, uint32_t producer)
{
	return hca_sq_posted(sq, index, producer, 0xffff);
}

static uint32_t sq_producer(const struct hca_sq_ring *sq)
{
	return ((const struct end *)sq->buf)->posted;
}

static void sq_decode(const struct hca_qp *qp, uint32_t index, struct hca_send *out)
{
	const struct end *end = qp->sq.buf;

	*out = end->send[index % END_SLOTS];
	out->counter = (uint16_t)index;
	out->blocks = 1;
}

static uint32_t rq_producer(const struct hca_rq_ring *rq)
{
	return ((const struct end *)rq->buf)->recv_posted;
}

static void rq_decode(const struct hca_rq_ring *rq, uint32_t index, struct hca_recv *out)
{
	*out = ((const struct end *)rq->buf)->recv[index % END_SLOTS];
}

static uint32_t srq_next(const struct hca_rq_ring *rq, uint32_t index)
{
	return index + 1;
}

static void cqe_write(struct hca_cq *cq, uint32_t pi, const struct hca_cqe *cqe)
{
	struct end *end = cq->buf;

	end->done[pi % END_CQES] = *cqe;
	if (cqe->is_recv && cqe->tm) {
		end->tm[pi % END_CQES] = *cqe->tm;
		end->done[pi % END_CQES].tm = &end->tm[pi % END_CQES];
	}
	end->completed = pi + 1;
}

static uint32_t cq_consumer(const struct hca_cq *cq)
{
	return ((const struct end *)cq->buf)->taken & 0xffffff;
}

static const struct hca_format format = {
	.sq_index_mask = 0xffff,
	.sq_ready = sq_ready,
	.sq_producer = sq_producer,
	.sq_decode = sq_decode,
	.rq_producer = rq_producer,
	.rq_decode = rq_decode,
	.srq_next = srq_next,
	.cqe_write = cqe_write,
	.cq_consumer = cq_consumer,
};

/* ---- life ---- */

int end_group_begin(void **state)
{
	int count;

	setenv("VERBENA_ADAPTERS", "mlx5_0;mlx5_1", 1);
	setenv("VERBENA_SHARE", "off", 1);
	assert_int_equal(hca_adapters_get(&adapters, &count), 0);
	assert_int_equal(count, 2);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(hca_async_init(&events[i], adapters[i]), 0);
		assert_int_equal(hca_ctx_init(&contexts[i], adapters[i], &events[i]), 0);
	}
	net_begin();
	return 0;
}

int end_group_end(void **state)
{
	return 0;
}

struct end *end_create(unsigned int adapter, const struct end_options *options)
{
	struct end *end = calloc(1, sizeof(*end));
	struct hca_cq_init cq = { .format = &format, .buf = end, .size = END_CQES };
	struct hca_qp_init qp = { .type = options->type, .format = &format };
	const uint32_t all = HCA_ACCESS_LOCAL_WRITE | HCA_ACCESS_REMOTE_WRITE |
			     HCA_ACCESS_REMOTE_READ | HCA_ACCESS_REMOTE_ATOMIC |
			     HCA_ACCESS_FLUSH_GLOBAL;

	assert_non_null(end);
	end->ctx = &contexts[adapter];
	end->mem = aligned_alloc(4096, END_BYTES);
	assert_non_null(end->mem);
	memset(end->mem, 0, END_BYTES);
	assert_int_equal(hca_pd_create(end->ctx, &end->pd), 0);
	assert_int_equal(
		hca_mr_create(end->pd, end->mem, END_BYTES, (uintptr_t)end->mem, all, &end->mr), 0);
	cq.ctx = end->ctx;
	assert_int_equal(hca_cq_create(&cq, &end->cq), 0);
	if (options->srq) {
		struct hca_srq_init srq = { .pd = end->pd,
					    .format = &format,
					    .cq = end->cq,
					    .xrcd = END_XRCD,
					    .user_index = HCA_SRQ_NO_INDEX };

		srq.type = options->type == HCA_QP_XRC_RECV ? HCA_SRQ_XRC
			   : options->tags                  ? HCA_SRQ_TAG
							    : HCA_SRQ_BASIC;
		srq.tags = options->tags;
		srq.ring = (struct hca_rq_ring){ .buf = end, .size = END_SLOTS };
		assert_int_equal(hca_srq_create(&srq, &end->srq), 0);
	}
	qp.ctx = end->ctx;
	if (!options->tags)
		qp.sq = (struct hca_sq_ring){ .buf = end, .size = END_SLOTS };
	if (options->type == HCA_QP_XRC_RECV) {
		qp.xrcd = END_XRCD;
	} else {
		qp.pd = end->pd;
		qp.send_cq = qp.recv_cq = end->cq;
		qp.srq = end->srq;
		if (!options->srq)
			qp.rq = (struct hca_rq_ring){ .buf = end, .size = END_SLOTS };
	}
	qp.dc_key = END_DC_KEY;
	qp.dci_streams = options->dci_streams;
	qp.dci_log_errored = options->dci_log_errored;
	qp.out_of_order = options->out_of_order;
	assert_int_equal(hca_qp_create(&qp, &end->qp), 0);
	end->in = (struct qp *)end->qp;
	return end;
}

void end_destroy(struct end *end)
{
	if (end->qp)
		assert_int_equal(hca_qp_destroy(end->qp), 0);
	if (end->srq)
		assert_int_equal(hca_srq_destroy(end->srq), 0);
	assert_int_equal(hca_cq_destroy(end->cq), 0);
	assert_int_equal(hca_mr_destroy(end->mr), 0);
	assert_int_equal(hca_pd_destroy(end->pd), 0);
	free(end->mem);
	free(end);
}

static void find_path(const struct end *end, struct hca_av *av)
{
	struct hca_gid_entry e;

	*av = (struct hca_av){ .has_grh = true, .port = 1, .hop_limit = 64 };
	for (unsigned int i = 0;; i++) {
		assert_true(i < end->ctx->adapter->limits.gid_table_len);
		if (hca_port_gid(end->ctx->adapter, 1, i, &e) || e.type != HCA_GID_ROCE_V2 ||
		    hca_gid_is_empty(&e.gid))
			continue;
		av->sgid_index = (uint8_t)i;
		av->dgid = e.gid;
		return;
	}
}

static uint32_t rights(const struct end_options *o)
{
	const uint32_t all = HCA_ACCESS_REMOTE_WRITE | HCA_ACCESS_REMOTE_READ |
			     HCA_ACCESS_REMOTE_ATOMIC | HCA_ACCESS_FLUSH;

	return o->no_access ? 0 : o->access ? o->access : all;
}

static uint32_t init_mask(enum hca_qp_type type)
{
	const uint32_t base = HCA_QPM_STATE | HCA_QPM_PKEY_INDEX | HCA_QPM_PORT;

	switch (type) {
	case HCA_QP_UD:
		return base | HCA_QPM_QKEY;
	case HCA_QP_DCI:
		return base;
	default:
		return base | HCA_QPM_ACCESS;
	}
}

static uint32_t rtr_mask(enum hca_qp_type type)
{
	const uint32_t connected =
		HCA_QPM_AV | HCA_QPM_PATH_MTU | HCA_QPM_DEST_QPN | HCA_QPM_RQ_PSN;

	switch (type) {
	case HCA_QP_UD:
		return HCA_QPM_STATE;
	case HCA_QP_UC:
	case HCA_QP_XRC_SEND:
		return HCA_QPM_STATE | connected;
	case HCA_QP_DCI:
		return HCA_QPM_STATE | HCA_QPM_AV | HCA_QPM_PATH_MTU;
	case HCA_QP_DCT:
		return HCA_QPM_STATE | HCA_QPM_AV | HCA_QPM_PATH_MTU | HCA_QPM_MIN_RNR_TIMER;
	default:
		return HCA_QPM_STATE | connected | HCA_QPM_MAX_DEST_RD_ATOMIC |
		       HCA_QPM_MIN_RNR_TIMER;
	}
}

static uint32_t rts_mask(enum hca_qp_type type)
{
	const uint32_t reliable =
		HCA_QPM_TIMEOUT | HCA_QPM_RETRY_CNT | HCA_QPM_RNR_RETRY | HCA_QPM_MAX_RD_ATOMIC;

	switch (type) {
	case HCA_QP_UD:
	case HCA_QP_UC:
		return HCA_QPM_STATE | HCA_QPM_SQ_PSN;
	case HCA_QP_XRC_RECV:
		return HCA_QPM_STATE | HCA_QPM_SQ_PSN | HCA_QPM_TIMEOUT;
	default:
		return HCA_QPM_STATE | HCA_QPM_SQ_PSN | reliable;
	}
}

void end_advance(struct end *end, enum hca_qp_state to, uint32_t dest_qpn,
		 const struct end_options *o)
{
	struct hca_qp_attr at = {
		.port = 1,
		.qkey = END_QKEY,
		.access = rights(o),
		.path_mtu = o->path_mtu,
		.dest_qpn = dest_qpn,
		.rq_psn = o->peer_psn,
		.sq_psn = o->psn,
		.max_rd_atomic = o->rd_atomic,
		.max_dest_rd_atomic = o->rd_atomic,
		.min_rnr_timer = o->min_rnr_timer,
		.timeout = o->timeout,
		.retry_cnt = o->retry_cnt,
		.rnr_retry = o->rnr_retry,
	};
	const uint32_t masks[] = { [HCA_QPS_INIT] = init_mask(o->type),
				   [HCA_QPS_RTR] = rtr_mask(o->type),
				   [HCA_QPS_RTS] = rts_mask(o->type) };

	find_path(end, &at.av);
	for (enum hca_qp_state s = end->qp->state + 1; s <= to && s <= HCA_QPS_RTS; s++) {
		at.state = s;
		assert_int_equal(hca_qp_modify(end->qp, &at, masks[s]), 0);
	}
	if (to > HCA_QPS_RTS)
		assert_int_equal(end_set_state(end, to), 0);
}

int end_set_state(struct end *end, enum hca_qp_state to)
{
	return hca_qp_modify(end->qp, &(struct hca_qp_attr){ .state = to }, HCA_QPM_STATE);
}

void end_connect(struct end *end, uint32_t dest_qpn, const struct end_options *options)
{
	end_advance(end, HCA_QPS_RTS, dest_qpn, options);
}

void end_pair(struct end *ends[2], const struct end_options *options)
{
	struct end_options other = *options;

	other.psn = options->peer_psn;
	other.peer_psn = options->psn;
	net_reset();
	ends[0] = end_create(0, options);
	ends[1] = end_create(1, options);
	end_connect(ends[0], ends[1]->qp->qpn, options);
	end_connect(ends[1], ends[0]->qp->qpn, &other);
}

struct end *end_alone(const struct end_options *options)
{
	struct end *end;

	net_reset();
	net.held = true;
	end = end_create(0, options);
	end_connect(end, END_PEER_QPN, options);
	return end;
}

/* ---- work ---- */

struct hca_send *end_post(struct end *end, enum hca_op op, uint32_t at, uint32_t len)
{
	struct hca_send *s = &end->send[end->posted++ % END_SLOTS];

	*s = (struct hca_send){ .op = op, .signaled = true, .length = len };
	if (len) {
		s->sge_count = 1;
		s->sge[0] = (struct hca_sge){ (uintptr_t)end->mem + at, len, end->mr->key };
	}
	return s;
}

struct hca_send *end_post_to(struct end *end, enum hca_op op, uint32_t at, uint32_t len,
			     const struct end *peer, uint32_t peer_at)
{
	struct hca_send *s = end_post(end, op, at, len);

	s->raddr = (uintptr_t)peer->mem + peer_at;
	s->rkey = peer->mr->key;
	return s;
}

void end_address(struct hca_send *s, const struct end *from, const struct end *to)
{
	find_path(from, &s->av);
	s->dqpn = to->qp->qpn;
	s->qkey = END_QKEY;
	s->dc_key = END_DC_KEY;
}

void end_ring(struct end *end)
{
	fabric_lock(&end->qp->lock);
	hca_sq_doorbell(end->qp, end->posted);
	fabric_unlock(&end->qp->lock);
}

void end_post_recv(struct end *end, uint32_t at, uint32_t len)
{
	struct hca_recv *r = &end->recv[end->recv_posted % END_SLOTS];

	*r = (struct hca_recv){ .sge_count = 1 };
	r->sge[0] = (struct hca_sge){ (uintptr_t)end->mem + at, len, end->mr->key };
	end->recv_posted++;
}

struct roce_pkt end_request(const struct end *end, uint8_t op, uint32_t psn)
{
	const struct roce_opcode_info *info = roce_opcode_find(op);
	const uint32_t srqn = end->srq ? end->srq->srqn : 0;
	struct roce_pkt p = {
		.op = op,
		.flags = ROCE_PKT_ACK_REQ,
		.sqpn = END_PEER_QPN,
		.psn = psn & PSN_MASK,
		.dc = { .key = END_DC_KEY, .session = 1, .first_psn = psn & PSN_MASK },
	};

	if ((op & ROCE_PKT_TRANSPORT_MASK) == ROCE_TR_UD) {
		p.len = 8;
		p.ud.qkey = END_QKEY;
		return p;
	}
	if (!info->request) {
		p.len = info->payload == ROCE_PAYLOAD_NONE ? 0 : 8;
		p.ack.syndrome = ROCE_SYN_ACK;
		return p;
	}
	if (info->headers & ROCE_HDR_ATOMICETH) {
		p.atomic.va = (uintptr_t)end->mem;
		p.atomic.rkey = end->mr->key;
		p.atomic.compare = p.atomic.swap = 1;
		p.atomic.srqn = srqn;
		return p;
	}
	p.rdma.va = (uintptr_t)end->mem;
	p.rdma.rkey = end->mr->key;
	p.rdma.dma_len = 8;
	p.rdma.srqn = srqn;
	if (info->headers & ROCE_HDR_FETH)
		p.rdma.feth = ROCE_FETH_GLOBAL;
	if (info->payload == ROCE_PAYLOAD_NONE)
		return p;
	p.len = info->payload == ROCE_PAYLOAD_FULL ? 1024 : 8;
	if (info->payload == ROCE_PAYLOAD_ARGS)
		p.len = ROCE_MASKED_ADD_BYTES;
	p.rdma.va += 4096;
	p.rdma.dma_len = info->payload == ROCE_PAYLOAD_FULL ? 4096 : 8;
	return p;
}

const struct hca_cqe *end_completion(struct end *end)
{
	return end->taken == end->completed ? NULL : &end->done[end->taken++ % END_CQES];
}

static bool has_completion(void *arg)
{
	const struct end *end = arg;

	return end->taken != end->completed;
}

const struct hca_cqe *end_await(struct end *end)
{
	assert_true(net_run(has_completion, end, 100000000000ull));
	return end_completion(end);
}
