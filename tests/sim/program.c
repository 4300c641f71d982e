/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/program.h"

#include <stdlib.h>
#include <string.h>

#include "sim/completion.h"
#include "sim/end.h"
#include "sim/host.h"
#include "sim/net.h"
#include "sim/post.h"
#include "sim/settle.h"
#include "sim/trace.h"
#include "sim/work.h"

/* ---- generation ---- */

static const uint16_t calm[OP_KINDS] = {
	[OP_POST] = 560, [OP_RECV] = 200, [OP_POLL] = 200, [OP_PASS] = 40
};
static const uint16_t storm[OP_KINDS] = {
	[OP_ERROR] = 6,      [OP_RECONNECT] = 30, [OP_DRAIN] = 6,
	[OP_DEREGISTER] = 6, [OP_FLAP] = 6,       [OP_VANISH] = 1
};

static enum op_kind draw_kind(struct rng *rng)
{
	uint32_t at = rng_below(rng, sim.shape.stormy ? 1055 : 1000);

	for (unsigned int i = 0; i < OP_KINDS; i++) {
		if (at < calm[i] + storm[i])
			return i;
		at -= calm[i] + (sim.shape.stormy ? storm[i] : 0);
	}
	return OP_POST;
}

void program_make(struct program *p)
{
	struct rng rng = rng_fork(sim.seed, 2);

	p->count = sim.shape.ops * sim.shape.rounds;
	p->op = calloc(p->count, sizeof(*p->op));
	SIM_CHECK(p->op, "no memory");
	for (unsigned int i = 0; i < p->count; i++) {
		struct op *op = &p->op[i];

		op->kind = draw_kind(&rng);
		op->round = (uint8_t)(i / sim.shape.ops);
		op->gap_ns = rng_percent(&rng, 60)   ? 0
			     : rng_percent(&rng, 80) ? rng_below(&rng, 3000)
						     : rng_below(&rng, 300000);
		op->random = rng_next(&rng);
	}
}

void program_free(struct program *p)
{
	free(p->op);
}

const char *program_op_name(enum op_kind kind)
{
	static const char *const names[] = {
		"post",      "receive", "poll",       "pass", "error",
		"reconnect", "drain",   "deregister", "flap", "vanish"
	};

	return kind < OP_KINDS ? names[kind] : "?";
}

/* ---- execution ---- */

static struct end *draw_end(struct rng *rng)
{
	return &sim.end[rng_below(rng, sim.shape.ends)];
}

static void run_recv(struct rng *rng)
{
	struct rq *rq;
	unsigned int count = rng_between(rng, 1, 12);

	if (!sim.shape.rqs)
		return;
	rq = &sim.rq[rng_below(rng, sim.shape.rqs)];
	if (rq->host->gone)
		return;
	trace_line("operation %u: %u receives for %s %u of host %u", sim.op, count,
		   rq->shared ? "SRQ" : "RQ", rq->index, rq->host->index);
	settle_post_receives(rq, count, rng);
}

static void run_poll(struct rng *rng)
{
	struct cq *cq = &sim.cq[rng_below(rng, sim.shape.cqs)];

	if (!cq->host->gone)
		completion_poll(cq, rng_percent(rng, 30) ? 1 : cq->size);
}

/* To the error state; or the way out of it, for queue pairs that fail halfway only. */
static void run_error(struct rng *rng)
{
	struct end *end = draw_end(rng);

	if (!end->hca || end->type == HCA_QP_DCT)
		return;
	if (end->hca->state == HCA_QPS_SQE) {
		completion_poll_all();
		trace_line("operation %u: %s from SQE to RTS", sim.op, end_name(end));
		SIM_CHECK(!end_set_state(end, HCA_QPS_RTS), "%s: stays in SQE", end_name(end));
		end->failed = end->flushing = false;
		return;
	}
	trace_line("operation %u: %s to ERR", sim.op, end_name(end));
	work_end_failed(end);
	SIM_CHECK(!end_set_state(end, HCA_QPS_ERR), "%s: not in ERR", end_name(end));
}

static void run_reconnect(struct rng *rng)
{
	struct end *end = draw_end(rng);

	/* Rather one that has failed. */
	for (unsigned int i = 0; i < sim.shape.ends && rng_percent(rng, 90); i++) {
		if (end->hca && end->hca->state == HCA_QPS_ERR)
			break;
		end = &sim.end[(end->index + 1) % sim.shape.ends];
	}
	if (!end->hca || (end->peer && !end->peer->hca) || end->type == HCA_QP_DCT)
		return;
	trace_line("operation %u: %s connects anew", sim.op, end_name(end));
	end_reconnect(end);
}

static void run_drain(struct rng *rng)
{
	struct end *end = draw_end(rng);

	if (!end->hca || end->type == HCA_QP_DCI || end->type == HCA_QP_DCT)
		return;
	if (end->hca->state == HCA_QPS_RTS)
		end->drained = !end_set_state(end, HCA_QPS_SQD);
	else if (end->hca->state == HCA_QPS_SQD)
		end->drained = end_set_state(end, HCA_QPS_RTS);
	trace_line("operation %u: %s to state %d", sim.op, end_name(end), end->hca->state);
}

static void run_deregister(struct rng *rng)
{
	struct host *host = &sim.host[rng_below(rng, sim.shape.hosts)];

	if (host->gone || host->region[REGION_SPARE].gone)
		return;
	trace_line("operation %u: host %u deregisters its spare region", sim.op, host->index);
	host_deregister(host, REGION_SPARE);
	post_spare_gone(host);
}

static void run_flap(struct rng *rng)
{
	struct host *host = &sim.host[rng_below(rng, sim.shape.hosts)];
	uint64_t ns = rng_percent(rng, 50) ? rng_below(rng, 1000000) : rng_below(rng, 200000000);

	trace_line("operation %u: the link of host %u is down for %u us", sim.op, host->index,
		   (unsigned int)(ns / 1000));
	net_set_down(host, ns);
	host->trouble = true;
}

static void run_vanish(struct rng *rng)
{
	struct host *host = &sim.host[rng_below(rng, sim.shape.hosts)];

	if (host->gone)
		return;
	trace_line("operation %u: host %u vanishes", sim.op, host->index);
	settle_vanish(host);
}

static void run_op(const struct op *op)
{
	static void (*const run[OP_KINDS])(struct rng *) = {
		[OP_POST] = post_random,
		[OP_RECV] = run_recv,
		[OP_POLL] = run_poll,
		[OP_ERROR] = run_error,
		[OP_RECONNECT] = run_reconnect,
		[OP_DRAIN] = run_drain,
		[OP_DEREGISTER] = run_deregister,
		[OP_FLAP] = run_flap,
		[OP_VANISH] = run_vanish,
	};
	struct rng rng = { op->random };

	trace_mix((uint64_t)op->kind << 56 ^ op->random ^ net_elapsed_ns());
	if (run[op->kind])
		run[op->kind](&rng);
}

void program_run(const struct program *p)
{
	unsigned int round = 0;

	settle_start();
	for (unsigned int i = 0; i < p->count; i++) {
		const struct op *op = &p->op[i];

		if (op->round != round) {
			settle_round(true);
			round = op->round;
		}
		if (op->left_out)
			continue;
		sim.op = i;
		net_pass(op->gap_ns + (op->kind == OP_PASS ? 50000 : 0));
		run_op(op);
	}
	settle_round(false);
	settle_stop();
}
