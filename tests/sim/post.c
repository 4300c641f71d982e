/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/post.h"

#include <stdlib.h>
#include <string.h>

#include "hca/transport/sq.h"

#include "sim/alloc.h"
#include "sim/draft.h"
#include "sim/end.h"
#include "sim/spoil.h"
#include "sim/trace.h"
#include "sim/work.h"

/* ---- the operation and where it goes ---- */

static enum hca_op draw_op(const struct end *end, struct rng *rng)
{
	enum { RELIABLE = 1, UNRELIABLE = 2, DATAGRAM = 4, RC = 8 };
	static const struct {
		enum hca_op op;
		uint32_t share, types;
	} ops[] = {
		{ HCA_OP_SEND, 20, RELIABLE | UNRELIABLE | DATAGRAM },
		{ HCA_OP_SEND_IMM, 8, RELIABLE | UNRELIABLE | DATAGRAM },
		{ HCA_OP_WRITE, 24, RELIABLE | UNRELIABLE },
		{ HCA_OP_WRITE_IMM, 8, RELIABLE | UNRELIABLE },
		{ HCA_OP_READ, 16, RELIABLE },
		{ HCA_OP_FETCH_ADD, 9, RELIABLE },
		{ HCA_OP_CMP_SWAP, 5, RELIABLE },
		{ HCA_OP_ATOMIC_WRITE, 4, RELIABLE },
		{ HCA_OP_FLUSH, 3, RELIABLE },
		{ HCA_OP_NOP, 2, RELIABLE | UNRELIABLE | DATAGRAM },
		{ HCA_OP_BIND_MW, 4, RC },
		{ HCA_OP_LOCAL_INV, 2, RC },
		{ HCA_OP_SEND_INV, 3, RC },
	};
	uint32_t type = end->type == HCA_QP_UC   ? UNRELIABLE
			: end->type == HCA_QP_UD ? DATAGRAM
			: end->type == HCA_QP_RC ? RELIABLE | RC
						 : RELIABLE;
	uint32_t total = 0, at;

	for (int pass = 0; pass < 2; pass++) {
		at = pass ? rng_below(rng, total) : 0;
		for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
			if (!(ops[i].types & type))
				continue;
			if (pass && at < ops[i].share)
				return ops[i].op;
			if (pass)
				at -= ops[i].share;
			else
				total += ops[i].share;
		}
	}
	return HCA_OP_NOP;
}

static struct end *draw_of_type(enum hca_qp_type type, struct rng *rng)
{
	unsigned int from = rng_below(rng, sim.shape.ends);

	for (unsigned int i = 0; i < sim.shape.ends; i++) {
		struct end *end = &sim.end[(from + i) % sim.shape.ends];

		if (end->type == type)
			return end;
	}
	return NULL;
}

static struct end *draw_peer(const struct end *end, struct rng *rng)
{
	if (end->type == HCA_QP_UD)
		return draw_of_type(HCA_QP_UD, rng);
	if (end->type == HCA_QP_DCI)
		return draw_of_type(HCA_QP_DCT, rng);
	return end->peer;
}

/* The SRQ of an XRC request may be any of the domain. */
static struct rq *draw_xrc_rq(const struct end *to, struct rng *rng)
{
	unsigned int from = rng_below(rng, sim.shape.rqs);

	for (unsigned int i = 0; i < sim.shape.rqs; i++) {
		struct rq *rq = &sim.rq[(from + i) % sim.shape.rqs];

		if (rq->shared && rq->type == HCA_SRQ_XRC && rq->host == to->host &&
		    rq->stride >= to->message_most)
			return rq;
	}
	return to->rq;
}

/* ---- the whole request ---- */

static void address(struct draft *d)
{
	struct work *w = d->w;

	d->s->imm = w->op == HCA_OP_LOCAL_INV ? d->s->imm : w->imm;
	memcpy(d->s->dgid.raw, d->to->host->addr.gid, sizeof(d->s->dgid.raw));
	d->s->dqpn = d->to->qpn;
	d->s->qkey = END_QKEY;
	d->s->dc_key = END_DC_KEY;
	if (w->end->type == HCA_QP_XRC_SEND) {
		struct rq *rq = draw_xrc_rq(d->to, d->rng);

		d->s->xrc_srqn = rq->srqn;
		w->rq = draft_is_message(w->op) ? rq : NULL;
	} else {
		w->rq = draft_is_message(w->op) ? d->to->rq : NULL;
	}
	if (draft_is_message(w->op) && w->op != HCA_OP_WRITE_IMM)
		spoil_too_long(d);
	if (d->bad && !w->must_fail && !w->never_runs && w->op != HCA_OP_NOP)
		spoil_address(d);
}

static void expect_message(struct work *w)
{
	struct end *to = w->to;
	struct rq *rq = w->rq;

	w->message = true;
	w->kind = w->op == HCA_OP_SEND       ? HCA_RECV_SEND
		  : w->op == HCA_OP_SEND_IMM ? HCA_RECV_SEND_IMM
		  : w->op == HCA_OP_SEND_INV ? HCA_RECV_SEND_INV
					     : HCA_RECV_WRITE_IMM;
	w->lacks_receive = rq->posted - rq->consumed <= rq->owed;
	rq->scarce |= w->lacks_receive && (rq->shared || to->type == HCA_QP_UD);
	rq->owed++;
	if (to->inbox_count == to->inbox_room) {
		to->inbox_room = to->inbox_room ? 2 * to->inbox_room : 32;
		to->inbox = realloc(to->inbox, to->inbox_room * sizeof(*to->inbox));
		SIM_CHECK(to->inbox, "no memory");
	}
	to->inbox[to->inbox_count++] = w;
}

static void expect_spare(struct work *w)
{
	if (w->uses_spare_here && w->end->host->region[REGION_SPARE].gone) {
		w->expect |= STATUS_BIT(LOC_PROT_ERR);
		w->must_fail = true;
		/* A read may be carried out there; its bytes have no place here. */
	}
	if (w->uses_spare_there && w->to->host->region[REGION_SPARE].gone) {
		w->never_runs = true;
		if (!end_is_reliable(w->end))
			return;
		w->expect |= STATUS_BIT(REM_ACCESS_ERR);
		w->must_fail = true;
		w->end->trouble = w->to->fail_ok = true;
	}
}

/* `spare`: entries of the completion queue that stay free. */
static bool can_post(const struct end *end, uint32_t spare)
{
	return end->hca && end_sends(end) && end->hca->state >= HCA_QPS_RTS &&
	       end->posted - end->done < end->slots &&
	       end->send_cq->reserved + spare < end->send_cq->size;
}

void post_ring(struct end *end)
{
	alloc_enter();
	fabric_lock(&end->hca->lock);
	hca_sq_doorbell(end->hca, end->posted);
	fabric_unlock(&end->hca->lock);
	alloc_leave();
}

static void publish(struct draft *d)
{
	struct end *end = d->w->end;

	d->w->index = end->posted;
	d->s->work = d->w;
	d->s->op = d->w->op;
	d->s->length = d->w->length;
	d->s->signaled = d->w->signaled;
	end->send_cq->reserved++;
	end->posted++;
}

void post_random(struct rng *rng)
{
	struct end *end = &sim.end[rng_below(rng, sim.shape.ends)];
	struct draft d = { .rng = rng, .to = draw_peer(end, rng) };

	if (!d.to || !can_post(end, CQ_SPARE_SEND) ||
	    (end->hca->state > HCA_QPS_SQD && rng_percent(rng, 80)))
		return;
	d.s = &end->slot[end->posted % end->slots];
	*d.s = (struct sq_slot){ .solicited = rng_percent(rng, 10), .fence = rng_percent(rng, 5) };
	d.w = work_new(end, draw_op(end, rng));
	d.w->to = d.to;
	/* Without a signal in the last slot, nobody would know when there is room again. */
	d.w->signaled = rng_percent(rng, 70) || end->posted - end->done == end->slots - 1;
	d.w->imm = (uint32_t)rng_next(rng);
	d.bad = sim.shape.stormy && rng_percent(rng, 2);
	if (!draft_make(&d)) {
		/* No room for it in this round; it was never posted, and changes nothing. */
		d.w->state = WORK_DISCARDED;
		d.w->never_runs = true;
		return;
	}
	if (d.bad)
		spoil_request(&d);
	address(&d);
	expect_spare(d.w);
	if (draft_is_message(d.w->op))
		expect_message(d.w);
	publish(&d);
	trace_line("%s, %s%s", work_name(d.w), d.w->signaled ? "signaled" : "unsignaled",
		   d.w->must_fail ? ", must fail" : "");
	if (rng_percent(rng, 70))
		post_ring(end);
}

bool post_nop(struct end *end)
{
	struct draft d = { .to = end };

	if (!can_post(end, 0))
		return false;
	d.s = &end->slot[end->posted % end->slots];
	*d.s = (struct sq_slot){ 0 };
	d.w = work_new(end, HCA_OP_NOP);
	d.w->to = end;
	d.w->signaled = true;
	publish(&d);
	post_ring(end);
	return true;
}

void post_spare_gone(struct host *host)
{
	for (unsigned int i = 0; i < sim.works; i++) {
		struct work *w = sim.work[i];

		/* Packets of requests that were discarded, or have failed, may be under way. */
		if (w->state == WORK_DONE && w->status == HCA_SUCCESS)
			continue;
		if (w->uses_spare_here && w->end->host == host)
			w->expect |= STATUS_BIT(LOC_PROT_ERR);
		if (w->uses_spare_there && w->to->host == host && end_is_reliable(w->end)) {
			w->expect |= STATUS_BIT(REM_ACCESS_ERR);
			w->end->trouble = w->to->fail_ok = true;
		}
	}
}
