/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/completion.h"

#include <string.h>

#include "sim/end.h"
#include "sim/host.h"
#include "sim/mutation.h"
#include "sim/net.h"
#include "sim/trace.h"
#include "sim/work.h"

#define GRH_BYTES 40u

/* ---- requests ---- */

/* Requests complete in order; those without a signal complete with the next one that has one. */
static void sent(struct end *end, const struct hca_cqe *cqe)
{
	struct work *w;

	for (;;) {
		SIM_CHECK(end->done != end->posted,
			  "%s: a completion of request %u, and none is outstanding", end_name(end),
			  cqe->counter);
		w = end->slot[end->done % end->slots].work;
		end->done++;
		end->send_cq->reserved--;
		if ((uint16_t)w->index == cqe->counter)
			break;
		SIM_CHECK(!w->signaled, "%s: no completion, but one of request %u behind it",
			  work_name(w), cqe->counter);
		work_complete(w, HCA_SUCCESS);
	}
	trace_line("%s: %s", work_name(w), work_status_name(cqe->status));
	SIM_CHECK(w->signaled || cqe->status != HCA_SUCCESS, "%s: a completion nobody asked for",
		  work_name(w));
	SIM_CHECK(cqe->op == w->op, "%s: the completion says operation %d", work_name(w), cqe->op);
	if (cqe->status == HCA_SUCCESS && w->op == HCA_OP_READ)
		SIM_CHECK(cqe->byte_len == w->length, "%s: the completion says %u bytes",
			  work_name(w), cqe->byte_len);
	work_complete(w, cqe->status);
}

/* ---- receives ---- */

static struct recv *take_recv(struct rq *rq, struct end *end, const struct hca_cqe *cqe)
{
	uint32_t index = rq->shared ? cqe->counter : rq->taken;
	struct recv *r = &rq->slot[index % rq->size];

	if (!rq->shared) {
		SIM_CHECK((uint16_t)rq->taken == cqe->counter,
			  "%s: receive %u completes, but %u is the oldest", end_name(end),
			  cqe->counter, rq->taken & 0xffff);
		rq->taken++;
	}
	SIM_CHECK(r->posted, "%s: receive %u completes, and is not posted", end_name(end),
		  cqe->counter);
	rq_release(rq, r);
	return r;
}

static bool kind_matches(const struct work *w, const struct hca_cqe *cqe, uint32_t header)
{
	if (w->kind != cqe->recv_kind || w->length + header != cqe->byte_len)
		return false;
	return w->kind == HCA_RECV_SEND || w->imm == cqe->imm;
}

static bool bytes_match(const struct work *w, const struct recv *r, const struct host *host,
			uint32_t header)
{
	static uint8_t content[MESSAGE_MOST];

	if (w->kind == HCA_RECV_WRITE_IMM || !w->length)
		return true;
	return !memcmp(host->mem + r->off + header, work_gather(w, content), w->length);
}

/* The message that a receive has got. */
static struct work *find_message(struct end *end, struct rq *rq, const struct recv *r,
				 const struct hca_cqe *cqe)
{
	uint32_t header = end->type == HCA_QP_UD ? GRH_BYTES : 0;

	for (unsigned int i = 0; i < end->inbox_count; i++) {
		struct work *w = end->inbox[i];
		bool again = w->delivered && end->type == HCA_QP_UD && !sim.shape.lossless;
		bool fits;

		if (w->rq != rq || w->dead || (w->delivered && !again))
			continue;
		fits = kind_matches(w, cqe, header) && bytes_match(w, r, end->host, header);
		if (fits)
			return w;
		/* Messages of a connection come in order, and all of them if it is reliable. */
		SIM_CHECK(end->type != HCA_QP_RC && end->type != HCA_QP_XRC_RECV,
			  "%s: it should be received by %s now, but %u bytes of kind %d came",
			  work_name(w), end_name(end), cqe->byte_len, cqe->recv_kind);
	}
	sim_fail("%s: nobody has sent the %u bytes of kind %d that it has received", end_name(end),
		 cqe->byte_len, cqe->recv_kind);
}

/* Messages of one sender are in order; earlier ones to an unreliable queue pair are lost then. */
static void check_order(struct end *end, struct work *w)
{
	for (unsigned int i = 0; i < end->inbox_count && end->inbox[i] != w; i++) {
		struct work *v = end->inbox[i];

		if (v->delivered || v->dead || v->rq != w->rq || v->end != w->end ||
		    v->life != w->life)
			continue;
		SIM_CHECK(end->type == HCA_QP_UC || end->type == HCA_QP_UD || v->never_runs,
			  "%s: received before one that was sent earlier", work_name(w));
		if (end->type == HCA_QP_UC)
			v->dead = true;
	}
}

static void delivered(struct end *end, struct rq *rq, struct recv *r, const struct hca_cqe *cqe)
{
	struct work *w = find_message(end, rq, r, cqe);
	struct host *host = end->host;
	uint32_t len = cqe->recv_kind == HCA_RECV_WRITE_IMM ? 0 : cqe->byte_len;

	SIM_CHECK(!w->never_runs && !w->too_long, "%s: received, although it must not be",
		  work_name(w));
	check_order(end, w);
	if (!w->delivered && rq->owed)
		rq->owed--;
	w->delivered = true;
	w->copies++;
	sim.received++;
	/* A message that ended in the middle may have left bytes in the buffer. */
	if (rq->loose || end->type == HCA_QP_UC)
		len = r->len;
	memcpy(host->shadow + r->off, host->mem + r->off, len);
	if (w->op == HCA_OP_WRITE_IMM && w->target)
		slice_check(w->target);
	if (w->op == HCA_OP_SEND_INV && end->window.state == MW_ENDING)
		end->window.state = MW_IDLE;
}

/* Called when all completions were polled. */
void completion_explain(struct end *end)
{
	SIM_CHECK(!end->unexplained || end->host->gone || end->failed || end->fail_ok ||
			  end->type == HCA_QP_DCT || (end->rq && end->rq->shared && end->rq->loose),
		  "%s: receives are flushed for no reason", end_name(end));
	end->unexplained = false;
}

/* A receive that a message has failed in. */
static bool failed_by_message(struct end *end, struct rq *rq, enum hca_status status)
{
	for (unsigned int i = 0; i < end->inbox_count; i++) {
		struct work *w = end->inbox[i];

		if (w->rq != rq || w->delivered || w->dead)
			continue;
		if (status == HCA_LOC_LEN_ERR
			    ? w->too_long
			    : status == HCA_LOC_ACCESS_ERR && w->op == HCA_OP_WRITE_IMM &&
				      (w->never_runs || w->expect || w->through_window)) {
			w->dead = true;
			return true;
		}
	}
	return false;
}

static void refused(struct end *end, struct rq *rq, struct recv *r, enum hca_status status)
{
	bool may;

	if (status == HCA_WR_FLUSH_ERR) {
		end->unexplained = true;
		may = true;
	} else {
		may = failed_by_message(end, rq, status);
	}
	SIM_CHECK(may, "%s: a receive completes with %s", end_name(end), work_status_name(status));
	sim.errors++;
	rq->loose = true;
	memcpy(end->host->shadow + r->off, end->host->mem + r->off, r->len);
	/* A target fails by session, and goes on. */
	if (status != HCA_WR_FLUSH_ERR && end->type != HCA_QP_UD && end->type != HCA_QP_DCT)
		work_end_failed(end);
}

static struct rq *rq_of(struct end *end, const struct hca_cqe *cqe)
{
	if (end->type != HCA_QP_XRC_RECV)
		return end->rq;
	for (unsigned int i = 0; i < sim.shape.rqs; i++)
		if (sim.rq[i].shared && sim.rq[i].srq && sim.rq[i].srqn == cqe->srqn)
			return &sim.rq[i];
	sim_fail("%s: a completion names no shared receive queue", end_name(end));
}

static void received(struct end *end, const struct hca_cqe *cqe)
{
	struct rq *rq = rq_of(end, cqe);
	struct recv *r = take_recv(rq, end, cqe);

	trace_line("%s: receive %u, %u bytes: %s", end_name(end), cqe->counter, cqe->byte_len,
		   work_status_name(cqe->status));
	if (cqe->status == HCA_SUCCESS)
		delivered(end, rq, r, cqe);
	else
		refused(end, rq, r, cqe->status);
}

/* ---- polling ---- */

static void take(const struct hca_cqe *cqe)
{
	struct end *end;

	SIM_CHECK(cqe->user_index < sim.shape.ends, "a completion of an unknown queue pair");
	end = &sim.end[cqe->user_index];
	trace_mix(net_elapsed_ns() ^ (uint64_t)end->index << 40 ^ (uint64_t)cqe->is_recv << 39);
	trace_mix((uint64_t)cqe->counter << 32 ^ (uint64_t)cqe->status << 24);
	if (cqe->is_recv)
		received(end, cqe);
	else
		sent(end, cqe);
}

void completion_poll(struct cq *cq, unsigned int most)
{
	for (; most && cq->taken != cq->completed; most--) {
		struct hca_cqe cqe;

		memcpy(&cqe, &cq->done[cq->taken % cq->size], offsetof(struct hca_cqe, frame));
		if (mutation_completion(cq, &cqe))
			take(&cqe);
		cq->taken++;
	}
}

void completion_poll_all(void)
{
	for (unsigned int i = 0; i < sim.shape.cqs; i++)
		if (!sim.cq[i].host->gone)
			completion_poll(&sim.cq[i], UINT32_MAX);
}
