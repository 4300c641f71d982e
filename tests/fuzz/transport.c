/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets that a hostile host may send, into queue pairs of every type and state, between requests, receives, changes
 * of state, losses and timeouts, in virtual time (unit/transport/net.h).
 *
 * Two queue pairs are connected; packets come from the other one, or are made from the input: right for their opcode
 * and for the queue pair except in the fields that the input changes, or any bytes that the decoder accepts.
 *
 * Requests complete once and in the order of the queue, receives once; nothing is left when the queue pairs have gone
 * to the error state. Memory that no request may write stays as it is.
 *
 * Input: a byte of type, two of options, then steps: a byte that says what is done, and the bytes that it needs.
 */
#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "fabric/epoch.h"
#include "fuzz.h"
#include "hca/memory/mr.h"
#include "hca/memory/mw.h"
#include "hca/transport/acks.h"
#include "hca/transport/completer.h"
#include "hca/transport/dct.h"
#include "hca/transport/qp.h"
#include "hca/transport/qp_modify.h"
#include "hca/transport/qp_types.h"
#include "hca/transport/responder.h"
#include "hca/transport/rq.h"
#include "hca/transport/sq.h"
#include "hca/transport/window.h"
#include "input.h"
#include "roce/decode.h"
#include "roce/opcode.h"
#include "transport/end.h"
#include "transport/net.h"

#define GUARD_BYTES 16384u
#define GUARD_OPEN  4096u /* the registered part of the guard, in its middle */
#define STEPS_MOST  200u
#define MS          1000000ull

enum step {
	STEP_PACKET,
	STEP_RAW,
	STEP_SEND,
	STEP_RECV,
	STEP_TIME,
	STEP_DELIVER,
	STEP_STATE,
	STEP_ATTR,
	STEP_ROOM,
	STEP_FAULTS,
	STEP_REGION,
	STEP_REPEAT,
	STEPS,
};

/* What the target knows of an end. */
struct side {
	struct end *end;
	struct end_options options;
	uint32_t checked;   /* completions that were looked at */
	uint32_t send_done; /* requests that are complete: those before this one */
	uint64_t recv_seen; /* by slot */
	uint32_t recv_done;
};

static struct {
	struct input in;
	struct side side[2];
	struct hca_mr *guard_mr; /* of side 0's domain, without the right to write; or NULL */
	uint32_t guard_key;
	struct hca_mw *mw;
	struct roce_pkt last;
	struct side *last_to;
	enum hca_qp_type type;
} fuzz;

static uint8_t guard[GUARD_BYTES] __attribute__((aligned(4096)));
static uint8_t payload[2 * ROCE_MAX_PACKET];

static uint8_t u8(void)
{
	return input_u8(&fuzz.in);
}

/* ---- completions ---- */

static void check_send(struct side *s, const struct hca_cqe *cqe)
{
	uint32_t counter = s->send_done + (uint16_t)(cqe->counter - s->send_done);

	CHECK(counter < s->end->posted); /* neither again nor one that was never posted */
	for (; s->send_done < counter; s->send_done++) /* without a signal, and successful */
		CHECK(!s->end->send[s->send_done % END_SLOTS].signaled);
	s->send_done = counter + 1;
}

static void check_recv(struct side *s, const struct hca_cqe *cqe)
{
	if (s->options.srq) {
		CHECK(cqe->counter < END_SLOTS && s->recv_seen >> cqe->counter & 1);
		s->recv_seen &= ~(1ull << cqe->counter);
	} else {
		CHECK(cqe->counter == s->recv_done % END_SLOTS);
	}
	s->recv_done++;
	CHECK(s->recv_done <= s->end->recv_posted);
	if (cqe->status == HCA_SUCCESS)
		CHECK(cqe->byte_len <= END_BYTES);
}

static void check_completions(void)
{
	for (unsigned int i = 0; i < 2; i++) {
		struct side *s = &fuzz.side[i];
		const struct hca_cqe *cqe;

		while ((cqe = end_completion(s->end))) {
			CHECK(cqe->status < HCA_SIG_ERR);
			if (cqe->is_recv)
				check_recv(s, cqe);
			else
				check_send(s, cqe);
		}
	}
}

static void check_guard(void)
{
	static uint8_t before[GUARD_BYTES];

	memset(before, 0xa5, sizeof(before));
	CHECK(!memcmp(guard, before, sizeof(guard)));
}

/* ---- arrival ---- */

static bool is_answer(uint8_t op)
{
	op &= ROCE_PKT_OPCODE_MASK;
	return op >= ROCE_PKT_READ_RESP_FIRST && op <= ROCE_PKT_ATOMIC_ACK;
}

/* As hca/wire/wire_rx.c delivers a packet. */
static void arrive(struct side *s, const struct roce_pkt *from, const uint8_t *data)
{
	struct hca_acks acks = { .count = 0 };
	struct hca_list list = { .count = 1 };
	const uint8_t grh[40] = { 0x60 }, *with_grh = NULL;
	struct roce_pkt pkt = *from;
	struct qp *qp = s->end->in;
	/* A copy of its own, so that a byte too far is seen. */
	uint8_t *copy = malloc(pkt.len ? pkt.len : 1);

	CHECK(copy);
	memcpy(copy, data, pkt.len);
	list.total = pkt.len;
	list.seg[0] = (struct hca_seg){ .ptr = (char *)copy, .len = pkt.len };
	if ((pkt.op & ROCE_PKT_TRANSPORT_MASK) == ROCE_TR_UD)
		with_grh = grh;
	epoch_enter();
	if (qp->dct)
		qp = dct_remote_session(qp, qp->attr.av.dgid.raw, qp->attr.av.dgid.raw, &pkt);
	if (qp) {
		fabric_lock(&qp->pub.lock);
		if (qp->pub.type != HCA_QP_UD && qp->pub.type != HCA_QP_DCR)
			pkt.sqpn = qp->attr.dest_qpn;
		if (is_answer(pkt.op))
			completer_packet(qp, &pkt, &list);
		else
			responder_packet(qp, NULL, &acks, &pkt, &list, with_grh);
		fabric_unlock(&qp->pub.lock);
		acks_send(&acks);
	}
	epoch_exit();
	free(copy);
}

/* ---- packets of the input ---- */

static uint32_t any_key(const struct side *s)
{
	switch (u8() % 6) {
	case 0:
		return fuzz.guard_key;
	case 1:
		return fuzz.mw ? fuzz.mw->key : 0;
	case 2:
		return input_u32(&fuzz.in);
	case 3:
		return s->end->mr->key ^ 1;
	default:
		return s->end->mr->key;
	}
}

static uint64_t any_address(const struct side *s)
{
	switch (u8() % 5) {
	case 0:
		return (uintptr_t)guard + GUARD_OPEN + (int16_t)input_u16(&fuzz.in);
	case 1:
		return input_u64(&fuzz.in);
	case 2: /* around the end of the region */
		return (uintptr_t)s->end->mem + END_BYTES + (int8_t)u8() * 8;
	default:
		return (uintptr_t)s->end->mem + input_u16(&fuzz.in);
	}
}

static uint32_t any_length(void)
{
	switch (u8() % 5) {
	case 0:
		return u8();
	case 1:
		return input_u16(&fuzz.in);
	case 2:
		return input_u32(&fuzz.in);
	case 3:
		return 1024;
	default:
		return 0;
	}
}

static uint32_t any_psn(const struct side *s, bool answer)
{
	const struct qp *qp = s->end->in;
	uint8_t how = u8();
	int32_t off = how & 1 ? 0 : (int8_t)u8();

	if (how & 0x80)
		return input_u32(&fuzz.in) & PSN_MASK;
	if (!answer)
		return psn_add(qp->resp.epsn, (uint32_t)off);
	return psn_add(how & 2 ? qp->req.psn : qp->comp.una, (uint32_t)off);
}

static const uint8_t syndromes[] = {
	ROCE_SYN_ACK,         ROCE_SYN_RNR,        ROCE_SYN_RNR | 1, ROCE_SYN_NAK_SEQ,
	ROCE_SYN_NAK_INVALID, ROCE_SYN_NAK_ACCESS, ROCE_SYN_NAK_OP,  ROCE_SYN_NAK_REF,
};

/* Bits of what differs from a right packet. */
enum { WRONG_LENGTH = 1, WRONG_TARGET = 2, WRONG_FLAGS = 4, WRONG_EXTRA = 8 };

static void spoil(const struct side *s, struct roce_pkt *p, const struct roce_opcode_info *info,
		  uint8_t wrong)
{
	if (wrong & WRONG_LENGTH) {
		p->len = any_length() % (ROCE_MAX_PACKET + 1);
		if (info->payload == ROCE_PAYLOAD_NONE)
			p->len = 0;
	}
	if (wrong & WRONG_TARGET && info->headers & ROCE_HDR_ATOMICETH) {
		p->atomic.va = any_address(s);
		p->atomic.rkey = any_key(s);
		p->atomic.swap = input_u32(&fuzz.in);
		p->atomic.compare = u8();
	} else if (wrong & WRONG_TARGET && info->request) {
		p->rdma.va = any_address(s);
		p->rdma.rkey = any_key(s);
		p->rdma.dma_len = any_length();
		p->rdma.feth = u8();
	}
	if (wrong & WRONG_FLAGS)
		p->flags = u8() & (ROCE_PKT_SOLICITED | ROCE_PKT_ACK_REQ | ROCE_PKT_MIGREQ |
				   ROCE_PKT_FECN | ROCE_PKT_BECN);
	if (wrong & WRONG_EXTRA) {
		p->imm = any_key(s);
		p->dc.session = u8() % 4;
		p->dc.first_psn = psn_add(p->psn, (uint32_t) - (u8() % 4));
		p->sqpn = END_PEER_QPN + u8() % 2;
		if (!u8())
			p->dc.key++;
	}
}

static void packet(struct side *s)
{
	uint8_t op = u8(), wrong = u8();
	const struct roce_opcode_info *info;
	struct roce_pkt p;

	if (!(wrong & 0x80)) /* of the queue pair's transport */
		op = (op & ROCE_PKT_OPCODE_MASK) |
		     (s->end->qp->type == HCA_QP_UC   ? ROCE_TR_UC
		      : s->end->qp->type == HCA_QP_UD ? ROCE_TR_UD
		      : s->end->qp->type == HCA_QP_XRC_SEND || s->end->qp->type == HCA_QP_XRC_RECV
			      ? ROCE_TR_XRC
		      : s->end->qp->type == HCA_QP_DCI || s->end->qp->type == HCA_QP_DCT
			      ? ROCE_TR_DC
			      : ROCE_TR_RC);
	info = roce_opcode_find(op);
	if (!info || op == ROCE_OP_CNP)
		return;
	p = end_request(s->end, op, 0);
	p.psn = any_psn(s, !info->request);
	p.dc.first_psn = p.psn;
	if (!info->request) {
		uint8_t syndrome = u8();

		p.ack.syndrome =
			syndrome & 0x80 ? syndrome & 0x7f : syndromes[syndrome % sizeof(syndromes)];
		p.ack.msn = u8();
	}
	spoil(s, &p, info, wrong);
	memset(payload, u8(), p.len);
	fuzz.last = p;
	fuzz.last_to = s;
	arrive(s, &p, payload);
}

/* Any bytes from the BTH on. */
static void raw(struct side *s)
{
	uint8_t bytes[512] = { 0 };
	struct roce_payload body;
	struct roce_pkt p;
	size_t len = 12 + u8();

	if (len > sizeof(bytes))
		len = sizeof(bytes);
	input_bytes(&fuzz.in, bytes, len);
	if (roce_decode(bytes, len, &p, &body) != ROCE_OK || p.op == ROCE_OP_CNP)
		return;
	fuzz.last = p;
	fuzz.last.len = p.len;
	fuzz.last_to = s;
	memcpy(payload, body.data, p.len);
	arrive(s, &p, payload);
}

/* ---- the queue pair's own side ---- */

static bool may_post(const struct end *e)
{
	enum hca_qp_state state = e->qp->state;

	return state == HCA_QPS_RTS || state == HCA_QPS_SQD || state == HCA_QPS_SQE ||
	       state == HCA_QPS_ERR;
}

static void send_one(struct side *s, struct side *to)
{
	static const uint8_t ops[] = {
		HCA_OP_SEND,         HCA_OP_SEND_IMM,        HCA_OP_SEND_INV,
		HCA_OP_WRITE,        HCA_OP_WRITE_IMM,       HCA_OP_READ,
		HCA_OP_CMP_SWAP,     HCA_OP_FETCH_ADD,       HCA_OP_FLUSH,
		HCA_OP_ATOMIC_WRITE, HCA_OP_MASKED_CMP_SWAP, HCA_OP_MASKED_FETCH_ADD,
		HCA_OP_NOP,          HCA_OP_LOCAL_INV,       HCA_OP_BIND_MW,
	};
	uint8_t op = ops[u8() % sizeof(ops)], how = u8();
	struct hca_send *r;
	uint32_t len;

	if (!may_post(s->end) || s->end->posted - s->send_done >= END_SLOTS ||
	    s->end->qp->type == HCA_QP_DCT || s->end->qp->type == HCA_QP_XRC_RECV)
		return;
	len = op_is_atomic(op) || op_is_masked(op) || op == HCA_OP_ATOMIC_WRITE ? 8
	      : how & 1                                                         ? u8()
			: input_u16(&fuzz.in);
	if (op == HCA_OP_NOP || op == HCA_OP_LOCAL_INV || op == HCA_OP_BIND_MW)
		len = 0;
	r = end_post_to(s->end, op, 65536 + u8() * 8, len, to->end, 16384 + u8() * 8);
	r->fence = how & 2;
	r->signaled = !(how & 4);
	r->solicited = how & 8;
	r->masked = (struct hca_atomic){ .add = op == HCA_OP_MASKED_FETCH_ADD,
					 .size = 8,
					 .swap = 1,
					 .compare_mask = UINT64_MAX,
					 .swap_mask = UINT64_MAX };
	r->feth = op == HCA_OP_FLUSH ? ROCE_FETH_GLOBAL : 0;
	end_address(r, s->end, to->end);
	r->xrc_srqn = to->end->srq ? to->end->srq->srqn : 0;
	if (op == HCA_OP_SEND_INV || op == HCA_OP_LOCAL_INV)
		r->imm = any_key(to);
	if (op == HCA_OP_BIND_MW && fuzz.mw)
		r->bind = (struct hca_bind){ .mw_key = fuzz.mw->key,
					     .new_key = fuzz.mw->key ^ (how >> 4),
					     .mr_key = s->end->mr->key,
					     .access = HCA_ACCESS_REMOTE_READ,
					     .addr = any_address(s),
					     .len = any_length(),
					     .type2 = true };
	if (how & 16) {
		r->raddr = any_address(to);
		r->rkey = any_key(to);
	}
	if (how & 32 && r->sge_count) {
		r->sge[0].key = any_key(s);
		r->sge[0].addr = any_address(s);
	}
	if (how & 64)
		r->dqpn = END_PEER_QPN;
	end_ring(s->end);
}

static void recv_one(struct side *s)
{
	uint32_t slot = s->end->recv_posted % END_SLOTS, len = u8() * 64u;
	uint8_t how = u8();

	if (s->options.srq ? s->recv_seen >> slot & 1
			   : s->end->recv_posted - s->recv_done >= END_SLOTS ||
				     s->end->qp->state == HCA_QPS_RESET)
		return;
	s->recv_seen |= 1ull << slot;
	end_post_recv(s->end, 131072 + (how & 15) * 4096, len);
	s->end->recv[slot].counter = (uint16_t)slot;
	if (how & 16)
		s->end->recv[slot].sge[0].key = any_key(s);
	if (how & 32)
		s->end->recv[slot].sge_count = 0;
	if (!s->options.srq)
		hca_rq_doorbell(s->end->qp);
}

/* The program takes its rings back, as drivers do on the way to RESET. */
static void forget_work(struct side *s)
{
	s->end->posted = s->send_done = 0;
	if (s->options.srq)
		return;
	s->end->recv_posted = s->recv_done = 0;
	s->recv_seen = 0;
}

/* That a queue pair works in. */
static enum hca_qp_state last_state(const struct end *e)
{
	return e->qp->type == HCA_QP_DCT ? HCA_QPS_RTR : HCA_QPS_RTS;
}

static void change_state(struct side *s, const struct side *other)
{
	enum hca_qp_state to = u8() % (HCA_QPS_ERR + 1), now = s->end->qp->state;

	if (to == now + 1 && to <= last_state(s->end)) {
		end_advance(s->end, to, other->end->qp->qpn, &s->options);
	} else if (!end_set_state(s->end, to) && to == HCA_QPS_RESET) {
		check_completions();
		forget_work(s);
	}
}

static void change_attr(struct side *s)
{
	struct hca_qp_attr at = { .access = u8() & 0xe,
				  .min_rnr_timer = u8() & 31,
				  .qkey = END_QKEY + u8() % 2,
				  .state = s->end->qp->state };
	uint32_t mask = HCA_QPM_STATE;

	mask |= u8() & 1 ? HCA_QPM_ACCESS : HCA_QPM_MIN_RNR_TIMER;
	if (s->end->qp->type == HCA_QP_UD)
		mask = HCA_QPM_STATE | HCA_QPM_QKEY;
	hca_qp_modify(s->end->qp, &at, mask); /* may be refused */
}

static void change_region(void)
{
	struct side *s = &fuzz.side[0];

	if (fuzz.guard_mr) {
		CHECK(!hca_mr_destroy(fuzz.guard_mr));
		fuzz.guard_mr = NULL;
		return;
	}
	CHECK(!hca_mr_create(s->end->pd, guard + GUARD_OPEN, GUARD_OPEN,
			     (uintptr_t)guard + GUARD_OPEN, HCA_ACCESS_REMOTE_READ,
			     &fuzz.guard_mr));
	fuzz.guard_key = fuzz.guard_mr->key;
}

static void set_faults(void)
{
	struct net_faults f = { .loss = u8() * 1000u,
				.duplicate = u8() * 1000u,
				.reorder = u8() * 1000u,
				.delay_ns = 1000,
				.seed = u8() };

	net_set_faults(&f);
}

static void pass(uint64_t ns)
{
	uint64_t until = net.now_ns + ns;

	/* Bounded: a queue pair that retries for ever must not keep the target busy. */
	for (int i = 0; i < 2000 && net.now_ns < until; i++)
		if (!net_step())
			break;
}

static void do_step(enum step step, struct side *s, struct side *other)
{
	switch (step) {
	case STEP_PACKET:
		packet(s);
		break;
	case STEP_RAW:
		raw(s);
		break;
	case STEP_SEND:
		send_one(s, other);
		break;
	case STEP_RECV:
		recv_one(s);
		break;
	case STEP_TIME:
		pass(1ull << u8() % 36);
		break;
	case STEP_DELIVER:
		for (unsigned int i = u8() % 16; i && net_step(); i--)
			;
		break;
	case STEP_STATE:
		change_state(s, other);
		break;
	case STEP_ATTR:
		change_attr(s);
		break;
	case STEP_ROOM:
		if (net.full)
			net_room();
		else
			net.full = true;
		break;
	case STEP_FAULTS:
		set_faults();
		break;
	case STEP_REGION:
		change_region();
		break;
	default: /* the same packet once more */
		if (fuzz.last_to)
			arrive(fuzz.last_to, &fuzz.last, payload);
		break;
	}
}

/* ---- begin and end ---- */

static void begin(void)
{
	static const enum hca_qp_type types[][2] = {
		{ HCA_QP_RC, HCA_QP_RC },   { HCA_QP_UC, HCA_QP_UC },
		{ HCA_QP_UD, HCA_QP_UD },   { HCA_QP_XRC_SEND, HCA_QP_XRC_RECV },
		{ HCA_QP_DCI, HCA_QP_DCT }, { HCA_QP_RC, HCA_QP_RC },
	};
	uint8_t type = u8() % (sizeof(types) / sizeof(types[0])), how = u8(), timers = u8();

	net_reset();
	for (unsigned int i = 0; i < 2; i++) {
		struct side *s = &fuzz.side[i];
		struct end_options *o = &s->options;

		*o = END_DEFAULTS;
		o->type = types[type][i];
		o->srq = type == 5 || o->type == HCA_QP_XRC_RECV || o->type == HCA_QP_DCT;
		o->out_of_order = how & 1;
		o->path_mtu = 1 + (how >> 1) % 5;
		o->rd_atomic = how >> 4;
		o->dci_streams = o->type == HCA_QP_DCI && timers & 1;
		o->dci_log_errored = 2;
		o->timeout = timers >> 3;
		o->retry_cnt = timers & 7;
		o->rnr_retry = timers & 7;
		if (i) {
			o->psn = 500;
			o->peer_psn = 100;
		}
		s->end = end_create(i, o);
	}
	memset(guard, 0xa5, sizeof(guard));
	change_region();
	CHECK(!hca_mw_create(fuzz.side[0].end->pd, true, &fuzz.mw));
	for (unsigned int i = 0; i < 2; i++)
		end_advance(fuzz.side[i].end, last_state(fuzz.side[i].end),
			    fuzz.side[1 - i].end->qp->qpn, &fuzz.side[i].options);
}

static bool has_sends(const struct end *e)
{
	return e->qp->type != HCA_QP_DCT && e->qp->type != HCA_QP_XRC_RECV;
}

/* In the error state everything that was posted is complete, at once. */
static void finish(struct side *s)
{
	struct end *e = s->end;

	if (e->qp->state == HCA_QPS_RESET || e->qp->type == HCA_QP_DCT)
		return;
	CHECK(!end_set_state(e, HCA_QPS_ERR));
	check_completions();
	if (has_sends(e)) {
		CHECK(hca_sq_next(e->qp) == e->posted && window_is_empty(&e->in->window));
		for (; s->send_done < e->posted; s->send_done++)
			CHECK(!e->send[s->send_done % END_SLOTS].signaled);
	}
	if (!s->options.srq && e->qp->type != HCA_QP_XRC_SEND)
		CHECK(s->recv_done == e->recv_posted);
}

static void clean_up(void)
{
	net.full = false;
	net_room();
	for (unsigned int i = 0; i < 2; i++)
		finish(&fuzz.side[i]);
	check_guard();
	net_reset();
	if (fuzz.guard_mr)
		CHECK(!hca_mr_destroy(fuzz.guard_mr));
	for (unsigned int i = 0; i < 2; i++) {
		CHECK(!hca_qp_destroy(fuzz.side[i].end->qp));
		fuzz.side[i].end->qp = NULL;
	}
	CHECK(!hca_mw_destroy(fuzz.mw));
	for (unsigned int i = 0; i < 2; i++)
		end_destroy(fuzz.side[i].end);
	memset(&fuzz, 0, sizeof(fuzz));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool begun;

	if (!begun) {
		end_group_begin(NULL);
		begun = true;
	}
	fuzz.in = (struct input){ data, size };
	begin();
	for (unsigned int i = 0; i < STEPS_MOST && fuzz.in.left; i++) {
		uint8_t byte = u8(), which = byte >> 7;

		do_step((byte & 0x7f) % STEPS, &fuzz.side[which], &fuzz.side[1 - which]);
		check_completions();
	}
	clean_up();
	return 0;
}
