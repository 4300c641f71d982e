/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/inspect/story_take.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fabric/directory.h"
#include "fabric/fabric.h"
#include "fabric/numbers.h"
#include "hca/device/port.h"
#include "hca/hca.h"
#include "hca/memory/mem.h"
#include "hca/transport/qp_types.h"
#include "hca/transport/timer.h"
#include "hca/transport/window.h"

/* ---- queues ---- */

static void fill_cq(const struct hca_cq *cq, struct story_queue *out)
{
	uint32_t used;

	if (!cq)
		return;
	used = (__atomic_load_n(&cq->pi, __ATOMIC_RELAXED) - cq->format->cq_consumer(cq)) &
	       (2 * cq->size - 1);
	*out = (struct story_queue){ cq->cqn, cq->size, used < cq->size ? used : cq->size };
}

static void fill_srq(struct hca_srq *srq, struct hca_story *out)
{
	if (!srq)
		return;
	out->srq = (struct story_queue){ srq->srqn, srq->ring.size, hca_srq_posted(srq) };
	out->srq_limit = hca_srq_limit(srq);
}

/* Slots from `next` on whose doorbell was rung. Of a ring with owner bits only the first is looked at. */
static uint32_t count_waiting(const struct qp *qp)
{
	const uint32_t mask = qp->pub.format->sq_index_mask;
	const struct hca_sq_ring *sq = &qp->pub.sq;

	if (!sq->size || !hca_sq_ready(qp->pub.format, sq, qp->req.next, qp->req.producer))
		return 0;
	return mask ? (qp->req.producer - qp->req.next) & mask : 1;
}

/* Requests that are to be sent again are among those that wait, and not in the window. */
static uint32_t count_again(const struct requester *r)
{
	int32_t slots = (int32_t)(r->resend_end - r->next);

	return r->resending && slots > 0 ? (uint32_t)slots : 0;
}

static void fill_queues(const struct qp *qp, struct hca_story *out)
{
	uint32_t again = count_again(&qp->req), waiting = count_waiting(qp);

	fill_cq(qp->pub.send_cq, &out->send_cq);
	fill_cq(qp->pub.recv_cq, &out->recv_cq);
	fill_srq(qp->pub.srq, out);
	out->slots = qp->pub.sq.size;
	out->outstanding = window_count(&qp->window) + again;
	out->posted = waiting > again ? waiting - again : 0;
	if (qp->pub.rq.size)
		out->receives =
			(uint16_t)(qp->pub.format->rq_producer(&qp->pub.rq) - qp->resp.rq_taken);
}

/* ---- requests ---- */

static void fill_wr_id(const struct qp *qp, uint32_t counter, struct story_request *out)
{
	const char *ids = qp->pub.wr_ids;

	if (!ids)
		return;
	memcpy(&out->wr_id, ids + (size_t)(counter & qp->pub.wr_id_mask) * qp->pub.wr_id_stride,
	       sizeof(out->wr_id));
	out->has_wr_id = true;
}

void story_take_request(const struct qp *qp, const struct req_slot *slot, struct story_request *out)
{
	struct hca_send s;

	*out = (struct story_request){ .known = true, .op = slot->op, .length = slot->length };
	fill_wr_id(qp, slot->counter, out);
	if (!qp->pub.sq.size || slot->local)
		return;
	qp->pub.format->sq_decode(&qp->pub, slot->index, &s);
	out->length = s.length;
	out->remote = op_is_one_sided(s.op);
	out->raddr = s.raddr;
	out->rkey = s.rkey;
}

/* The first request that is not sent, or is to be sent again. */
static void next_slot(const struct qp *qp, struct req_slot *out)
{
	struct hca_send s;

	qp->pub.format->sq_decode(&qp->pub, qp->req.next, &s);
	*out = (struct req_slot){
		.index = qp->req.next,
		.counter = s.counter,
		.op = s.op,
		.length = (uint32_t)s.length,
	};
}

/* At least so long: a timer runs since the last progress. */
static uint64_t age_of(const struct qp *qp)
{
	uint64_t timeout = timer_ack_ns(qp->attr.timeout), now = hca_now_ns(), since;

	if (!qp->comp.timeout_at || !timeout)
		return STORY_UNKNOWN;
	since = qp->comp.timeout_at - timeout;
	return (now > since ? now - since : 0) + qp->comp.retries * timeout;
}

static enum story_answer answer_of(const struct completer *c)
{
	if ((c->nak & ROCE_SYN_KIND) == ROCE_SYN_RNR)
		return STORY_ANSWER_RNR;
	if (c->nak == ROCE_SYN_NAK_SEQ)
		return STORY_ANSWER_SEQUENCE;
	return c->probe.never_answered ? STORY_ANSWER_NEVER : STORY_ANSWER_NONE;
}

/* ---- the peer ---- */

static void fill_peer(const struct qp *qp, struct hca_story *out)
{
	const struct hca_av *av = &qp->attr.av;
	struct fabric_process process;
	fabric_id_t owner;

	out->peer_qpn = qp->attr.dest_qpn;
	out->connected = qp->pub.type != HCA_QP_UD && qp->pub.type != HCA_QP_RAW;
	memcpy(out->gid, av->dgid.raw, sizeof(out->gid));
	out->lid = av->dlid;
	if (!out->connected || !fabric_is_up())
		return;
	owner = fabric_qpn_owner(qp->attr.dest_qpn);
	out->elsewhere = qp->remote && !hca_gid_is_local(&av->dgid);
	if (out->elsewhere || owner == FABRIC_ID_NONE || fabric_process_find(owner, &process))
		return;
	out->peer_pid = (uint32_t)process.pid;
	memcpy(out->peer_program, process.name, sizeof(out->peer_program));
}

void story_take_qp(const struct qp *qp, struct hca_story *out)
{
	const struct hca_qp_attr *a = &qp->attr;
	const struct req_slot *oldest = window_head(&qp->window);
	struct req_slot next;
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	*out = (struct hca_story){
		.magic = STORY_MAGIC,
		.end = STORY_MAGIC,
		.size = sizeof(*out),
		.wall_ns = now.tv_sec * 1000000000ull + now.tv_nsec,
		.pid = (uint32_t)getpid(),
		.qpn = qp->pub.qpn,
		.type = qp->pub.type,
		.state = qp->pub.state,
		.port = a->port,
		.path_mtu = a->path_mtu,
		.timeout = a->timeout,
		.retry_cnt = a->retry_cnt,
		.rnr_retry = a->rnr_retry,
		.min_rnr_timer = a->min_rnr_timer,
		.max_rd_atomic = a->max_rd_atomic,
		.max_dest_rd_atomic = a->max_dest_rd_atomic,
		.access = a->access,
		.answer = answer_of(&qp->comp),
		.retries = qp->comp.retries,
		.rnr_retries = qp->comp.rnr_retries,
		.waits_rnr = qp->comp.rnr_until,
		.waits_path = qp->req.awaits_path,
		.waits_room = qp->blocked,
		.age_ns = age_of(qp),
	};
	snprintf(out->program, sizeof(out->program), "%s", program_invocation_short_name);
	snprintf(out->adapter, sizeof(out->adapter), "%s", qp->pub.ctx->adapter->name);
	fill_queues(qp, out);
	fill_peer(qp, out);
	if (!oldest && count_waiting(qp)) {
		next_slot(qp, &next);
		oldest = &next;
	}
	if (oldest)
		story_take_request(qp, oldest, &out->request);
}

/* ---- memory ---- */

/* Why the key does not permit the access; false: it does. */
static bool find_reason(uint32_t key, uint32_t pdn, uint64_t addr, uint64_t len, uint32_t right,
			struct hca_story *out)
{
	struct hca_mr_entry e;

	if (!hca_entry_snapshot(&hca.peers.segment->mr[key >> 8], key, &e)) {
		out->refusal = STORY_REFUSAL_NO_KEY;
	} else if (e.pdn != pdn) {
		out->refusal = STORY_REFUSAL_DOMAIN;
	} else if (!hca_entry_reaches(&e, addr, len)) {
		out->refusal = STORY_REFUSAL_RANGE;
		out->region = e.iova;
		out->region_length = e.length;
	} else if ((e.access & right) != right) {
		out->refusal = STORY_REFUSAL_RIGHT;
		out->needs = (uint8_t)right;
	} else {
		return false;
	}
	return true;
}

void story_take_local(const struct qp *qp, const struct req_slot *slot, struct hca_story *out)
{
	struct hca_send s;

	if (!qp->pub.sq.size || !qp->pub.pd)
		return;
	qp->pub.format->sq_decode(&qp->pub, slot->index, &s);
	for (int i = 0; i < s.sge_count && i < HCA_MAX_SGE; i++) {
		const struct hca_sge *e = &s.sge[i];

		if (e->key == HCA_KEY_INLINE || !e->len)
			continue;
		if (!find_reason(e->key, qp->pub.pd->pdn, e->addr, e->len,
				 op_returns_data(s.op) ? HCA_ACCESS_LOCAL_WRITE : 0, out))
			continue;
		out->request.raddr = e->addr;
		out->request.rkey = e->key;
		out->request.length = e->len;
		return;
	}
}

/* ---- requests of the peer ---- */

static uint32_t right_of(uint8_t op)
{
	switch (op) {
	case HCA_OP_READ:
		return HCA_ACCESS_REMOTE_READ;
	case HCA_OP_FETCH_ADD:
		return HCA_ACCESS_REMOTE_ATOMIC;
	default:
		return HCA_ACCESS_REMOTE_WRITE;
	}
}

static bool is_write(uint8_t op)
{
	return op >= ROCE_PKT_WRITE_FIRST && op <= ROCE_PKT_WRITE_ONLY_IMM;
}

/* The operation is told by its class. */
static void fill_packet(const struct qp *qp, const struct roce_pkt *pkt, struct story_request *out)
{
	uint8_t op = pkt->op & ROCE_PKT_OPCODE_MASK;

	*out = (struct story_request){ .known = true, .op = HCA_OP_SEND, .length = pkt->len };
	if (op == ROCE_PKT_READ_REQUEST) {
		*out = (struct story_request){
			true,         false,         true, HCA_OP_READ, 0, pkt->rdma.dma_len,
			pkt->rdma.va, pkt->rdma.rkey
		};
	} else if (op == ROCE_PKT_CMP_SWAP || op == ROCE_PKT_FETCH_ADD) {
		*out = (struct story_request){ true, false, true,           HCA_OP_FETCH_ADD,
					       0,    8,     pkt->atomic.va, pkt->atomic.rkey };
	} else if (is_write(op)) {
		/* The responder has taken its place from the first packet of the message. */
		*out = (struct story_request){ true, false,         true,        HCA_OP_WRITE,
					       0,    qp->resp.left, qp->resp.va, qp->resp.rkey };
	} else {
		out->length = qp->resp.offset + pkt->len;
	}
}

static uint64_t receive_size(const struct qp *qp)
{
	const struct hca_recv *recv = qp->resp.recv;
	uint64_t size = 0;

	for (int i = 0; recv && i < recv->sge_count && i < HCA_MAX_SGE; i++)
		size += recv->sge[i].len;
	return size;
}

void story_take_refused(const struct qp *qp, const struct roce_pkt *pkt, enum fault f,
			enum hca_status status, struct hca_story *out)
{
	struct story_request *r = &out->request;

	out->status = (uint8_t)status;
	out->request = (struct story_request){ .known = false };
	if (pkt)
		fill_packet(qp, pkt, r);
	if (f == FAULT_INVALIDATE) {
		out->refusal = STORY_REFUSAL_INVALIDATE;
	} else if (f == FAULT_LOCAL) {
		out->refusal = STORY_REFUSAL_RECEIVE;
	} else if (f == FAULT_INVALID && status == HCA_LOC_LEN_ERR) {
		out->refusal = STORY_REFUSAL_TOO_LONG;
		out->region_length = receive_size(qp);
	} else if (r->remote && !(qp->attr.access & right_of(r->op))) {
		out->refusal = STORY_REFUSAL_QP_RIGHT;
		out->needs = (uint8_t)right_of(r->op);
	} else if (f == FAULT_INVALID && r->remote && r->op != HCA_OP_WRITE &&
		   !qp->attr.max_dest_rd_atomic) {
		out->refusal = STORY_REFUSAL_RESOURCES;
	} else if (f == FAULT_ACCESS && r->remote && qp->pub.pd) {
		find_reason(r->rkey, qp->pub.pd->pdn, r->raddr, r->length, right_of(r->op), out);
	}
}
