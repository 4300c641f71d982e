/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/draft.h"

#include <string.h>

#include "roce/packet.h"

#include "sim/end.h"
#include "sim/host.h"
#include "sim/work.h"

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

/* ---- all of them ---- */

bool draft_make(struct draft *d)
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
