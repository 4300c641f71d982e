/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/post.h"

#include <stdlib.h>
#include <string.h>

#include "hca/transport/sq.h"
#include "roce/packet.h"

#include "sim/alloc.h"
#include "sim/end.h"
#include "sim/host.h"
#include "sim/trace.h"
#include "sim/work.h"

/* A request while it is put together. */
struct draft {
	struct work *w;
	struct sq_slot *s;
	struct rng *rng;
	struct end *to;
	bool bad;
};

static bool is_message(enum hca_op op)
{
	return op == HCA_OP_SEND || op == HCA_OP_SEND_IMM || op == HCA_OP_SEND_INV ||
	       op == HCA_OP_WRITE_IMM;
}

static bool is_write(enum hca_op op)
{
	return op == HCA_OP_WRITE || op == HCA_OP_WRITE_IMM;
}

/* ---- the operation ---- */

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

static uint32_t draw_length(const struct draft *d, uint32_t most)
{
	struct rng *rng = d->rng;
	uint32_t least = d->w->end->type == HCA_QP_UD || d->w->end->type == HCA_QP_DCI ? 8 : 0;
	uint32_t kind = rng_below(rng, 100);

	if (d->bad && !least)
		least = 1;
	if (kind < 8)
		return least;
	if (kind < 40)
		most = most < 64 ? most : 64;
	else if (kind < 70)
		most = most < 1024 ? most : 1024;
	return rng_between(rng, least, most);
}

/* ---- memory of this side ---- */

static bool use_spare(const struct host *host, struct rng *rng)
{
	return sim.shape.stormy && rng_percent(rng, 8) && host->region[REGION_SPARE].len;
}

static void add_sge(struct draft *d, const struct span *at)
{
	const struct host *host = at->host;

	d->w->local[d->w->locals++] = *at;
	d->s->sge[d->s->sges++] =
		(struct hca_sge){ (uintptr_t)host->mem + at->off, at->len,
				  host->region[host_region_of(host, at->off)].key };
}

/* Local memory of w->length bytes, in up to SPANS_MOST pieces. False: none is left. */
static bool take_local(struct draft *d, unsigned int pieces)
{
	struct host *host = d->w->end->host;
	enum region_kind kind = use_spare(host, d->rng) ? REGION_SPARE : REGION_DATA;
	uint32_t left = d->w->length;

	for (unsigned int i = 0; left; i++) {
		uint32_t len = i + 1 < pieces ? rng_between(d->rng, 1, left) : left;
		struct span at;

		if (!host_take(host, kind, len, pieces == 1 && len == 8 ? 8 : 1, &at))
			return false;
		add_sge(d, &at);
		left -= len;
	}
	d->w->uses_spare_here = kind == REGION_SPARE && d->w->length;
	return true;
}

static void put_inline(struct draft *d)
{
	struct rng *rng = d->rng;

	d->w->inlined = true;
	for (uint32_t i = 0; i < d->w->length; i++)
		d->w->bytes[i] = (uint8_t)rng_next(rng);
	memcpy(d->s->bytes, d->w->bytes, d->w->length);
	d->s->sges = 1;
	d->s->sge[0] = (struct hca_sge){ (uintptr_t)d->s->bytes, d->w->length, HCA_KEY_INLINE };
}

static bool take_source(struct draft *d)
{
	if (d->w->length && d->w->length <= INLINE_MOST && rng_percent(d->rng, 30)) {
		put_inline(d);
		return true;
	}
	return take_local(d, rng_between(d->rng, 1, SPANS_MOST));
}

/* ---- memory of the other side ---- */

static void aim(struct draft *d, const struct span *at, enum region_kind kind)
{
	const struct host *host = d->to->host;

	d->s->raddr = (uintptr_t)host->mem + at->off;
	d->s->rkey = host->region[kind].key;
	d->w->uses_spare_there = kind == REGION_SPARE;
}

static bool is_mine(const struct draft *d, const struct slice *s)
{
	const struct work *last = s && s->writers ? s->writer[s->writers - 1] : NULL;

	return last && last->to == d->to && last->life == d->w->end->life && s->at.len &&
	       !last->never_runs && !last->through_window;
}

/* The target of the last write once more: the later one wins. */
static bool aim_again(struct draft *d)
{
	struct slice *s = d->w->end->last_slice;

	if (!is_mine(d, s) || s->writers == WRITERS_MOST || !rng_percent(d->rng, 25))
		return false;
	d->w->length = s->at.len;
	aim(d, &s->at, host_region_of(s->at.host, s->at.off));
	slice_add_writer(s, d->w);
	return true;
}

/* A part of the window that the other end has bound, or had. */
static bool aim_through_window(struct draft *d)
{
	struct window_model *win = &d->to->window;
	struct span at = win->at;

	if (!win->binding || win->state == MW_BINDING || !rng_percent(d->rng, 30))
		return false;
	if (!d->w->length || win->used + d->w->length > win->at.len)
		return false;
	at.off += win->used;
	at.len = d->w->length;
	win->used += d->w->length;
	aim(d, &at, REGION_WINDOW);
	d->s->rkey = win->key;
	d->w->through_window = true;
	d->w->binding = win->binding;
	slice_add_writer(slice_new(&at), d->w);
	if (win->state != MW_BOUND) {
		d->w->expect |= STATUS_BIT(REM_ACCESS_ERR);
		d->w->end->trouble = d->to->fail_ok = true;
		d->w->must_fail = d->w->never_runs = win->state == MW_IDLE;
	}
	return true;
}

static bool aim_at_new(struct draft *d, uint32_t align)
{
	struct host *host = d->to->host;
	enum region_kind kind = use_spare(host, d->rng) ? REGION_SPARE : REGION_DATA;
	struct span at;

	if (!host_take(host, kind, d->w->length, align, &at))
		return false;
	aim(d, &at, kind);
	slice_add_writer(slice_new(&at), d->w);
	d->w->end->last_slice = d->w->target;
	return true;
}

/* ---- operations ---- */

static bool draft_send(struct draft *d)
{
	d->w->length = draw_length(d, d->w->end->message_most);
	if (d->bad && rng_percent(d->rng, 30))
		d->w->length = d->w->end->message_most + rng_between(d->rng, 1, 200);
	if (d->w->op == HCA_OP_SEND_INV) {
		if (d->to->window.state != MW_BOUND)
			return false;
		d->w->imm = d->to->window.key;
		d->to->window.state = MW_ENDING;
	}
	return take_source(d);
}

static bool draft_write(struct draft *d)
{
	d->w->length = draw_length(d, d->w->end->message_most);
	if (!(d->w->end->type == HCA_QP_RC && aim_through_window(d)) && !aim_again(d) &&
	    d->w->length && !aim_at_new(d, 1))
		return false;
	return take_source(d);
}

/* From memory that nobody changes, or from the target of earlier writes. */
static bool draft_read(struct draft *d)
{
	struct slice *last = d->w->end->last_slice;
	struct span at;

	d->w->length = draw_length(d, d->w->end->message_most);
	if (is_mine(d, last) && rng_percent(d->rng, 30)) {
		d->w->length = last->at.len;
		d->w->target = last;
		d->w->writer = last->writers - 1;
		aim(d, &last->at, host_region_of(last->at.host, last->at.off));
	} else if (d->w->length) {
		enum region_kind kind = rng_percent(d->rng, 10)          ? REGION_READ_ONLY
					: use_spare(d->to->host, d->rng) ? REGION_SPARE
									 : REGION_DATA;

		if (!host_take(d->to->host, kind, d->w->length, 1, &at))
			return false;
		aim(d, &at, kind);
		d->w->target = slice_new(&at);
		d->w->sees_base = true;
	}
	return take_local(d, rng_between(d->rng, 1, SPANS_MOST));
}

static bool draft_add(struct draft *d)
{
	struct host *host = d->to->host;
	unsigned int counter = rng_below(d->rng, COUNTERS);

	if (host->adds[counter] == ADDS_MOST)
		return false;
	d->w->length = 8;
	if (!take_local(d, 1))
		return false;
	/* Every other bit stays 0, unless an addition is done twice. */
	d->w->counter = counter;
	d->w->bit = 2 * host->adds[counter]++;
	host->adding[counter] |= 1ull << d->w->bit;
	d->s->compare = 1ull << d->w->bit;
	aim(d, &(struct span){ host, counter * 8, 8 }, REGION_DATA);
	return true;
}

static bool draft_swap(struct draft *d)
{
	struct end *end = d->w->end;
	struct swap_word *word = end->swap;
	struct span at;
	uint64_t now;

	d->w->length = 8;
	if (!word || word->at.host != d->to->host || word->count == ADDS_MOST) {
		if (!host_take(d->to->host, REGION_DATA, 8, 8, &at))
			return false;
		word = end->swap = swap_word_new(&at);
	}
	if (!take_local(d, 1))
		return false;
	now = word->value[word->count];
	d->s->compare = rng_percent(d->rng, 20) ? ~now : now;
	d->s->swap = rng_next(d->rng);
	d->w->swap_word = word;
	d->w->swap = word->count++;
	word->value[word->count] = d->s->compare == now ? d->s->swap : now;
	aim(d, &word->at, REGION_DATA);
	return true;
}

static bool draft_atomic_write(struct draft *d)
{
	d->w->length = 8;
	return aim_at_new(d, 8) && take_source(d);
}

static bool draft_flush(struct draft *d)
{
	struct span at = { d->to->host, 0, 0 };

	d->w->length = rng_between(d->rng, 1, 4096);
	d->s->feth = ROCE_FETH_GLOBAL;
	aim(d, &at, REGION_DATA);
	return true;
}

static bool draft_bind(struct draft *d)
{
	struct window_model *win = &d->w->end->window;
	const struct host *host = d->w->end->host;
	uint32_t new_key = (win->key & ~0xffu) | ((win->key + 1) & 0xff);

	if (win->state != MW_IDLE || !host_take(d->w->end->host, REGION_WINDOW, 1024, 1, &win->at))
		return false;
	d->s->bind = (struct hca_bind){ .mw_key = win->key,
					.new_key = new_key,
					.mr_key = host->region[REGION_WINDOW].key,
					.access = HCA_ACCESS_REMOTE_WRITE,
					.addr = (uintptr_t)host->mem + win->at.off,
					.len = win->at.len,
					.type2 = true };
	win->key = new_key;
	win->state = MW_BINDING;
	win->binding++;
	win->used = 0;
	return true;
}

static bool draft_local_inv(struct draft *d)
{
	struct window_model *win = &d->w->end->window;

	if (win->state != MW_BOUND)
		return false;
	d->s->imm = win->key;
	win->state = MW_ENDING;
	/* Writes through it that are under way may be refused. */
	d->w->end->fail_ok = d->to->trouble = true;
	return true;
}

/* ---- requests that must fail ---- */

enum bad { BAD_KEY_THERE, BAD_RIGHTS, BAD_END, BAD_KEY_HERE, BAD_KINDS };

static void expect_refusal(struct draft *d, uint32_t statuses)
{
	struct work *w = d->w;

	w->never_runs = true;
	if (!end_is_reliable(w->end))
		return; /* dropped over there, in silence */
	w->expect |= statuses;
	w->must_fail = true;
	w->end->trouble = d->to->fail_ok = true;
	if (d->to->rq)
		d->to->rq->loose = true;
}

static void spoil(struct draft *d)
{
	struct work *w = d->w;
	struct host *host = d->to->host;
	bool remote = is_write(w->op) || w->op == HCA_OP_READ;

	switch (rng_below(d->rng, BAD_KINDS)) {
	case BAD_KEY_THERE:
		if (!remote || !w->length)
			return;
		d->s->rkey ^= 0x55;
		expect_refusal(d, STATUS_BIT(REM_ACCESS_ERR));
		return;
	case BAD_RIGHTS:
		if (!is_write(w->op) || !w->target || w->target->writers != 1 ||
		    w->length > host->region[REGION_READ_ONLY].len)
			return;
		d->s->rkey = host->region[REGION_READ_ONLY].key;
		d->s->raddr = (uintptr_t)host->mem + host->region[REGION_READ_ONLY].off;
		w->uses_spare_there = w->through_window = false;
		expect_refusal(d, STATUS_BIT(REM_ACCESS_ERR));
		return;
	case BAD_END: /* one byte of it is behind the region */
		if (!remote || !w->length || w->length > d->w->end->message_most ||
		    w->length > 256 || (w->target && w->target->writers > 1))
			return;
		d->s->raddr = (uintptr_t)host->mem + host->region[REGION_DATA].off +
			      host->region[REGION_DATA].len - w->length + 1;
		d->s->rkey = host->region[REGION_DATA].key;
		w->uses_spare_there = w->through_window = false;
		expect_refusal(d, STATUS_BIT(REM_ACCESS_ERR));
		return;
	case BAD_KEY_HERE:
		if (!d->s->sges || w->inlined || !w->length)
			return;
		d->s->sge[d->s->sges - 1].key ^= 0x55;
		/* The bytes before it may have been sent or read. */
		w->expect |= STATUS_BIT(LOC_PROT_ERR);
		w->must_fail = true;
		if (d->to->rq)
			d->to->rq->loose = true;
		return;
	default:
		return;
	}
}

/* ---- the whole request ---- */

static bool draft_op(struct draft *d)
{
	switch (d->w->op) {
	case HCA_OP_SEND:
	case HCA_OP_SEND_IMM:
	case HCA_OP_SEND_INV:
		return draft_send(d);
	case HCA_OP_WRITE:
	case HCA_OP_WRITE_IMM:
		return draft_write(d);
	case HCA_OP_READ:
		return draft_read(d);
	case HCA_OP_FETCH_ADD:
		return draft_add(d);
	case HCA_OP_CMP_SWAP:
		return draft_swap(d);
	case HCA_OP_ATOMIC_WRITE:
		return draft_atomic_write(d);
	case HCA_OP_FLUSH:
		return draft_flush(d);
	case HCA_OP_BIND_MW:
		return draft_bind(d);
	case HCA_OP_LOCAL_INV:
		return draft_local_inv(d);
	default:
		return true;
	}
}

/* A message that its receive has no room for. */
static void expect_fit(struct draft *d)
{
	uint32_t header = d->w->end->type == HCA_QP_UD ? 40 : 0;

	if (d->w->length + header <= d->w->rq->stride)
		return;
	d->w->too_long = true;
	expect_refusal(d, STATUS_BIT(REM_INV_REQ_ERR));
}

/* Keys of the transport: datagrams are dropped, DC requests are not answered. */
static void spoil_address(struct draft *d)
{
	switch (d->w->end->type) {
	case HCA_QP_UD:
		d->s->qkey ^= 1;
		d->w->never_runs = true;
		break;
	case HCA_QP_DCI:
		d->s->dc_key ^= 1;
		expect_refusal(d, STATUS_BIT(RETRY_EXC_ERR));
		break;
	default:
		break;
	}
}

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
		w->rq = is_message(w->op) ? rq : NULL;
	} else {
		w->rq = is_message(w->op) ? d->to->rq : NULL;
	}
	if (is_message(w->op) && w->op != HCA_OP_WRITE_IMM)
		expect_fit(d);
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
	if (!draft_op(&d)) {
		/* No room for it in this round; it was never posted, and changes nothing. */
		d.w->state = WORK_DISCARDED;
		d.w->never_runs = true;
		return;
	}
	if (d.bad)
		spoil(&d);
	address(&d);
	expect_spare(d.w);
	if (is_message(d.w->op))
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
