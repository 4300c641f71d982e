/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The requester: takes requests from the send queue in order, executes them directly where the peer's
 * memory is mapped, and otherwise sends packets and keeps a window of unanswered requests (IBTA volume
 * 1, 9.7.5). It runs under the QP's lock, inside an epoch section, on the thread of a doorbell, an
 * answer, a timer, or room on a link.
 *
 * Order: a direct request waits until everything before it has been answered, so one-sided work
 * never overtakes two-sided work. Completions come in the order of the send queue: the window is
 * emptied from its head only.
 */
#include "hca/transport/progress.h"
#include "hca/transport/requester.h"

#include <stdlib.h>

#include "hca/hca.h"
#include "fabric/epoch.h"
#include "hca/transport/answer.h"
#include "hca/transport/datagram.h"
#include "hca/transport/dci.h"
#include "hca/transport/direct.h"
#include "hca/transport/local_op.h"
#include "hca/transport/mmo.h"
#include "hca/transport/path.h"
#include "hca/transport/qp_fail.h"
#include "hca/transport/qp_traffic.h"
#include "hca/transport/raw_qp_ops.h"
#include "hca/transport/request.h"
#include "hca/transport/request_fail.h"
#include "hca/transport/send.h"
#include "hca/transport/shaper.h"
#include "hca/transport/syndrome.h"
#include "hca/transport/tag_sq.h"
#include "hca/transport/timer.h"
#include "hca/transport/window.h"

#define OPS_DATAGRAM (OP_BIT(SEND) | OP_BIT(SEND_IMM))
#define OPS_WRITING  (OPS_DATAGRAM | OP_BIT(WRITE) | OP_BIT(WRITE_IMM))
/* UC has no opcode for a SEND with invalidation (IBTA volume 1, 9.2.1, table of opcodes). */
#define OPS_READING (OPS_WRITING | OP_BIT(SEND_INV) | OPS_READ)
/* Operations that send no packet. */
#define OPS_WINDOW (OP_BIT(BIND_MW) | OP_BIT(LOCAL_INV))
#define OPS_PSV    (OP_BIT(SET_PSV) | OP_BIT(GET_PSV))
#define OPS_LOCAL  (OP_BIT(NOP) | OPS_WINDOW | OPS_PSV | OP_BIT(UMR) | OP_BIT(MMO))

/* Operations that each type of queue pair has: over its connection, and others. */
static const struct {
	uint32_t connected, other;
} ops[] = {
	[HCA_QP_RC] = { OPS_READING, OPS_LOCAL | OP_BIT(TAG) },
	[HCA_QP_UC] = { OPS_WRITING, OP_BIT(NOP) | OPS_WINDOW },
	[HCA_QP_UD] = { 0, OPS_DATAGRAM | OP_BIT(NOP) },
	[HCA_QP_RAW] = { 0, OP_BIT(SEND) | OP_BIT(TSO) | OP_BIT(FRAMES) | OP_BIT(NOP) |
				    OP_BIT(MMO) | OP_BIT(ASO) },
	[HCA_QP_XRC_SEND] = { OPS_READING, OPS_LOCAL },
	[HCA_QP_DCI] = { OPS_READING, OPS_LOCAL },
	[HCA_QP_DCR] = { 0, 0 },
};

/* A request at or behind `next` was sent before, and is to be sent again. */
static bool has_begun(const struct requester *r)
{
	return r->partial || (r->resending && (int32_t)(r->resend_end - r->next) > 0);
}

static bool may_send(const struct qp *qp)
{
	return qp->pub.state == HCA_QPS_RTS ||
	       (qp->pub.state == HCA_QPS_SQD && has_begun(&qp->req));
}

/* A link that is being made is waited for as long as an answer: the peer may be stopped. */
static void await_path(struct qp *qp)
{
	qp->req.awaits_path = true;
	if (!qp->comp.timeout_at && qp->attr.timeout && qp->pub.type != HCA_QP_UC)
		timer_start(qp, hca_now_ns() + timer_ack_ns(qp->attr.timeout));
}

void requester_give_up(struct qp *qp)
{
	struct hca_send s;

	qp->req.awaits_path = false;
	if (!may_send(qp) || !qp_send_is_posted(qp))
		return;
	qp->pub.format->sq_decode(&qp->pub, qp->req.next, &s);
	request_fail(qp, &s, HCA_RETRY_EXC_ERR, SYN_RETRY);
}

/* Fails a request that cannot be sent, once all before it are answered. */
static __attribute__((cold, noinline)) enum run_result
fail_in_order(struct qp *qp, struct hca_send *s, enum hca_status status, uint8_t vendor)
{
	if (!window_is_empty(&qp->window))
		return RUN_WAIT;
	request_fail(qp, s, status, vendor);
	return RUN_STOP;
}

/* The entry itself has no room for an answer. */
static bool has_inline(const struct hca_send *s)
{
	for (int i = 0; i < s->sge_count; i++)
		if (s->sge[i].key == HCA_KEY_INLINE && s->sge[i].len)
			return true;
	return false;
}

/*
 * Longer than a message may be; a FLUSH has no data, and its range is as long as a RETH can say. An atomic has
 * eight bytes (IBTA volume 1, 9.4.5), a masked one as many as its operands.
 */
static bool length_is_bad(const struct hca_send *s)
{
	if (s->op == HCA_OP_ATOMIC_WRITE || op_is_atomic(s->op))
		return s->length != 8;
	if (op_is_masked(s->op))
		return s->length != s->masked.size;
	return s->length > (s->op == HCA_OP_FLUSH ? UINT32_MAX : HCA_MAX_MESSAGE);
}

/* Connected transports: directly if possible, else by packets. */
static inline enum run_result run_connected(struct qp *qp, struct hca_send *s)
{
	struct requester *r = &qp->req;
	enum path_state path;

	if (unlikely(s->length > HCA_MAX_MESSAGE || op_is_read(s->op)) && length_is_bad(s))
		return fail_in_order(qp, s, HCA_LOC_LEN_ERR, SYN_LENGTH);
	if (unlikely(op_returns_data(s->op)) && has_inline(s))
		return fail_in_order(qp, s, HCA_LOC_QP_OP_ERR, SYN_QP_OP);
	path = path_connected(qp);
	if (unlikely(path == PATH_WAIT)) {
		await_path(qp);
		return RUN_WAIT;
	}
	if (unlikely(r->awaits_path)) {
		r->awaits_path = false;
		progress_path_known(&qp->comp, path == PATH_READY);
	}
	if (qp->peer && path == PATH_READY && op_is_one_sided(s->op) && !r->partial &&
	    qp->pub.type != HCA_QP_XRC_SEND) {
		if (unlikely(!window_is_empty(&qp->window))) {
			if (r->ack_delayable)
				r->ack_delayable = !direct_hurry(qp);
			return RUN_WAIT;
		}
		switch (direct_execute(qp, s)) {
		case DIRECT_DONE:
			qp_traffic_direct(qp, s);
			request_finish_local(qp, s);
			return RUN_ON;
		case DIRECT_LOCAL_ERROR:
			request_fail(qp, s, HCA_LOC_PROT_ERR, SYN_LOCAL_PROT);
			return RUN_STOP;
		case DIRECT_NO:
			break;
		}
	}
	if (unlikely(qp->dci) && path == PATH_READY && qp->peer && !r->announced) {
		if (!dci_announce(qp))
			return RUN_WAIT;
		r->announced = true;
	}
	if (unlikely(op_is_read(s->op)) && qp->window.reads_out >= send_reads_most(qp))
		return RUN_WAIT;
	return send_connected(qp, s, path == PATH_READY);
}

/* The next request of a DC initiator has another target. True: run it now. */
static __attribute__((noinline)) bool aim(struct qp *qp, struct hca_send *s, enum run_result *done)
{
	*done = RUN_WAIT;
	if (!window_is_empty(&qp->window))
		return false;
	if (!dci_stream_failed(qp, s->dc_stream)) {
		dci_aim(qp, s);
		qp->req.high = qp->req.psn;
		progress_start(&qp->comp, qp->req.psn);
		qp->req.announced = false;
		return true;
	}
	request_finish(qp, s, HCA_WR_FLUSH_ERR, SYN_FLUSH);
	*done = RUN_ON;
	return false;
}

/* A request that needs no connection, or is invalid. */
static __attribute__((noinline)) enum run_result run_other(struct qp *qp, struct hca_send *s)
{
	if (unlikely(s->bad))
		return fail_in_order(qp, s, s->bad_status, s->bad_vendor);
	if (unlikely(!(ops[qp->pub.type].other >> s->op & 1)))
		return fail_in_order(qp, s, HCA_LOC_QP_OP_ERR, SYN_QP_OP);
	if (unlikely(s->fence && qp->window.reads))
		return RUN_WAIT;
	if (s->op == HCA_OP_TAG)
		return local_op_tag(qp, s);
	if (s->op == HCA_OP_MMO)
		return mmo_run(qp, s);
	if (OPS_LOCAL >> s->op & 1)
		return local_op_run(qp, s);
	return qp->pub.type == HCA_QP_UD ? send_datagram(qp, s) : hca.raw_qp->send(qp, s);
}

/* Whether reads or atomics are in the window; the request itself is there when it has begun. */
static bool reads_before(const struct qp *qp, const struct hca_send *s)
{
	return qp->window.reads > (qp->req.partial && op_is_read(s->op));
}

static inline enum run_result run_one(struct qp *qp, struct hca_send *s)
{
	enum run_result done;

	if (unlikely(s->bad || !(ops[qp->pub.type].connected >> s->op & 1)))
		return run_other(qp, s);
	if (unlikely(s->fence && reads_before(qp, s)))
		return RUN_WAIT;
	if (unlikely(qp->dci) && !dci_is_aimed(qp, s) && !aim(qp, s, &done))
		return done;
	return run_connected(qp, s);
}

/* True when the shaper delays the QP; a timer runs it again. */
static bool is_shaped(struct qp *qp)
{
	uint64_t wait = shaper_wait_ns(qp->shaper, hca_now_ns());

	if (wait)
		timer_pause(qp, wait);
	return wait;
}

static bool is_outgoing(enum hca_op op)
{
	return op <= HCA_OP_WRITE_IMM || op == HCA_OP_TSO || op == HCA_OP_FRAMES;
}

/* After a run that resends requests, or in a state other than RTS. */
static __attribute__((noinline)) void settle(struct qp *qp)
{
	qp->req.resending = qp->req.resending && has_begun(&qp->req);
	if (qp->pub.state == HCA_QPS_ERR || qp->pub.state == HCA_QPS_SQE)
		request_flush_all(qp);
	if (qp->pub.state == HCA_QPS_SQD)
		requester_check_drained(qp);
}

void requester_run(struct qp *qp)
{
	const struct requester *r = &qp->req;
	const struct completer *c = &qp->comp;
	uint32_t from = r->next, at;
	struct hca_send s;

	/* A pause between datagrams ends on time, even if its timer is late. */
	if (unlikely(c->rnr_until) && qp->pub.type == HCA_QP_UD && hca_now_ns() >= c->rnr_until)
		timer_resume(qp);
	while (may_send(qp) && qp_send_is_posted(qp)) {
		if (unlikely(c->rnr_until || window_count(&qp->window) >= QP_WINDOW - 1))
			break;
		if (unlikely(qp->shaper && is_shaped(qp)))
			break;
		at = r->next;
		qp->pub.format->sq_decode(&qp->pub, r->next, &s);
		/* After a failure the state decides whether the loop goes on. */
		if (run_one(qp, &s) == RUN_WAIT)
			break;
		if (unlikely(qp->shaper && r->next != at && is_outgoing(s.op)))
			shaper_charge(qp->shaper, hca_now_ns(), s.length);
	}
	if (unlikely(qp->pub.state != HCA_QPS_RTS || r->resending))
		settle(qp);
	/* Also send a delayed acknowledgement now. */
	if (unlikely(qp->doorbell.watched) && qp->ack_due && !qp->remote && r->next != from)
		answer_send_ack(qp);
	if (qp->carrier) {
		if (qp->remote && r->next != from)
			qp->carrier->request_sent(qp);
		qp->carrier->flush(qp);
	}
	if (unlikely(qp->pub.type == HCA_QP_RAW))
		hca.raw_qp->flush_sent(qp);
}

void requester_start(struct qp *qp, uint32_t psn)
{
	qp->req.psn = qp->req.first_psn = qp->req.high = psn & PSN_MASK;
}

void requester_reset(struct qp *qp)
{
	free(qp->req.grace);
	qp->req = (struct requester){ 0 };
	if (qp->tag_sq)
		tag_sq_reset(qp->tag_sq);
	window_reset(&qp->window);
}

bool requester_has_work(const struct qp *qp)
{
	return !window_is_empty(&qp->window) || qp_send_is_posted(qp);
}

void requester_check_drained(struct qp *qp)
{
	if (!window_is_empty(&qp->window) || has_begun(&qp->req) || qp->drained_told)
		return;
	qp->drained_told = true;
	qp->attr.sq_draining = 0;
	if (qp->attr.en_sqd_notify)
		qp_event(qp, HCA_EVENT_SQ_DRAINED);
}
