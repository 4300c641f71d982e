/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/end.h"
#include "sim/host.h"
#include "sim/slice.h"
#include "sim/trace.h"

/* ---- life ---- */

struct work *work_new(struct end *end, enum hca_op op)
{
	struct work *w = calloc(1, sizeof(*w));

	SIM_CHECK(w, "no memory");
	w->op_index = sim.op;
	w->end = end;
	w->life = end->life;
	w->op = op;
	if (sim.works == sim.work_room) {
		sim.work_room = sim.work_room ? 2 * sim.work_room : 256;
		sim.work = realloc(sim.work, sim.work_room * sizeof(*sim.work));
		SIM_CHECK(sim.work, "no memory");
	}
	sim.work[sim.works++] = w;
	return w;
}

void work_free_all(void)
{
	for (unsigned int i = 0; i < sim.works; i++)
		free(sim.work[i]);
	sim.works = 0;
}

/* ---- names ---- */

static const char *op_name(enum hca_op op)
{
	static const char *const names[HCA_OP_COUNT] = {
		[HCA_OP_NOP] = "NOP",
		[HCA_OP_SEND] = "SEND",
		[HCA_OP_SEND_IMM] = "SEND_IMM",
		[HCA_OP_SEND_INV] = "SEND_INV",
		[HCA_OP_WRITE] = "WRITE",
		[HCA_OP_WRITE_IMM] = "WRITE_IMM",
		[HCA_OP_READ] = "READ",
		[HCA_OP_CMP_SWAP] = "CMP_SWAP",
		[HCA_OP_FETCH_ADD] = "FETCH_ADD",
		[HCA_OP_LOCAL_INV] = "LOCAL_INV",
		[HCA_OP_BIND_MW] = "BIND_MW",
		[HCA_OP_FLUSH] = "FLUSH",
		[HCA_OP_ATOMIC_WRITE] = "ATOMIC_WRITE",
	};

	return op < HCA_OP_COUNT && names[op] ? names[op] : "?";
}

const char *work_status_name(enum hca_status status)
{
	static const char *const names[] = {
		[HCA_SUCCESS] = "SUCCESS",
		[HCA_LOC_LEN_ERR] = "LOC_LEN_ERR",
		[HCA_LOC_QP_OP_ERR] = "LOC_QP_OP_ERR",
		[HCA_LOC_PROT_ERR] = "LOC_PROT_ERR",
		[HCA_WR_FLUSH_ERR] = "WR_FLUSH_ERR",
		[HCA_MW_BIND_ERR] = "MW_BIND_ERR",
		[HCA_BAD_RESP_ERR] = "BAD_RESP_ERR",
		[HCA_LOC_ACCESS_ERR] = "LOC_ACCESS_ERR",
		[HCA_REM_INV_REQ_ERR] = "REM_INV_REQ_ERR",
		[HCA_REM_ACCESS_ERR] = "REM_ACCESS_ERR",
		[HCA_REM_OP_ERR] = "REM_OP_ERR",
		[HCA_RETRY_EXC_ERR] = "RETRY_EXC_ERR",
		[HCA_RNR_RETRY_EXC_ERR] = "RNR_RETRY_EXC_ERR",
	};

	return (size_t)status < sizeof(names) / sizeof(names[0]) && names[status] ? names[status]
										  : "?";
}

const char *work_name(const struct work *w)
{
	static char text[4][128];
	static unsigned int turn;
	char *out = text[turn++ % 4];

	snprintf(out, sizeof(text[0]), "operation %u: %s of %u bytes by %s, request %u",
		 w->op_index, op_name(w->op), w->length, end_name(w->end), w->index);
	return out;
}

/* ---- bytes ---- */

const uint8_t *work_gather(const struct work *w, uint8_t *out)
{
	uint32_t at = 0;

	if (w->inlined)
		return w->bytes;
	if (w->locals == 1)
		return span_shadow(&w->local[0]);
	for (unsigned int i = 0; i < w->locals; i++) {
		memcpy(out + at, span_shadow(&w->local[i]), w->local[i].len);
		at += w->local[i].len;
	}
	return out;
}

/*
 * The bytes that the request has brought are accepted: whoever changes them later has no right to.
 */
static void accept_local(const struct work *w)
{
	for (unsigned int i = 0; i < w->locals; i++)
		memcpy(span_shadow(&w->local[i]), span_mem(&w->local[i]), w->local[i].len);
}

static void local_bytes(const struct work *w, uint8_t *out, bool shadow)
{
	for (unsigned int i = 0; i < w->locals; i++) {
		const struct span *s = &w->local[i];

		memcpy(out, shadow ? span_shadow(s) : span_mem(s), s->len);
		out += s->len;
	}
}

/* ---- effects ---- */

static void check_read(const struct work *w, bool succeeded)
{
	static uint8_t got[MESSAGE_MOST], old[MESSAGE_MOST];
	bool base = w->sees_base;

	local_bytes(w, got, false);
	if (!succeeded) { /* bytes that have not come are as they were */
		local_bytes(w, old, true);
		if (!memcmp(got, old, w->length))
			return;
		for (uint32_t i = 0; i < w->length; i++)
			if (got[i] == old[i])
				got[i] = span_mem(&w->target->at)[i];
	}
	slice_match(w->target, got, w->writer, base, "a read", w);
	accept_local(w);
}

static uint64_t local_word(const struct work *w)
{
	uint64_t value;

	memcpy(&value, span_mem(&w->local[0]), 8);
	return value;
}

/*
 * The bits of earlier additions by the same queue pair are there, its own is not, nor any that
 * nobody adds.
 */
static void check_add(struct work *w, bool succeeded)
{
	struct host *host = w->to->host;
	uint64_t orig = local_word(w), own = 1ull << w->bit;

	if (succeeded) {
		SIM_CHECK(!(orig & own), "%s: it was done before (counter %u was 0x%llx)",
			  work_name(w), w->counter, (unsigned long long)orig);
		SIM_CHECK(!(orig & ~host->adding[w->counter]),
			  "%s: counter %u was 0x%llx, but only 0x%llx was ever added", work_name(w),
			  w->counter, (unsigned long long)orig,
			  (unsigned long long)host->adding[w->counter]);
		for (unsigned int i = 0; i < sim.works; i++) {
			const struct work *v = sim.work[i];

			if (v == w)
				break;
			if (v->op == HCA_OP_FETCH_ADD && v->end == w->end && v->to == w->to &&
			    v->counter == w->counter && v->life == w->life && !v->never_runs)
				SIM_CHECK(orig & 1ull << v->bit,
					  "%s: an earlier one was not done (counter %u was 0x%llx)",
					  work_name(w), w->counter, (unsigned long long)orig);
		}
		host->added[w->counter] |= own;
	}
	accept_local(w);
}

static void check_swap(struct work *w, bool succeeded)
{
	uint64_t orig = local_word(w), want = w->swap_word->value[w->swap];

	if (succeeded) {
		SIM_CHECK(orig == want, "%s: the word was 0x%llx, not 0x%llx", work_name(w),
			  (unsigned long long)orig, (unsigned long long)want);
		w->swap_word->done = w->swap + 1;
	}
	accept_local(w);
}

static void check_effect(struct work *w, bool succeeded)
{
	struct window_model *win = &w->end->window;

	switch (w->op) {
	case HCA_OP_WRITE:
	case HCA_OP_WRITE_IMM:
	case HCA_OP_ATOMIC_WRITE:
		if (succeeded && w->target)
			slice_check(w->target);
		break;
	case HCA_OP_READ:
		if (w->target)
			check_read(w, succeeded);
		break;
	case HCA_OP_FETCH_ADD:
		check_add(w, succeeded);
		break;
	case HCA_OP_CMP_SWAP:
		check_swap(w, succeeded);
		break;
	case HCA_OP_BIND_MW:
		if (succeeded && win->state == MW_BINDING)
			win->state = MW_BOUND;
		break;
	case HCA_OP_LOCAL_INV:
		if (succeeded)
			win->state = MW_IDLE;
		break;
	default:
		break;
	}
}

/* ---- status ---- */

/*
 * A peer in the error state does not answer; its own reason may be in a queue that was not polled
 * yet.
 */
static bool is_silent(const struct end *to)
{
	return to->host->trouble || to->trouble || to->failed || to->fail_ok ||
	       (to->hca && to->hca->state == HCA_QPS_ERR);
}

static bool is_out_of_reach(const struct work *w)
{
	return w->end->trouble || w->end->host->trouble || (w->to && is_silent(w->to));
}

static bool window_is_over(const struct work *w)
{
	return w->through_window &&
	       (w->to->window.state != MW_BOUND || w->to->window.binding != w->binding);
}

bool work_may_lack_receive(const struct work *w)
{
	return w->message && (w->lacks_receive || w->rq->scarce);
}

static bool may_be(const struct work *w, enum hca_status status)
{
	const struct end *end = w->end;

	switch (status) {
	case HCA_SUCCESS:
		return !w->must_fail && !end->flushing;
	case HCA_WR_FLUSH_ERR:
		return end->flushing || end->failed || end->fail_ok;
	case HCA_RETRY_EXC_ERR:
		if (end->flushing || !end_is_reliable(end))
			return false;
		return is_out_of_reach(w) || (w->expect & STATUS_BIT(RETRY_EXC_ERR));
	case HCA_RNR_RETRY_EXC_ERR:
		return !end->flushing && end_is_reliable(end) && end->rnr_retry < 7 &&
		       (sim.shape.rnr || work_may_lack_receive(w));
	case HCA_MW_BIND_ERR:
	case HCA_LOC_QP_OP_ERR: /* no memory for the window */
	case HCA_REM_OP_ERR:    /* the peer has none for the answer */
		return !end->flushing && sim.shape.starved;
	case HCA_REM_ACCESS_ERR:
		if (window_is_over(w))
			return true;
		/* fallthrough */
	default:
		return !end->flushing && (w->expect >> status & 1);
	}
}

void work_end_failed(struct end *end)
{
	end->failed = true;
	if (end->peer)
		end->peer->trouble = true;
	if (end->rq)
		end->rq->loose = true;
	if (end->peer && end->peer->rq)
		end->peer->rq->loose = true;
}

void work_complete(struct work *w, enum hca_status status)
{
	SIM_CHECK(w->state == WORK_POSTED, "%s: completes twice", work_name(w));
	SIM_CHECK(may_be(w, status), "%s: completes with %s", work_name(w),
		  work_status_name(status));
	w->state = WORK_DONE;
	w->status = status;
	check_effect(w, status == HCA_SUCCESS);
	if (status == HCA_SUCCESS) {
		sim.done[w->op]++;
		return;
	}
	sim.errors++;
	if (w->rq)
		w->rq->loose = true;
	if (!w->end->flushing)
		work_end_failed(w->end);
	w->end->flushing = true;
}

void work_discard_all(struct end *end)
{
	for (; end->done != end->posted; end->done++) {
		struct work *w = end->slot[end->done % end->slots].work;

		w->state = WORK_DISCARDED;
		end->send_cq->reserved--;
		check_effect(w, false);
		if (w->rq)
			w->rq->loose = true;
	}
	end->posted = end->done = 0;
	/* Messages to it that have not come, will not. */
	for (unsigned int i = 0; i < end->inbox_count; i++)
		if (end->type != HCA_QP_DCT && end->type != HCA_QP_UD)
			end->inbox[i]->dead = !end->inbox[i]->delivered;
}

void work_discard_receives(struct rq *rq)
{
	for (uint32_t i = 0; i < rq->size; i++) {
		struct recv *r = &rq->slot[i];

		if (!r->posted)
			continue;
		r->posted = false;
		rq->cq->reserved--;
		memcpy(rq->host->shadow + r->off, rq->host->mem + r->off, r->len);
	}
	rq->posted = rq->taken = rq->consumed = rq->owed = 0;
}

/* ---- the end of a round ---- */

bool work_is_certain(const struct work *w)
{
	return sim.shape.lossless && !sim.shape.stormy && !w->never_runs &&
	       !work_may_lack_receive(w);
}

int work_evidence(const struct work *w)
{
	static uint8_t content[MESSAGE_MOST];
	const struct slice *s = w->target;
	const uint8_t *bytes;
	bool old, new;

	if (w->op == HCA_OP_FETCH_ADD) {
		uint64_t value;

		memcpy(&value, w->to->host->mem + (size_t)w->counter * 8, 8);
		return value >> w->bit & 1 ? 1 : -1;
	}
	if (w->message)
		return w->delivered ? 1 : 0; /* its completion may not have been written */
	if (!s || s->writers != 1 || s->writer[0] != w || !s->at.len || w->never_runs)
		return 0;
	bytes = work_gather(w, content);
	old = !memcmp(span_mem(&s->at), span_shadow(&s->at), s->at.len);
	new = !memcmp(span_mem(&s->at), bytes, s->at.len);
	return old && new ? 0 : old ? -1 : 1;
}
