/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The requester: takes requests from the send queue in order, executes them directly where the
 * peer's memory is at hand, and otherwise sends packets and keeps a window of what waits for an
 * answer (IBTA volume 1, 9.7.5). Runs under the QP's lock, inside an epoch section, on whatever thread has
 * a reason: a doorbell, an answer, a timer, room on a link.
 *
 * Order: a direct request waits until everything before it has been answered, so one-sided work
 * never overtakes two-sided work. Completions come in the order of the send queue: the window is
 * emptied from its head only.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "hca/device/async.h"
#include "hca/transport/dc.h"
#include "hca/peers/grace.h"
#include "hca/memory/mkey.h"
#include "hca/memory/mw.h"
#include "hca/transport/qp_priv.h"
#include "hca/transport/send.h"
#include "hca/transport/shaper.h"
#include "hca/raw/switch.h"
#include "hca/wire/wire.h"

#define FENCE_NS 50000u

static struct req_slot *slot_at(struct requester *r, uint32_t i)
{
	return &r->window[i & (QP_WINDOW - 1)];
}

static bool window_empty(const struct requester *r)
{
	return r->head == r->tail;
}

void requester_complete(struct qp *qp, const struct req_slot *slot, enum hca_status status,
			uint8_t vendor)
{
	struct hca_cqe cqe; /* what only receives have is left as it is */

	if (unlikely(qp->cntr))
		comp_cntr_sent(qp, slot->op, status == HCA_SUCCESS, slot->length);
	if (unlikely(status != HCA_SUCCESS))
		hca_count(qp->pub.counters, HCA_COUNT_REQ_STATUS + status);
	else if (!slot->signaled)
		return;
	cqe.is_recv = false;
	cqe.solicited = false;
	cqe.vendor = vendor;
	cqe.counter = slot->counter;
	cqe.status = status;
	cqe.op = slot->op;
	cqe.qpn = qp->pub.qpn;
	cqe.user_index = qp->pub.user_index;
	cqe.byte_len = slot->length;
	cqe.timestamp = 0;
	hca_cq_add(qp->pub.send_cq, &cqe);
}

static void fill_slot(const struct qp *qp, const struct hca_send *s, struct req_slot *slot)
{
	*slot = (struct req_slot){
		.index = qp->req.next,
		.counter = s->counter,
		.blocks = s->blocks,
		.op = s->op,
		.signaled = s->signaled | qp->pub.sig_all,
		.length = op_is_atomic(s->op) ? 8 : s->length,
	};
}

/* Ends the request at `next` without a packet: at once, or behind what still waits. */
static void finish_local(struct qp *qp, const struct hca_send *s)
{
	struct requester *r = &qp->req;
	struct req_slot slot;

	/* Done, and nobody wants to know. */
	if (likely(window_empty(r) && !(s->signaled | qp->pub.sig_all) && !qp->cntr)) {
		r->next += s->blocks;
		return;
	}
	fill_slot(qp, s, &slot);
	r->next += s->blocks;
	if (likely(window_empty(r))) {
		requester_complete(qp, &slot, HCA_SUCCESS, 0);
		return;
	}
	slot.local = true;
	slot.first_psn = slot.last_psn = psn_add(r->psn, PSN_MASK);
	*slot_at(r, r->tail++) = slot;
}

/* The request at `next` fails: everything before it has been completed by the caller's waiting. */
static void fail_request(struct qp *qp, const struct hca_send *s, enum hca_status status,
			 uint8_t vendor)
{
	struct req_slot slot;

	fill_slot(qp, s, &slot);
	qp->req.next += s->blocks;
	qp->req.partial = false;
	requester_complete(qp, &slot, status, vendor);
	if (qp->dci && s->bad)
		qp_fail(qp); /* whose stream it was cannot be believed */
	else
		qp_fail_send(qp);
}

/* A type 2 window is not bound when it is bound: there is nothing to end. */
static bool ends_window(const struct hca_send *s)
{
	return s->op == HCA_OP_LOCAL_INV || (s->op == HCA_OP_BIND_MW && !s->bind.type2);
}

/* Peers who found the window before it ended may still be at their copies: it is not over yet. */
static enum run_result await_fence(struct qp *qp, const struct hca_send *s)
{
	struct requester *r = &qp->req;

	if (!grace_has_passed(r->fence)) {
		r->rnr_until = timer_now() + FENCE_NS;
		timer_start(qp, r->rnr_until);
		return RUN_WAIT;
	}
	free(r->fence);
	r->fence = NULL;
	finish_local(qp, s);
	return RUN_ON;
}

/*
 * Windows change when all before is done. Not earlier: should one of those have to be sent again,
 * what follows it is run again, too, and these may run only once.
 */
static enum run_result run_local(struct qp *qp, struct hca_send *s)
{
	const struct hca_peer *user = NULL; /* of a type 2 window: the queue pair's other end */
	int err = 0;

	if (s->op != HCA_OP_NOP && !window_empty(&qp->req))
		return RUN_WAIT;
	if (qp->req.fence)
		return await_fence(qp, s);
	if (s->op == HCA_OP_LOCAL_INV) {
		err = hca_mw_invalidate(s->imm, qp->pub.pd->pdn, qp->pub.qpn);
		user = qp->peer;
		if (err)
			err = hca_mkey_invalidate(s->imm, qp->pub.pd->pdn, false);
	} else if (s->op == HCA_OP_BIND_MW) {
		err = hca_mw_bind(&s->bind, hca_mr_find(s->bind.mr_key), qp->pub.pd->pdn,
				  qp->pub.qpn);
	} else if (s->op == HCA_OP_UMR) {
		err = hca_mkey_update(s, qp->pub.pd->pdn);
	}
	if (!err && ends_window(s))
		err = grace_begin(user, &qp->req.fence);
	if (!err && qp->req.fence)
		return await_fence(qp, s);
	if (!err) {
		finish_local(qp, s);
		return RUN_ON;
	}
	fail_request(qp, s, HCA_MW_BIND_ERR, SYN_BIND);
	return RUN_STOP;
}

/* Within this process's memory; in order with what comes before, as a read of a peer would be. */
static enum run_result run_memcpy(struct qp *qp, struct hca_send *s)
{
	uint32_t pdn = qp->pub.pd->pdn;
	struct hca_list from, to;

	if (!window_empty(&qp->req))
		return RUN_WAIT;
	if (s->sge_count == 2 && hca_mem_resolve(&s->sge[0], 1, pdn, 0, &from) &&
	    hca_mem_resolve(&s->sge[1], 1, pdn, HCA_ACCESS_LOCAL_WRITE, &to) &&
	    from.total == to.total && hca_mem_copy(&to, 0, &from, 0, from.total)) {
		finish_local(qp, s);
		return RUN_ON;
	}
	fail_request(qp, s, HCA_LOC_PROT_ERR, SYN_LOCAL_PROT);
	return RUN_STOP;
}

#define OPS_DATAGRAM (OP_BIT(SEND) | OP_BIT(SEND_IMM))
#define OPS_WRITING  (OPS_DATAGRAM | OP_BIT(SEND_INV) | OP_BIT(WRITE) | OP_BIT(WRITE_IMM))
#define OPS_READING  (OPS_WRITING | OPS_READ)
/* Without a packet. */
#define OPS_WINDOW (OP_BIT(BIND_MW) | OP_BIT(LOCAL_INV))
#define OPS_LOCAL  (OP_BIT(NOP) | OPS_WINDOW | OP_BIT(UMR) | OP_BIT(MEMCPY))

/* What each type of queue pair can do at all: over a connection, and otherwise. */
static const struct {
	uint16_t connected, other;
} ops[] = {
	[HCA_QP_RC] = { OPS_READING, OPS_LOCAL },
	[HCA_QP_UC] = { OPS_WRITING, OP_BIT(NOP) | OPS_WINDOW },
	[HCA_QP_UD] = { 0, OPS_DATAGRAM | OP_BIT(NOP) },
	[HCA_QP_RAW] = { 0, OP_BIT(SEND) | OP_BIT(TSO) | OP_BIT(NOP) },
	[HCA_QP_XRC_SEND] = { OPS_READING, OPS_LOCAL },
	[HCA_QP_DCI] = { OPS_READING, OPS_LOCAL },
	[HCA_QP_DCR] = { 0, 0 },
};

/* Something at or behind `next` was sent before, and is to be sent again. */
static bool has_begun(const struct requester *r)
{
	return r->partial || (r->again && (int32_t)(r->begun - r->next) > 0);
}

static bool may_send(const struct qp *qp)
{
	return qp->pub.state == HCA_QPS_RTS ||
	       (qp->pub.state == HCA_QPS_SQD && has_begun(&qp->req));
}

/* What waits for a link has as long as what waits for an answer: the other end may be stopped. */
static void await_path(struct qp *qp)
{
	struct requester *r = &qp->req;

	r->no_path = true;
	if (!r->timeout_at && qp->attr.timeout && qp->pub.type != HCA_QP_UC) {
		r->progress = false;
		timer_start(qp, timer_now() + timer_ack_ns(qp->attr.timeout));
	}
}

void requester_give_up(struct qp *qp)
{
	struct hca_send s;

	qp->req.no_path = false;
	if (!may_send(qp) || !requester_is_posted(qp))
		return;
	qp->pub.format->sq_decode(&qp->pub, qp->req.next, &s);
	fail_request(qp, &s, HCA_RETRY_EXC_ERR, SYN_RETRY);
}

/* Connected transports: directly if that can be, else by packets. */
static inline enum run_result run_connected(struct qp *qp, struct hca_send *s)
{
	struct requester *r = &qp->req;
	enum path_state path;

	if (unlikely(s->length > HCA_MAX_MESSAGE)) {
		if (!window_empty(r))
			return RUN_WAIT;
		fail_request(qp, s, HCA_LOC_LEN_ERR, SYN_LENGTH);
		return RUN_STOP;
	}
	path = path_connected(qp);
	if (unlikely(path == PATH_WAIT)) {
		await_path(qp);
		return RUN_WAIT;
	}
	if (unlikely(r->no_path)) {
		r->no_path = false;
		r->progress = true;
		r->retries = path == PATH_READY ? 0 : r->retries;
	}
	if (qp->peer && path == PATH_READY && op_is_one_sided(s->op) && !r->partial &&
	    qp->pub.type != HCA_QP_XRC_SEND) {
		if (unlikely(!window_empty(r))) {
			if (r->ack_delayable)
				r->ack_delayable = !direct_hurry(qp);
			return RUN_WAIT;
		}
		switch (direct_execute(qp, s)) {
		case DIRECT_DONE:
			finish_local(qp, s);
			return RUN_ON;
		case DIRECT_LOCAL_ERROR:
			fail_request(qp, s, HCA_LOC_PROT_ERR, SYN_LOCAL_PROT);
			return RUN_STOP;
		case DIRECT_NO:
			break;
		}
	}
	if (unlikely(qp->dci) && path == PATH_READY && !dci_announce(qp))
		return RUN_WAIT;
	if (unlikely(op_is_read(s->op)) && r->asked >= send_most_asked(qp))
		return RUN_WAIT;
	return send_connected(qp, s, path == PATH_READY);
}

/* The next request of an initiator turns to another target. True: it shall be run. */
static __attribute__((noinline)) bool aim(struct qp *qp, struct hca_send *s, enum run_result *done)
{
	struct requester *r = &qp->req;
	struct req_slot slot;

	*done = RUN_WAIT;
	if (!window_empty(r))
		return false;
	if (!dci_stream_failed(qp, s->dc_stream)) {
		dci_aim(qp, s);
		return true;
	}
	fill_slot(qp, s, &slot);
	r->next += s->blocks;
	requester_complete(qp, &slot, HCA_WR_FLUSH_ERR, SYN_FLUSH);
	*done = RUN_ON;
	return false;
}

/* A request that needs no connection, or that cannot be. */
static __attribute__((noinline)) enum run_result run_other(struct qp *qp, struct hca_send *s)
{
	struct requester *r = &qp->req;

	if (unlikely(s->bad || !(ops[qp->pub.type].other >> s->op & 1))) {
		if (!window_empty(r))
			return RUN_WAIT;
		fail_request(qp, s, s->bad ? s->bad_status : HCA_LOC_QP_OP_ERR,
			     s->bad ? s->bad_vendor : SYN_QP_OP);
		return RUN_STOP;
	}
	if (unlikely(s->fence && r->reads))
		return RUN_WAIT;
	if (s->op == HCA_OP_MEMCPY)
		return run_memcpy(qp, s);
	if (OPS_LOCAL >> s->op & 1)
		return run_local(qp, s);
	return qp->pub.type == HCA_QP_UD ? send_datagram(qp, s) : send_raw(qp, s);
}

static inline enum run_result run_one(struct qp *qp, struct hca_send *s)
{
	enum run_result done;

	if (unlikely(s->bad || !(ops[qp->pub.type].connected >> s->op & 1)))
		return run_other(qp, s);
	if (unlikely(s->fence && qp->req.reads))
		return RUN_WAIT;
	if (unlikely(qp->dci) && !dci_is_aimed(qp, s) && !aim(qp, s, &done))
		return done;
	return run_connected(qp, s);
}

/* True when the queue pair has to wait for its share of the port; a timer calls it. */
static bool is_shaped(struct qp *qp)
{
	uint64_t wait = shaper_wait_ns(qp->shaper, timer_now());

	if (wait)
		send_later(qp, wait);
	return wait;
}

static bool is_outgoing(enum hca_op op)
{
	return op <= HCA_OP_WRITE_IMM || op == HCA_OP_TSO;
}

/* Requests are being sent again, or the state is not one in which they simply are sent. */
static __attribute__((noinline)) void settle(struct qp *qp)
{
	qp->req.again = qp->req.again && has_begun(&qp->req);
	if (qp->pub.state == HCA_QPS_ERR || qp->pub.state == HCA_QPS_SQE)
		requester_flush(qp);
	if (qp->pub.state == HCA_QPS_SQD)
		requester_check_drained(qp);
}

void requester_run(struct qp *qp)
{
	struct requester *r = &qp->req;
	uint32_t from = r->next, at;
	struct hca_send s;

	/* A pause between datagrams is over when it is; its timer may be late. */
	if (unlikely(r->rnr_until) && qp->pub.type == HCA_QP_UD && timer_now() >= r->rnr_until)
		r->rnr_until = 0;
	while (may_send(qp) && requester_is_posted(qp)) {
		if (unlikely(r->rnr_until || r->tail - r->head >= QP_WINDOW - 1))
			break;
		if (unlikely(qp->shaper && is_shaped(qp)))
			break;
		at = r->next;
		qp->pub.format->sq_decode(&qp->pub, r->next, &s);
		/* Should it have failed, the state says whether that ends it. */
		if (run_one(qp, &s) == RUN_WAIT)
			break;
		if (unlikely(qp->shaper && r->next != at && is_outgoing(s.op)))
			shaper_charge(qp->shaper, timer_now(), s.length);
	}
	if (unlikely(qp->pub.state != HCA_QPS_RTS || r->again))
		settle(qp);
	/* The same for one that nobody hurries. */
	if (unlikely(qp->raw) && qp->ack_due && !qp->wired && r->next != from)
		responder_send_ack(qp);
	if (qp->wire) {
		if (qp->wired && r->next != from)
			wire_replied(qp);
		wire_flush(qp);
	}
	if (unlikely(qp->pub.type == HCA_QP_RAW))
		hca_switch_flush();
}

void requester_start(struct qp *qp, uint32_t psn)
{
	qp->req.psn = qp->req.first_psn = qp->req.una = qp->req.high = psn & PSN_MASK;
	qp->req.cwnd = QP_CWND_FIRST;
	qp->req.ssthresh = QP_CWND_MOST;
}

void requester_reset(struct qp *qp)
{
	struct req_slot *window = qp->req.window;

	free(qp->req.fence);
	qp->req = (struct requester){ .window = window };
}

bool requester_has_work(const struct qp *qp)
{
	return !window_empty(&qp->req) || requester_is_posted(qp);
}

void requester_flush_window(struct qp *qp)
{
	struct requester *r = &qp->req;
	struct req_slot slot;

	while (!window_empty(r)) {
		slot = *slot_at(r, r->head++);
		/* A request that is partly sent is in the window and still at `next`, too. */
		if (r->partial && window_empty(r))
			r->next += slot.blocks;
		requester_complete(qp, &slot, HCA_WR_FLUSH_ERR, SYN_FLUSH);
	}
	r->partial = false;
	r->reads = r->asked = 0;
	r->timeout_at = 0;
	r->rnr_until = 0;
	r->no_path = false;
}

void requester_flush(struct qp *qp)
{
	struct requester *r = &qp->req;
	struct req_slot slot;
	struct hca_send s;

	requester_flush_window(qp);
	/* A window that has ended has ended; what comes behind it is flushed when all know. */
	if (r->fence) {
		qp->pub.format->sq_decode(&qp->pub, r->next, &s);
		if (await_fence(qp, &s) == RUN_WAIT)
			return;
	}
	while (requester_is_posted(qp)) {
		qp->pub.format->sq_decode(&qp->pub, r->next, &s);
		fill_slot(qp, &s, &slot);
		r->next += s.blocks ? s.blocks : 1;
		requester_complete(qp, &slot, HCA_WR_FLUSH_ERR, SYN_FLUSH);
	}
}

/*
 * Go back N: the ring still holds every unanswered request, so sending again is decoding again.
 * A read that was answered in part is asked for from where its data ends.
 */
void requester_rewind(struct qp *qp)
{
	struct requester *r = &qp->req;
	uint32_t end;

	if (window_empty(r))
		return;
	end = r->next + (r->partial ? slot_at(r, r->tail - 1)->blocks : 0);
	if (!r->again || (int32_t)(end - r->begun) > 0)
		r->begun = end;
	r->again = true;
	r->next = slot_at(r, r->head)->index;
	r->psn = slot_at(r, r->head)->first_psn;
	r->tail = r->head;
	r->reads = r->asked = 0;
	r->partial = false;
	r->sent = 0;
	r->probe.timed_at = 0;
	dci_unannounce(qp);
}

void requester_check_drained(struct qp *qp)
{
	if (!window_empty(&qp->req) || has_begun(&qp->req) || qp->drained_told)
		return;
	qp->drained_told = true;
	qp->attr.sq_draining = 0;
	if (qp->attr.en_sqd_notify)
		qp_event(qp, HCA_EVENT_SQ_DRAINED);
}

uint32_t hca_sq_next(const struct hca_qp *pub)
{
	const struct qp *qp = (const struct qp *)pub;

	/* One that is to be sent again has begun, and so has one that is sent in part. */
	if (qp->req.again && (int32_t)(qp->req.begun - qp->req.next) > 0)
		return qp->req.begun;
	return qp->req.next +
	       (qp->req.partial ? slot_at((struct requester *)&qp->req, qp->req.tail - 1)->blocks
				: 0);
}

void hca_sq_doorbell(struct hca_qp *pub, uint32_t producer)
{
	struct qp *qp = to_priv(pub);

	qp->req.producer = producer;
	epoch_enter();
	requester_run(qp);
	epoch_exit();
}
